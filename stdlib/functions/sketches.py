"""Estimates from summaries of rows whose size does not grow; ``WITHIN`` and ``MEMORY`` inside say how good and how large."""

from __future__ import annotations

from streamq.stdlib.functions.declare import Category

_c = Category("sketches")

_c.sketch(
    "APPROX_FREQUENCY",
    "T:key, T",
    "BIGINT",
    "About how many rows have the value, which may be one that is known only at the end, as MAX_BY(x, y).",
)
_c.sketch(
    "HEAVY_HITTERS",
    "T:num|str|bool|temporal, DOUBLE!",
    "ARRAY<STRUCT<item: T, count: BIGINT, count_lo: BIGINT, count_hi: BIGINT>>",
    "The values that at least this share (0 to 1) of the rows have, none missing, most frequent first.",
)
_c.sketch(
    "SELF_JOIN_SIZE",
    "key",
    "DOUBLE",
    "About how many pairs of rows have equal values, each with itself among them: the second moment of frequencies.",
)
_c.sketch(
    "JOIN_SIZE",
    "T:key, T",
    "DOUBLE",
    "About how many pairs there are of a row's first value and an equal second value of this or another row.",
)
_c.sketch(
    "SIMILAR_PAIRS",
    "struct, INT!",
    "DOUBLE",
    "How many pairs of rows have at least so many equal values among those in the parentheses.",
)
_c.sketch(
    "SIMILAR_TO",
    "struct, struct!, INT!",
    "BIGINT",
    "How many rows have at least so many values as a record of constants has.",
)

FUNCTIONS = _c.build()
