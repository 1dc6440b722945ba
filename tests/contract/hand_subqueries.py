"""Tests and values that ask a query, over relations that move, by hand.

Over 10 seconds the keys are there::

    s   a from 1 to 25, b from 3 to 13 and from 45 to 55, c from 14 to 24
    r   a from 2 to 12 and from 13 to 23, b from 9 to 19, q from 20 to 30
"""

from __future__ import annotations

from tests.contract.case import Case, relation, stream
from tests.contract.hand_input import ODD

IN_RANGES = (
    "SELECT k, v FROM s [RANGE 10 SECONDS] WHERE k {} (SELECT k FROM r [RANGE 10 SECONDS])"
)
OF_TUMBLES = (
    "SELECT k, v FROM s [TUMBLE 10 SECONDS] WHERE v {} (SELECT {} FROM s [TUMBLE 10 SECONDS])"
)

SUBQUERIES: dict[str, Case] = {
    # a1 [1,11) b2 [3,13) a3 [7,17) a5 [12,22) c1 [14,24) a5 [15,25) b9 [45,55), while their key is in r.
    "in a range": relation(
        IN_RANGES.format("IN"),
        [
            (2, "+", "a", 1), (7, "+", "a", 3), (9, "+", "b", 2), (11, "-", "a", 1),
            (12, "-", "a", 3), (13, "-", "b", 2), (13, "+", "a", 3), (13, "+", "a", 5),
            (15, "+", "a", 5), (17, "-", "a", 3), (22, "-", "a", 5), (23, "-", "a", 5),
        ],
    ),
    "not in a range": relation(
        IN_RANGES.format("NOT IN"),
        [
            (1, "+", "a", 1), (2, "-", "a", 1), (3, "+", "b", 2), (9, "-", "b", 2),
            (12, "+", "a", 3), (12, "+", "a", 5), (13, "-", "a", 3), (13, "-", "a", 5),
            (14, "+", "c", 1), (23, "+", "a", 5), (24, "-", "c", 1), (25, "-", "a", 5),
            (45, "+", "b", 9), (55, "-", "b", 9),
        ],
    ),
    "rows of an instant whose key is in a range": stream(
        "RSTREAM(SELECT k, v FROM s [NOW] WHERE EXISTS "
        "(SELECT * FROM r [RANGE 10 SECONDS] WHERE r.k = s.k))",
        [(7, "a", 3), (15, "a", 5)],
    ),
    "rows of an instant whose key is not in a range": stream(
        "RSTREAM(SELECT k, v FROM s [NOW] WHERE NOT EXISTS "
        "(SELECT * FROM r [RANGE 10 SECONDS] WHERE r.k = s.k) AND v < 10 AND k <> 'z')",
        [(1, "a", 1), (3, "b", 2), (12, "a", 5), (14, "c", 1), (45, "b", 9)],
    ),
    # Windows to 10: 1 2 3; to 20: 5 1 5; to 50: 9.
    "equal to one value": stream(
        OF_TUMBLES.format("=", "MAX(v)"),
        [(10, "a", 3), (20, "a", 5), (20, "a", 5), (50, "b", 9)],
    ),
    "at least all values": stream(
        OF_TUMBLES.format(">= ALL", "v"),
        [(10, "a", 3), (20, "a", 5), (20, "a", 5), (50, "b", 9)],
    ),
    "less than any value": stream(
        OF_TUMBLES.format("< ANY", "v"),
        [(10, "a", 1), (10, "b", 2), (20, "c", 1)],
    ),
    "another value than any": stream(
        OF_TUMBLES.format("<> ANY", "v"),
        [(10, "a", 1), (10, "b", 2), (10, "a", 3), (20, "a", 5), (20, "a", 5), (20, "c", 1)],
    ),
    # Two rows at a time, one alone at first: a1, a1 b2, b2 a3, a3 a5, a5 c1, c1 a5, a5 b9.
    "another value than any of the last rows": relation(
        "SELECT k, v FROM s [ROWS 2] WHERE v <> ANY (SELECT v FROM s [ROWS 2])",
        [
            (3, "+", "a", 1), (3, "+", "b", 2), (7, "-", "a", 1), (7, "+", "a", 3),
            (12, "-", "b", 2), (12, "+", "a", 5), (14, "-", "a", 3), (14, "+", "c", 1),
            (45, "-", "c", 1), (45, "+", "b", 9),
        ],
    ),
    "greater than any key of a table": stream(
        "SELECT k, v FROM s WHERE k > ANY (SELECT k FROM t) AND k < 'y'",
        [(3, "b", 2), (14, "c", 1), (45, "b", 9)],
    ),
    # r without a10, over 5 seconds, has rows from 9 to 18 and from 20 to 25.
    "while there is any row": relation(
        "SELECT k, v FROM s [RANGE 5 SECONDS] WHERE EXISTS "
        "(SELECT * FROM r [RANGE 5 SECONDS] WHERE w > 10)",
        [
            (9, "+", "a", 3), (12, "-", "a", 3), (12, "+", "a", 5), (14, "+", "c", 1),
            (15, "+", "a", 5), (17, "-", "a", 5), (18, "-", "c", 1), (18, "-", "a", 5),
        ],
    ),
    # The greatest of the windows: to 10 a10 b20, to 20 a30.
    "windows without such a group": stream(
        "SELECT k, v FROM s [TUMBLE 10 SECONDS] WHERE NOT EXISTS "
        "(SELECT k FROM r [TUMBLE 10 SECONDS] GROUP BY k HAVING MAX(w) > 20)",
        [(10, "a", 1), (10, "b", 2), (10, "a", 3), (50, "b", 9)],
    ),
    # a5 is there twice from 15 to 22.
    "a group of equal keys": relation(
        "SELECT k, w FROM r [RANGE 10 SECONDS] o WHERE EXISTS "
        "(SELECT v FROM s [RANGE 10 SECONDS] i WHERE i.k = o.k GROUP BY v HAVING COUNT(*) = 2)",
        [(15, "+", "a", 30), (22, "-", "a", 30)],
    ),
    "an empty group is a group": relation(
        "SELECT k, v FROM s [RANGE 5 SECONDS] o WHERE EXISTS "
        "(SELECT COUNT(*) FROM r [RANGE 10 SECONDS] i WHERE i.k = o.k HAVING COUNT(*) = 0)",
        [
            (1, "+", "a", 1), (2, "-", "a", 1), (3, "+", "b", 2), (8, "-", "b", 2),
            (12, "+", "a", 5), (13, "-", "a", 5), (14, "+", "c", 1), (19, "-", "c", 1),
            (45, "+", "b", 9), (50, "-", "b", 9),
        ],
    ),
    "groups of a table": stream(
        "SELECT k, v FROM s WHERE EXISTS (SELECT name FROM t GROUP BY name HAVING COUNT(*) = 1) "
        "AND v > 4 AND k < 'y'",
        [(12, "a", 5), (15, "a", 5), (45, "b", 9)],
    ),
    # a10 from 2 to 7, a30 from 13 to 18.
    "while one of two has a row": relation(
        "SELECT k, v FROM s [RANGE 5 SECONDS] WHERE EXISTS "
        "(SELECT k FROM r [RANGE 5 SECONDS] WHERE w = 10 "
        "UNION SELECT k FROM r [RANGE 5 SECONDS] WHERE w = 30)",
        [
            (2, "+", "a", 1), (3, "+", "b", 2), (6, "-", "a", 1), (7, "-", "b", 2),
            (13, "+", "a", 5), (14, "+", "c", 1), (15, "+", "a", 5), (17, "-", "a", 5),
            (18, "-", "c", 1), (18, "-", "a", 5),
        ],
    ),
    "not among the values of the same key": relation(
        "SELECT k, v FROM s [RANGE 10 SECONDS] o WHERE v * 10 NOT IN "
        "(SELECT w FROM r [RANGE 10 SECONDS] i WHERE i.k = o.k)",
        [
            (1, "+", "a", 1), (2, "-", "a", 1), (3, "+", "b", 2), (7, "+", "a", 3),
            (9, "-", "b", 2), (12, "+", "a", 5), (13, "-", "a", 3), (14, "+", "c", 1),
            (15, "+", "a", 5), (22, "-", "a", 5), (24, "-", "c", 1), (25, "-", "a", 5),
            (45, "+", "b", 9), (55, "-", "b", 9),
        ],
    ),
    "less than any value of the same key": relation(
        "SELECT k, v FROM s [RANGE 10 SECONDS] o WHERE v * 5 < ANY "
        "(SELECT w FROM r [RANGE 10 SECONDS] i WHERE i.k = o.k)",
        [
            (2, "+", "a", 1), (9, "+", "b", 2), (11, "-", "a", 1), (13, "-", "b", 2),
            (13, "+", "a", 3), (13, "+", "a", 5), (15, "+", "a", 5), (17, "-", "a", 3),
            (22, "-", "a", 5), (23, "-", "a", 5),
        ],
    ),
    # The greatest of r: 10 from 2, 20 from 9, 30 from 13, 40 from 20 to 30, else none.
    "a value beside each row": relation(
        "SELECT k, v, (SELECT MAX(w) FROM r [RANGE 10 SECONDS]) AS m FROM s [RANGE 5 SECONDS]",
        [
            (1, "+", "a", 1, None), (2, "-", "a", 1, None), (2, "+", "a", 1, 10),
            (3, "+", "b", 2, 10), (6, "-", "a", 1, 10), (7, "+", "a", 3, 10), (8, "-", "b", 2, 10),
            (9, "-", "a", 3, 10), (9, "+", "a", 3, 20), (12, "-", "a", 3, 20), (12, "+", "a", 5, 20),
            (13, "-", "a", 5, 20), (13, "+", "a", 5, 30), (14, "+", "c", 1, 30),
            (15, "+", "a", 5, 30), (17, "-", "a", 5, 30), (19, "-", "c", 1, 30),
            (20, "-", "a", 5, 30), (45, "+", "b", 9, None), (50, "-", "b", 9, None),
        ],
    ),
    # The least of ten seconds: 1, at 12 it is 2, from 14 on 1, at 45 it is 9.
    "a value in an expression": stream(
        "RSTREAM(SELECT k, v - (SELECT MIN(v) FROM s [RANGE 10 SECONDS]) AS above FROM s [NOW] "
        "WHERE k <> 'z')",
        [(1, "a", 0), (3, "b", 1), (7, "a", 2), (12, "a", 3), (14, "c", 0), (15, "a", 4), (45, "b", 0)],
    ),
    # Rows of r in the windows: two to 10, one to 20, none to 50, so that nothing is known there.
    "groups against a value": stream(
        "SELECT k, COUNT(*) AS n FROM s [TUMBLE 10 SECONDS] GROUP BY k "
        "HAVING COUNT(*) >= (SELECT COUNT(*) FROM r [TUMBLE 10 SECONDS])",
        [(10, "a", 2), (20, "a", 2), (20, "c", 1)],
    ),
    # Sums of a: 1, at 7 it is 4, 11 3, 12 8, 15 13, 17 10, 22 5, to 25. r has a10 to 12, a30 from 13 to 23.
    "a value of the same key beside each group": relation(
        "SELECT k, SUM(v) AS sv, (SELECT MAX(w) FROM r [RANGE 10 SECONDS] WHERE r.k = s.k) AS m "
        "FROM s [RANGE 10 SECONDS] GROUP BY k",
        [
            (1, "+", "a", 1, None), (2, "-", "a", 1, None), (2, "+", "a", 1, 10),
            (3, "+", "b", 2, None), (7, "-", "a", 1, 10), (7, "+", "a", 4, 10),
            (9, "-", "b", 2, None), (9, "+", "b", 2, 20), (11, "-", "a", 4, 10),
            (11, "+", "a", 3, 10), (12, "-", "a", 3, 10), (12, "+", "a", 8, None),
            (13, "-", "a", 8, None), (13, "+", "a", 8, 30), (13, "-", "b", 2, 20),
            (14, "+", "c", 1, None), (15, "-", "a", 8, 30), (15, "+", "a", 13, 30),
            (17, "-", "a", 13, 30), (17, "+", "a", 10, 30), (22, "-", "a", 10, 30),
            (22, "+", "a", 5, 30), (23, "-", "a", 5, 30), (23, "+", "a", 5, None),
            (24, "-", "c", 1, None), (25, "-", "a", 5, None), (45, "+", "b", 9, None),
            (55, "-", "b", 9, None),
        ],
    ),
    # 1; 1 2; 1 2 3; 2 3; 2 3 5; 3 5; 3 5 1; 3 5 1 5; 5 1 5; 1 5; 5; nothing; 9; nothing.
    "a value inside an aggregate": relation(
        "SELECT SUM(v - (SELECT MIN(v) FROM s [RANGE 10 SECONDS])) AS d FROM s [RANGE 10 SECONDS]",
        [
            (1, "+", 0), (3, "-", 0), (3, "+", 1), (7, "-", 1), (7, "+", 3), (11, "-", 3),
            (11, "+", 1), (12, "-", 1), (12, "+", 4), (13, "-", 4), (13, "+", 2), (14, "-", 2),
            (14, "+", 6), (15, "-", 6), (15, "+", 10), (17, "-", 10), (17, "+", 8), (22, "-", 8),
            (22, "+", 4), (24, "-", 4), (24, "+", 0), (25, "-", 0), (25, "+", None),
            (45, "-", None), (45, "+", 0), (55, "-", 0), (55, "+", None),
        ],
    ),
    # The means of a: 1, 2 from 7, 3 from 12, 3.5 from 15; of b: 2, 5.5 from 45; of c: 1.
    "above the mean of the same key": relation(
        "SELECT k, v FROM s [RANGE 10 SECONDS] o "
        "WHERE v > (SELECT AVG(i.v) FROM s [RANGE 1 MINUTE] i WHERE i.k = o.k)",
        [
            (7, "+", "a", 3), (12, "-", "a", 3), (12, "+", "a", 5), (15, "+", "a", 5),
            (22, "-", "a", 5), (25, "-", "a", 5), (45, "+", "b", 9), (55, "-", "b", 9),
        ],
    ),
    "nothing counts as 0": stream(
        "RSTREAM(SELECT k, v, (SELECT COUNT(*) FROM r [RANGE 10 SECONDS] i WHERE i.k = o.k) AS n "
        "FROM s [NOW] o WHERE k <> 'z')",
        [
            (1, "a", 1, 0), (3, "b", 2, 0), (7, "a", 3, 1), (12, "a", 5, 0), (14, "c", 1, 0),
            (15, "a", 5, 1), (45, "b", 9, 0),
        ],
    ),
    "nothing counts as 0, in equal windows": stream(
        "SELECT k, v, (SELECT COUNT(*) * 100 FROM r [TUMBLE 10 SECONDS] i WHERE i.k = o.k) AS n "
        "FROM s [TUMBLE 10 SECONDS] o",
        [
            (10, "a", 1, 100), (10, "b", 2, 100), (10, "a", 3, 100), (20, "a", 5, 100),
            (20, "a", 5, 100), (20, "c", 1, 0), (50, "b", 9, 0),
        ],
    ),
    "rows of a table beside each row": stream(
        "SELECT k, v, (SELECT COUNT(*) FROM t WHERE t.k = s.k) AS n FROM s WHERE k < 'y'",
        [
            (1, "a", 1, 1), (3, "b", 2, 1), (7, "a", 3, 1), (12, "a", 5, 1), (14, "c", 1, 0),
            (15, "a", 5, 1), (45, "b", 9, 1),
        ],
    ),
    # A NULL key is equal to no key: it counts nothing.
    "the NULL key has no values": stream(
        "RSTREAM(SELECT k, v, (SELECT COUNT(*) FROM r [RANGE 10 SECONDS] i WHERE i.k = o.k) AS n "
        "FROM s [NOW] o WHERE v < 5)",
        [(1, None, 1, 0), (1, "a", 2, 1), (1, "a", 2, 1), (20, None, 4, 0), (20, "a", 3, 1)],
        input=ODD, late=2,
    ),
    # HAVING takes the value away where it does not hold: of a10 and b20 in the windows, one is left.
    "a value that HAVING takes away": stream(
        "SELECT k, v, (SELECT MAX(w) FROM r [TUMBLE 10 SECONDS] i WHERE i.k = o.k "
        "HAVING MAX(w) > 15) AS m FROM s [TUMBLE 10 SECONDS] o",
        [
            (10, "a", 1, None), (10, "b", 2, 20), (10, "a", 3, None), (20, "a", 5, 30),
            (20, "a", 5, 30), (20, "c", 1, None), (50, "b", 9, None),
        ],
    ),
    # Keys of r in the windows: NULL a b; a; NULL. Values: 10 20 30; 40; 50.
    "what NULL leaves open": stream(
        "SELECT k, k IN (SELECT k FROM r [TUMBLE 10 SECONDS]) AS there, "
        "v * 10 > ALL (SELECT w FROM r [TUMBLE 10 SECONDS]) AS above FROM s [TUMBLE 10 SECONDS]",
        [
            (10, None, None, False), (10, "a", True, False), (10, "a", True, False),
            (10, "b", True, None), (20, "a", True, True), (20, "a", True, True),
            (20, "a", True, True), (30, None, None, False), (30, "a", None, False),
            (30, "c", None, True),
        ],
        input=ODD,
    ),
    # a1 while a10 is there, a3 all the time, a5 from a30 on.
    "one of two conditions asks": relation(
        "SELECT k, v FROM s [RANGE 5 SECONDS] o WHERE v = 9 OR EXISTS "
        "(SELECT 1 FROM r [RANGE 10 SECONDS] i WHERE i.k = o.k)",
        [
            (2, "+", "a", 1), (6, "-", "a", 1), (7, "+", "a", 3), (12, "-", "a", 3),
            (13, "+", "a", 5), (15, "+", "a", 5), (17, "-", "a", 5), (20, "-", "a", 5),
            (45, "+", "b", 9), (50, "-", "b", 9),
        ],
    ),
    "groups whose keys are asked for": stream(
        "SELECT k, COUNT(*) AS n FROM s [TUMBLE 10 SECONDS] GROUP BY k "
        "HAVING COUNT(*) > 1 OR k IN (SELECT k FROM r [TUMBLE 10 SECONDS])",
        [(10, "a", 2), (10, "b", 1), (20, "a", 2)],
    ),
    # As FLOAT 16777217 is 16777216: two numbers of r are one there, and of s the first two rows.
    "different numbers that are equal as what is compared": stream(
        "SELECT k, v FROM s [TUMBLE 10 SECONDS] WHERE CAST(16777215 + v AS FLOAT) IN "
        "(SELECT 16777215 + w / 10 FROM r [TUMBLE 10 SECONDS])",
        [(10, "a", 1), (10, "b", 2)],
    ),
    "different numbers that are equal as what is compared, as values": stream(
        "SELECT k, v, CAST(16777215 + v AS FLOAT) IN "
        "(SELECT 16777215 + w / 10 FROM r [TUMBLE 10 SECONDS]) AS there, "
        "(SELECT COUNT(*) FROM r [TUMBLE 10 SECONDS] "
        "WHERE 16777215 + w / 10 = CAST(16777215 + v AS FLOAT)) AS n FROM s [TUMBLE 10 SECONDS]",
        [
            (10, "a", 1, True, 2), (10, "b", 2, True, 2), (10, "a", 3, False, 0),
            (20, "a", 5, False, 0), (20, "c", 1, False, 0), (20, "a", 5, False, 0),
            (50, "b", 9, False, 0),
        ],
    ),
    # 2 while w10 is there, 3 from w20 on.
    "a number that equals what the query computes": relation(
        "SELECT k, v FROM s [RANGE 5 SECONDS] WHERE EXISTS "
        "(SELECT 1 FROM r [RANGE 10 SECONDS] WHERE w / 10 + 1 = CAST(v AS DOUBLE))",
        [(3, "+", "b", 2), (8, "-", "b", 2), (9, "+", "a", 3), (12, "-", "a", 3)],
    ),
    # The last values of a and b: 3 and 2 in the first window, of a and c 5 and 1 in the second.
    "groups whose last value is asked for": stream(
        "SELECT k, COUNT(*) AS n FROM s [TUMBLE 10 SECONDS] GROUP BY k "
        "HAVING LAST(v) IN (SELECT w / 10 FROM r [TUMBLE 10 SECONDS])",
        [(10, "b", 1)],
    ),
    # Three rows of s and two of r, then three and one, then one of s alone.
    "a count that is asked for": stream(
        "SELECT COUNT(*) - 1 IN (SELECT COUNT(*) FROM r [TUMBLE 10 SECONDS]) AS one_more "
        "FROM s [TUMBLE 10 SECONDS]",
        [(10, True), (20, False), (50, False)],
    ),
    "not in a table, as a value": stream(
        "SELECT k, k NOT IN (SELECT k FROM t) AS stranger FROM s WHERE k < 'y'",
        [
            (1, "a", False), (3, "b", False), (7, "a", False), (12, "a", False), (14, "c", True),
            (15, "a", False), (45, "b", False),
        ],
    ),
}
