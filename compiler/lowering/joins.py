"""Joins: with tables, of equal windows, and of two streams whose windows bound their distance in time.

At time t a pair is in the join of ``A [RANGE ra]`` and ``B [RANGE rb]`` when both rows are in their windows. It
appears when the later one arrives, so it exists exactly if ``b.ts < a.ts + ra`` and ``a.ts < b.ts + rb``.
"""

from __future__ import annotations

from functools import reduce

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir import physical as ph
from streamq.compiler.ir.expr import Expr, Op, Udf, columns_of, conjuncts, walk
from streamq.compiler.lowering.sql import WINDOW, above_watermark, interval, quote, to_sql
from streamq.compiler.lowering.state import (
    LowerContext,
    Lowered,
    Stamp,
    one_time,
    refuse,
    refuse_closed,
    time_of,
)
from streamq.dsl.ast import JoinKind
from streamq.dsl.diagnostics import Diagnostic, Severity
from streamq.dsl.records import replace

RIGHT_WINDOW = "__window_right"
SPARK_KIND = {
    JoinKind.INNER: "inner", JoinKind.CROSS: "inner", JoinKind.LEFT: "left_outer",
    JoinKind.RIGHT: "right_outer", JoinKind.FULL: "full_outer",
}


def lower_join(node: lg.Join, left: Lowered, right: Lowered, context: LowerContext) -> Lowered:
    """Chooses the form by how both sides change with time."""
    changes = (node.left.change, node.right.change)
    if lg.Change.STATIC in changes:
        return _with_table(node, left, right, context)
    if left.session or right.session:
        raise refuse("a join under a session window cannot be run yet", node.origin,
                     "aggregate the sessions first")
    for side in (left, right):
        refuse_closed(side, "a join of streams", node)
    if changes == (lg.Change.FINAL, lg.Change.FINAL):
        return _same_window(node, left, right, context)
    return _streams(node, left, right, context)


def _with_table(node: lg.Join, left: Lowered, right: Lowered, context: LowerContext) -> Lowered:
    stream_left = node.left.change is not lg.Change.STATIC
    stream_right = node.right.change is not lg.Change.STATIC
    needs_left = node.kind in (JoinKind.LEFT, JoinKind.FULL)
    needs_right = node.kind in (JoinKind.RIGHT, JoinKind.FULL)
    if (needs_left and stream_right) or (needs_right and stream_left):
        raise refuse(
            f"{node.kind.value} JOIN keeps the table's rows that no stream row ever matches",
            node.origin, "such rows are never known while the stream goes on; keep the stream's "
            "side instead", code="SQ0502",
        )
    facts = right if stream_right else left
    if facts.session is not None and not (needs_left or needs_right):
        raise refuse(
            "a join under a session window cannot be run yet", node.origin,
            "join in FROM, before the window, or keep all rows with LEFT JOIN",
            notes=("the rows without a counterpart belong to the sessions too",),
        )
    time = time_of(node.right if stream_right else node.left, facts)
    times = ("", time) if stream_right else (time, "")
    condition = condition_of(node, left.columns | right.columns, times, tables=True)
    return _join(node, left, right, condition, facts, context)


def _same_window(node: lg.Join, left: Lowered, right: Lowered, context: LowerContext) -> Lowered:
    left, right = (one_time(side, WINDOW, node, context) for side in (left, right))
    renamed = ph.Select(
        right.step,
        (*((n, quote(n)) for n in right.names), (RIGHT_WINDOW, quote(WINDOW))),
        id=context.step_id(node, "right_window"), origin=node.origin,
    )
    other = replace(right, step=renamed, window=False)
    same = f"{quote(WINDOW)} = {quote(RIGHT_WINDOW)}"
    starts = (f"{quote(WINDOW)}.start", f"{quote(RIGHT_WINDOW)}.start")
    condition = condition_of(node, left.columns | right.columns, starts)
    test = same if condition == "TRUE" else f"{same} AND {condition}"
    joined = _join(node, left, other, test, left, context)
    match node.kind:
        case JoinKind.RIGHT:
            window, closed = quote(RIGHT_WINDOW), right.closed
        case JoinKind.FULL:
            window = f"coalesce({quote(WINDOW)}, {quote(RIGHT_WINDOW)})"
            closed = "a FULL JOIN of windows"
        case _:
            window, closed = quote(WINDOW), left.closed
    items = (*((n, quote(n)) for n in joined.names), (WINDOW, window))
    step = ph.Select(joined.step, items, id=context.step_id(node, "window"), origin=node.origin)
    times = frozenset() if closed else frozenset({WINDOW})
    return replace(joined, step=step, window=True, times=times, closed=closed)


def _streams(node: lg.Join, left: Lowered, right: Lowered, context: LowerContext) -> Lowered:
    stamps = (*_stamps(node.left, left), *_stamps(node.right, right))
    split = len(_stamps(node.left, left))
    bounds = [
        text for a in stamps[:split] for b in stamps[split:] for text in _bounds(a, b)
    ]
    bounded = all(s.range_ms is not None for s in stamps)
    if node.kind not in (JoinKind.INNER, JoinKind.CROSS):
        ranged = all(s.range_ms for s in stamps)
        if not ranged or len(stamps) != 2:
            raise refuse(
                f"{node.kind.value} JOIN of streams needs [RANGE t] windows on both sides",
                node.origin,
                "without them it is never certain that a row has no counterpart", code="SQ0502",
            )
    if not bounded:
        warn_unbounded(node, "join", context)
    times = (_stamps(node.left, left)[0].column, _stamps(node.right, right)[0].column)
    told = condition_of(node, left.columns | right.columns, tuple(t and quote(t) for t in times))
    condition = " AND ".join([told, *bounds])
    left, right = (one_time(s, time, node, context)
                   for s, time in zip((left, right), times, strict=True))
    facts = replace(left, stamps=stamps, window=False, session=None)
    return _join(node, left, right, condition, facts, context)


def _stamps(node: lg.Logical, side: Lowered) -> tuple[Stamp, ...]:
    if side.stamps:
        return side.stamps
    if node.event_time is not None and node.event_time in side.columns:
        return (Stamp(node.event_time, None),)
    return (Stamp("", None),)


def _bounds(a: Stamp, b: Stamp) -> list[str]:
    """What the windows of two streams say about the distance of their rows in time."""
    if not a.column or not b.column:
        return []
    return [
        f"{quote(later.column)} <= {quote(row.column)}" if row.range_ms == 0 else
        f"{quote(later.column)} < {quote(row.column)} + {interval(row.range_ms)}"
        for row, later in ((a, b), (b, a)) if row.range_ms is not None
    ]


def warn_unbounded(node: lg.Logical, what: str, context: LowerContext) -> None:
    """Says that a side of a join, or of what ``what`` says, is never let go."""
    context.warnings.append(Diagnostic(
        code="SQ0901", severity=Severity.WARNING, span=node.origin,
        message=f"this {what} keeps rows of a stream forever",
        label="its state grows without bound",
        help="put a window after both streams, for example [RANGE 1 HOUR]",
    ))


def condition_of(
    node: lg.Join, known: frozenset[str], times: tuple[str, ...], *, tables: bool = False
) -> str:
    """The condition; ``times``: SQL of the event time of each side that is a stream with a watermark.

    Tests must stay above the watermark, or rows without a counterpart would not come. So must what Spark finds out
    for itself: that rows whose key is NULL have no partner, or that one side must meet what the other has to.
    """
    sides = ({f.name for f in node.left.schema}, {f.name for f in node.right.schema})
    texts: list[str] = []
    for part in conjuncts(node.condition):
        _refuse_outer_udf(node, part, sides)
        keys = _keys(part, sides, known, times)
        if not keys:
            read = columns_of(part)
            meant = [t for t, side in zip(times, sides, strict=True) if t and (read & side or not read)]
            texts.append(reduce(above_watermark, meant, to_sql(part, known)))
            continue
        texts.append(
            " = ".join(above_watermark(key, time, "NULL") if time else key for key, time in keys)
        )
        if not tables:
            # Spark's join of streams takes NULL for a key like any other.
            texts += [above_watermark(f"{key} IS NOT NULL", time) for key, time in keys if time]
    return " AND ".join(f"({text})" for text in texts) if len(texts) > 1 else "".join(texts) or "TRUE"


def _refuse_outer_udf(node: lg.Join, part: Expr, sides: tuple[set[str], set[str]]) -> None:
    """Spark calls Python functions below a join or above it; above, the rows without a counterpart are chosen."""
    if node.kind in (JoinKind.INNER, JoinKind.CROSS):
        return
    for call in walk(part):
        if isinstance(call, Udf) and all(columns_of(call) & side for side in sides):
            raise refuse(
                f"`{call.function}` gets values of both sides of this {node.kind.value} JOIN", call.origin,
                "give it the values of one side and compare the results, or join with JOIN", code="SQ0502",
                notes=("Spark calls Python functions before a join or after it, and rows without a "
                       "counterpart are found in between",),
            )


def _keys(
    part: Expr, sides: tuple[set[str], set[str]], known: frozenset[str], times: tuple[str, ...]
) -> list[tuple[str, str]]:
    """Both keys of an equality between the sides, each with the event time of its side; else none.

    A key that is the event time needs no other beside it, and bounds what Spark keeps.
    """
    if not isinstance(part, Op) or part.op != "=":
        return []
    found = []
    for key in part.args:
        read = columns_of(key)
        side = next((k for k, names in enumerate(sides) if read and read <= names), None)
        if side is None:
            return []
        found.append((side, to_sql(key, known)))
    if {side for side, _ in found} != {0, 1}:
        return []
    return [(key, "" if key == times[side] else times[side]) for side, key in found]


def _join(
    node: lg.Join, left: Lowered, right: Lowered, condition: str, facts: Lowered,
    context: LowerContext,
) -> Lowered:
    step = ph.Join(
        left.step, right.step, SPARK_KIND[node.kind], condition,
        id=context.step_id(node, "join"), origin=node.origin,
    )
    names = (*left.names, *right.names)
    times = (left.times | right.times) & {*names, WINDOW}
    return replace(facts.over(step, names), times=times)
