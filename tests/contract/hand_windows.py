"""Every window under every operator, by hand.

Stream ``s``, in order of time::

    instant   1   3   7   12   14   15   45   100
    row       a1  b2  a3  a5   c1   a5   b9   z9

The watermark does not pass the last row; where Spark gives it at once all the same, the query leaves it out.
"""

from __future__ import annotations

from tests.contract.case import Case, of_final_window, of_window, stream

A1, B2, A3, A5, C1, B9 = ("a", 1), ("b", 2), ("a", 3), ("a", 5), ("c", 1), ("b", 9)

TIME_WINDOWS: dict[str, Case] = {
    # A row is there at its own instant and at no other.
    **of_window(
        "now", "SELECT {} FROM s [NOW] WHERE k <> 'z'",
        [
            (1, "+", *A1), (1.000001, "-", *A1), (3, "+", *B2), (3.000001, "-", *B2),
            (7, "+", *A3), (7.000001, "-", *A3), (12, "+", *A5), (12.000001, "-", *A5),
            (14, "+", *C1), (14.000001, "-", *C1), (15, "+", *A5), (15.000001, "-", *A5),
            (45, "+", *B9), (45.000001, "-", *B9),
        ],
        {1: [A1], 3: [B2], 7: [A3], 12: [A5], 14: [C1], 15: [A5], 45: [B9]},
    ),
    # A row leaves ten seconds after it came.
    **of_window(
        "range", "SELECT {} FROM s [RANGE 10 SECONDS] WHERE k <> 'z'",
        [
            (1, "+", *A1), (3, "+", *B2), (7, "+", *A3), (11, "-", *A1), (12, "+", *A5),
            (13, "-", *B2), (14, "+", *C1), (15, "+", *A5), (17, "-", *A3), (22, "-", *A5),
            (24, "-", *C1), (25, "-", *A5), (45, "+", *B9), (55, "-", *B9),
        ],
        {
            1: [A1], 3: [A1, B2], 7: [A1, B2, A3], 11: [B2, A3], 12: [B2, A3, A5], 13: [A3, A5],
            14: [A3, A5, C1], 15: [A3, A5, C1, A5], 17: [A5, C1, A5], 22: [C1, A5], 24: [A5],
            45: [B9],
        },
        "RSTREAM",
    ),
    # The window that ends at 10 holds [0, 10), the one that ends at 15 holds [5, 15): 15 is not in it.
    **of_final_window(
        "range with slide", "SELECT {} FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS] WHERE k <> 'z'",
        [
            (5, "+", *A1), (5, "+", *B2), (10, "+", *A3), (15, "-", *A1), (15, "-", *B2),
            (15, "+", *A5), (15, "+", *C1), (20, "-", *A3), (20, "+", *A5), (25, "-", *A5),
            (25, "-", *C1), (30, "-", *A5), (50, "+", *B9), (60, "-", *B9),
        ],
        {
            5: [A1, B2], 10: [A1, B2, A3], 15: [A3, A5, C1], 20: [A5, C1, A5], 25: [A5],
            50: [B9], 55: [B9],
        },
    ),
    # The window before gives way to the next one, which may be empty.
    **of_final_window(
        "tumble", "SELECT {} FROM s [TUMBLE 10 SECONDS] WHERE k <> 'z'",
        [
            (10, "+", *A1), (10, "+", *B2), (10, "+", *A3), (20, "-", *A1), (20, "-", *B2),
            (20, "-", *A3), (20, "+", *A5), (20, "+", *C1), (20, "+", *A5), (30, "-", *A5),
            (30, "-", *C1), (30, "-", *A5), (50, "+", *B9), (60, "-", *B9),
        ],
        {10: [A1, B2, A3], 20: [A5, C1, A5], 50: [B9]},
    ),
    # Gaps 2, 4, 5, 2, 1: one session from 1 to 15, over at 21. Its rows are there when it is over.
    **of_final_window(
        "session", "SELECT {} FROM s [SESSION 6 SECONDS] WHERE k <> 'z'",
        [
            (21, "+", *A1), (21, "+", *B2), (21, "+", *A3), (21, "+", *A5), (21, "+", *C1),
            (21, "+", *A5), (21.000001, "-", *A1), (21.000001, "-", *B2), (21.000001, "-", *A3),
            (21.000001, "-", *A5), (21.000001, "-", *C1), (21.000001, "-", *A5),
            (51, "+", *B9), (51.000001, "-", *B9),
        ],
        {21: [A1, B2, A3, A5, C1, A5], 51: [B9]},
        "relation ISTREAM DSTREAM RSTREAM",
    ),
    # Of a: 7 is six seconds after 1, so it begins a new session; 12 and 15 go on with it.
    **of_final_window(
        "session of each key", "SELECT {} FROM s [SESSION 6 SECONDS PARTITION BY k] WHERE k <> 'z'",
        [
            (7, "+", *A1), (7.000001, "-", *A1), (9, "+", *B2), (9.000001, "-", *B2),
            (20, "+", *C1), (20.000001, "-", *C1), (21, "+", *A3), (21, "+", *A5),
            (21, "+", *A5), (21.000001, "-", *A3), (21.000001, "-", *A5), (21.000001, "-", *A5),
            (51, "+", *B9), (51.000001, "-", *B9),
        ],
        {7: [A1], 9: [B2], 20: [C1], 21: [A3, A5, A5], 51: [B9]},
        "relation ISTREAM DSTREAM RSTREAM",
    ),
    # Rows come and none leaves. RSTREAM of it has no end and is refused.
    "unbounded, ISTREAM": stream(
        "SELECT ISTREAM(k, v) FROM s [UNBOUNDED] WHERE v < 9",
        [(1, *A1), (3, *B2), (7, *A3), (12, *A5), (14, *C1), (15, *A5)],
    ),
    "unbounded, DSTREAM": stream("DSTREAM(SELECT k, v FROM s [RANGE UNBOUNDED])", []),
}

ROW_WINDOWS: dict[str, Case] = {
    # At 15 one a5 leaves and another comes: the relation stays what it is.
    **of_window(
        "last two rows", "SELECT {} FROM s [ROWS 2]",
        [
            (1, "+", *A1), (3, "+", *B2), (7, "-", *A1), (7, "+", *A3), (12, "-", *B2),
            (12, "+", *A5), (14, "-", *A3), (14, "+", *C1), (45, "-", *C1), (45, "+", *B9),
        ],
        {1: [A1], 3: [A1, B2], 7: [B2, A3], 12: [A3, A5], 14: [A5, C1], 45: [A5, B9]},
        "RSTREAM",
    ),
    # It moves with the second, fourth and sixth row; the eighth is the last of the input.
    **of_window(
        "last three rows, every second row", "SELECT {} FROM s [ROWS 3 SLIDE 2]",
        [
            (3, "+", *A1), (3, "+", *B2), (12, "-", *A1), (12, "+", *A3), (12, "+", *A5),
            (15, "-", *B2), (15, "-", *A3), (15, "+", *C1), (15, "+", *A5),
        ],
        {3: [A1, B2], 12: [B2, A3, A5], 15: [A5, C1, A5]},
        "RSTREAM",
    ),
    # A row leaves when two others have come, or after eight seconds: b2 at 11, the last a5 at 23.
    **of_window(
        "last two rows of eight seconds", "SELECT {} FROM s [ROWS 2 RANGE 8 SECONDS]",
        [
            (1, "+", *A1), (3, "+", *B2), (7, "-", *A1), (7, "+", *A3), (11, "-", *B2),
            (12, "+", *A5), (14, "-", *A3), (14, "+", *C1), (22, "-", *C1), (23, "-", *A5),
            (45, "+", *B9), (53, "-", *B9),
        ],
        {
            1: [A1], 3: [A1, B2], 7: [B2, A3], 11: [A3], 12: [A3, A5], 14: [A5, C1], 22: [A5],
            45: [B9],
        },
        "RSTREAM",
    ),
    # b9 would come with the eighth row, at 100: then it is too old.
    **of_window(
        "last three rows of eight seconds, every second row",
        "SELECT {} FROM s [ROWS 3 RANGE 8 SECONDS SLIDE 2]",
        [
            (3, "+", *A1), (3, "+", *B2), (9, "-", *A1), (11, "-", *B2), (12, "+", *A3),
            (12, "+", *A5), (15, "-", *A3), (15, "+", *C1), (15, "+", *A5), (20, "-", *A5),
            (22, "-", *C1), (23, "-", *A5),
        ],
        {
            3: [A1, B2], 9: [B2], 12: [A3, A5], 15: [A5, C1, A5], 20: [C1, A5], 22: [A5],
        },
        "RSTREAM",
    ),
    # a has the rows 1, 3, 5, 5, b the rows 2, 9, c only one.
    **of_window(
        "last two rows of each key", "SELECT {} FROM s [PARTITION BY k ROWS 2]",
        [
            (1, "+", *A1), (3, "+", *B2), (7, "+", *A3), (12, "-", *A1), (12, "+", *A5),
            (14, "+", *C1), (15, "-", *A3), (15, "+", *A5), (45, "+", *B9),
        ],
        {
            1: [A1], 3: [A1, B2], 7: [A1, B2, A3], 12: [B2, A3, A5], 14: [B2, A3, A5, C1],
            15: [B2, A5, C1, A5], 45: [B2, A5, C1, A5, B9],
        },
        "RSTREAM",
    ),
    # Of a every second row moves the window: at 7 and 15; of b at 45; c never has a second row.
    **of_window(
        "last row of each key, every second row", "SELECT {} FROM s [PARTITION BY k ROWS 1 SLIDE 2]",
        [(7, "+", *A3), (15, "-", *A3), (15, "+", *A5), (45, "+", *B9)],
        {7: [A3], 15: [A5], 45: [A5, B9]},
        "RSTREAM",
    ),
    # a1 leaves at 9 by its age; a3 at 15, by its age and by the second a5 at once.
    **of_window(
        "last two rows of each key and eight seconds",
        "SELECT {} FROM s [PARTITION BY k ROWS 2 RANGE 8 SECONDS]",
        [
            (1, "+", *A1), (3, "+", *B2), (7, "+", *A3), (9, "-", *A1), (11, "-", *B2),
            (12, "+", *A5), (14, "+", *C1), (15, "-", *A3), (15, "+", *A5), (20, "-", *A5),
            (22, "-", *C1), (23, "-", *A5), (45, "+", *B9), (53, "-", *B9),
        ],
        {
            1: [A1], 3: [A1, B2], 7: [A1, B2, A3], 9: [B2, A3], 11: [A3], 12: [A3, A5],
            14: [A3, A5, C1], 15: [A5, C1, A5], 20: [C1, A5], 22: [A5], 45: [B9],
        },
        "RSTREAM",
    ),
    # b2 would come at 45, with b9: then it is too old.
    **of_window(
        "last two rows of each key and eight seconds, every second row",
        "SELECT {} FROM s [PARTITION BY k ROWS 2 RANGE 8 SECONDS SLIDE 2]",
        [
            (7, "+", *A1), (7, "+", *A3), (9, "-", *A1), (15, "-", *A3), (15, "+", *A5),
            (15, "+", *A5), (20, "-", *A5), (23, "-", *A5), (45, "+", *B9), (53, "-", *B9),
        ],
        {7: [A1, A3], 9: [A3], 15: [A5, A5], 20: [A5], 45: [B9]},
        "RSTREAM",
    ),
}

WINDOWS_OVER_RESULTS: dict[str, Case] = {
    # Results are stamped 5, 10, 15, 20 and 50: what ends at 20 belongs to [20, 40).
    "tumbling window over RSTREAM": stream(
        "SELECT k, SUM(n) AS total FROM (RSTREAM(SELECT k, COUNT(*) AS n FROM s [TUMBLE 5 SECONDS] "
        "WHERE k <> 'z' GROUP BY k)) [TUMBLE 20 SECONDS] q GROUP BY k",
        [(20, "a", 3), (20, "b", 1), (20, "c", 1), (40, "a", 1), (60, "b", 1)],
    ),
    # Rows leave at 11, 13, 17, 22, 24, 25 and 55.
    "sliding window over DSTREAM": stream(
        "SELECT COUNT(*) AS n FROM (DSTREAM(SELECT k, v FROM s [RANGE 10 SECONDS] WHERE k <> 'z')) "
        "[RANGE 10 SECONDS SLIDE 5 SECONDS] q",
        [(15, 2), (20, 3), (25, 3), (30, 3), (35, 1), (60, 1), (65, 1)],
    ),
    # Rows come at 7, 15 and 45: between the first two is less than the gap.
    "session over ISTREAM": stream(
        "SELECT COUNT(*) AS n, MAX(v) AS top FROM (ISTREAM(SELECT k, v FROM s "
        "[PARTITION BY k ROWS 1 SLIDE 2])) [SESSION 10 SECONDS] q",
        [(25, 2, 5), (55, 1, 9)],
    ),
    # The totals of [0, 20) and of [20, 40), which come at 20 and 40, are both in [0, 60); that of b, at 60, is not.
    "window over a window over a result": stream(
        "SELECT COUNT(*) AS n, SUM(total) AS total FROM (RSTREAM(SELECT k, SUM(n) AS total FROM "
        "(RSTREAM(SELECT k, COUNT(*) AS n FROM s [TUMBLE 5 SECONDS] WHERE k <> 'z' GROUP BY k)) "
        "[TUMBLE 20 SECONDS] q GROUP BY k)) [TUMBLE 60 SECONDS] o",
        [(60, 4, 6)],
    ),
    # Sessions end at 6, 8 | 12, 19 | 20 | 50: the first two a of one row each, the last of two.
    "window over sessions": stream(
        "SELECT COUNT(*) AS n, SUM(n) AS rows FROM RSTREAM(SELECT k, COUNT(*) AS n FROM s "
        "[SESSION 5 SECONDS PARTITION BY k] GROUP BY k) [TUMBLE 10 SECONDS] AS q",
        [(10, 2, 2), (20, 2, 2), (30, 1, 2), (60, 1, 1)],
    ),
    "sessions that end": stream(
        "ISTREAM(SELECT k, COUNT(*) AS n FROM s [SESSION 5 SECONDS PARTITION BY k] GROUP BY k)",
        [(6, "a", 1), (8, "b", 1), (12, "a", 1), (19, "c", 1), (20, "a", 2), (50, "b", 1)],
    ),
    # r: a10 [2,7) b20 [9,14) a30 [13,18). Sessions of a end at 6, 12 and 20, that of b at 8.
    "sessions that end while another row is there": stream(
        "RSTREAM(SELECT q.k AS k, n, w FROM RSTREAM(SELECT k, COUNT(*) AS n FROM s "
        "[SESSION 5 SECONDS PARTITION BY k] GROUP BY k) [NOW] AS q JOIN r [RANGE 5 SECONDS] ON q.k = r.k)",
        [(6, "a", 1, 10)],
    ),
    # What leaves: a with 1, 2, 1, 2, 3, 2 and 1 rows, as rows come and go.
    "rows that left, each at its instant": stream(
        "SELECT RSTREAM(k, n) FROM DSTREAM(SELECT k, COUNT(*) AS n FROM s [RANGE 10 SECONDS] "
        "WHERE k <> 'z' GROUP BY k) [NOW]",
        [
            (7, "a", 1), (11, "a", 2), (12, "a", 1), (13, "b", 1), (15, "a", 2), (17, "a", 3),
            (22, "a", 2), (24, "c", 1), (25, "a", 1), (55, "b", 1),
        ],
    ),
    # Sums 1, 3, 5 and again 5 of a: the last is not new, whatever is selected of the others.
    "one column of results that are new": stream(
        "SELECT k FROM ISTREAM(SELECT k, SUM(v) AS total FROM s [TUMBLE 5 SECONDS] WHERE k <> 'z' "
        "GROUP BY k) AS q",
        [(5, "a"), (5, "b"), (10, "a"), (15, "a"), (15, "c"), (50, "b")],
    ),
}
