"""ORDER BY … LIMIT per window, and the last row per key, as aggregates that Spark can run on a stream.

Spark refuses sorting and row numbers on streams. Per window, ``max_by``/``min_by`` with a count keep the first
n rows in bounded state; other orders sort the window's rows in one array.
"""

from __future__ import annotations

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir import physical as ph
from streamq.compiler.lowering.sql import WINDOW, quote, to_sql
from streamq.compiler.lowering.state import LowerContext, Lowered, refuse, refuse_closed
from streamq.dsl.types import Array, Map, Struct, Type, with_article

MOST_BY = 100_000
"""Rows that ``max_by`` and ``min_by`` keep at most."""

ROWS, ROW, LAST = "__rows", "__row", "__last"


def sortable(t: Type) -> bool:
    """True where Spark can order values of the type."""
    match t:
        case Map():
            return False
        case Array():
            return sortable(t.element)
        case Struct():
            return all(sortable(f) for _, f in t.fields)
        case _:
            return True


def lower_sort(node: lg.Sort, below: Lowered, context: LowerContext) -> Lowered:
    """The rows of each window in order; ties go by the rows' values, the same on every run."""
    refuse_closed(below, "ORDER BY", node)
    if node.change is not lg.Change.FINAL or not below.window:
        raise refuse(
            "ORDER BY needs a window with SLIDE, or it would sort without end", node.origin,
            "put [TUMBLE 1 MINUTE] or another window after the stream", code="SQ0408",
        )
    for item in node.order:
        if not sortable(item.expr.type):
            raise refuse(f"rows cannot be sorted by {with_article(item.expr.type)}", item.expr.origin)
    row = "struct(" + ", ".join(f"{quote(f.name)} AS {quote(f.name)}" for f in node.schema) + ")"
    array = _top(node, below, row) if _uniform(node) else _sorted(node, below, row)
    grouped = ph.Aggregate(
        below.step, ((WINDOW, quote(WINDOW)),), ((ROWS, array),),
        id=context.step_id(node, "order"), origin=node.origin,
    )
    exploded = ph.Select(
        grouped, ((WINDOW, quote(WINDOW)), (ROW, f"explode({quote(ROWS)})")),
        id=context.step_id(node, "rows"), origin=node.origin,
    )
    fields = tuple((n, f"{quote(ROW)}.{quote(n)}") for n in below.names)
    step = ph.Select(
        exploded, (*fields, (WINDOW, quote(WINDOW))),
        id=context.step_id(node, "columns"), origin=node.origin,
    )
    return below.over(step)


def _uniform(node: lg.Sort) -> bool:
    """True where all keys go one way with the NULL order that goes with it."""
    ways = {(i.descending, i.nulls_first) for i in node.order}
    few = node.limit is not None and node.limit <= MOST_BY
    return few and (ways <= {(True, False)} or ways <= {(False, True)})


def _keys(node: lg.Sort, below: Lowered) -> list[str]:
    return [to_sql(i.expr, below.columns) for i in node.order]


def _ties(node: lg.Sort) -> list[str]:
    return [quote(f.name) for f in node.schema if sortable(f.type)]


def _top(node: lg.Sort, below: Lowered, row: str) -> str:
    order = f"struct({', '.join([*_keys(node, below), *_ties(node)])})"
    pick = "max_by" if node.order[0].descending else "min_by"
    return f"{pick}({row}, {order}, {node.limit})"


def _sorted(node: lg.Sort, below: Lowered, row: str) -> str:
    keys = _keys(node, below)
    names = [f"k{i}" for i in range(len(keys))]
    parts = [f"{k} AS {n}" for k, n in zip(keys, names, strict=True)]
    ties = _ties(node)
    parts += [f"struct({', '.join(ties)}) AS ties"] if ties else []
    entry = f"struct({', '.join([*parts, f'{row} AS r'])})"
    tests = [
        _compare(n, i.descending, i.nulls_first) for n, i in zip(names, node.order, strict=True)
    ]
    tests += ["WHEN a.ties < b.ties THEN -1 WHEN a.ties > b.ties THEN 1"] if ties else []
    ordered = f"array_sort(collect_list({entry}), (a, b) -> CASE {' '.join(tests)} ELSE 0 END)"
    if node.limit is not None:
        ordered = f"slice({ordered}, 1, {node.limit})"
    return f"transform({ordered}, e -> e.r)"


def _compare(name: str, descending: bool, nulls_first: bool) -> str:
    a, b = f"a.{name}", f"b.{name}"
    first, last = ("-1", "1") if nulls_first else ("1", "-1")
    less, more = ("1", "-1") if descending else ("-1", "1")
    return (
        f"WHEN {a} IS NULL AND {b} IS NOT NULL THEN {first} "
        f"WHEN {a} IS NOT NULL AND {b} IS NULL THEN {last} "
        f"WHEN {a} < {b} THEN {less} WHEN {a} > {b} THEN {more}"
    )


def lower_last(
    node: lg.Window, spec: lg.LastRows, below: Lowered, time: str, context: LowerContext
) -> Lowered:
    """``[PARTITION BY k ROWS 1]``: the latest row of each key, as an aggregate that is updated."""
    row = "struct(" + ", ".join(f"{quote(n)} AS {quote(n)}" for n in below.names) + ")"
    ties = [quote(f.name) for f in node.schema if sortable(f.type) and f.name != time]
    order = f"struct({', '.join([quote(time), *ties])})"
    keys = tuple((f"__k{i}", quote(k)) for i, k in enumerate(spec.partition))
    grouped = ph.Aggregate(
        below.step, keys, ((LAST, f"max_by({row}, {order})"),),
        id=context.step_id(node, "last"), origin=node.origin,
    )
    items = tuple((n, f"{quote(LAST)}.{quote(n)}") for n in below.names)
    step = ph.Select(grouped, items, id=context.step_id(node, "columns"), origin=node.origin)
    return below.over(step)
