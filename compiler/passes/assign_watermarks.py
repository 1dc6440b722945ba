"""Keeps watermarks where something above uses event time, and drops them elsewhere.

::

    Filter(p, Watermark(ts, Scan))              ->  Filter(p, Scan)
    Aggregate(Window(Watermark(ts, Scan)))      stays

A watermark costs a little per row and does nothing for a query without state, nor for groups that are kept
for ever because nothing in them says when they end.
"""

from __future__ import annotations

from streamq.compiler.analysis.moving import runs_on_changes
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.expr import Column
from streamq.compiler.ir.rewrite import rewrite_up, walk
from streamq.compiler.passes.base import PassContext
from streamq.dsl.records import replace


def assign_watermarks(plan: lg.LogicalPlan, context: PassContext) -> lg.LogicalPlan | None:
    queries = tuple(
        q if _uses_time(q.root)
        else replace(q, root=rewrite_up(q.root, _drop))
        for q in plan.queries
    )
    changed = any(a is not b for a, b in zip(queries, plan.queries, strict=True))
    return replace(plan, queries=queries) if changed else None


def keeps_state(root: lg.Logical) -> bool:
    """True where some operator remembers rows from one batch to the next."""
    return any(_remembers(n) for n in walk(root))


def _remembers(node: lg.Logical) -> bool:
    return (
        isinstance(node, lg.Aggregate | lg.Distinct | lg.Sort)
        or (isinstance(node, lg.Join)
            and lg.Change.STATIC not in (node.left.change, node.right.change))
        or (isinstance(node, lg.Window) and isinstance(node.spec, lg.LastRows | lg.Session))
    )


def _uses_time(root: lg.Logical) -> bool:
    """True for windows, and for state that ends with time.

    Windows ask for the event time, which a computed column has only through its watermark.
    """
    return runs_on_changes(root) or any(
        isinstance(n, lg.Window) or (_remembers(n) and not _keeps_for_ever(n)) for n in walk(root)
    )


def _keeps_for_ever(node: lg.Logical) -> bool:
    if not isinstance(node, lg.Aggregate):
        return False
    columns = {e.name for _, e in node.keys if isinstance(e, Column)}
    return node.input.event_time not in columns


def _drop(node: lg.Logical) -> lg.Logical | None:
    return node.input if isinstance(node, lg.Watermark) else None
