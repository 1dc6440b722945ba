"""All cases that were worked out by hand, and the programs that have no meaning."""

from __future__ import annotations

from tests.contract.case import Case
from tests.contract.hand_aggregates import AGGREGATES, NESTED
from tests.contract.hand_input import EQUAL_ROWS, NULL_KEYS, ODD_ROWS
from tests.contract.hand_joins import JOINS, LOOKUPS
from tests.contract.hand_lists import LISTS
from tests.contract.hand_sets import SETS
from tests.contract.hand_sketches import SKETCHES
from tests.contract.hand_subqueries import SUBQUERIES
from tests.contract.hand_windows import ROW_WINDOWS, TIME_WINDOWS, WINDOWS_OVER_RESULTS

BY_HAND: dict[str, Case] = {
    **TIME_WINDOWS, **ROW_WINDOWS, **WINDOWS_OVER_RESULTS, **AGGREGATES, **LISTS, **NESTED, **JOINS, **LOOKUPS,
    **SETS, **SKETCHES, **SUBQUERIES, **ODD_ROWS, **NULL_KEYS, **EQUAL_ROWS,
}

MEANINGLESS: dict[str, tuple[str, str]] = {
    "an unbounded window that slides": ("SELECT k FROM s [RANGE UNBOUNDED SLIDE 1 SECOND]", "SQ0405"),
    "all rows again at every instant": ("RSTREAM(SELECT k FROM s [UNBOUNDED])", "SQ0408"),
    "a window on a table": ("SELECT k FROM t [ROWS 1]", "SQ0401"),
    "a window on a relation": (
        "SELECT k FROM (SELECT k, v, ts FROM s [ROWS 2]) [RANGE 1 SECOND] q", "SQ0401",
    ),
    "a window of groups": (
        "SELECT n FROM (SELECT k, COUNT(*) AS n FROM s GROUP BY k) [RANGE 1 SECOND] q", "SQ0401",
    ),
    "the order of a stream": ("SELECT k FROM s ORDER BY k", "SQ0408"),
    "a slide longer than its range": ("SELECT k FROM s [RANGE 1 SECOND SLIDE 2 SECONDS]", "SQ0405"),
    "a window of no rows": ("SELECT k FROM s [ROWS 0]", "SQ0405"),
}
"""Queries without a meaning, and the code of the error that says why."""
