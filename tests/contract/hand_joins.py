"""Joins of relations that move, and lookups of a stream in them, by hand.

Beside ``s`` (see ``hand_windows``) there is ``r``, in order of time::

    instant   2    9    13   20   101
    row       a10  b20  a30  q40  z50
"""

from __future__ import annotations

from tests.contract.case import REFUSED, Case, relation, stream

JOINS: dict[str, Case] = {
    # s: a1 [1,6) b2 [3,8) a3 [7,12) a5 [12,17) c1 [14,19) a5 [15,20) b9 [45,50);
    # r: a10 [2,12) b20 [9,19) a30 [13,23) q40 [20,30).
    "pairs of ranges": relation(
        "SELECT s.k AS k, v, w FROM s [RANGE 5 SECONDS], r [RANGE 10 SECONDS] WHERE s.k = r.k",
        [
            (2, "+", "a", 1, 10), (6, "-", "a", 1, 10), (7, "+", "a", 3, 10),
            (12, "-", "a", 3, 10), (13, "+", "a", 5, 30), (15, "+", "a", 5, 30),
            (17, "-", "a", 5, 30), (20, "-", "a", 5, 30),
        ],
    ),
    "pairs of ranges that part": stream(
        "SELECT DSTREAM(s.k, v, w) FROM s [RANGE 5 SECONDS], r [RANGE 10 SECONDS] "
        "WHERE s.k = r.k",
        [(6, "a", 1, 10), (12, "a", 3, 10), (17, "a", 5, 30), (20, "a", 5, 30)],
    ),
    "rows of a range, with their partners or without": relation(
        "SELECT s.k AS k, v, w FROM s [RANGE 5 SECONDS] LEFT JOIN r [RANGE 10 SECONDS] "
        "ON s.k = r.k",
        [
            (1, "+", "a", 1, None), (2, "-", "a", 1, None), (2, "+", "a", 1, 10),
            (3, "+", "b", 2, None), (6, "-", "a", 1, 10), (7, "+", "a", 3, 10),
            (8, "-", "b", 2, None), (12, "-", "a", 3, 10), (12, "+", "a", 5, None),
            (13, "-", "a", 5, None), (13, "+", "a", 5, 30), (14, "+", "c", 1, None),
            (15, "+", "a", 5, 30), (17, "-", "a", 5, 30), (19, "-", "c", 1, None),
            (20, "-", "a", 5, 30), (45, "+", "b", 9, None), (50, "-", "b", 9, None),
        ],
    ),
    # r alone: a10 between a1 and a3, b20 always, a30 after the last a5, q40 always.
    "the other side's rows without partners": relation(
        "SELECT v, w FROM s [RANGE 5 SECONDS] RIGHT JOIN r [RANGE 10 SECONDS] ON s.k = r.k",
        [
            (2, "+", 1, 10), (6, "-", 1, 10), (6, "+", None, 10), (7, "-", None, 10),
            (7, "+", 3, 10), (9, "+", None, 20), (12, "-", 3, 10), (13, "+", 5, 30),
            (15, "+", 5, 30), (17, "-", 5, 30), (19, "-", None, 20), (20, "-", 5, 30),
            (20, "+", None, 30), (20, "+", None, 40), (23, "-", None, 30), (30, "-", None, 40),
        ],
    ),
    "both sides' rows without partners": relation(
        "SELECT v, w FROM s [RANGE 5 SECONDS] FULL OUTER JOIN r [RANGE 10 SECONDS] "
        "ON s.k = r.k AND v < 5",
        [
            (1, "+", 1, None), (2, "-", 1, None), (2, "+", 1, 10), (3, "+", 2, None),
            (6, "-", 1, 10), (6, "+", None, 10), (7, "-", None, 10), (7, "+", 3, 10),
            (8, "-", 2, None), (9, "+", None, 20), (12, "-", 3, 10), (12, "+", 5, None),
            (13, "+", None, 30), (14, "+", 1, None), (15, "+", 5, None), (17, "-", 5, None),
            (19, "-", 1, None), (19, "-", None, 20), (20, "-", 5, None), (20, "+", None, 40),
            (23, "-", None, 30), (30, "-", None, 40), (45, "+", 9, None), (50, "-", 9, None),
        ],
    ),
    # r for 5 seconds: a10 [2,7) b20 [9,14) a30 [13,18) q40 [20,25).
    "pairs without an equality": stream(
        "SELECT ISTREAM(s.k, v, w) FROM s [RANGE 5 SECONDS], r [RANGE 5 SECONDS] "
        "WHERE v * 10 > w AND v < 9",
        [(3, "b", 2, 10), (9, "a", 3, 20), (12, "a", 5, 20), (13, "a", 5, 30), (15, "a", 5, 30)],
    ),
    "pairs without an equality, as a relation": relation(
        "SELECT s.k AS k, v, w FROM s [RANGE 5 SECONDS] JOIN r [RANGE 5 SECONDS] ON v * 10 > w",
        [
            (3, "+", "b", 2, 10), (7, "-", "b", 2, 10), (9, "+", "a", 3, 20),
            (12, "-", "a", 3, 20), (12, "+", "a", 5, 20), (13, "+", "a", 5, 30),
            (14, "-", "a", 5, 20), (15, "+", "a", 5, 30), (17, "-", "a", 5, 30),
            (18, "-", "a", 5, 30),
        ],
    ),
    # At 13 the last row of r is a30, at 20 it is q40.
    "every pair of the last rows": relation(
        "SELECT s.k AS k, v, w FROM s [ROWS 1] CROSS JOIN r [ROWS 1]",
        [
            (2, "+", "a", 1, 10), (3, "-", "a", 1, 10), (3, "+", "b", 2, 10),
            (7, "-", "b", 2, 10), (7, "+", "a", 3, 10), (9, "-", "a", 3, 10),
            (9, "+", "a", 3, 20), (12, "-", "a", 3, 20), (12, "+", "a", 5, 20),
            (13, "-", "a", 5, 20), (13, "+", "a", 5, 30), (14, "-", "a", 5, 30),
            (14, "+", "c", 1, 30), (15, "-", "c", 1, 30), (15, "+", "a", 5, 30),
            (20, "-", "a", 5, 30), (20, "+", "a", 5, 40), (45, "-", "a", 5, 40),
            (45, "+", "b", 9, 40),
        ],
    ),
    # a1 a3 while a10 is there: 7 to 11. a3 a5 while a30 is there: 13 to 17, and from 15.
    "three streams": stream(
        "SELECT ISTREAM(a.v AS v1, c.v AS v2, w) FROM s [RANGE 10 SECONDS] a, "
        "r [RANGE 10 SECONDS] b, s [RANGE 10 SECONDS] c "
        "WHERE a.k = b.k AND b.k = c.k AND a.v < c.v",
        [(7, 1, 3, 10), (13, 3, 5, 30), (15, 3, 5, 30)],
    ),
    "three streams, as a relation": relation(
        "SELECT a.v AS v1, c.v AS v2, w FROM s [RANGE 10 SECONDS] a "
        "JOIN r [RANGE 10 SECONDS] b ON a.k = b.k JOIN s [RANGE 10 SECONDS] c "
        "ON b.k = c.k AND a.v < c.v",
        [
            (7, "+", 1, 3, 10), (11, "-", 1, 3, 10), (13, "+", 3, 5, 30), (15, "+", 3, 5, 30),
            (17, "-", 3, 5, 30), (17, "-", 3, 5, 30),
        ],
    ),
    # For 4 seconds: s a1 [1,5) b2 [3,7) a3 [7,11) a5 [12,16) a5 [15,19); r a10 [2,6) b20 [9,13) a30 [13,17).
    "two streams and a table": relation(
        "SELECT name, v, w FROM s [RANGE 4 SECONDS] JOIN r [RANGE 4 SECONDS] ON s.k = r.k "
        "JOIN t ON s.k = t.k",
        [
            (2, "+", "Anna", 1, 10), (5, "-", "Anna", 1, 10), (13, "+", "Anna", 5, 30),
            (15, "+", "Anna", 5, 30), (16, "-", "Anna", 5, 30), (17, "-", "Anna", 5, 30),
        ],
    ),
    # The pairs of "pairs of ranges": a 10 [2,6) and [7,12); 30 [13,17) and [15,20).
    "groups of pairs": relation(
        "SELECT s.k AS k, SUM(w) AS sw FROM s [RANGE 5 SECONDS] JOIN r [RANGE 10 SECONDS] "
        "ON s.k = r.k GROUP BY s.k",
        [
            (2, "+", "a", 10), (6, "-", "a", 10), (7, "+", "a", 10), (12, "-", "a", 10),
            (13, "+", "a", 30), (15, "-", "a", 30), (15, "+", "a", 60), (17, "-", "a", 60),
            (17, "+", "a", 30), (20, "-", "a", 30),
        ],
    ),
    "windows of ten seconds with the last row of each key": relation(
        "SELECT s.k AS k, v, w FROM s [RANGE 10 SECONDS] JOIN r [PARTITION BY k ROWS 1] "
        "ON s.k = r.k WHERE s.k = 'b'",
        [(9, "+", "b", 2, 20), (13, "-", "b", 2, 20), (45, "+", "b", 9, 20), (55, "-", "b", 9, 20)],
    ),
    "right join of equal windows": stream(
        "SELECT r.k AS k, v, w, WINDOW_END FROM s [TUMBLE 10 SECONDS] RIGHT JOIN "
        "r [TUMBLE 10 SECONDS] ON s.k = r.k WHERE w < 50",
        [
            (10, "a", 1, 10, 10), (10, "a", 3, 10, 10), (10, "b", 2, 20, 10),
            (20, "a", 5, 30, 20), (20, "a", 5, 30, 20), (30, "q", None, 40, 30),
        ],
    ),
    "full join of equal windows": stream(
        "SELECT s.k AS sk, r.k AS rk, WINDOW_END FROM s [TUMBLE 10 SECONDS] FULL JOIN "
        "r [TUMBLE 10 SECONDS] ON s.k = r.k AND v > 1 WHERE COALESCE(s.k, r.k) <> 'z'",
        [
            (10, "a", None, 10), (10, "a", "a", 10), (10, "b", "b", 10), (20, "a", "a", 20),
            (20, "a", "a", 20), (20, "c", None, 20), (30, None, "q", 30), (50, "b", None, 50),
        ],
    ),
    "cross join of equal windows": stream(
        "SELECT v, w, WINDOW_END FROM s [TUMBLE 10 SECONDS] CROSS JOIN r [TUMBLE 10 SECONDS] "
        "WHERE v < 5",
        [
            (10, 1, 10, 10), (10, 1, 20, 10), (10, 2, 10, 10), (10, 2, 20, 10), (10, 3, 10, 10),
            (10, 3, 20, 10), (20, 1, 30, 20),
        ],
    ),
    "join of equal windows by the columns of one name": stream(
        "SELECT k, v, w FROM s [TUMBLE 10 SECONDS] JOIN r [TUMBLE 10 SECONDS] USING (k) "
        "WHERE k <> 'z'",
        [
            (10, "a", 1, 10), (10, "a", 3, 10), (10, "b", 2, 20), (20, "a", 5, 30),
            (20, "a", 5, 30),
        ],
    ),
    "join of sessions": stream(
        "SELECT a.k AS k, n, b.m AS m FROM (SELECT k, COUNT(*) AS n FROM s "
        "[SESSION 6 SECONDS PARTITION BY k] GROUP BY k) a JOIN (SELECT k, COUNT(*) AS m FROM s "
        "[SESSION 6 SECONDS PARTITION BY k] GROUP BY k) b ON a.k = b.k",
        [(7, "a", 1, 1), (9, "b", 1, 1), (20, "c", 1, 1), (21, "a", 3, 3), (51, "b", 1, 1)],
        REFUSED,
    ),
    # One key: that of the side that is there.
    "both sides' rows under one key": relation(
        "SELECT k, v, w FROM s [RANGE 5 SECONDS] FULL JOIN r [RANGE 10 SECONDS] USING (k)",
        [
            (1, "+", "a", 1, None), (2, "-", "a", 1, None), (2, "+", "a", 1, 10),
            (3, "+", "b", 2, None), (6, "-", "a", 1, 10), (6, "+", "a", None, 10),
            (7, "-", "a", None, 10), (7, "+", "a", 3, 10), (8, "-", "b", 2, None),
            (9, "+", "b", None, 20), (12, "-", "a", 3, 10), (12, "+", "a", 5, None),
            (13, "-", "a", 5, None), (13, "+", "a", 5, 30), (14, "+", "c", 1, None),
            (15, "+", "a", 5, 30), (17, "-", "a", 5, 30), (19, "-", "b", None, 20),
            (19, "-", "c", 1, None), (20, "-", "a", 5, 30), (20, "+", "a", None, 30),
            (20, "+", "q", None, 40), (23, "-", "a", None, 30), (30, "-", "q", None, 40),
            (45, "+", "b", 9, None), (50, "-", "b", 9, None),
        ],
    ),
    # Windows to 10: a1 b2 a3 with a10 b20; to 20: a5 c1 a5 with a30; to 30: q40; to 50: b9.
    "both sides' rows of equal windows under one key": stream(
        "SELECT k, v, w, WINDOW_END FROM s [TUMBLE 10 SECONDS] FULL JOIN r [TUMBLE 10 SECONDS] "
        "USING (k) WHERE k <> 'z'",
        [
            (10, "a", 1, 10, 10), (10, "a", 3, 10, 10), (10, "b", 2, 20, 10), (20, "a", 5, 30, 20),
            (20, "a", 5, 30, 20), (20, "c", 1, None, 20), (30, "q", None, 40, 30),
            (50, "b", 9, None, 50),
        ],
    ),
    # s: a1 [1,11) b2 [3,13) a3 [7,17) a5 [12,22) c1 [14,24) a5 [15,25) b9 [45,55);
    # r: a10 [2,7) b20 [9,14) a30 [13,18). Each time that a row has no counterpart any more, it comes.
    "rows without a counterpart, whenever they have none": stream(
        "ISTREAM(SELECT k, v FROM s [RANGE 10 SECONDS] WHERE k <> 'z' AND "
        "NOT EXISTS (SELECT 1 FROM r [RANGE 5 SECONDS] WHERE r.k = s.k))",
        [
            (1, "a", 1), (3, "b", 2), (7, "a", 1), (7, "a", 3), (12, "a", 5), (14, "c", 1),
            (18, "a", 5), (18, "a", 5), (45, "b", 9),
        ],
    ),
}

LOOKUPS: dict[str, Case] = {
    # The sums of w over 15 seconds: a 10 from 2, 40 from 13, 30 from 17 to 28; b 20 from 9 to 24.
    "lookup in groups of a range": stream(
        "RSTREAM(SELECT s.k AS k, v, sw FROM s [NOW], (SELECT k, SUM(w) AS sw "
        "FROM r [RANGE 15 SECONDS] GROUP BY k) q WHERE s.k = q.k)",
        [(7, "a", 3, 10), (12, "a", 5, 10), (15, "a", 5, 40)],
    ),
    "lookup in the last row of each key": stream(
        "RSTREAM(SELECT s.k AS k, v, w FROM s [NOW], r [PARTITION BY k ROWS 1] WHERE s.k = r.k)",
        [(7, "a", 3, 10), (12, "a", 5, 10), (15, "a", 5, 30), (45, "b", 9, 20)],
    ),
    "lookup in the last row of each key, found or not": stream(
        "RSTREAM(SELECT s.k AS k, v, w FROM s [NOW] LEFT JOIN r [PARTITION BY k ROWS 1] "
        "ON s.k = r.k WHERE s.k <> 'z')",
        [
            (1, "a", 1, None), (3, "b", 2, None), (7, "a", 3, 10), (12, "a", 5, 10),
            (14, "c", 1, None), (15, "a", 5, 30), (45, "b", 9, 20),
        ],
    ),
    # The count at an instant has the row of that instant in it.
    "lookup of a row in the counts of its own stream": stream(
        "RSTREAM(SELECT s.k AS k, v, n FROM s [NOW], (SELECT k, COUNT(*) AS n FROM s GROUP BY k) c "
        "WHERE s.k = c.k)",
        [
            (1, "a", 1, 1), (3, "b", 2, 1), (7, "a", 3, 2), (12, "a", 5, 3), (14, "c", 1, 1),
            (15, "a", 5, 4), (45, "b", 9, 2),
        ],
    ),
    # The largest w so far: 10 from 2, 20 from 9, 30 from 13, 40 from 20.
    "lookup of one value for all": stream(
        "RSTREAM(SELECT v, m FROM s [NOW], (SELECT MAX(w) AS m FROM r) q WHERE v > 1 AND k <> 'z')",
        [(3, 2, 10), (7, 3, 10), (12, 5, 20), (15, 5, 30), (45, 9, 40)],
    ),
    # A window that ended at 10 holds until 20: a 10, b 20; the next one until 30: a 30; then q.
    "lookup in the last closed window": stream(
        "RSTREAM(SELECT s.k AS k, v, hi FROM s [NOW], (SELECT k, MAX(w) AS hi "
        "FROM r [TUMBLE 10 SECONDS] GROUP BY k) q WHERE s.k = q.k)",
        [(12, "a", 5, 10), (15, "a", 5, 10)],
    ),
    "lookup in a view of a view": stream(
        "WITH latest AS (SELECT k, w FROM r [PARTITION BY k ROWS 1]), "
        "best AS (SELECT MAX(w) AS m FROM latest) "
        "SELECT RSTREAM(v, m) FROM s [NOW], best WHERE v > 1 AND v < 9",
        [(3, 2, 10), (7, 3, 10), (12, 5, 20), (15, 5, 30)],
    ),
    # ISTREAM says the same where no pair stays: a pair with [NOW] is gone with the next instant.
    "lookup by ISTREAM": stream(
        "ISTREAM(SELECT s.k AS k, v, w FROM s [NOW], r [PARTITION BY k ROWS 1] WHERE s.k = r.k)",
        [(7, "a", 3, 10), (12, "a", 5, 10), (15, "a", 5, 30), (45, "b", 9, 20)],
    ),
    "pairs that are there at an instant, and a table": stream(
        "RSTREAM(SELECT name, v, w FROM s [NOW] JOIN r [RANGE 10 SECONDS] ON s.k = r.k "
        "JOIN t ON r.k = t.k WHERE v < 9)",
        [(7, "Anna", 3, 10), (15, "Anna", 5, 30)],
    ),
}
