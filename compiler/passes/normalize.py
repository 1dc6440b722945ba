"""Brings plans to one form.

::

    Filter(p, Filter(q, R))                    ->  Filter(q AND p, R)
    Filter(TRUE, R)                            ->  R
    ISTREAM(… S [RANGE UNBOUNDED] …)           ->  ISTREAM(… S …)
    RSTREAM(… S [NOW] …), ISTREAM(… [NOW] …)   ->  ISTREAM(… S …)     one stream, no aggregate
    ISTREAM(… S [RANGE t] …)                   ->  ISTREAM(… S …)     one stream, no aggregate

The last two are CQL's own equivalences: a row enters a window at its own instant, so what appears is
what arrives.
"""

from __future__ import annotations

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.expr import Literal, conjunction, conjuncts
from streamq.compiler.ir.rewrite import rewrite_up, walk
from streamq.compiler.passes.base import PassContext
from streamq.dsl.ast import R2S
from streamq.dsl.records import replace


def normalize(plan: lg.LogicalPlan, context: PassContext) -> lg.LogicalPlan | None:
    memo: dict[int, lg.Logical] = {}
    queries = tuple(replace(q, root=rewrite_up(q.root, _rule, memo)) for q in plan.queries)
    return replace(plan, queries=queries)


def _rule(node: lg.Logical) -> lg.Logical | None:
    match node:
        case lg.Filter():
            return _filter(node)
        case lg.Window(spec=lg.Unbounded()):
            return node.input
        case lg.ToStream(op=R2S.ISTREAM | R2S.RSTREAM):
            return _to_stream(node)
        case _:
            return None


def _filter(node: lg.Filter) -> lg.Logical | None:
    below = node.input
    parts = [c for c in conjuncts(node.predicate) if not _is_true(c)]
    if isinstance(below, lg.Filter):
        parts = [*conjuncts(below.predicate), *parts]
        below = below.input
    predicate = conjunction(tuple(parts))
    if predicate is None:
        return below
    if predicate == node.predicate and below is node.input:
        return None
    return replace(node, input=below, predicate=predicate, origin=predicate.origin)


def _is_true(expr: object) -> bool:
    return isinstance(expr, Literal) and expr.value is True


def _to_stream(node: lg.ToStream) -> lg.Logical | None:
    """Drops a window through which rows only pass."""
    nodes = list(walk(node.input))
    windows = [n for n in nodes if isinstance(n, lg.Window)]
    simple = all(
        isinstance(n, lg.Scan | lg.Watermark | lg.Filter | lg.Project | lg.Shed | lg.Window)
        or (isinstance(n, lg.Join) and lg.Change.STATIC in (n.left.change, n.right.change))
        for n in nodes
    )
    if len(windows) != 1 or not simple:
        return None
    spec = windows[0].spec
    passes = isinstance(spec, lg.Now) or (
        isinstance(spec, lg.TimeRange) and node.op is R2S.ISTREAM
    )
    if not passes:
        return None
    bare = rewrite_up(node.input, lambda n: n.input if isinstance(n, lg.Window) else None)
    return replace(node, input=bare, op=R2S.ISTREAM)
