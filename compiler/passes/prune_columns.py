"""Drops columns that nothing above needs, as close to the source as possible.

::

    Project(a, Scan(a, b, c))  ->  Project(a, Project(a, Scan(a, b, c)))

The inner projection becomes the scan's column list when the plan is lowered; the Scan itself stays whole,
so that queries share it.
"""

from __future__ import annotations

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.expr import Column, Expr, columns_of
from streamq.compiler.ir.rewrite import exprs_of, ranked_by
from streamq.compiler.passes.base import PassContext
from streamq.dsl.ast import R2S
from streamq.dsl.records import replace


def prune_columns(plan: lg.LogicalPlan, context: PassContext) -> lg.LogicalPlan | None:
    queries = tuple(
        replace(q, root=_prune(q.root, frozenset(f.name for f in q.root.schema)))
        for q in plan.queries
    )
    return replace(plan, queries=queries)


def _reads(exprs: tuple[Expr, ...]) -> frozenset[str]:
    return frozenset().union(*(columns_of(e) for e in exprs)) if exprs else frozenset()


def _prune(node: lg.Logical, need: frozenset[str]) -> lg.Logical:
    """The plan giving at least the columns ``need``, in their old order."""
    match node:
        case lg.Scan():
            kept = tuple(f for f in node.schema if f.name in need) or node.schema[:1]
            return node if len(kept) == len(node.schema) else _narrow(node, kept)
        case lg.Project():
            items = tuple(i for i in node.items if i[0] in need) or node.items[:1]
            below = _prune(node.input, _reads(tuple(e for _, e in items)))
            return replace(node, items=items, input=below)
        case lg.Filter() | lg.Sort():
            return replace(node, input=_prune(node.input, need | _reads(exprs_of(node))))
        case lg.Watermark():
            return replace(node, input=_prune(node.input, need | {node.column}))
        case lg.Shed():
            weight = node.weight if node.weight in need else ""
            wanted = (need | frozenset(node.keys) | ranked_by(node)) - {node.weight}
            return replace(node, input=_prune(node.input, wanted), weight=weight)
        case lg.Window():
            return replace(node, input=_prune(node.input, need | _window_needs(node)))
        case lg.Aggregate():
            aggregates = tuple(a for a in node.aggregates if a[0] in need or a[0] in node.spare)
            if not aggregates and not node.keys:
                aggregates = node.aggregates[:1]
            slim = replace(node, aggregates=aggregates)
            wanted = _reads(exprs_of(slim)) | _session_needs(node.input)
            return replace(slim, input=_prune(node.input, wanted))
        case lg.Distinct():
            return replace(node, input=_exact(node.input, _names(node)))
        case lg.Compare():
            names = _names(node)
            return replace(node, left=_exact(node.left, names), right=_exact(node.right, names))
        case lg.Union():
            kept_names = need & _names(node) or frozenset({node.schema[0].name})
            return replace(node, branches=tuple(_exact(b, kept_names) for b in node.branches))
        case lg.ToStream():
            # Which rows appear or leave depends on whole rows, unless all only appear, or all are told.
            final = node.input.change is lg.Change.FINAL and node.op is R2S.RSTREAM
            plain = node.input.change is lg.Change.APPEND or final
            return replace(node, input=_prune(node.input, need if plain else _names(node)))
        case lg.Join():
            worth = () if node.selects is None else node.selects.worth
            wanted = need | _reads(exprs_of(node)) | _join_times(node) | frozenset(worth)
            return replace(node, left=_side(node.left, wanted), right=_side(node.right, wanted))
        case _:
            raise TypeError(f"not an operator: {type(node).__name__}")


def _names(node: lg.Logical) -> frozenset[str]:
    return frozenset(f.name for f in node.schema)


def _side(side: lg.Logical, wanted: frozenset[str]) -> lg.Logical:
    return _prune(side, frozenset(f.name for f in side.schema if f.name in wanted))


def _exact(node: lg.Logical, whole: frozenset[str]) -> lg.Logical:
    """A branch whose columns all count: pruning may leave more than asked, so it is narrowed."""
    pruned = _prune(node, whole)
    kept = tuple(f for f in pruned.schema if f.name in whole)
    return pruned if len(kept) == len(pruned.schema) else _narrow(pruned, kept)


def _narrow(node: lg.Logical, kept: tuple[lg.Field, ...]) -> lg.Logical:
    items = tuple((f.name, Column(name=f.name, type=f.type, nullable=f.nullable)) for f in kept)
    return lg.Project(node, items, owner=node.owner, origin=node.origin)


def _join_times(node: lg.Join) -> frozenset[str]:
    """Event times of both sides, where the windows bound how far they may lie apart."""
    if not any(isinstance(i.window, lg.TimeRange | lg.Now) for i in node.inputs):
        return frozenset()
    return frozenset(i.event_time for i in node.inputs if i.event_time is not None)


def _session_needs(below: lg.Logical) -> frozenset[str]:
    """A session is made by the grouping above it, from the event time."""
    time = below.event_time
    return frozenset({time} if isinstance(below.window, lg.Session) and time is not None else ())


def _window_needs(node: lg.Window) -> frozenset[str]:
    if isinstance(node.spec, lg.LastRows):
        # Which rows are the last depends on whole rows, where times are equal.
        return _names(node)
    time = node.input.event_time
    names = set() if time is None else {time}
    if isinstance(node.spec, lg.Session):
        names |= set(node.spec.partition)
    return frozenset(names)
