"""Says of each query which of its columns may be shed before a wire, what stands in their place, and which never go."""

from __future__ import annotations

from streamq.compiler.analysis.edges import edge_streams, edges_of, only_for_others
from streamq.compiler.analysis.lineage import uses_of
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.edges import EdgeStream, bounds_of, has_bounds
from streamq.compiler.notices import PlanNotice


def edge_notices(plan: lg.LogicalPlan) -> tuple[PlanNotice, ...]:
    """A notice for each query and each stream that it reads through a narrow wire; of a plan without unneeded columns."""
    edges = {edge.stream: edge for edge in edges_of(plan)[0] if edge.sheds}
    return tuple(
        _notice(query, decl, edges[decl.name], only_for_others(query, decl, plan))
        for query in plan.queries
        for decl in {d.name: d for d in edge_streams(query.root)}.values()
        if decl.name in edges
    )


def _notice(
    query: lg.LogicalQuery, decl: lg.SourceDecl, edge: EdgeStream, foreign: frozenset[str]
) -> PlanNotice:
    if edge.sifts:
        return PlanNotice(
            "edge", query.name, f"rows of `{decl.name}` may be shed at its edge, {edge.sifts[0].words}",
            hint=f"so that the rest fits through {wire_words(edge)}", action="SHED NONE keeps all rows that the query wants",
            span=decl.origin,
        )
    kept = dict(edge.kept)
    read = uses_of(query.root, decl.name).read
    mine = [f for f in decl.fields if f.name in read or any(b in read for b in bounds_of(f.name))]
    mine = [f for f in mine if f.name not in decl.unlisted]
    told = [f"`{f.name}` {_fate(f.name, edge, foreign)}" for f in mine if f.name not in kept]
    told += [f"`{f.name}` is never shed ({kept[f.name]})" for f in mine if f.name in kept]
    bounded = next((f.name for f in mine if f.name in dict(edge.synopsis) and has_bounds(f.type)), None)
    return PlanNotice(
        "edge", query.name, f"columns of `{decl.name}` may be shed at its edge: {'; '.join(told)}",
        hint=f"so that the rest fits through {wire_words(edge)}; those that tell least go first",
        action="KEEP (columns) keeps more" + (f"; bounds are in `{'` and `'.join(bounds_of(bounded))}`" if bounded else ""),
        span=decl.origin,
    )


def _fate(name: str, edge: EdgeStream, foreign: frozenset[str]) -> str:
    errors = dict(edge.synopsis)
    if name in foreign or (name not in errors and name not in edge.nearest):
        return "is NULL where it was"
    if name in edge.nearest:
        return "is that of the nearest row then, without a bound"
    error = errors[name]
    if error is None:
        cap = f", and what `{edge.criticality}` allows" if edge.criticality else ", and what its domain allows"
        return f"comes back within an error that the edge finds: its fixed point{cap}"
    return "comes back as it was" if error == 0 else f"comes back within {error:g} %"


def wire_words(edge: EdgeStream) -> str:
    """What the rows of an edge go through."""
    own = "" if edge.capacity_kbps is None else f"{edge.capacity_kbps:g} kbit/s"
    shared = "" if edge.channel is None else f"channel `{edge.channel.name}` of {edge.channel.kbps:g} kbit/s"
    return " and ".join(part for part in (own, shared) if part)
