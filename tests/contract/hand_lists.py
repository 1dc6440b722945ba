"""Aggregates that look at all rows of a window that moves, by hand. ``s`` as in ``hand_windows``."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from tests.contract.case import Case, relation, stream


def one_row(rows: dict[float, tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The changes of a relation of one row, given by the instants at which it is replaced."""
    found: list[tuple[Any, ...]] = []
    before: tuple[Any, ...] | None = None
    for at, row in rows.items():
        if before is not None:
            found.append((at, "-", *before))
        found.append((at, "+", *row))
        before = row
    return found


LISTS: dict[str, Case] = {
    # 1 | 1 2 | 2 3 | 3 5 | 5 1 | 1 5 | 5 9; the x of 3 is NULL.
    "lists of the last two rows": relation(
        "SELECT COLLECT_LIST(v) AS vs, ARRAY_AGG(x) AS xs, STRING_AGG(k, '+') AS ks FROM s [ROWS 2]",
        one_row({
            1: ((1,), (1.5,), "a"), 3: ((1, 2), (1.5, 2.5), "a+b"), 7: ((2, 3), (2.5,), "b+a"),
            12: ((3, 5), (1.0,), "a+a"), 14: ((5, 1), (1.0, 0.5), "a+c"),
            15: ((1, 5), (0.5, 1.0), "c+a"), 45: ((5, 9), (1.0, 1.0), "a+b"),
        }),
    ),
    "lists of other types": relation(
        "SELECT COLLECT_LIST(ts) AS times, COLLECT_LIST(v > 2) AS large, "
        "COLLECT_LIST(CAST(v AS DECIMAL(5, 2))) FILTER (WHERE v > 1) AS ds FROM s [ROWS 2]",
        one_row({
            1: ((1,), (False,), ()), 3: ((1, 3), (False, False), (Decimal(2),)),
            7: ((3, 7), (False, True), (Decimal(2), Decimal(3))),
            12: ((7, 12), (True, True), (Decimal(3), Decimal(5))),
            14: ((12, 14), (True, False), (Decimal(5),)),
            15: ((14, 15), (False, True), (Decimal(5),)),
            45: ((15, 45), (True, True), (Decimal(5), Decimal(9))),
        }),
    ),
    "the different keys of a range as a list": relation(
        "SELECT SORT_ARRAY(COLLECT_SET(k)) AS ks FROM s [RANGE 10 SECONDS]",
        one_row({
            1: (("a",),), 3: (("a", "b"),), 13: (("a",),), 14: (("a", "c"),), 24: (("a",),),
            25: ((),), 45: (("b",),), 55: ((),),
        }),
    ),
    "lists of all rows that appear": stream(
        "SELECT ISTREAM(k, COLLECT_LIST(v) AS vs) FROM s GROUP BY k",
        [
            (1, "a", (1,)), (3, "b", (2,)), (7, "a", (1, 3)), (12, "a", (1, 3, 5)),
            (14, "c", (1,)), (15, "a", (1, 3, 5, 5)), (45, "b", (2, 9)),
        ],
    ),
    # 1 | 1 2 | 1 2 3 | 2 3 5 | 1 3 5 | 1 5 5 | 1 5 9
    "order statistics of the last three rows": relation(
        "SELECT MEDIAN(v) AS middle, PERCENTILE(v, ARRAY(0.25, 1)) AS shares, "
        "APPROX_PERCENTILE(v, 0.5) AS half, MODE(v) AS most FROM s [ROWS 3]",
        one_row({
            1: (1.0, (1.0, 1.0), 1, 1), 3: (1.5, (1.25, 2.0), 1, 1),
            7: (2.0, (1.5, 3.0), 2, 1), 12: (3.0, (2.5, 5.0), 3, 2),
            14: (3.0, (2.0, 5.0), 3, 1), 15: (5.0, (3.0, 5.0), 5, 5), 45: (5.0, (3.0, 9.0), 5, 1),
        }),
    ),
    # a1 | a1 b2 | a1 b2 a3 | b2 a3 a5 | a3 a5 c1 | a5 c1 a5: the same two | c1 a5 b9
    "the two largest and least of the last three rows": relation(
        "SELECT MAX_BY(k, v, 2) AS most, MIN_BY(k, v, 2) AS least FROM s [ROWS 3]",
        one_row({
            1: (("a",), ("a",)), 3: (("b", "a"), ("a", "b")), 7: (("a", "b"), ("a", "b")),
            12: (("a", "a"), ("b", "a")), 14: (("a", "a"), ("c", "a")),
            45: (("b", "a"), ("c", "a")),
        }),
    ),
    # How many a, b and c: 1 | 1 1 | 2 1 | 1 1 | 2 1 | 2 | 2 and c | 3 c | 2 c | 1 c | 1 | none | b | none
    "the most frequent key of a range": relation(
        "SELECT APPROX_TOP_K(k, 1)[0].item AS k, APPROX_TOP_K(k, 1)[0].count AS n, "
        "SIZE(APPROX_TOP_K(k)) AS keys FROM s [RANGE 10 SECONDS]",
        one_row({
            1: ("a", 1, 1), 3: ("a", 1, 2), 7: ("a", 2, 2), 11: ("a", 1, 2), 12: ("a", 2, 2),
            13: ("a", 2, 1), 14: ("a", 2, 2), 15: ("a", 3, 2), 17: ("a", 2, 2), 22: ("a", 1, 2),
            24: ("a", 1, 1), 25: (None, None, 0), 45: ("b", 1, 1), 55: (None, None, 0),
        }),
    ),
    # 1 | 1 2 | 1 2 3 | 2 3 | 2 3 5 | 3 5 | 3 5 1 | 3 5 1 5 | 5 1 5 | 1 5 | 5 | none | 9 | none
    "different values of a range": relation(
        "SELECT SUM(DISTINCT v) AS sv, AVG(DISTINCT v) AS av, APPROX_COUNT_DISTINCT(v) AS n "
        "FROM s [RANGE 10 SECONDS]",
        one_row({
            1: (1, 1.0, 1), 3: (3, 1.5, 2), 7: (6, 2.0, 3), 11: (5, 2.5, 2), 12: (10, 10 / 3, 3),
            13: (8, 4.0, 2), 14: (9, 3.0, 3), 17: (6, 3.0, 2), 24: (5, 5.0, 1),
            25: (None, None, 0), 45: (9, 9.0, 1), 55: (None, None, 0),
        }),
    ),
    # a: 1 3 | 1 3 5 | 1 3 5 5; b: 2 9.
    "different values of all rows": relation(
        "SELECT k, COUNT(DISTINCT v) AS n, SUM(DISTINCT v) AS sv, MEDIAN(v) AS middle, COUNT(*) AS rows "
        "FROM s GROUP BY k HAVING COUNT(*) > 1",
        [
            (7, "+", "a", 2, 4, 2.0, 2), (12, "-", "a", 2, 4, 2.0, 2), (12, "+", "a", 3, 9, 3.0, 3),
            (15, "-", "a", 3, 9, 3.0, 3), (15, "+", "a", 3, 9, 4.0, 4), (45, "+", "b", 2, 11, 5.5, 2),
        ],
    ),
    "first and last of some of the last three rows": relation(
        "SELECT FIRST(v) FILTER (WHERE v > 1) AS f, LAST(x) FILTER (WHERE v > 1) AS l FROM s [ROWS 3]",
        one_row({
            1: (None, None), 3: (2, 2.5), 7: (2, None), 12: (2, 1.0), 14: (3, 1.0), 15: (5, 1.0),
        }),
    ),
    # 1 | 1 2 | 1 2 3 | 2 3 5 | 3 5 1 | 5 1 5 | 1 5 9; of three values no kurtosis but -1.5 can come.
    "shapes of the last three rows": relation(
        "SELECT ROUND(SKEWNESS(v), 6) AS lean, ROUND(KURTOSIS(v), 6) AS tails FROM s [ROWS 3]",
        one_row({
            1: (None, None), 3: (0.0, -2.0), 7: (0.0, -1.5), 12: (0.381802, -1.5), 14: (0.0, -1.5),
            15: (-0.707107, -1.5), 45: (0.0, -1.5),
        }),
    ),
    # 1 | 1 2 | 2 3 | 3 5 | 5 1 | 1 5 | 5 9
    "bits of the last two rows": relation(
        "SELECT BIT_AND(v) AS both, BIT_OR(v) AS any, BIT_XOR(v) AS odd FROM s [ROWS 2]",
        one_row({
            1: (1, 1, 1), 3: (0, 3, 3), 7: (2, 3, 1), 12: (1, 7, 6), 14: (1, 5, 4), 45: (1, 13, 12),
        }),
    ),
    "decimals of the last three rows": relation(
        "SELECT AVG(CAST(v AS DECIMAL(6, 2))) AS av, SUM(CAST(v AS DECIMAL(6, 2))) AS sv FROM s [ROWS 3]",
        one_row({
            1: (Decimal(1), Decimal(1)), 3: (Decimal("1.5"), Decimal(3)), 7: (Decimal(2), Decimal(6)),
            12: (Decimal("3.333333"), Decimal(10)), 14: (Decimal(3), Decimal(9)),
            15: (Decimal("3.666667"), Decimal(11)), 45: (Decimal(5), Decimal(15)),
        }),
    ),
    # -2 | -2 -1 | -1 0 | 0 2 | 2 -2 | -2 2 | 2 6
    "extremes of long decimals": relation(
        "SELECT MIN(CAST(v - 3 AS DECIMAL(30, 2))) AS lo, MAX(CAST(v - 3 AS DECIMAL(30, 2))) AS hi, "
        "LAST(CAST(v AS DECIMAL(30, 2))) FILTER (WHERE k = 'a') AS l FROM s [ROWS 2]",
        one_row({
            1: (Decimal(-2), Decimal(-2), Decimal(1)), 3: (Decimal(-2), Decimal(-1), Decimal(1)),
            7: (Decimal(-1), Decimal(0), Decimal(3)), 12: (Decimal(0), Decimal(2), Decimal(5)),
            14: (Decimal(-2), Decimal(2), Decimal(5)), 45: (Decimal(2), Decimal(6), Decimal(5)),
        }),
    ),
    # v * v - 5: -4 | -4 -1 | -4 -1 4 | -1 4 20 | 4 20 -4 | 20 -4 20 | -4 20 76
    "different long decimals of the last three rows, and the last one": relation(
        "SELECT COLLECT_SET(CAST(v * v - 5 AS DECIMAL(30, 2))) AS ds, "
        "LAST(DISTINCT CAST(IF(v = 5, NULL, v) AS DECIMAL(30, 2))) AS l FROM s [ROWS 3]",
        one_row({
            1: ((Decimal(-4),), Decimal(1)), 3: ((Decimal(-4), Decimal(-1)), Decimal(2)),
            7: ((Decimal(-4), Decimal(-1), Decimal(4)), Decimal(3)),
            12: ((Decimal(-1), Decimal(4), Decimal(20)), None),
            14: ((Decimal(-4), Decimal(4), Decimal(20)), Decimal(1)),
            15: ((Decimal(-4), Decimal(20)), None),
            45: ((Decimal(-4), Decimal(20), Decimal(76)), Decimal(9)),
        }),
    ),
    # a | a b | b a | a a | a c | c a | a b, where an a counts 2**62: twice that is too much.
    "sums of whole numbers that do not fit": relation(
        "SELECT TRY_SUM(IF(k = 'a', 4611686018427387904, v)) AS total FROM s [ROWS 2]",
        one_row({1: (2**62,), 3: (2**62 + 2,), 12: (None,), 14: (2**62 + 1,), 45: (2**62 + 9,)}),
    ),
    # The groups (a, NULL) and (NULL, a) are two.
    "lists by two keys, one of them NULL": relation(
        "SELECT IF(v < 3, k, NULL) AS small, IF(v < 3, NULL, k) AS large, COLLECT_LIST(v) AS vs "
        "FROM s [ROWS 3] GROUP BY 1, 2",
        [
            (1, "+", "a", None, (1,)), (3, "+", "b", None, (2,)), (7, "+", None, "a", (3,)),
            (12, "-", "a", None, (1,)), (12, "-", None, "a", (3,)), (12, "+", None, "a", (3, 5)),
            (14, "-", "b", None, (2,)), (14, "+", "c", None, (1,)),
            (15, "-", None, "a", (3, 5)), (15, "+", None, "a", (5, 5)),
            (45, "-", None, "a", (5, 5)), (45, "+", None, "a", (5,)), (45, "+", None, "b", (9,)),
        ],
    ),
    # (v, x): 1 1.5 | and 2 2.5 | 2 2.5 alone | none with x, then 5 1.0 alone | and 1 0.5 | 5 1.0, 9 1.0
    "lines through the last two rows": relation(
        "SELECT COVAR_POP(v, x) AS c, REGR_SLOPE(x, v) AS up, REGR_COUNT(x, v) AS n FROM s [ROWS 2]",
        one_row({
            1: (0.0, None, 1), 3: (0.25, 1.0, 2), 7: (0.0, None, 1), 14: (0.5, 0.125, 2),
            45: (0.0, 0.0, 2),
        }),
    ),
}
