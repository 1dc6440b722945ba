"""Set operators over relations that move, by hand.

Over 10 seconds the keys are there::

    s   a from 1 to 25, b from 3 to 13 and from 45 to 55, c from 14 to 24
    r   a from 2 to 12 and from 13 to 23, b from 9 to 19, q from 20 to 30
"""

from __future__ import annotations

from tests.contract.case import REFUSED, Case, relation, stream
from tests.contract.hand_input import ODD

RANGES = "SELECT k FROM s [RANGE 10 SECONDS] {} SELECT k FROM r [RANGE 10 SECONDS]"
TUMBLES = "SELECT k FROM s [TUMBLE 10 SECONDS] {} SELECT k FROM r [TUMBLE 10 SECONDS]"

SETS: dict[str, Case] = {
    "union of ranges": relation(
        RANGES.format("UNION"),
        [
            (1, "+", "a"), (3, "+", "b"), (14, "+", "c"), (19, "-", "b"), (20, "+", "q"),
            (24, "-", "c"), (25, "-", "a"), (30, "-", "q"), (45, "+", "b"), (55, "-", "b"),
        ],
    ),
    # Each row for itself: s 1 3 7 12 14 15 45, r 2 9 13 20, each gone after ten seconds.
    "union of all rows of ranges": relation(
        RANGES.format("UNION ALL"),
        [
            (1, "+", "a"), (2, "+", "a"), (3, "+", "b"), (7, "+", "a"), (9, "+", "b"),
            (11, "-", "a"), (13, "-", "b"), (13, "+", "a"), (14, "+", "c"), (15, "+", "a"),
            (17, "-", "a"), (19, "-", "b"), (20, "+", "q"), (22, "-", "a"), (23, "-", "a"),
            (24, "-", "c"), (25, "-", "a"), (30, "-", "q"), (45, "+", "b"), (55, "-", "b"),
        ],
    ),
    # At 12 a row of s comes in the instant in which one of r leaves: nothing appears.
    "rows that appear in a union": stream(
        f"ISTREAM({RANGES.format('UNION ALL')})",
        [
            (1, "a"), (2, "a"), (3, "b"), (7, "a"), (9, "b"), (13, "a"), (14, "c"), (15, "a"),
            (20, "q"), (45, "b"),
        ],
        REFUSED,
    ),
    "rows that leave a union": stream(
        f"DSTREAM({RANGES.format('UNION')})",
        [(19, "b"), (24, "c"), (25, "a"), (30, "q"), (55, "b")],
    ),
    "except of ranges": relation(
        RANGES.format("EXCEPT"),
        [
            (1, "+", "a"), (2, "-", "a"), (3, "+", "b"), (9, "-", "b"), (12, "+", "a"),
            (13, "-", "a"), (14, "+", "c"), (23, "+", "a"), (24, "-", "c"), (25, "-", "a"),
            (45, "+", "b"), (55, "-", "b"),
        ],
    ),
    "intersect of ranges": relation(
        RANGES.format("INTERSECT"),
        [
            (2, "+", "a"), (9, "+", "b"), (12, "-", "a"), (13, "-", "b"), (13, "+", "a"),
            (23, "-", "a"),
        ],
    ),
    "except of all rows so far": relation(
        "SELECT k FROM s EXCEPT SELECT k FROM r",
        [(1, "+", "a"), (2, "-", "a"), (3, "+", "b"), (9, "-", "b"), (14, "+", "c")],
    ),
    "intersect of all rows so far": stream(
        "SELECT ISTREAM(k) FROM (SELECT k FROM s INTERSECT SELECT k FROM r) q",
        [(2, "a"), (9, "b")],
    ),
    # Windows to 10: a a b against a b; to 20: a a c against a; to 50: b.
    "except of all rows of equal windows": stream(
        f"RSTREAM({TUMBLES.format('EXCEPT ALL')})",
        [(10, "a"), (20, "a"), (20, "c"), (50, "b")],
        REFUSED,
    ),
    "intersect of all rows of equal windows": stream(
        f"RSTREAM({TUMBLES.format('INTERSECT ALL')})",
        [(10, "a"), (10, "b"), (20, "a")],
        REFUSED,
    ),
    "union of equal windows": stream(
        TUMBLES.format("UNION"),
        [(10, "a"), (10, "b"), (20, "a"), (20, "c"), (30, "q"), (50, "b")],
    ),
    # The last row of s at each instant, and from 9 on the one row of b in r.
    "union of last rows": relation(
        "SELECT k, v FROM s [ROWS 1] UNION ALL SELECT k, w FROM r [PARTITION BY k ROWS 1] "
        "WHERE k = 'b'",
        [
            (1, "+", "a", 1), (3, "-", "a", 1), (3, "+", "b", 2), (7, "-", "b", 2),
            (7, "+", "a", 3), (9, "+", "b", 20), (12, "-", "a", 3), (12, "+", "a", 5),
            (14, "-", "a", 5), (14, "+", "c", 1), (15, "-", "c", 1), (15, "+", "a", 5),
            (45, "-", "a", 5), (45, "+", "b", 9),
        ],
    ),
    "except of a table": relation(
        "SELECT k FROM s [RANGE 10 SECONDS] EXCEPT SELECT k FROM t", [(14, "+", "c"), (24, "-", "c")],
    ),
    "a table's rows that are in a range": relation(
        "SELECT k FROM t INTERSECT SELECT k FROM s [RANGE 10 SECONDS]",
        [
            (1, "+", "a"), (3, "+", "b"), (13, "-", "b"), (25, "-", "a"), (45, "+", "b"),
            (55, "-", "b"),
        ],
    ),
    "intersect of windows and a table": stream(
        "SELECT k FROM s [TUMBLE 10 SECONDS] INTERSECT SELECT k FROM t",
        [(10, "a"), (10, "b"), (20, "a"), (50, "b")],
    ),
    "intersect of all rows so far and a table": stream(
        "SELECT ISTREAM(k) FROM (SELECT k FROM s INTERSECT SELECT k FROM t) q", [(1, "a"), (3, "b")],
    ),
    # NULL is the same row as NULL here. Windows to 10: NULL a a b; to 20: a a a; to 30: NULL a c.
    "except of a table with a NULL": stream(
        "SELECT k FROM s [TUMBLE 10 SECONDS] EXCEPT SELECT k FROM t", [(10, "b"), (30, "c")],
        input=ODD,
    ),
}
