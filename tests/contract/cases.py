"""Queries with answers worked out by hand from the meaning of CQL: every engine is held against them.

The stream ``s`` has a row per line below (key, v, x, second); ``r`` likewise (key, w, second).
The last row of each is far ahead, so that every window before it is closed by the watermark.
Timestamps in answers are seconds after the first instant of 2024.
"""

from __future__ import annotations

from typing import Any

S = [
    [("a", 1, 1.5, 1), ("b", 2, 2.5, 3), ("a", 3, None, 7)],
    [("a", 5, 1.0, 12), ("c", 1, 0.5, 14), ("a", 5, 1.0, 15)],
    [("b", 9, 1.0, 45), ("z", 9, 1.0, 100)],
]
R = [
    [("a", 10, 2), ("b", 20, 9)],
    [("a", 30, 13), ("q", 40, 20)],
    [("z", 50, 101)],
]
T = [[{"k": "a", "name": "Anna"}, {"k": "b", "name": "Bert"}]]

PRELUDE = """
CREATE STREAM s (k STRING, v INT, x DOUBLE, ts TIMESTAMP,
                 WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS)
  WITH (connector = 'file', path = 's', format = 'json', max_files_per_trigger = 1);
CREATE STREAM r (k STRING, w INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS)
  WITH (connector = 'file', path = 'r', format = 'json', max_files_per_trigger = 1);
CREATE TABLE t (k STRING, name STRING) WITH (connector = 'file', path = 't', format = 'json');
"""

CASES: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "filter and arithmetic": (
        "SELECT k, v + 1 AS v1, v / 2 AS half, x FROM s WHERE v > 1 AND ts < TIMESTAMP "
        "'2024-01-01 00:00:40'",
        [("b", 3, 1, 2.5), ("a", 4, 1, None), ("a", 6, 2, 1.0), ("a", 6, 2, 1.0)],
    ),
    "division by zero is NULL": (
        "SELECT v / (v - v) AS a, v % 0 AS b, x / 0 AS c FROM s WHERE k = 'c'",
        [(None, None, None)],
    ),
    "tumbling aggregates": (
        "SELECT k, COUNT(*) AS n, COUNT(x) AS nx, SUM(v) AS sv, AVG(x) AS ax, MIN(v) AS lo, "
        "MAX(v) AS hi, WINDOW_START, WINDOW_END FROM s [TUMBLE 10 SECONDS] GROUP BY k",
        [
            ("a", 2, 1, 4, 1.5, 1, 3, 0, 10),
            ("b", 1, 1, 2, 2.5, 2, 2, 0, 10),
            ("a", 2, 2, 10, 1.0, 5, 5, 10, 20),
            ("c", 1, 1, 1, 0.5, 1, 1, 10, 20),
            ("b", 1, 1, 9, 1.0, 9, 9, 40, 50),
        ],
    ),
    "first and last by event time": (
        "SELECT k, FIRST(v) AS f, LAST(v) AS l, WINDOW_END FROM s [TUMBLE 20 SECONDS] GROUP BY k",
        [("a", 1, 5, 20), ("b", 2, 2, 20), ("c", 1, 1, 20), ("b", 9, 9, 60)],
    ),
    "filter clause and having": (
        "SELECT k, SUM(v) FILTER (WHERE v > 1) AS big, WINDOW_END FROM s [TUMBLE 10 SECONDS] "
        "GROUP BY k HAVING COUNT(*) > 1",
        [("a", 3, 10), ("a", 10, 20)],
    ),
    "sliding window": (
        "SELECT COUNT(*) AS n, WINDOW_END FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS]",
        [(2, 5), (3, 10), (3, 15), (3, 20), (1, 25), (1, 50), (1, 55)],
    ),
    "exact distinct, two-level": (
        "SELECT k, COUNT(DISTINCT v) AS d, COUNT(*) AS n, SUM(v) AS sv, MAX(x) AS hi, WINDOW_END "
        "FROM s [TUMBLE 10 SECONDS] GROUP BY k",
        [
            ("a", 2, 2, 4, 1.5, 10),
            ("b", 1, 1, 2, 2.5, 10),
            ("a", 1, 2, 10, 1.0, 20),
            ("c", 1, 1, 1, 0.5, 20),
            ("b", 1, 1, 9, 1.0, 50),
        ],
    ),
    "exact distinct, set form": (
        "SELECT COUNT(DISTINCT v) AS dv, COUNT(DISTINCT k) AS dk, SUM(DISTINCT v) AS sv, "
        "AVG(DISTINCT v) AS av, COUNT(DISTINCT k, v) AS kv, WINDOW_END FROM s [TUMBLE 20 SECONDS]",
        [(4, 3, 11, 2.75, 5, 20), (1, 1, 9, 9.0, 1, 60)],
    ),
    "session windows": (
        "SELECT k, COUNT(*) AS n, WINDOW_START, WINDOW_END FROM s "
        "[SESSION 6 SECONDS PARTITION BY k] GROUP BY k",
        [("a", 1, 1, 7), ("a", 3, 7, 21), ("b", 1, 3, 9), ("c", 1, 14, 20), ("b", 1, 45, 51)],
    ),
    "unbounded group-by": (
        "SELECT k, SUM(v) AS n FROM s WHERE k = 'b' GROUP BY k",
        [("b", 2), ("b", 11)],
    ),
    "order by descending, limit": (
        "SELECT k, v, WINDOW_END FROM s [TUMBLE 10 SECONDS] ORDER BY v DESC LIMIT 2",
        [("a", 3, 10), ("b", 2, 10), ("a", 5, 20), ("a", 5, 20), ("b", 9, 50)],
    ),
    "order by both ways after grouping": (
        "SELECT k, COUNT(*) AS n, WINDOW_END FROM s [TUMBLE 20 SECONDS] GROUP BY k "
        "ORDER BY n ASC, k DESC LIMIT 2",
        [("c", 1, 20), ("b", 1, 20), ("b", 1, 60)],
    ),
    "order by a hidden aggregate": (
        "SELECT k FROM s [TUMBLE 20 SECONDS] GROUP BY k ORDER BY SUM(v) DESC LIMIT 1",
        [("a",), ("b",)],
    ),
    "join within ranges": (
        "SELECT ISTREAM(s.k, v, w) FROM s [RANGE 5 SECONDS], r [RANGE 10 SECONDS] WHERE s.k = r.k",
        [("a", 1, 10), ("a", 3, 10), ("a", 5, 30), ("a", 5, 30), ("z", 9, 50)],
    ),
    "left join within ranges": (
        "SELECT ISTREAM(s.k, v, w) FROM s [RANGE 5 SECONDS] LEFT JOIN r [RANGE 10 SECONDS] "
        "ON s.k = r.k WHERE s.k <> 'z'",
        [
            ("a", 1, 10),
            ("a", 3, 10),
            ("a", 5, 30),
            ("a", 5, 30),
            ("b", 2, None),
            ("b", 9, None),
            ("c", 1, None),
        ],
    ),
    "full join within ranges": (
        "SELECT ISTREAM(s.k AS sk, r.k AS rk) FROM s [RANGE 5 SECONDS] FULL JOIN "
        "r [RANGE 10 SECONDS] ON s.k = r.k",
        [
            ("a", "a"),
            ("a", "a"),
            ("a", "a"),
            ("a", "a"),
            ("b", None),
            ("b", None),
            ("c", None),
            ("z", "z"),
            (None, "b"),
            (None, "q"),
        ],
    ),
    "lookup in what just came": (
        "SELECT RSTREAM(s.k, v, w) FROM s [NOW], r [RANGE 10 SECONDS] WHERE s.k = r.k",
        [("a", 3, 10), ("a", 5, 30)],
    ),
    "join of equal windows": (
        "SELECT s.k AS k, v, w, WINDOW_END FROM s [TUMBLE 10 SECONDS] JOIN r [TUMBLE 10 SECONDS] "
        "ON s.k = r.k WHERE v < 9",
        [("a", 1, 10, 10), ("a", 3, 10, 10), ("b", 2, 20, 10), ("a", 5, 30, 20), ("a", 5, 30, 20)],
    ),
    "join of equal windows without equality": (
        "SELECT v, w, WINDOW_END FROM s [TUMBLE 10 SECONDS] JOIN r [TUMBLE 10 SECONDS] "
        "ON v * 10 > w WHERE v < 9",
        [(2, 10, 10), (3, 10, 10), (3, 20, 10), (5, 30, 20), (5, 30, 20)],
    ),
    "left join of equal windows": (
        "SELECT s.k AS k, w, WINDOW_END FROM s [TUMBLE 10 SECONDS] LEFT JOIN r [TUMBLE 10 SECONDS]"
        " ON s.k = r.k WHERE s.k IN ('b', 'c')",
        [("b", 20, 10), ("c", None, 20), ("b", None, 50)],
    ),
    "aggregate over a windowed join": (
        "SELECT s.k AS k, SUM(w) AS sw, WINDOW_END FROM s [TUMBLE 10 SECONDS] JOIN "
        "r [TUMBLE 10 SECONDS] ON s.k = r.k GROUP BY s.k",
        [("a", 20, 10), ("b", 20, 10), ("a", 60, 20)],
    ),
    "join with a table": (
        "SELECT name, v FROM s JOIN t ON s.k = t.k WHERE v < 3",
        [("Anna", 1), ("Bert", 2)],
    ),
    "left join with a table": (
        "SELECT RSTREAM(s.k AS k, name) FROM s [NOW] LEFT JOIN t ON s.k = t.k WHERE v = 1",
        [("a", "Anna"), ("c", None)],
    ),
    "aggregate after a table join": (
        "SELECT name, COUNT(*) AS n, WINDOW_END FROM s [TUMBLE 20 SECONDS] JOIN t ON s.k = t.k "
        "GROUP BY name",
        [("Anna", 4, 20), ("Bert", 1, 20), ("Bert", 1, 60)],
    ),
    "distinct per window": (
        "SELECT DISTINCT k, WINDOW_END FROM s [TUMBLE 10 SECONDS]",
        [("a", 10), ("b", 10), ("a", 20), ("c", 20), ("b", 50)],
    ),
    "distinct without a window": (
        "SELECT DISTINCT k FROM s",
        [("a",), ("b",), ("c",), ("z",)],
    ),
    "distinct with event time": (
        "SELECT DISTINCT k, ts FROM s WHERE v = 5",
        [("a", 12), ("a", 15)],
    ),
    "last row per key": (
        "SELECT k, v FROM s [PARTITION BY k ROWS 1] WHERE k = 'a'",
        [("a", 3), ("a", 5)],
    ),
    "union all": (
        "SELECT k, v FROM s WHERE v > 2 UNION ALL SELECT k, w FROM r WHERE w < 20",
        [("a", 3), ("a", 5), ("a", 5), ("b", 9), ("z", 9), ("a", 10)],
    ),
    "aggregate of an aggregate": (
        "WITH c AS (SELECT k, COUNT(*) AS n FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS] GROUP BY k) "
        "SELECT MAX(n) AS m, COUNT(*) AS groups, WINDOW_END FROM c",
        [(1, 2, 5), (2, 2, 10), (2, 2, 15), (2, 2, 20), (1, 1, 25), (1, 1, 50), (1, 1, 55)],
    ),
    "join of an aggregate with its maximum": (
        "WITH c AS (SELECT k, COUNT(*) AS n, WINDOW_END AS we FROM s [TUMBLE 10 SECONDS] "
        "GROUP BY k), m AS (SELECT MAX(n) AS most FROM c) "
        "SELECT c.k, c.n, c.we FROM c, m WHERE c.n = m.most",
        [("a", 2, 10), ("a", 2, 20), ("b", 1, 50)],
    ),
    "window over a subquery": (
        "SELECT k, v, WINDOW_END FROM (SELECT k, v, ts FROM s WHERE v > 2 AND v < 9) "
        "[TUMBLE 10 SECONDS] AS q",
        [("a", 3, 10), ("a", 5, 20), ("a", 5, 20)],
    ),
    "in a table": (
        "SELECT k, v FROM s WHERE v < 5 AND k IN (SELECT k FROM t)",
        [("a", 1), ("b", 2), ("a", 3)],
    ),
    "not in a table": (
        "SELECT k, v FROM s WHERE k NOT IN (SELECT k FROM t)",
        [("c", 1), ("z", 9)],
    ),
    "not in a table, NULL on the left": (
        "SELECT k, v FROM s WHERE CASE WHEN v > 1 THEN k END NOT IN (SELECT k FROM t)",
        [("z", 9)],
    ),
    "not in values with a NULL": (
        "SELECT k, v FROM s WHERE k NOT IN (SELECT NULLIF(name, 'Bert') FROM t)",
        [],
    ),
    "exists in a table": (
        "SELECT k, v FROM s WHERE v < 5 AND EXISTS (SELECT * FROM t WHERE t.k = s.k AND name <> 'Bert')",
        [("a", 1), ("a", 3)],
    ),
    "not exists in a table, by more than equality": (
        "SELECT k, v FROM s WHERE NOT EXISTS (SELECT * FROM t WHERE t.k <= s.k AND LENGTH(name) > v)",
        [("a", 5), ("a", 5), ("b", 9), ("z", 9)],
    ),
    "in another window": (
        "SELECT k, v, WINDOW_END FROM s [TUMBLE 10 SECONDS] WHERE v < 9 "
        "AND k IN (SELECT k FROM r [TUMBLE 10 SECONDS])",
        [("a", 1, 10), ("b", 2, 10), ("a", 3, 10), ("a", 5, 20), ("a", 5, 20)],
    ),
    "not in another window": (
        "SELECT k, v, WINDOW_END FROM s [TUMBLE 10 SECONDS] "
        "WHERE k NOT IN (SELECT k FROM r [TUMBLE 10 SECONDS])",
        [("c", 1, 20), ("b", 9, 50)],
    ),
    "not exists in another window, grouped": (
        "SELECT k, COUNT(*) AS n, WINDOW_END FROM s [TUMBLE 10 SECONDS] x WHERE NOT EXISTS "
        "(SELECT 1 AS one FROM r [TUMBLE 10 SECONDS] y WHERE y.k = x.k AND w > 10) GROUP BY k",
        [("a", 2, 10), ("c", 1, 20), ("b", 1, 50)],
    ),
    "except of windows": (
        "SELECT k, WINDOW_END FROM s [TUMBLE 10 SECONDS] EXCEPT "
        "SELECT k, WINDOW_END FROM r [TUMBLE 10 SECONDS]",
        [("c", 20), ("b", 50)],
    ),
    "intersect of windows": (
        "SELECT k FROM s [TUMBLE 10 SECONDS] INTERSECT SELECT k FROM r [TUMBLE 10 SECONDS]",
        [("a",), ("b",), ("a",)],
    ),
}
