"""Moves selections towards the sources, as far as their meaning stays.

::

    Filter(p, Project(items, R))     ->  Project(items, Filter(p[items], R))
    Filter(p, Join(A, B))            ->  Join(Filter(a, A), Filter(b, B), on + rest)
    Filter(p, S [time window])       ->  (Filter(p, S)) [time window]
    Filter(p, S [PARTITION BY k …])  ->  (Filter(p, S)) [PARTITION BY k …]   parts on k only
    Filter(p, Aggregate(keys, R))    ->  Aggregate(keys, Filter(p[keys], R))   parts on keys only

A filter stays above the watermark: which rows are late does not depend on the query.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.expr import (
    WINDOW_FIELDS,
    Column,
    Expr,
    Udf,
    columns_of,
    conjunction,
    conjuncts,
    is_deterministic,
    walk,
)
from streamq.compiler.ir.rewrite import substitute, with_inputs
from streamq.compiler.passes.base import PassContext
from streamq.dsl.ast import JoinKind
from streamq.dsl.records import replace

MAX_COPIED = 500
"""Parts of expressions that a test may copy on its way through a projection, in all.

Without a bound, tests over columns that are computed from columns that are computed … would double
at every level.
"""


def push_predicates(plan: lg.LogicalPlan, context: PassContext) -> lg.LogicalPlan | None:
    memo: dict[int, lg.Logical] = {}
    queries = tuple(replace(q, root=_descend(q.root, memo)) for q in plan.queries)
    return replace(plan, queries=queries)


def _descend(node: lg.Logical, memo: dict[int, lg.Logical]) -> lg.Logical:
    done = memo.get(id(node))
    if done is not None:
        return done
    if isinstance(node, lg.Filter):
        below = _descend(node.input, memo)
        result = _push(conjuncts(node.predicate), below)
    elif isinstance(node, lg.Join):
        left, right = (_descend(i, memo) for i in node.inputs)
        result = _join(replace(node, left=left, right=right), ())
    else:
        result = with_inputs(node, tuple(_descend(i, memo) for i in node.inputs))
    memo[id(node)] = result
    return result


def _keep(parts: tuple[Expr, ...], node: lg.Logical) -> lg.Logical:
    predicate = conjunction(parts)
    if predicate is None:
        return node
    return lg.Filter(node, predicate, owner=node.owner, origin=predicate.origin)


def _push(parts: tuple[Expr, ...], node: lg.Logical) -> lg.Logical:
    """The node below a filter with these conjuncts, each as far down as it may go."""
    if not parts:
        return node
    match node:
        case lg.Filter():
            return _push((*conjuncts(node.predicate), *parts), node.input)
        case lg.Project():
            items = dict(node.items)
            free = [p for p in parts if _may_move(p, items)]
            moved = tuple(substitute(p, items) for p in free)
            rest = tuple(p for p in parts if p not in free)
            return _keep(rest, replace(node, input=_push(moved, node.input)))
        case lg.Window(spec=lg.Now() | lg.TimeRange() | lg.Sliding()):
            free = [p for p in parts if not columns_of(p) & set(WINDOW_FIELDS)]
            rest = tuple(p for p in parts if p not in free)
            return _keep(rest, replace(node, input=_push(tuple(free), node.input)))
        case lg.Window(spec=lg.LastRows() | lg.Session() as spec):
            # Whole groups go or stay, so the other groups' windows do not change.
            free = [p for p in parts if _reads_only(p, set(spec.partition))]
            rest = tuple(p for p in parts if p not in free)
            return _keep(rest, replace(node, input=_push(tuple(free), node.input)))
        case lg.Distinct(approx=None):  # what a filter remembers depends on what it saw
            free = [p for p in parts if is_deterministic(p)]
            rest = tuple(p for p in parts if p not in free)
            return _keep(rest, replace(node, input=_push(tuple(free), node.input)))
        case lg.ToStream():
            return replace(node, input=_push(parts, node.input))
        case lg.Aggregate() if node.keys:
            keys = dict(node.keys)
            free = [p for p in parts if _reads_only(p, keys.keys()) and _may_move(p, keys)]
            moved = tuple(substitute(p, keys) for p in free)
            rest = tuple(p for p in parts if p not in free)
            return _keep(rest, replace(node, input=_push(moved, node.input)))
        case lg.Union():
            branches = tuple(_push(parts, b) for b in node.branches)
            return replace(node, branches=branches)
        case lg.Join():
            return _join(node, parts)
        case _:
            return _keep(parts, node)


def _reads_only(part: Expr, names: AbstractSet[str]) -> bool:
    """True where the test is one of whole groups: the same for all rows of equal ``names``."""
    used = columns_of(part)
    return bool(used) and used <= names and is_deterministic(part)


def _may_move(part: Expr, items: dict[str, Expr]) -> bool:
    """False where a test would compute something anew that differs, or that costs much."""
    used = [items[e.name] for e in walk(part) if isinstance(e, Column) and e.name in items]
    parts = [e for item in used for e in walk(item)]
    return (
        all(is_deterministic(e) for e in used)
        and not any(isinstance(e, Udf) for e in parts)
        and len(parts) <= MAX_COPIED
    )


def _join(node: lg.Join, parts: tuple[Expr, ...]) -> lg.Logical:
    """WHERE conjuncts go to the side they speak of; an inner join takes the rest as its condition."""
    left_names = {f.name for f in node.left.schema}
    right_names = {f.name for f in node.right.schema}
    inner = node.kind in (JoinKind.INNER, JoinKind.CROSS)
    to_left_ok = inner or node.kind is JoinKind.LEFT
    to_right_ok = inner or node.kind is JoinKind.RIGHT
    on = conjuncts(node.condition)
    where = parts
    if inner:
        where, on = (*on, *parts), ()
    left: list[Expr] = []
    right: list[Expr] = []
    above: list[Expr] = []
    for part in where:
        used = columns_of(part)
        if used and used <= left_names and to_left_ok:
            left.append(part)
        elif used and used <= right_names and to_right_ok:
            right.append(part)
        else:
            above.append(part)
    if inner:
        on, above = tuple(above), []
    joined = replace(
        node, left=_push(tuple(left), node.left), right=_push(tuple(right), node.right),
        condition=conjunction(tuple(on)),
    )
    return _keep(tuple(above), joined)
