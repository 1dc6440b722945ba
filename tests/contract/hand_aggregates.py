"""Aggregates over windows that move, and aggregates of aggregates, by hand. ``s`` as in ``hand_windows``."""

from __future__ import annotations

from tests.contract.case import Case, relation, stream

AGGREGATES: dict[str, Case] = {
    # a: 1 | 1 3 | 3 | 3 5 | 3 5 5 | 5 5 | 5 from 1, 7, 11, 12, 15, 17, 22 to 25.
    "groups of a range": relation(
        "SELECT k, COUNT(*) AS n, SUM(v) AS sv FROM s [RANGE 10 SECONDS] GROUP BY k",
        [
            (1, "+", "a", 1, 1), (3, "+", "b", 1, 2),
            (7, "-", "a", 1, 1), (7, "+", "a", 2, 4),
            (11, "-", "a", 2, 4), (11, "+", "a", 1, 3),
            (12, "-", "a", 1, 3), (12, "+", "a", 2, 8), (13, "-", "b", 1, 2),
            (14, "+", "c", 1, 1), (15, "-", "a", 2, 8), (15, "+", "a", 3, 13),
            (17, "-", "a", 3, 13), (17, "+", "a", 2, 10),
            (22, "-", "a", 2, 10), (22, "+", "a", 1, 5), (24, "-", "c", 1, 1),
            (25, "-", "a", 1, 5), (45, "+", "b", 1, 9), (55, "-", "b", 1, 9),
        ],
    ),
    "groups of a range that appear": stream(
        "SELECT ISTREAM(k, COUNT(*) AS n, SUM(v) AS sv) FROM s [RANGE 10 SECONDS] GROUP BY k",
        [
            (1, "a", 1, 1), (3, "b", 1, 2), (7, "a", 2, 4), (11, "a", 1, 3), (12, "a", 2, 8),
            (14, "c", 1, 1), (15, "a", 3, 13), (17, "a", 2, 10), (22, "a", 1, 5), (45, "b", 1, 9),
        ],
    ),
    "groups of a range that leave": stream(
        "SELECT DSTREAM(k, COUNT(*) AS n) FROM s [RANGE 10 SECONDS] GROUP BY k",
        [
            (7, "a", 1), (11, "a", 2), (12, "a", 1), (13, "b", 1), (15, "a", 2), (17, "a", 3),
            (22, "a", 2), (24, "c", 1), (25, "a", 1), (55, "b", 1),
        ],
    ),
    # A count of nothing is 0, once there has been a row.
    "one count of a range": relation(
        "SELECT COUNT(*) AS n FROM s [RANGE 10 SECONDS]",
        [
            (1, "+", 1), (3, "-", 1), (3, "+", 2), (7, "-", 2), (7, "+", 3), (11, "-", 3),
            (11, "+", 2), (12, "-", 2), (12, "+", 3), (13, "-", 3), (13, "+", 2), (14, "-", 2),
            (14, "+", 3), (15, "-", 3), (15, "+", 4), (17, "-", 4), (17, "+", 3), (22, "-", 3),
            (22, "+", 2), (24, "-", 2), (24, "+", 1), (25, "-", 1), (25, "+", 0), (45, "-", 0),
            (45, "+", 1), (55, "-", 1), (55, "+", 0),
        ],
    ),
    "groups of a range that are large enough": relation(
        "SELECT k, COUNT(*) AS n FROM s [RANGE 10 SECONDS] GROUP BY k HAVING COUNT(*) > 1",
        [
            (7, "+", "a", 2), (11, "-", "a", 2), (12, "+", "a", 2), (15, "-", "a", 2),
            (15, "+", "a", 3), (17, "-", "a", 3), (17, "+", "a", 2), (22, "-", "a", 2),
        ],
    ),
    # x of a: 1.5 and NULL (at 7), 1.0, 1.0: a NULL that comes or goes changes no average.
    "averages of a range with NULLs": relation(
        "SELECT k, COUNT(x) AS nx, AVG(x) AS ax FROM s [RANGE 10 SECONDS] GROUP BY k",
        [
            (1, "+", "a", 1, 1.5), (3, "+", "b", 1, 2.5), (11, "-", "a", 1, 1.5),
            (11, "+", "a", 0, None), (12, "-", "a", 0, None), (12, "+", "a", 1, 1.0),
            (13, "-", "b", 1, 2.5), (14, "+", "c", 1, 0.5), (15, "-", "a", 1, 1.0),
            (15, "+", "a", 2, 1.0), (22, "-", "a", 2, 1.0), (22, "+", "a", 1, 1.0),
            (24, "-", "c", 1, 0.5), (25, "-", "a", 1, 1.0), (45, "+", "b", 1, 1.0),
            (55, "-", "b", 1, 1.0),
        ],
    ),
    # 1 | 1 2 | 2 3 | 3 5 | 5 1 | 1 5 | 5 9
    "extremes of the last two rows": relation(
        "SELECT MIN(v) AS lo, MAX(v) AS hi FROM s [ROWS 2]",
        [
            (1, "+", 1, 1), (3, "-", 1, 1), (3, "+", 1, 2), (7, "-", 1, 2), (7, "+", 2, 3),
            (12, "-", 2, 3), (12, "+", 3, 5), (14, "-", 3, 5), (14, "+", 1, 5),
            (45, "-", 1, 5), (45, "+", 5, 9),
        ],
    ),
    "sums of the last two rows of each key": relation(
        "SELECT k, SUM(v) AS sv FROM s [PARTITION BY k ROWS 2] GROUP BY k",
        [
            (1, "+", "a", 1), (3, "+", "b", 2), (7, "-", "a", 1), (7, "+", "a", 4),
            (12, "-", "a", 4), (12, "+", "a", 8), (14, "+", "c", 1), (15, "-", "a", 8),
            (15, "+", "a", 10), (45, "-", "b", 2), (45, "+", "b", 11),
        ],
    ),
    "first and last of the last three rows": relation(
        "SELECT FIRST(v) AS f, LAST(v) AS l FROM s [ROWS 3]",
        [
            (1, "+", 1, 1), (3, "-", 1, 1), (3, "+", 1, 2), (7, "-", 1, 2), (7, "+", 1, 3),
            (12, "-", 1, 3), (12, "+", 2, 5), (14, "-", 2, 5), (14, "+", 3, 1),
            (15, "-", 3, 1), (15, "+", 5, 5), (45, "-", 5, 5), (45, "+", 1, 9),
        ],
    ),
    "different keys of a range": relation(
        "SELECT DISTINCT k FROM s [RANGE 10 SECONDS]",
        [
            (1, "+", "a"), (3, "+", "b"), (13, "-", "b"), (14, "+", "c"), (24, "-", "c"),
            (25, "-", "a"), (45, "+", "b"), (55, "-", "b"),
        ],
    ),
    "groups of all rows that are large enough": relation(
        "SELECT k, COUNT(*) AS n FROM s GROUP BY k HAVING COUNT(*) > 1",
        [
            (7, "+", "a", 2), (12, "-", "a", 2), (12, "+", "a", 3), (15, "-", "a", 3),
            (15, "+", "a", 4), (45, "+", "b", 2),
        ],
    ),
    "groups of all rows that appear": stream(
        "SELECT ISTREAM(k, SUM(v) AS sv) FROM s GROUP BY k",
        [
            (1, "a", 1), (3, "b", 2), (7, "a", 4), (12, "a", 9), (14, "c", 1), (15, "a", 14),
            (45, "b", 11),
        ],
    ),
    "groups of all rows that leave": stream(
        "SELECT DSTREAM(k, SUM(v) AS sv) FROM s GROUP BY k",
        [(7, "a", 1), (12, "a", 4), (15, "a", 9), (45, "b", 2)],
    ),
    "a session's aggregates, for the whole stream": stream(
        "SELECT COUNT(*) AS n, SUM(v) AS sv, WINDOW_START, WINDOW_END FROM s [SESSION 6 SECONDS]",
        [(21, 6, 17, 1, 21), (51, 1, 9, 45, 51)],
    ),
    "a session's aggregates that leave": stream(
        "SELECT DSTREAM(k, SUM(v) AS sv) FROM s [SESSION 6 SECONDS PARTITION BY k] GROUP BY k",
        [
            (7.000001, "a", 1), (9.000001, "b", 2), (20.000001, "c", 1), (21.000001, "a", 13),
            (51.000001, "b", 9),
        ],
    ),
    # a: 2 rows, then 2 again: nothing comes. b and c replace each other.
    "groups of windows that are not those of the window before": stream(
        "SELECT ISTREAM(k, COUNT(*) AS n) FROM s [TUMBLE 10 SECONDS] GROUP BY k",
        [(10, "a", 2), (10, "b", 1), (20, "c", 1), (50, "b", 1)],
    ),
    "groups of windows that the next one has not": stream(
        "SELECT DSTREAM(k, COUNT(*) AS n) FROM s [TUMBLE 10 SECONDS] GROUP BY k",
        [(20, "b", 1), (30, "a", 2), (30, "c", 1), (60, "b", 1)],
    ),
}

NESTED: dict[str, Case] = {
    # The counts: a 1 | 2 | 1 | 2 | 3 | 2 | 1 from 1, 7, 11, 12, 15, 17, 22 to 25; b 3 to 13, 45 to 55;
    # c 14 to 24.
    "largest of the counts of a range": relation(
        "WITH c AS (SELECT k, COUNT(*) AS n FROM s [RANGE 10 SECONDS] GROUP BY k) "
        "SELECT MAX(n) AS m FROM c",
        [
            (1, "+", 1), (7, "-", 1), (7, "+", 2), (11, "-", 2), (11, "+", 1), (12, "-", 1),
            (12, "+", 2), (15, "-", 2), (15, "+", 3), (17, "-", 3), (17, "+", 2), (22, "-", 2),
            (22, "+", 1), (25, "-", 1), (25, "+", None), (45, "-", None), (45, "+", 1),
            (55, "-", 1), (55, "+", None),
        ],
    ),
    # Over 5 seconds a has 1 row from 1 to 6 and from 7, 2 from 15, 1 from 17 to 20; over 20 seconds
    # 1, 2, 3, 4 from 1, 7, 12, 15 to 21.
    "counts over two windows": relation(
        "WITH near AS (SELECT k, COUNT(*) AS n FROM s [RANGE 5 SECONDS] GROUP BY k), "
        "far AS (SELECT k, COUNT(*) AS n FROM s [RANGE 20 SECONDS] GROUP BY k) "
        "SELECT near.k AS k, near.n AS n, far.n AS of FROM near JOIN far ON near.k = far.k",
        [
            (1, "+", "a", 1, 1), (3, "+", "b", 1, 1), (6, "-", "a", 1, 1), (7, "+", "a", 1, 2),
            (8, "-", "b", 1, 1), (12, "-", "a", 1, 2), (12, "+", "a", 1, 3),
            (14, "+", "c", 1, 1), (15, "-", "a", 1, 3), (15, "+", "a", 2, 4),
            (17, "-", "a", 2, 4), (17, "+", "a", 1, 4), (19, "-", "c", 1, 1),
            (20, "-", "a", 1, 4), (45, "+", "b", 1, 1), (50, "-", "b", 1, 1),
        ],
    ),
    # The sums of the last row of each key: 1 | 1+2 | 3+2 | 5+2 | 5+2+1 | the same | 5+9+1
    "sum over the last row of each key": relation(
        "SELECT SUM(v) AS sv, COUNT(*) AS n FROM s [PARTITION BY k ROWS 1]",
        [
            (1, "+", 1, 1), (3, "-", 1, 1), (3, "+", 3, 2), (7, "-", 3, 2), (7, "+", 5, 2),
            (12, "-", 5, 2), (12, "+", 7, 2), (14, "-", 7, 2), (14, "+", 8, 3),
            (45, "-", 8, 3), (45, "+", 15, 3),
        ],
    ),
    # How many keys have been seen how often: a 1, then b 1, a 2, a 3, c 1, a 4, b 2.
    "count of the counts of all rows": relation(
        "WITH c AS (SELECT k, COUNT(*) AS n FROM s GROUP BY k) "
        "SELECT n, COUNT(*) AS keys FROM c GROUP BY n",
        [
            (1, "+", 1, 1), (3, "-", 1, 1), (3, "+", 1, 2), (7, "-", 1, 2), (7, "+", 1, 1),
            (7, "+", 2, 1), (12, "-", 2, 1), (12, "+", 3, 1), (14, "-", 1, 1), (14, "+", 1, 2),
            (15, "-", 3, 1), (15, "+", 4, 1), (45, "-", 1, 2), (45, "+", 1, 1), (45, "+", 2, 1),
        ],
    ),
    # An element of DSTREAM is stamped with the instant at which its row leaves: 11, 13, 17 | 22, 24, 25 | 55.
    "rows that leave, counted in windows of their own": stream(
        "SELECT COUNT(*) AS n, WINDOW_END FROM DSTREAM(SELECT k, v, ts FROM s [RANGE 10 SECONDS]) "
        "[TUMBLE 10 SECONDS] AS q",
        [(20, 3, 20), (30, 3, 30), (60, 1, 60)],
    ),
    # The rows that come into [ROWS 2] are all rows of s.
    "rows that come, counted in windows of their own": stream(
        "SELECT COUNT(*) AS n, WINDOW_END FROM ISTREAM(SELECT k, v, ts FROM s [ROWS 2]) "
        "[TUMBLE 10 SECONDS] AS q",
        [(10, 3, 10), (20, 3, 20), (50, 1, 50)],
    ),
    # The results of windows of 10 seconds come at 10 (a 2, b 1), 20 (a 2, c 1) and 50 (b 1): those at 10
    # are in [0, 20), those at 20 in [20, 40).
    "results of windows, counted in longer windows": stream(
        "SELECT SUM(n) AS rows, COUNT(*) AS groups, WINDOW_END FROM RSTREAM(SELECT k, COUNT(*) AS n "
        "FROM s [TUMBLE 10 SECONDS] GROUP BY k) [TUMBLE 20 SECONDS] AS q",
        [(20, 3, 2, 20), (40, 3, 2, 40), (60, 1, 1, 60)],
    ),
}
