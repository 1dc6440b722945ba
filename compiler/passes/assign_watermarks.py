"""Keeps watermarks where something above uses event time, and drops them elsewhere.

::

    Filter(p, Watermark(ts, Scan))              ->  Filter(p, Scan)
    Aggregate(Window(Watermark(ts, Scan)))      stays

A watermark costs a little per row and does nothing for a query without state.
"""

from __future__ import annotations

from dataclasses import replace

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.rewrite import rewrite_up, walk
from streamq.compiler.passes.base import PassContext


def assign_watermarks(plan: lg.LogicalPlan, context: PassContext) -> lg.LogicalPlan | None:
    queries = tuple(
        q if keeps_state(q.root) or _has_window(q.root)
        else replace(q, root=rewrite_up(q.root, _drop))
        for q in plan.queries
    )
    changed = any(a is not b for a, b in zip(queries, plan.queries, strict=True))
    return replace(plan, queries=queries) if changed else None


def keeps_state(root: lg.Logical) -> bool:
    """True where some operator remembers rows from one batch to the next."""
    return any(
        isinstance(n, lg.Aggregate | lg.Distinct | lg.Sort)
        or (isinstance(n, lg.Join) and lg.Change.STATIC not in (n.left.change, n.right.change))
        or (isinstance(n, lg.Window) and isinstance(n.spec, lg.LastRows | lg.Session))
        for n in walk(root)
    )


def _has_window(root: lg.Logical) -> bool:
    """Windows ask for the event time, which a computed column has only through its watermark."""
    return any(isinstance(n, lg.Window) for n in walk(root))


def _drop(node: lg.Logical) -> lg.Logical | None:
    return node.input if isinstance(node, lg.Watermark) else None
