"""Moves selections towards the sources, as far as their meaning stays.

::

    Filter(p, Project(items, R))     ->  Project(items, Filter(p[items], R))
    Filter(p, Join(A, B))            ->  Join(Filter(a, A), Filter(b, B), on + rest)
    Filter(p, S [time window])       ->  (Filter(p, S)) [time window]      not below row windows
    Filter(p, Aggregate(keys, R))    ->  Aggregate(keys, Filter(p[keys], R))   parts on keys only

A filter stays above the watermark: which rows are late does not depend on the query.
"""

from __future__ import annotations

from dataclasses import replace

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.expr import (
    WINDOW_FIELDS,
    Expr,
    columns_of,
    conjunction,
    conjuncts,
    is_deterministic,
)
from streamq.compiler.ir.rewrite import substitute, with_inputs
from streamq.compiler.passes.base import PassContext
from streamq.dsl.ast import JoinKind


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
            free = [p for p in parts if _substitutable(p, items)]
            moved = tuple(substitute(p, items) for p in free)
            rest = tuple(p for p in parts if p not in free)
            return _keep(rest, replace(node, input=_push(moved, node.input)))
        case lg.Window(spec=lg.Now() | lg.TimeRange() | lg.Sliding()):
            free = [p for p in parts if not columns_of(p) & set(WINDOW_FIELDS)]
            rest = tuple(p for p in parts if p not in free)
            return _keep(rest, replace(node, input=_push(tuple(free), node.input)))
        case lg.Distinct() | lg.ToStream():
            return replace(node, input=_push(parts, node.input))
        case lg.Aggregate() if node.keys:
            keys = dict(node.keys)
            free = [p for p in parts if columns_of(p) and columns_of(p) <= keys.keys()]
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


def _substitutable(part: Expr, items: dict[str, Expr]) -> bool:
    used = [items[c] for c in columns_of(part) if c in items]
    return all(is_deterministic(e) for e in used)


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
