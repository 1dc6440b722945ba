"""What estimates from sketches are made of: aggregates that Spark computes, and what reads a result from them.

A sketch is read by Python over Arrow arrays where that is more than arithmetic: once per group of a result, not per row.
"""

from __future__ import annotations

from streamq.dsl.records import dataclass
from streamq.stdlib.functions.declare import Category
from streamq.stdlib.registry import Merge

_c = Category("parts of sketches")

COUNTERS = "count_min_sketch(if({0} IS NULL, NULL, xxhash64({0})), {1}, {2}, {3})"
"""Spark's sketch of values: the values, error, confidence and seed."""

SKETCHES = "ARRAY<STRUCT<sketch: BINARY, weights: DOUBLE>>"

_c.aggregate(
    "FREQUENCY_SKETCH",
    "key, DOUBLE!, DOUBLE!, INT!",
    SKETCHES,
    "A count-min sketch of the values, which are told apart by a hash of 64 bits; NULL is left out. In parts where "
    "panes of a window or weights of rows differ, each with the sum of its rows' weights; NULL where the COUNT beside it tells.",
    sql=f"array(named_struct('sketch', {COUNTERS}, 'weights', CAST(NULL AS DOUBLE)))",
    null_safe=True,
)
_c.aggregate(
    "TOP_SKETCH",
    "T:num|str|bool|temporal, INT!, INT!",
    "ARRAY<STRUCT<item: T, count: BIGINT>>",
    "The most frequent values with the most rows that each can have.",
    sql="approx_top_k({0}, {1}, {2})",
    null_safe=True,
)
_c.aggregate(
    "ROWS_SEEN",
    "any",
    "BIGINT",
    "How many rows have a value, those that were shed not counted in.",
    sql="count({0})",
    null_safe=True,
    merge=Merge.COUNT,
)
_c.scalar(
    "FREQUENCY_OF",
    "array, BIGINT, any, DOUBLE!, STRING!",
    "ARRAY<DOUBLE>",
    "Estimate and bounds of how many rows have a value: sketch, rows, value, confidence, method.",
    sql="`__frequency`({0}, {1}, xxhash64({2}), {3}, {4})",
    null_safe=True,
)
_c.scalar(
    "SELF_JOIN_OF",
    "array, BIGINT, DOUBLE!, STRING!",
    "ARRAY<DOUBLE>",
    "Estimate and bounds of the second moment of the frequencies: sketch, rows, confidence, method.",
    sql="`__self_join`({args})",
    null_safe=True,
)
_c.scalar(
    "JOIN_OF",
    "array, BIGINT, array, BIGINT, BIGINT, DOUBLE!",
    "ARRAY<DOUBLE>",
    "Estimate and bounds of the size of a join: sketch and rows of both sides, rows with two equal values, confidence.",
    sql="`__join`({args})",
    null_safe=True,
)
_c.aggregate(
    "LEAST_WEIGHT",
    "any",
    "DOUBLE",
    "For how many rows a row stands at least; RECOVER ESTIMATE puts the MIN of weights in its place.",
    sql="min(if({0} IS NULL, NULL, 1D))",
    null_safe=True,
    merge=Merge.MIN,
)
_c.aggregate(
    "MOST_WEIGHT",
    "any",
    "DOUBLE",
    "For how many rows a row stands at most; RECOVER ESTIMATE puts the MAX of weights in its place.",
    sql="max(if({0} IS NULL, NULL, 1D))",
    null_safe=True,
    merge=Merge.MAX,
)
# The type of the result follows from HEAVY_HITTERS, which has the one of its items. What sampling adds to a count is taken as normal.
_OFF = "{5} * sqrt(e.count * {7} * ({7} - 1))"
_HEAVY = (
    "array_sort(transform(filter({0}, e -> e.count * {7} >= {3} * {2}), e -> named_struct('item', e.item, "
    "'count', CAST(round(e.count * ({2} / {1})) AS BIGINT), "
    f"'count_lo', CAST(greatest(0D, round((e.count - {{4}} * {{1}}) * {{6}} - {_OFF})) AS BIGINT), "
    f"'count_hi', CAST(round(e.count * {{7}} + {_OFF}) AS BIGINT))), "
    "(l, r) -> CASE WHEN l.count <> r.count THEN IF(l.count > r.count, -1, 1) WHEN l.item = r.item THEN 0 ELSE IF(l.item < r.item, -1, 1) END)"
)
_c.scalar(
    "HEAVY_OF",
    "array, DOUBLE, DOUBLE, DOUBLE!, DOUBLE!, DOUBLE!, DOUBLE, DOUBLE",
    "ARRAY<DOUBLE>",
    "Those of the most frequent values that a share of the rows may have: values, rows seen, rows, share, error, deviations, least and most weight.",
    sql=_HEAVY,
    null_safe=True,
)

PARTS = _c.build()
"""By name; no program can call them."""


@dataclass(frozen=True, slots=True)
class Reader:
    """A function of Python that reads sketches: where it is, and its types in Spark."""

    target: str
    parameters: tuple[str, ...]
    result: str = "ARRAY<DOUBLE>"


READERS: dict[str, tuple[str, Reader]] = {
    "FREQUENCY_OF": (
        "__frequency",
        Reader(
            "streamq.runtime.spark.sketch_readers:frequency",
            (SKETCHES, "BIGINT", "BIGINT", "DOUBLE", "STRING"),
        ),
    ),
    "SELF_JOIN_OF": (
        "__self_join",
        Reader("streamq.runtime.spark.sketch_readers:self_join", (SKETCHES, "BIGINT", "DOUBLE", "STRING")),
    ),
    "JOIN_OF": (
        "__join",
        Reader(
            "streamq.runtime.spark.sketch_readers:join",
            (SKETCHES, "BIGINT", SKETCHES, "BIGINT", "BIGINT", "DOUBLE"),
        ),
    ),
}
"""The part that a function of Spark stands for, with the name under which Spark knows it."""
