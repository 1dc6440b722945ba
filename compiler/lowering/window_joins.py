"""Joins of rows in two windows of time: each row goes to the buckets in which rows are kept that it could meet (ADR 0015).

Rows of equal keys meet in the bucket of the key. Without keys each row is kept in one bucket and looks for partners in all
of them. What Spark tests of the condition afterwards is all of it, unless the operator has tested the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from streamq.compiler.analysis.moving import stamps_of
from streamq.compiler.analysis.window_joins import (
    Matching,
    OfSets,
    OfValues,
    length_us,
    matching_of,
)
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir import physical as ph
from streamq.compiler.ir.expr import Expr, columns_of
from streamq.compiler.ir.goals import Selects
from streamq.compiler.lowering.carry import (
    EMPTY,
    NULL_BITS,
    Carried,
    as_long,
    can_carry,
    carried,
    decode,
    encode,
    null_bits,
)
from streamq.compiler.lowering.moving import (
    AT,
    END,
    SIGN,
    TIME,
    Moving,
    hash_of,
    sql_over,
)
from streamq.compiler.lowering.shedders import share_of
from streamq.compiler.lowering.sql import above_watermark, quote
from streamq.compiler.lowering.state import LowerContext, refuse
from streamq.dsl.records import dataclass
from streamq.dsl.types import Array, Map, Type, is_string, with_article
from streamq.stdlib.joins.kinds import USUAL

SHARDS = 4
"""Buckets where there are no keys: each row goes to all of them."""

FEW, MANY, LONG_US = 8, 60, 5_000_000
"""Basic windows in the longer window where all is compared: more where they would be longer than that, as each is read and
written as a whole."""

BUCKET, KEPT, ROW, SHARD, TOLD = "__bucket", "own", "row", "shard", "told"
LEFT_AT, RIGHT_AT = "left_at", "right_at"


@dataclass(frozen=True, slots=True)
class _Side:
    """One input: its number, what it is compared by, its values as they are carried, the other side's, and its worth."""

    number: int
    moving: Moving
    keys: tuple[str, ...]
    values: tuple[Carried, ...]
    others: tuple[Carried, ...]
    worth: str


def join_windows(node: lg.Join, left: Moving, right: Moving, context: LowerContext) -> Moving:
    """Pairs of rows whose windows hold both, each from the instant at which the later one comes."""
    matching = matching_of(node)
    sides = _sides(node, matching, left, right, context)
    both = ph.UnionAll(
        tuple(_packed(node, matching, side, context) for side in sides), id=context.step_id(node, "sides"), origin=node.origin,
    )
    values = (*sides[0].values, *sides[1].values)
    lengths = [length_us(i.window) for i in node.inputs]
    selects = node.selects
    bw_us = _bw_us(selects, max(lengths))
    joined: ph.Step = ph.WindowJoin(
        _placed(node, matching, both, values, context), _condition(matching),
        ((lengths[0] - 1, bw_us), (lengths[1] - 1, bw_us)), tuple(v.kind for v in values), len(sides[0].values),
        None if selects is None else selects.sampled, selects is not None and any(selects.worth),
        id=context.step_id(node, "windows"), origin=node.origin,
    )
    if selects is not None:
        step_id = context.step_id(node, "told")
        told = (("joined", f"collect_list({quote(TOLD)})"),)
        observed = ph.Observe(joined, f"{step_id}@{context.query}", told, id=step_id, origin=node.origin)
        joined = ph.Where(observed, above_watermark(f"{quote(TOLD)} IS NULL", quote(TIME)), id=step_id, origin=node.origin)
    pairs = _unpacked(node, joined, values, lengths, context)
    if matching.whole or node.condition is None:
        return pairs
    test = above_watermark(sql_over(node.condition, pairs, node), quote(TIME))
    return pairs.over(ph.Where(pairs.step, test, id=context.step_id(node, "condition"), origin=node.origin))


def _bw_us(selects: Selects | None, longest_us: int) -> int:
    """The length of a basic window in microseconds."""
    if selects is not None and selects.bw_ms:
        return selects.bw_ms * 1000
    parts = USUAL if selects is not None else min(MANY, max(FEW, longest_us // LONG_US))
    return max(1, longest_us // parts)


def _sides(
    node: lg.Join, matching: Matching, left: Moving, right: Moving, context: LowerContext
) -> tuple[_Side, _Side]:
    """Both inputs, without the rows whose key is NULL, which meet nobody."""
    values = [carried(node.left.schema), carried(node.right.schema, len(left.names))]
    for value in (*values[0], *values[1]):
        if not can_carry(value.type):
            raise refuse(
                f"`{value.name}` is {with_article(value.type)}, which a window that moves cannot keep yet", node.origin,
                "select single entries of it",
            )
    found = []
    for number, moving in enumerate((left, right)):
        keys = tuple(sql_over(_of(part.args, moving), moving, node) for part in matching.keys)
        step = moving.step
        if keys:
            test = " AND ".join(f"{key} IS NOT NULL" for key in keys)
            step = ph.Where(step, above_watermark(test, quote(TIME)), id=context.step_id(node, "keyed"), origin=node.origin)
        worth = "" if node.selects is None else node.selects.worth[number]
        found.append(_Side(number, moving.over(step), keys, values[number], values[1 - number], worth))
    return found[0], found[1]


def _of(args: tuple[Expr, ...], side: Moving) -> Expr:
    return next(a for a in args if columns_of(a) <= side.columns)


def _packed(node: lg.Join, matching: Matching, side: _Side, context: LowerContext) -> ph.Step:
    """The rows of one side: when they come, what they are compared by, what they are worth, their values."""
    below, first = side.moving, 0 if side.number == 0 else len(side.others)
    pairs = [(value, quote(name)) for value, name in zip(side.values, below.names, strict=True)]
    values = [(v.column, encode(v, text)) for v, text in pairs] + [(v.column, EMPTY[v.kind]) for v in side.others]
    items: tuple[ph.Named, ...] = (
        (TIME, quote(TIME)), ("at", quote(AT)), ("side", f"{side.number}L"), ("key", hash_of(side.keys)),
        *_compared(node, matching, side),
        ("worth", f"CAST({quote(side.worth)} AS DOUBLE)" if side.worth else "0D"),
        ("nulls", null_bits(pairs, first)), *sorted(values, key=lambda item: int(item[0][1:])),
    )
    return ph.Select(below.step, items, id=context.step_id(node, "packed"), origin=node.origin)


def _compared(node: lg.Join, matching: Matching, side: _Side) -> tuple[ph.Named, ...]:
    """What a row is compared by: the items of its set, and what they weigh, or values."""
    def own(of: OfSets | OfValues) -> Expr:
        return of.left if side.number == 0 else of.right

    if matching.sets is not None:
        expr = own(matching.sets)
        text = sql_over(expr, side.moving, node)
        if matching.sets.kind == "INNER_PRODUCT":
            assert isinstance(expr.type, Map)
            known = f"filter(map_entries({text}), e -> e.value IS NOT NULL)"
            return (
                ("items", f"transform({known}, e -> {_item('e.key', expr.type.key)})"),
                ("weights", f"transform({known}, e -> abs(CAST(e.value AS DOUBLE)))"),
            )
        assert isinstance(expr.type, Array)
        return (("items", f"transform(array_compact({text}), e -> {_item('e', expr.type.element)})"),)
    items, unknown = [], []
    for place, of in enumerate(matching.values):
        expr = own(of)
        text = sql_over(expr, side.moving, node)
        value = f"coalesce({as_long(text, expr.type)}, 0L)" if of.exact else f"coalesce(CAST({text} AS DOUBLE), 0D)"
        items.append((f"c{place}", value))
        unknown.append(f"IF({text} IS NULL, {1 << place}L, 0L)")
    return (*items, ("unknown", " + ".join(unknown) or "0L"))


def _item(text: str, t: Type) -> str:
    """SQL of the number by which an item of a set is told from others: a text by its hash of 64 bits."""
    return f"xxhash64(CAST({text} AS STRING))" if is_string(t) else as_long(text, t)


def _placed(node: lg.Join, matching: Matching, both: ph.Step, values: Sequence[Carried], context: LowerContext) -> ph.Step:
    """The rows of both sides, each in the buckets to which it goes, with the fraction that is compared."""
    columns = [v.column for v in values]
    nulls = [quote("nulls"), *(f"{quote(c)} IS NULL" for c in columns[NULL_BITS:])]
    row = f"xxhash64({', '.join([*map(quote, columns), *nulls])})"
    compared = ["items", "weights"] if matching.sets is not None and matching.sets.kind == "INNER_PRODUCT" else ["items"]
    if matching.sets is None:
        compared = [*(f"c{i}" for i in range(len(matching.values))), "unknown"]
    passed = [TIME, "at", "side", "key", *compared, "worth", "nulls"]
    shard = f"pmod(`key`, {ph.BUCKETS}L)" if matching.keys else f"explode(sequence(0L, {SHARDS - 1}L))"
    step_id = context.step_id(node, "placed")
    spread = ph.Select(
        both, (*((n, quote(n)) for n in passed), (ROW, row), (SHARD, shard), *((c, quote(c)) for c in columns)),
        id=step_id, origin=node.origin,
    )
    own = "TRUE" if matching.keys else f"{quote(SHARD)} = pmod({quote(ROW)}, {SHARDS}L)"
    frac = "1D" if node.selects is None else share_of(node.selects, context)
    return ph.Select(
        spread,
        (
            (BUCKET, f"CAST({quote(SHARD)} AS INT)"), *((n, quote(n)) for n in passed), (ROW, quote(ROW)), (KEPT, own),
            ("frac", frac), *((c, quote(c)) for c in columns),
        ),
        id=step_id, origin=node.origin,
    )


def _condition(matching: Matching) -> tuple[object, ...]:
    """As ``ph.WindowJoin`` has it."""
    if matching.sets is not None:
        return ("sets", matching.sets.kind, matching.sets.least)
    comparisons = tuple((v.op, v.exact, v.width, v.slack, v.wraps) for v in matching.values)
    return ("values", comparisons, bool(matching.keys))


def _unpacked(
    node: lg.Join, joined: ph.Step, values: Sequence[Carried], lengths: Sequence[int], context: LowerContext
) -> Moving:
    names = tuple(v.name for v in values)
    ends = (f"{quote(at)} + {length}L" for at, length in zip((LEFT_AT, RIGHT_AT), lengths, strict=True))
    items = (
        *((v.name, decode(v, i)) for i, v in enumerate(values)), (TIME, quote(TIME)),
        (AT, f"greatest({quote(LEFT_AT)}, {quote(RIGHT_AT)})"), (SIGN, "1L"), (END, f"least({', '.join(ends)})"),
    )
    step = ph.Select(joined, items, id=context.step_id(node, "unpacked"), origin=node.origin)
    stamps = frozenset(s for i in node.inputs for s in stamps_of(i) if s in names)
    # Pairs with the same stamps come at the same instant, and go at another.
    anew = stamps if len(stamps) == 2 else None
    return Moving(step, names, anew=frozenset() if node.selects is not None else anew)
