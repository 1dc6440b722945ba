"""CAST in the reference evaluator: what does not fit is NULL."""

from __future__ import annotations

import math
from datetime import date, datetime
from decimal import Decimal as Exact

import pytest

from streamq.dsl.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    TIMESTAMP,
    TINYINT,
    Array,
    Chars,
    Decimal,
    Map,
    Struct,
    Type,
)
from streamq.runtime.reference.casts import NoSuchCast, cast


@pytest.mark.parametrize(
    ("value", "source", "target", "expected"),
    [
        (None, INT, STRING, None),
        (300, INT, TINYINT, None),
        (-2.9, DOUBLE, INT, -2),
        (math.nan, DOUBLE, INT, None),
        (0.1, DOUBLE, FLOAT, 0.10000000149011612),
        (1.005, DOUBLE, Decimal(5, 2), Exact("1.01")),
        (Exact("999.995"), Decimal(6, 3), Decimal(5, 2), None),
        (" -12.9 ", STRING, INT, -12),
        ("12x", STRING, INT, None),
        ("1e3", STRING, DOUBLE, 1000.0),
        ("Yes", STRING, BOOLEAN, True),
        ("2", STRING, BOOLEAN, None),
        ("2024-2-9", STRING, DATE, date(2024, 2, 9)),
        ("2024-02-30", STRING, DATE, None),
        ("2024-02-29T01:02:03+01:00", STRING, TIMESTAMP, datetime(2024, 2, 29, 0, 2, 3)),
        (datetime(1969, 12, 31, 23, 59, 59, 999999), TIMESTAMP, BIGINT, -1),
        (1.5, DOUBLE, TIMESTAMP, datetime(1970, 1, 1, 0, 0, 1, 500000)),
        (1e7, DOUBLE, STRING, "1.0E7"),
        (0.001, DOUBLE, STRING, "0.001"),
        (1.100000023841858, FLOAT, STRING, "1.1"),
        (datetime(2024, 1, 1, 0, 0, 0, 500000), TIMESTAMP, STRING, "2024-01-01 00:00:00.5"),
        ("abcdef", STRING, Chars("VARCHAR", 3), "abc"),
        ("ab", STRING, Chars("CHAR", 3), "ab "),
        (5, INT, BINARY, b"\0\0\0\5"),
        ((300, None), Array(INT), Array(TINYINT), (44, None)),
        ((("a", 1),), Map(STRING, INT), STRING, "{a -> 1}"),
        ((1, None), Struct((("a", INT), ("b", INT))), STRING, "{1, null}"),
    ],
)
def test_casts(value: object, source: Type, target: Type, expected: object) -> None:
    assert cast(value, source, target) == expected


def test_types_that_do_not_convert_are_refused() -> None:
    with pytest.raises(NoSuchCast):
        cast(date(2024, 1, 1), DATE, BOOLEAN)
