"""Rows that come late, at one instant, twice, or without a key, by hand.

In order of time, with the batch in which each row comes; the watermark is five seconds behind::

    s   1: NULL 1, a 2, a 2   4: b NULL   12: a 7   15: a 8   16: a 9   20: NULL 4, a 3   21: c 6
    r   1: NULL 10, a 20      4: b 30     16: a 40  20: NULL 50

Before the last batch but one the watermark is at 15: the rows at 12 and 15 are late for every window that ends
with its instant. Windows that end at 20 still take them.
"""

from __future__ import annotations

from tests.contract.case import DIFFERS, REFUSED, Case, Input, relation, stream

ODD = Input(
    s=[
        [("a", 2, None, 1), ("b", None, 0.5, 4), (None, 1, 1.0, 1), ("a", 2, None, 1)],
        [("a", 3, 1.0, 20), (None, 4, 1.0, 20)],
        [("c", 6, None, 21)],
        [("a", 9, 0.5, 16), ("a", 7, 1.0, 12), ("a", 8, 1.0, 15)],
        [("z", 0, 0.0, 100)],
    ],
    r=[
        [("b", 30, 4), (None, 10, 1), ("a", 20, 1)],
        [(None, 50, 20)],
        [("a", 40, 16)],
        [],
        [("z", 0, 101)],
    ],
    t=[("a", "Anna"), (None, "Nobody"), ("a", "Anton")],
)

TWICE = Input(
    s=[
        [("a", 1, 1.0, 0), ("a", 1, 1.0, 10), ("a", 1, 1.0, 20), ("b", 1, 1.0, 20)],
        [("z", 0, 0.0, 100)],
    ],
    r=[[("z", 0, 101)]],
    t=[],
)
"""Equal rows, each of which comes when the one before leaves a window of ten seconds."""

NULLS_LAST = Input(
    s=[[("a", 1, 1.0, 1), (None, 2, 1.0, 2)], [(None, 0, 0.0, 100)]],
    r=[[("a", 10, 1), (None, 20, 2)], [(None, 0, 101)]],
    t=[("a", "Anna"), (None, "Nobody")],
)
"""Rows without a key close the windows: they have no partner, but they move the watermark."""

ODD_ROWS: dict[str, Case] = {
    # At 1 there are three rows: NULL before a, so the two equal ones of a are the last.
    "last two rows, ties by value": relation(
        "SELECT k, v FROM s [ROWS 2]",
        [
            (1, "+", "a", 2), (1, "+", "a", 2), (4, "-", "a", 2), (4, "+", "b", None),
            (16, "-", "a", 2), (16, "+", "a", 9), (20, "-", "b", None), (20, "-", "a", 9),
            (20, "+", None, 4), (20, "+", "a", 3), (21, "-", None, 4), (21, "+", "c", 6),
        ],
        input=ODD, late=2,
    ),
    # The order of ties is that of whole rows: at 1 the key decides, which this query does not read.
    "last row, ties by columns that are not read": stream(
        "SELECT ISTREAM(v) FROM s [ROWS 1]", [(1, 2), (4, None), (16, 9), (20, 3), (21, 6)],
        input=ODD, late=2,
    ),
    "last row of each key, NULL too": relation(
        "SELECT k, v FROM s [PARTITION BY k ROWS 1 RANGE 1 DAY]",
        [
            (1, "+", None, 1), (1, "+", "a", 2), (4, "+", "b", None), (16, "-", "a", 2),
            (16, "+", "a", 9), (20, "-", None, 1), (20, "-", "a", 9), (20, "+", None, 4),
            (20, "+", "a", 3), (21, "+", "c", 6),
        ],
        input=ODD, late=2,
    ),
    # The watermark at 15 has ended the sessions of the rows at 1: a at 12 begins another one, and is not late.
    "a session that has ended takes no more rows": stream(
        "SELECT k, COUNT(*) AS n FROM s [SESSION 13 SECONDS PARTITION BY k] GROUP BY k",
        [(14, "a", 2), (14, None, 1), (17, "b", 1), (33, "a", 4), (33, None, 1), (34, "c", 1)],
        input=ODD,
    ),
    # Windows end at 4, 11, 18 and 25: they begin at 1970. Spark gives z before its window ends.
    "nothing meets": stream(
        "SELECT s.k AS k, v, w FROM s [TUMBLE 7 SECONDS] LEFT JOIN r [TUMBLE 7 SECONDS] "
        "ON s.k = r.k AND s.k IS NULL WHERE COALESCE(s.k, '') <> 'z'",
        [
            (4, "a", 2, None), (4, "a", 2, None), (4, None, 1, None), (11, "b", None, None),
            (18, "a", 7, None), (18, "a", 8, None), (18, "a", 9, None), (25, None, 4, None),
            (25, "a", 3, None), (25, "c", 6, None),
        ],
        input=ODD,
    ),
    # (a, NULL) and (NULL, a) are two groups.
    "groups that differ in where the NULL is": relation(
        "SELECT k, CASE WHEN k IS NULL THEN 'a' END AS c, COUNT(*) AS n FROM s [RANGE 10 SECONDS] "
        "WHERE k IS NULL OR k = 'a' GROUP BY k, c",
        [
            (1, "+", None, "a", 1), (1, "+", "a", None, 2), (11, "-", None, "a", 1),
            (11, "-", "a", None, 2), (16, "+", "a", None, 1), (20, "-", "a", None, 1),
            (20, "+", "a", None, 2), (20, "+", None, "a", 1), (26, "-", "a", None, 2),
            (26, "+", "a", None, 1), (30, "-", "a", None, 1), (30, "-", None, "a", 1),
        ],
        input=ODD, late=2,
    ),
    # NULLs are one group; a sum of nothing but NULLs is NULL.
    "groups of a range, NULL too": relation(
        "SELECT k, COUNT(*) AS n, SUM(v) AS sv FROM s [RANGE 10 SECONDS] GROUP BY k",
        [
            (1, "+", None, 1, 1), (1, "+", "a", 2, 4), (4, "+", "b", 1, None),
            (11, "-", None, 1, 1), (11, "-", "a", 2, 4), (14, "-", "b", 1, None),
            (16, "+", "a", 1, 9), (20, "-", "a", 1, 9), (20, "+", "a", 2, 12),
            (20, "+", None, 1, 4), (21, "+", "c", 1, 6), (26, "-", "a", 2, 12),
            (26, "+", "a", 1, 3), (30, "-", "a", 1, 3), (30, "-", None, 1, 4),
            (31, "-", "c", 1, 6),
        ],
        input=ODD, late=2,
    ),
    # 12 and 15 are in time for the window that ends at 20.
    "late rows and windows that are still open": stream(
        "SELECT k, COUNT(*) AS n, SUM(v) AS sv, WINDOW_END FROM s [TUMBLE 10 SECONDS] GROUP BY k",
        [
            (10, None, 1, 1, 10), (10, "a", 2, 4, 10), (10, "b", 1, None, 10),
            (20, "a", 3, 24, 20), (30, None, 1, 4, 30), (30, "a", 1, 3, 30), (30, "c", 1, 6, 30),
        ],
        input=ODD,
    ),
    # The window of [10, 15) is over at 15: it does not get the row at 12, the next one does.
    "late rows and windows that are over": stream(
        "SELECT COUNT(*) AS n, WINDOW_END FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS]",
        [(5, 4, 5), (10, 4, 10), (20, 3, 20), (25, 5, 25), (30, 3, 30)],
        input=ODD,
    ),
    # A query that keeps nothing takes late rows as it takes all others.
    "late rows of windows, as they are": stream(
        "SELECT k, v, WINDOW_END FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS] WHERE v > 6",
        [
            (15, "a", 7, 15), (20, "a", 7, 20), (20, "a", 8, 20), (20, "a", 9, 20),
            (25, "a", 8, 25), (25, "a", 9, 25),
        ],
        input=ODD,
    ),
    "late rows of a range, as they come": stream(
        "SELECT ISTREAM(k, v) FROM s [RANGE 10 SECONDS] WHERE v > 6",
        [(12, "a", 7), (15, "a", 8), (16, "a", 9)], input=ODD,
    ),
    "late rows of an instant": stream(
        "SELECT RSTREAM(k, v) FROM s [NOW] WHERE v > 6",
        [(12, "a", 7), (15, "a", 8), (16, "a", 9)], input=ODD,
    ),
    # Here nothing can be said of 12 and 15 any more.
    "late rows of a range, as they leave": stream(
        "SELECT DSTREAM(k, v) FROM s [RANGE 10 SECONDS] WHERE v > 6", [(26, "a", 9)],
        input=ODD, late=2,
    ),
    "late rows of groups without a window": stream(
        "SELECT ISTREAM(k, COUNT(*) AS n, SUM(v) AS sv) FROM s GROUP BY k",
        [
            (1, None, 1, 1), (1, "a", 2, 4), (4, "b", 1, None), (16, "a", 3, 13),
            (20, "a", 4, 16), (20, None, 2, 5), (21, "c", 1, 6),
        ],
        input=ODD, late=2,
    ),
    "late rows of windows that are still open, as they leave": stream(
        "SELECT DSTREAM(k, v) FROM s [TUMBLE 10 SECONDS] WHERE v > 6",
        [(30, "a", 7), (30, "a", 8), (30, "a", 9)], input=ODD,
    ),
    # NULL is equal to nothing, but its row moves the watermark. r a20 [1,11) and a40 [16,26), b30 [4,14).
    "NULL keys have no partners": stream(
        "SELECT ISTREAM(s.k, v, w) FROM s [RANGE 10 SECONDS], r [RANGE 10 SECONDS] "
        "WHERE s.k = r.k AND s.k <> 'z'",
        [(1, "a", 2, 20), (1, "a", 2, 20), (4, "b", None, 30), (16, "a", 9, 40), (20, "a", 3, 40)],
        input=ODD, late=2,
    ),
    "pairs of an instant": stream(
        "SELECT RSTREAM(s.k, v, w) FROM s [NOW], r [NOW] WHERE s.k = r.k",
        [(1, "a", 2, 20), (1, "a", 2, 20), (4, "b", None, 30), (16, "a", 9, 40)],
        input=ODD, late=2,
    ),
    "every pair of an instant": stream(
        "SELECT RSTREAM(s.k AS sk, r.k AS rk, w) FROM s [NOW], r [NOW] WHERE v < 5",
        [
            (1, None, None, 10), (1, None, "a", 20), (1, "a", None, 10), (1, "a", "a", 20),
            (1, "a", None, 10), (1, "a", "a", 20), (20, "a", None, 50), (20, None, None, 50),
        ],
        input=ODD, late=2,
    ),
    "a NULL key is not in the table's": stream(
        "SELECT s.k AS k, v, name FROM s LEFT JOIN t ON s.k = t.k WHERE v < 3 AND v > 0",
        [
            (1, None, 1, None), (1, "a", 2, "Anna"), (1, "a", 2, "Anton"), (1, "a", 2, "Anna"),
            (1, "a", 2, "Anton"),
        ],
        input=ODD,
    ),
    "every key once, NULL too": stream(
        "SELECT DISTINCT k, WINDOW_END FROM s [TUMBLE 10 SECONDS]",
        [(10, None, 10), (10, "a", 10), (10, "b", 10), (20, "a", 20), (30, None, 30),
         (30, "a", 30), (30, "c", 30)],
        input=ODD,
    ),
    # Without a window a late row is a row like any other.
    "late rows of a stream without window": stream(
        "SELECT k, v FROM s WHERE v > 5", [(12, "a", 7), (15, "a", 8), (16, "a", 9), (21, "c", 6)],
        input=ODD,
    ),
}

_FIRST = "FROM s [TUMBLE 10 SECONDS] {} r [TUMBLE 10 SECONDS] ON s.k = r.k WHERE COALESCE(v, w) > 0"

NULL_KEYS: dict[str, Case] = {
    "rows without a key close a join's windows": stream(
        f"SELECT s.k AS k, v, w {_FIRST.format('JOIN')}", [(10, "a", 1, 10)], input=NULLS_LAST
    ),
    "rows without a key have no partner on the left": stream(
        f"SELECT s.k AS k, v, w {_FIRST.format('LEFT JOIN')}",
        [(10, "a", 1, 10), (10, None, 2, None)], input=NULLS_LAST,
    ),
    "rows without a key have no partner on the right": stream(
        f"SELECT s.k AS k, v, w {_FIRST.format('RIGHT JOIN')}",
        [(10, "a", 1, 10), (10, None, None, 20)], input=NULLS_LAST,
    ),
    "rows without a key have no partner on either side": stream(
        f"SELECT s.k AS k, v, w {_FIRST.format('FULL JOIN')}",
        [(10, "a", 1, 10), (10, None, 2, None), (10, None, None, 20)], input=NULLS_LAST,
    ),
    "rows without a key close the windows above a join with a table": stream(
        "SELECT name, COUNT(*) AS n FROM s [TUMBLE 10 SECONDS] JOIN t ON s.k = t.k GROUP BY name",
        [(10, "Anna", 1)], input=NULLS_LAST,
    ),
    "rows without a key are kept beside a table": stream(
        "SELECT name, COUNT(*) AS n FROM s [TUMBLE 10 SECONDS] LEFT JOIN t ON s.k = t.k GROUP BY name",
        [(10, "Anna", 1), (10, None, 1)], input=NULLS_LAST,
    ),
    "a table's key that is one value": stream(
        "SELECT name, COUNT(*) AS n FROM s [TUMBLE 10 SECONDS] JOIN t ON s.k = t.k WHERE t.k = 'a' GROUP BY name",
        [(10, "Anna", 1)], input=NULLS_LAST,
    ),
    "a test of the table's rows beside a left join": stream(
        "SELECT name, COUNT(*) AS n FROM s [TUMBLE 10 SECONDS] LEFT JOIN t ON s.k = t.k WHERE name = 'Anna' "
        "GROUP BY name", [(10, "Anna", 1)], input=NULLS_LAST,
    ),
    "a test of one side above a full join": stream(
        "SELECT s.k AS k, v, w FROM s [TUMBLE 10 SECONDS] FULL JOIN r [TUMBLE 10 SECONDS] ON s.k = r.k WHERE v > 0",
        [(10, "a", 1, 10), (10, None, 2, None)], input=NULLS_LAST,
    ),
    "a test of the other side above a left join": stream(
        "SELECT s.k AS k, v, w FROM s [TUMBLE 10 SECONDS] LEFT JOIN r [TUMBLE 10 SECONDS] ON s.k = r.k WHERE w > 0",
        [(10, "a", 1, 10)], input=NULLS_LAST,
    ),
    "a join whose condition is false": stream(
        "SELECT s.k AS k, v, w FROM s [TUMBLE 10 SECONDS] LEFT JOIN r [TUMBLE 10 SECONDS] ON s.k = r.k AND 1 = 0 "
        "WHERE v > 0", [(10, "a", 1, None), (10, None, 2, None)], input=NULLS_LAST,
    ),
    "a test of what a subquery computes": stream(
        "SELECT g, COUNT(*) AS n FROM (SELECT UPPER(k) AS g FROM s [TUMBLE 10 SECONDS]) x WHERE g = 'A' GROUP BY g",
        [(10, "A", 1)], input=NULLS_LAST,
    ),
    "groups over a range beside a table": relation(
        "SELECT name, COUNT(*) AS n FROM s [RANGE 1 SECOND] a JOIN t ON a.k = t.k GROUP BY name",
        [(1, "+", "Anna", 1), (2, "-", "Anna", 1)], input=NULLS_LAST,
    ),
    # The windows hold although the times are not selected: a of s at 20 and a of r at 16 are too far apart.
    "ranges of subqueries that do not select the time": stream(
        "SELECT ISTREAM(a.k AS k, w) FROM (SELECT k FROM s [RANGE 2 SECONDS]) a "
        "JOIN (SELECT k, w FROM r [RANGE 2 SECONDS]) b ON a.k = b.k",
        [(1, "a", 20), (1, "a", 20), (4, "b", 30), (16, "a", 40)], input=ODD, late=2,
    ),
    "rows without a key close the ranges of a join": stream(
        "ISTREAM(SELECT s.k AS k, v, w FROM s [RANGE 5 SECONDS] LEFT JOIN r [RANGE 5 SECONDS] ON s.k = r.k "
        "WHERE v > 0)", [(1, "a", 1, 10), (2, None, 2, None)], input=NULLS_LAST,
    ),
}

EQUAL_ROWS: dict[str, Case] = {
    # At 10 and at 20 one row leaves and an equal one comes: the relation is what it was.
    "a row leaves when an equal one comes": relation(
        "SELECT k, v FROM s [RANGE 10 SECONDS]",
        [(0, "+", "a", 1), (20, "+", "b", 1), (30, "-", "a", 1), (30, "-", "b", 1)],
        input=TWICE,
    ),
    "nothing appears when an equal row leaves": stream(
        "SELECT ISTREAM(k, v) FROM s [RANGE 10 SECONDS]", [(0, "a", 1), (20, "b", 1)],
        DIFFERS, input=TWICE,
    ),
    "nothing leaves when an equal row comes": stream(
        "SELECT DSTREAM(k, v) FROM s [RANGE 10 SECONDS]", [(30, "a", 1), (30, "b", 1)],
        input=TWICE,
    ),
    "nothing changes, so RSTREAM is silent": stream(
        "SELECT RSTREAM(k) FROM s [RANGE 10 SECONDS]", [(0, "a"), (20, "a"), (20, "b")],
        REFUSED, input=TWICE,
    ),
    "each instant has its own rows": stream(
        "SELECT RSTREAM(k) FROM s [NOW] WHERE v = 1", [(0, "a"), (10, "a"), (20, "a"), (20, "b")],
        input=TWICE,
    ),
    "sums that stay do not change": relation(
        "SELECT SUM(v) AS sv FROM s [RANGE 10 SECONDS] WHERE k = 'a'",
        [(0, "+", 1), (30, "-", 1), (30, "+", None)],
        input=TWICE,
    ),
}
