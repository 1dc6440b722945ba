"""Estimates from sketches by hand: of so few rows they are exact. ``s`` as in ``hand_windows``; a 1, b 2, a 3, a 5, c 1, a 5, b 9."""

from __future__ import annotations

from tests.contract.case import Case, stream

_OF = "FROM s [TUMBLE 20 SECONDS] WHERE k <> 'z'"

SKETCHES: dict[str, Case] = {
    # Until 20 a four times, b and c once: 16 + 1 + 1. Until 60 b alone.
    "self-join size": stream(f"SELECT n FROM (SELECT SELF_JOIN_SIZE(k) AS n {_OF})", [(20, 18.0), (60, 1.0)]),
    "self-join size of some rows": stream(
        f"SELECT n FROM (SELECT SELF_JOIN_SIZE(k) FILTER (WHERE v < 5) AS n {_OF})", [(20, 6.0), (60, 0.0)],
    ),
    "self-join size by group": stream(
        f"SELECT k, n FROM (SELECT k, SELF_JOIN_SIZE(v METHOD CM) AS n {_OF} GROUP BY k)",
        [(20, "a", 6.0), (20, "b", 1.0), (20, "c", 1.0), (60, "b", 1.0)],
    ),
    # x is NULL at 7, and 1.0 twice.
    "self-join size without NULL": stream(
        f"SELECT n FROM (SELECT SELF_JOIN_SIZE(x) AS n {_OF})", [(20, 7.0), (60, 1.0)],
    ),
    "frequency of a value that is known at the end": stream(
        f"SELECT n FROM (SELECT APPROX_FREQUENCY(v, MAX(v)) AS n {_OF})", [(20, 2), (60, 1)],
    ),
    "frequency of a constant": stream(f"SELECT APPROX_FREQUENCY(k, 'a') AS n {_OF}", [(20, 4), (60, 0)]),
    "frequency of a constant by a sketch": stream(
        f"SELECT n FROM (SELECT APPROX_FREQUENCY(k, 'a' MEMORY 64 KB) AS n {_OF})", [(20, 4), (60, 0)],
    ),
    "frequency of NULL": stream(
        f"SELECT n FROM (SELECT APPROX_FREQUENCY(x, MAX(x) FILTER (WHERE v > 100)) AS n {_OF})", [(20, 0), (60, 0)],
    ),
    "heavy hitters": stream(
        f"SELECT HEAVY_HITTERS(k, 0.5) AS busy {_OF}", [(20, (("a", 4, 4, 4),)), (60, (("b", 1, 1, 1),))],
    ),
    # 0.0 and -0.0 are one value; of as many the lesser comes first.
    "heavy hitters of doubles": stream(
        f"SELECT HEAVY_HITTERS(IF(v = 1, CAST(0 AS DOUBLE) * -1, IF(v = 2, CAST(0 AS DOUBLE), CAST(1 AS DOUBLE))), 0.5) AS busy {_OF}",
        [(20, ((0.0, 3, 3, 3), (1.0, 3, 3, 3))), (60, ((1.0, 1, 1, 1),))],
    ),
    # 1 meets 5 (6 - v), 3 meets 3, 5 meets 1: 2 · 2 + 1 · 1 + 2 · 2, and 2 meets nobody.
    "join size": stream(f"SELECT n FROM (SELECT JOIN_SIZE(v, 6 - v) AS n {_OF})", [(20, 9.0), (60, 0.0)]),
    "join size of two streams": stream(
        "SELECT n FROM (SELECT JOIN_SIZE(a, b) AS n FROM (SELECT k AS a, CAST(NULL AS STRING) AS b, ts FROM s UNION ALL "
        "SELECT CAST(NULL AS STRING), k, ts FROM r) [TUMBLE 20 SECONDS])",
        [(20, 4 * 2 + 1 * 1.0), (40, 0.0), (60, 0.0)],
    ),
    # r has a at 2 and 13, b at 9 and q at 20; that s and r are joined is never worked out.
    "join size of two streams as they are": stream(
        "SELECT n FROM (SELECT JOIN_SIZE(s.k, r.k) AS n FROM s [TUMBLE 20 SECONDS], r [TUMBLE 20 SECONDS])",
        [(20, 4 * 2 + 1 * 1.0), (40, 0.0), (60, 0.0)],
    ),
    "join size of some rows of two streams": stream(
        "SELECT n, m FROM (SELECT JOIN_SIZE(a.k, b.k) AS n, SELF_JOIN_SIZE(a.k) AS m FROM s [TUMBLE 20 SECONDS] a, "
        "r [TUMBLE 20 SECONDS] b WHERE a.v > 1 AND b.w > 10)",
        [(20, 3 * 1 + 1 * 1.0, 10.0), (40, 0.0, 0.0), (60, 0.0, 1.0)],
    ),
    # Six pairs of a, and the 1 of a with that of c; of the two pairs of 5 there is one of a and 5.
    "pairs with one value in common": stream(f"SELECT n FROM (SELECT SIMILAR_PAIRS((k, v), 1) AS n {_OF})", [(20, 7.0), (60, 0.0)]),
    "pairs with two": stream(f"SELECT n, rows FROM (SELECT SIMILAR_PAIRS((k, v), 2) AS n, COUNT(*) AS rows {_OF})", [(20, 1.0, 6), (60, 0.0, 1)]),
    "two counts of pairs": stream(
        f"SELECT n, m FROM (SELECT SIMILAR_PAIRS((k, v), 1) AS n, SIMILAR_PAIRS((x, v), 2) AS m {_OF})", [(20, 7.0, 1.0), (60, 0.0, 0.0)],
    ),
    # NULL equals no NULL: only the last two rows have x and v in common.
    "pairs with NULL": stream(f"SELECT n FROM (SELECT SIMILAR_PAIRS((x, v), 2) AS n {_OF})", [(20, 1.0), (60, 0.0)]),
    "pairs of some rows": stream(
        f"SELECT n FROM (SELECT SIMILAR_PAIRS((k, v), 1) FILTER (WHERE v > 1) AS n {_OF})", [(20, 3.0), (60, 0.0)],
    ),
    "pairs by group": stream(
        f"SELECT k, n, m FROM (SELECT k, SIMILAR_PAIRS((v, x), 1) AS n, MAX(v) AS m {_OF} GROUP BY k)",
        [(20, "a", 1.0, 5), (20, "b", 0.0, 2), (20, "c", 0.0, 1), (60, "b", 0.0, 9)],
    ),
    "rows like a record": stream(f"SELECT SIMILAR_TO((k, v), ('a', 1), 1) AS n {_OF}", [(20, 5), (60, 0)]),
    "rows like all of a record": stream(f"SELECT SIMILAR_TO((k, v), ('a', 5), 2) AS n {_OF}", [(20, 2), (60, 0)]),
    "first of a kind": stream("SELECT APPROX DISTINCT k FROM s WHERE k <> 'z'", [(1, "a"), (3, "b"), (14, "c")]),
    "first of a kind by filters in turn": stream(
        "SELECT APPROX DISTINCT k, v FROM s WHERE k <> 'z' METHOD ROTATING",
        [(1, "a", 1), (3, "b", 2), (7, "a", 3), (12, "a", 5), (14, "c", 1), (45, "b", 9)],
    ),
    # b comes again 42 seconds later, which is more than 10 and an eighth of that; a is never away for so long.
    "first of a kind for ten seconds": stream(
        "SELECT APPROX DISTINCT k FROM s [RANGE 10 SECONDS] WHERE k <> 'z'", [(1, "a"), (3, "b"), (14, "c"), (45, "b")],
    ),
    "window over what is new": stream(
        "SELECT COUNT(*) AS n FROM ISTREAM(SELECT APPROX DISTINCT k FROM s WHERE k <> 'z') [TUMBLE 10 SECONDS]", [(10, 2), (20, 1)],
    ),
}
