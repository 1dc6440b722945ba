"""What the edges of a program do: which columns may go, which never do, which come back, all queries taken together.

A column by which a query tests, groups, joins or windows is never shed, so that which rows an answer is of stays exact. Of
the others the edge sheds those that tell least (``stdlib.attributes``). What no query reads is not sent at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from streamq.compiler.analysis.lineage import uses_of
from streamq.compiler.analysis.query_regions import wanted_of
from streamq.compiler.analysis.sifters import sift_of
from streamq.compiler.analysis.turned_back import Attribute
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.edges import Channel, EdgeStream, arrow_type, bounds_of
from streamq.compiler.ir.goals import Sift
from streamq.compiler.ir.rewrite import walk
from streamq.dsl import ast
from streamq.dsl.diagnostics import Diagnostic, Severity
from streamq.dsl.records import dataclass, replace
from streamq.dsl.source import Span
from streamq.dsl.types import STRING, Chars

CRITICALITIES = (
    "extremely critical", "very critical", "moderately critical", "low critical", "not critical"
)
"""The categories of QOS CRITICALITY, the strictest first."""

TOGETHER = ("folder", "listen", "token", "token_file", "keep")
"""Options in which all streams from edges agree."""

Synopsis = tuple[str, float | None]
"""A column that comes back from the synopsis, and its error in percent; None: the edge finds it."""


def edges_of(plan: lg.LogicalPlan) -> tuple[tuple[EdgeStream, ...], tuple[Diagnostic, ...]]:
    """The edges that the queries need, by a plan without unneeded columns, and what is wrong with them."""
    streams = {decl.name: decl for query in plan.queries for decl in edge_streams(query.root)}
    found: list[Diagnostic] = []
    edges = tuple(_edge(decl, plan, found) for decl in streams.values())
    for edge in edges[1:]:
        found += [_apart(edge, edges[0], name) for name in TOGETHER if dict(edge.options).get(name) != dict(edges[0].options).get(name)]
    shared = Counter(edge.channel for edge in edges if edge.channel is not None)
    found += [_narrow(channel, count) for channel, count in shared.items() if channel.kbps < count]
    return edges, tuple(found)


def _narrow(channel: Channel, streams: int) -> Diagnostic:
    return Diagnostic(
        "SQ0603", f"channel `{channel.name}` of {channel.kbps:g} kbit/s is too narrow for {streams} streams", channel.origin,
        help="give it at least 1 KBPS for each",
    )


def _apart(edge: EdgeStream, first: EdgeStream, option: str) -> Diagnostic:
    return Diagnostic(
        "SQ0602", f"`{edge.stream}` and `{first.stream}` have another `{option}`: a run takes the rows of all edges at one place",
        edge.origin, help=f"give both the same `{option}`; each stream has a folder of its own in it",
    )


def edge_streams(root: lg.Logical) -> Iterator[lg.SourceDecl]:
    """The streams of a plan that come from an edge."""
    return (n.source for n in walk(root) if isinstance(n, lg.Scan) and n.source.connector == "edge")


def sheds(policies: tuple[ast.Policy, ...]) -> ast.Shed | None:
    """SHED ATTRIBUTES, where it is among them."""
    return next((p for p in policies if isinstance(p, ast.Shed) and isinstance(p.method, ast.ShedAttributes)), None)


def sifts(policies: tuple[ast.Policy, ...]) -> ast.Shed | None:
    """SHED SIFTER, where it is among them."""
    return next((p for p in policies if isinstance(p, ast.Shed) and isinstance(p.method, ast.ShedSifter)), None)


def recoveries(policies: tuple[ast.Policy, ...]) -> tuple[ast.RecoverSynopsis | ast.RecoverNearest, ...]:
    """The clauses that say how shed values come back."""
    methods = (p.method for p in policies if isinstance(p, ast.Recover))
    return tuple(m for m in methods if isinstance(m, ast.RecoverSynopsis | ast.RecoverNearest))


def recovered(
    method: ast.RecoverSynopsis | ast.RecoverNearest, decl: lg.SourceDecl
) -> tuple[str, ...]:
    """The columns that a clause brings back, as they are declared; all where it names none."""
    declared = [f.name for f in decl.fields if f.name not in decl.unlisted]
    named = {n.parts[-1].text.casefold() for n in method.columns}
    return tuple(n for n in declared if not named or n.casefold() in named)


@dataclass(frozen=True, slots=True)
class _Clauses:
    """What is said of a stream: by its declaration, and by each query that reads it (``""`` and the names of queries)."""

    decl: lg.SourceDecl
    by: tuple[tuple[str, tuple[ast.Policy, ...]], ...]

    @property
    def sheds(self) -> tuple[ast.Shed, ...]:
        """SHED ATTRIBUTES, wherever it stands, or SHED SIFTER of the stream itself."""
        own = sifts(self.decl.policies)
        found = (shed for _, policies in self.by if (shed := sheds(policies)) is not None)
        return (*(() if own is None else (own,)), *found)

    @property
    def recoveries(self) -> tuple[ast.RecoverSynopsis | ast.RecoverNearest, ...]:
        return tuple(method for _, policies in self.by for method in recoveries(policies))


def _edge(decl: lg.SourceDecl, plan: lg.LogicalPlan, found: list[Diagnostic]) -> EdgeStream:
    readers = [q for q in plan.queries if any(d.name == decl.name for d in edge_streams(q.root))]
    clauses = _Clauses(decl, (("", decl.policies), *((q.name, q.policies) for q in readers)))
    cycle = _cycle(clauses, found)
    names = {name for q in readers for name in uses_of(q.root, decl.name).read}
    read = {_base(name, decl) for name in names}
    kept = _kept(clauses, readers, cycle, read)
    columns = [f for f in decl.fields if f.name not in decl.unlisted]
    unread = tuple(f.name for f in columns if f.name not in read and f.name not in kept)
    if not clauses.sheds:
        kept |= {f.name: "nothing is shed" for f in columns if f.name in read and f.name not in kept}
    synopsis, nearest = _comes_back(clauses, kept, unread, found)
    capacity = _capacity(clauses, found)
    methods = [m for m in clauses.recoveries if isinstance(m, ast.RecoverSynopsis)]
    sifter = sifts(decl.policies)
    edge = EdgeStream(
        sifts=() if sifter is None else _sifted(sifter, decl, readers), stream=decl.name, columns=tuple((f.name, arrow_type(f.type) or "") for f in columns),
        kept=tuple((f.name, kept[f.name]) for f in columns if f.name in kept), unread=unread,
        synopsis=synopsis, nearest=nearest, bounded=tuple(f.name for f in columns if names & set(bounds_of(f.name)) and f.name in read), cycle=cycle,
        finds_cycle=bool(methods) and not cycle, criticality=_criticality(readers),
        retain_ms=max((m.retain.ms for m in methods if m.retain is not None), default=None),
        capacity_kbps=capacity, channel=decl.channel, options=decl.options, origin=decl.origin,
    )
    if clauses.sheds and sifter is None and len(kept) + len(unread) == len(columns):
        found.append(_all_kept(edge, clauses.sheds[0].span))
    return edge


def _sifted(sifter: ast.Shed, decl: lg.SourceDecl, readers: list[lg.LogicalQuery]) -> tuple[Sift, ...]:
    """The sifter of a stream as each of its queries asks for it; one that says SHED NONE needs all of its rows."""
    assert isinstance(sifter.method, ast.ShedSifter)
    types = {f.name: f.type for f in decl.fields}
    found = []
    for query in readers:
        sift = sift_of(sifter.method, decl.name, decl.fields, query.policies)
        if sift is not None:
            attributes = {name: Attribute(place, types[name]) for place, name in enumerate(sift.attributes)}
            least = 1.0 if _keeps_all(query) else sift.least
            found.append(replace(sift, wanted=wanted_of(query.root, decl.name, attributes), least=least))
    return tuple(found)


def _keeps_all(query: lg.LogicalQuery) -> bool:
    return any(isinstance(p, ast.Shed) and isinstance(p.method, ast.ShedNone) for p in query.policies)


def _all_kept(edge: EdgeStream, span: Span) -> Diagnostic:
    """An error where nothing can go; where columns go that nobody reads, that may be enough."""
    notes = tuple(f"`{name}`: {why}" for name, why in edge.kept)
    if edge.unread:
        return Diagnostic(
            "SQ0902", f"of `{edge.stream}` nothing can be shed but columns that no query reads: all others are kept", span,
            help="if the rest does not fit, rows wait at their source", notes=notes, severity=Severity.WARNING,
        )
    return Diagnostic(
        "SQ0602", f"nothing of `{edge.stream}` could be shed: all of its columns are kept", span, label="sheds columns",
        help="keep fewer, or make queries test fewer of them; or remove SHED ATTRIBUTES", notes=notes,
    )


def _base(name: str, decl: lg.SourceDecl) -> str:
    """The declared column that a column of the stream is about."""
    if name not in decl.unlisted:
        return name
    return next((f.name for f in decl.fields if name in bounds_of(f.name)), name)


def _kept(
    clauses: _Clauses, readers: list[lg.LogicalQuery], cycle: tuple[str, ...], read: set[str]
) -> dict[str, str]:
    """The columns that are never shed, each with the reason."""
    decl = clauses.decl
    kept = dict.fromkeys(cycle, "the key of the cycle")
    for name in decl.stamped_by:
        kept.setdefault(name, "event time")
    if dict(decl.options)["texts"] == "keep":
        for field in decl.fields:
            if field.name in read and (field.type == STRING or isinstance(field.type, Chars)):
                kept.setdefault(field.name, "text")
    for field in decl.fields:
        if not field.nullable and field.name not in decl.unlisted:
            kept.setdefault(field.name, "NOT NULL")
    named = {n.parts[-1].text.casefold() for s in clauses.sheds if isinstance(s.method, ast.ShedAttributes) for n in s.method.keep}
    for field in decl.fields:
        if field.name.casefold() in named:
            kept.setdefault(field.name, "KEEP")
    for query in readers:
        uses = uses_of(query.root, decl.name)
        for name in sorted(uses.decide):
            kept.setdefault(_base(name, decl), f"`{query.name}` tests, groups or joins by it")
        if _keeps_all(query):
            kept |= {_base(name, decl): f"`{query.name}` says SHED NONE" for name in sorted(uses.read - kept.keys())}
    declared = {f.name for f in decl.fields} - set(decl.unlisted)
    return {name: why for name, why in kept.items() if name in declared}


def _comes_back(
    clauses: _Clauses, kept: dict[str, str], unread: tuple[str, ...], found: list[Diagnostic]
) -> tuple[tuple[Synopsis, ...], tuple[str, ...]]:
    errors: dict[str, float | None] = {}
    nearest: dict[str, None] = {}
    for method in clauses.recoveries:
        for name in recovered(method, clauses.decl):
            if name in kept or name in unread:
                if method.columns:
                    why = f"it is kept: {kept[name]}" if name in kept else "no query reads it"
                    found.append(_no_effect(name, why, method.span))
            elif isinstance(method, ast.RecoverNearest):
                nearest[name] = None
            else:
                error = None if method.error == "AUTO" else 100.0 * float(method.error or 0.0)
                known = errors.get(name)
                errors[name] = error if known is None else min(known, known if error is None else error)
        both = sorted(set(errors) & set(nearest))
        if both:
            found.append(Diagnostic(
                "SQ0602", f"`{both[0]}` is to come back from the synopsis and from the nearest row", method.span,
                help="choose one of them for each column",
            ))
    order = [f.name for f in clauses.decl.fields]
    return tuple(sorted(errors.items(), key=lambda e: order.index(e[0]))), tuple(sorted(nearest, key=order.index))


def _no_effect(column: str, why: str, span: Span) -> Diagnostic:
    return Diagnostic(
        "SQ0902", f"`{column}` is never shed, so it does not have to be recovered: {why}", span,
        help="leave it out", severity=Severity.WARNING,
    )


def _cycle(clauses: _Clauses, found: list[Diagnostic]) -> tuple[str, ...]:
    """The columns by which rows come again, where they are told; all clauses that tell them have to agree."""
    told: tuple[str, ...] = ()
    for method in clauses.recoveries:
        if isinstance(method, ast.RecoverSynopsis) and isinstance(method.cycle, tuple):
            named = {n.parts[-1].text.casefold() for n in method.cycle}
            columns = tuple(f.name for f in clauses.decl.fields if f.name.casefold() in named)
            if told and columns != told:
                found.append(Diagnostic(
                    "SQ0602", f"rows of `{clauses.decl.name}` come again by one key: {', '.join(told)} is said before",
                    method.span, help="say the same CYCLE everywhere",
                ))
            told = told or columns
    return told


def _capacity(clauses: _Clauses, found: list[Diagnostic]) -> float | None:
    goals = [s.goal for s in clauses.sheds if s.goal is not None]
    if clauses.sheds and not goals and clauses.decl.channel is None:
        found.append(Diagnostic(
            "SQ0602", f"nothing says how much fits through the wire of `{clauses.decl.name}`", clauses.sheds[0].span,
            label="sheds columns until the rest fits", help="say TO CAPACITY 120 KBPS, or WITH (channel = '…') of a CREATE CHANNEL",
        ))
    for goal in goals[1:]:
        if goal.amount != goals[0].amount:
            found.append(Diagnostic(
                "SQ0602", f"`{clauses.decl.name}` has one wire, and its capacity is said before", goal.span,
                help="say the same TO CAPACITY everywhere, or only in CREATE STREAM",
            ))
    return goals[0].amount if goals else None


def _criticality(readers: list[lg.LogicalQuery]) -> str | None:
    """The strictest of those that queries name."""
    items = [i for q in readers for p in q.policies if isinstance(p, ast.Qos) for i in p.items]
    named = {i.criticality.casefold() for i in items if isinstance(i, ast.QosCriticality)}
    return next((c for c in CRITICALITIES if c in named), None)


def only_for_others(query: lg.LogicalQuery, decl: lg.SourceDecl, plan: lg.LogicalPlan) -> frozenset[str]:
    """The columns that come back for other queries, and not for this one."""
    own = _names(decl.policies, decl) | _names(query.policies, decl)
    others = (q for q in plan.queries if q is not query and any(d.name == decl.name for d in edge_streams(q.root)))
    return frozenset[str]().union(*(_names(q.policies, decl) for q in others)) - own


def _names(policies: tuple[ast.Policy, ...], decl: lg.SourceDecl) -> frozenset[str]:
    return frozenset(name for method in recoveries(policies) for name in recovered(method, decl))
