"""Joins of two windows: what of a condition the operator tests, and when a join selects."""

from __future__ import annotations

from typing import Any

import pytest

from streamq.compiler.analysis.window_joins import Matching, is_windowed, matching_of
from streamq.compiler.driver import CompileResult, compile_program
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir import physical as ph
from streamq.compiler.ir.rewrite import walk

COLUMNS = "n BIGINT, k INT, s STRING, x DOUBLE, d DECIMAL(30, 2), tags ARRAY<STRING>, real ARRAY<DOUBLE>, w MAP<STRING, DOUBLE>, ts TIMESTAMP"
PRELUDE = "".join(
    f"CREATE STREAM {name} ({COLUMNS}, WATERMARK FOR ts) WITH (connector = 'memory');\n" for name in "ab"
)


def compiled(query: str) -> CompileResult:
    result = compile_program(f"{PRELUDE}CREATE QUERY q AS {query};")
    assert result.ok, result.diagnostics
    return result


def join_of(result: CompileResult) -> lg.Join:
    assert result.optimized is not None
    return next(n for n in walk(result.optimized.queries[0].root) if isinstance(n, lg.Join))


def matching(condition: str) -> Matching:
    return matching_of(join_of(compiled(f"SELECT ISTREAM(a.n) FROM a [RANGE 9 SECONDS] JOIN b [RANGE 9 SECONDS] ON {condition}")))


@pytest.mark.parametrize(("condition", "expected"), [
    ("OVERLAP(a.tags, b.tags) >= 3", ("OVERLAP", 3.0, True)),
    ("OVERLAP(b.tags, a.tags) > 3", ("OVERLAP", 4.0, True)),
    ("3 <= OVERLAP(a.tags, b.tags)", ("OVERLAP", 3.0, True)),
    ("OVERLAP(a.tags, b.tags) = 3", ("OVERLAP", 3.0, False)),
    ("a.tags @> b.tags", ("SUPERSET", 1.0, True)),
    ("b.tags @> a.tags", ("SUBSET", 1.0, True)),
    ("a.tags IS SUBSET OF b.tags", ("SUBSET", 1.0, True)),
    ("INNER_PRODUCT(a.w, b.w) > 0.5", ("INNER_PRODUCT", 0.5, False)),
    ("OVERLAP(a.tags, b.tags) >= 3 AND a.x < b.x", ("OVERLAP", 3.0, False)),
    ("OVERLAP(a.tags, b.tags) >= 3 AND a.k = b.k", ("OVERLAP", 3.0, False)),
    # Sets that share nothing would do, and so no index helps; or one side alone; or items that 64 bits do not tell apart.
    ("OVERLAP(a.tags, b.tags) >= 0", None),
    ("OVERLAP(a.tags, b.tags) >= 0.5", ("OVERLAP", 1.0, True)),
    ("OVERLAP(a.tags, b.tags) > 1.5", ("OVERLAP", 2.0, True)),
    ("OVERLAP(a.tags, b.tags) > -0.5", None),
    ("CAST(OVERLAP(a.tags, b.tags) AS TINYINT) >= 2", None),
    ("OVERLAP(a.tags, b.tags) >= CAST(2.7 AS INT)", None),
    ("OVERLAP(a.tags, b.tags) > 100000000000", ("OVERLAP", 100000000001.0, True)),
    ("OVERLAP(a.tags, b.tags) < 2", None),
    ("OVERLAP(a.tags, a.tags) >= b.k", None),
    ("OVERLAP(a.tags, b.tags) >= a.k", None),
    ("OVERLAP(a.real, b.real) >= 1", None),
])
def test_conditions_on_sets(condition: str, expected: Any) -> None:
    found = matching(condition)
    assert (None if found.sets is None else (found.sets.kind, found.sets.least, found.whole)) == expected


@pytest.mark.parametrize(("condition", "expected", "whole"), [
    ("a.n < b.n", [("<", True)], True),
    ("b.n <= a.n", [(">=", True)], True),
    ("a.n BETWEEN b.n AND b.n + 5", [(">=", True), ("<=", True)], True),
    ("a.x > b.x", [(">", False)], False),
    ("a.ts < b.ts", [("<", True)], True),
    ("ABS(a.x - b.x) <= 0.5", [("near", False)], False),
    ("ABS(b.n - a.n) < 3", [("near", False)], False),
    ("ABS(a.n - b.n) <= 0.5", [("near", False)], False),
    (" AND ".join(f"a.n + {i} < b.n" for i in range(70)), [("<", True)] * 62, False),
    ("a.s < b.s", [], False),
    ("a.d < b.d", [], False),
    ("a.n + b.n > 3", [], False),
    ("a.n <> b.n", [], False),
    ("a.n < b.n OR a.k < b.k", [], False),
])
def test_conditions_on_values(condition: str, expected: list[tuple[str, bool]], whole: bool) -> None:
    found = matching(condition)
    assert [(v.op, v.exact) for v in found.values] == expected
    assert found.whole == whole
    assert not found.keys


@pytest.mark.parametrize(("source", "expected"), [
    ("a [RANGE 9 SECONDS] JOIN b [NOW] ON a.n < b.n", True),
    ("(SELECT n FROM a [RANGE 9 SECONDS]) a JOIN b [NOW] ON a.n < b.n", True),
    ("a [RANGE 9 SECONDS] JOIN b [ROWS 3] ON a.n < b.n", False),
    ("a [RANGE 9 SECONDS] LEFT JOIN b [NOW] ON a.n < b.n", False),
    ("a [RANGE 9 SECONDS] JOIN (SELECT MAX(n) AS n FROM b [NOW]) b ON a.n < b.n", False),
])
def test_which_joins_are_of_two_windows(source: str, expected: bool) -> None:
    assert is_windowed(join_of(compiled(f"ISTREAM(SELECT a.n FROM {source})"))) == expected


RANGES = "SELECT ISTREAM(a.n, b.n AS m) FROM a [RANGE 9 SECONDS] JOIN b [RANGE 9 SECONDS]"


def test_where_pairs_are_found_by_key_alone_rows_are_dropped_as_at_random() -> None:
    """F14: there is no selective probe, and the plan is that of SHED RANDOM."""
    joins, random = (compiled(f"{RANGES} ON a.k = b.k SHED {method} BY 30 PERCENT") for method in ("JOIN", "RANDOM"))
    assert joins.plan == random.plan
    assert [n.kind for n in joins.notices] == ["by_key", *(n.kind for n in random.notices)]
    in_where = compiled("SELECT ISTREAM(a.n) FROM a [RANGE 9 SECONDS], b [RANGE 9 SECONDS] WHERE a.k = b.k SHED JOIN BY 30 PERCENT")
    assert in_where.notices[0].kind == "by_key"


def test_where_nothing_of_the_condition_can_be_learned_from_rows_are_dropped() -> None:
    result = compiled(f"{RANGES} ON a.n <> b.n QOS UTILITY a.x SHED JOIN BASIC WINDOW 1 SECOND BY 30 PERCENT")
    assert result.plan == compiled(f"{RANGES} ON a.n <> b.n SHED RANDOM BY 30 PERCENT").plan
    assert result.notices[0].kind == "untested"
    assert "BASIC WINDOW and UTILITY are not used" in result.notices[0].hint
    times = compiled(f"{RANGES} ON a.k = b.k AND a.ts <= b.ts SHED JOIN BY 30 PERCENT")
    assert times.notices[0].kind == "by_key"
    partly = compiled(f"{RANGES} ON a.n < b.n AND a.s <> b.s SHED JOIN BY 30 PERCENT")
    assert "parts of the condition are not among these" in partly.notices[0].hint


@pytest.mark.parametrize(("source", "utility", "worth"), [
    ("a [RANGE 9 SECONDS] o JOIN a [RANGE 9 SECONDS] b ON o.n < b.n", "b.x", ("", "__worth_right")),
    ("a [RANGE 9 SECONDS] JOIN t ON a.k = t.k JOIN b [RANGE 9 SECONDS] ON a.n < b.n", "GREATEST(t.dear, b.x)", ("__worth_left", "__worth_right")),
    ("sums [RANGE 9 SECONDS] JOIN b [RANGE 9 SECONDS] ON sums.n < b.n", "sums.k", ("__worth_left", "")),
])
def test_rows_of_any_input_can_be_worth_something(source: str, utility: str, worth: tuple[str, str]) -> None:
    more = """
        CREATE TABLE t (k INT, dear DOUBLE) WITH (connector = 'file', path = 't.json');
        CREATE VIEW sums AS SELECT ISTREAM(k, COUNT(*) AS n) FROM a [RANGE 5 SECONDS] GROUP BY k;
    """
    query = f"CREATE QUERY q AS ISTREAM(SELECT b.n FROM {source}) QOS UTILITY {utility} SHED JOIN BY 50 PERCENT;"
    result = compile_program(f"{PRELUDE}{more}{query}")
    assert result.plan is not None, result.diagnostics
    assert result.optimized is not None
    (join,) = (n for n in walk(result.optimized.queries[0].root) if isinstance(n, lg.Join) and n.selects is not None)
    assert join.selects is not None
    assert join.selects.worth == worth


@pytest.mark.parametrize("condition", ["a.k = b.k AND a.n < b.n", "a.k = b.k AND OVERLAP(a.tags, b.tags) >= 1", "a.n < b.n"])
def test_else_no_row_is_dropped(condition: str) -> None:
    result = compiled(f"{RANGES} ON {condition} QOS LATENCY 2 SECONDS SHED JOIN")
    assert result.optimized is not None
    assert not any(isinstance(n, lg.Shed) for n in walk(result.optimized.queries[0].root))
    selects = join_of(result).selects
    assert selects is not None
    assert (selects.bw_ms, selects.sampled, selects.worth) == (0, 0.1, ("", ""))
    (query,) = result.require().queries
    (step,) = (s for s in ph.walk(query.root) if isinstance(s, ph.WindowJoin))
    assert (step.sampled, step.worths, step.grids[0]) == (0.1, False, (8_999_999, 450_000))
    (control,) = query.controls
    assert control.goal is not None
    assert control.goal.selects


@pytest.mark.parametrize(("utility", "worth"), [
    ("a.k", ("__worth_left", "")),
    ("b.x", ("", "__worth_right")),
    ("GREATEST(a.k, b.k)", ("__worth_left", "__worth_right")),
    ("k", ("__worth_left", "__worth_right")),
    ("GREATEST(a.k, 5, b.k, a.x)", ("__worth_left", "__worth_right")),
    ("CASE WHEN s = 'dear' THEN 9 ELSE 1 END", ("__worth_left", "__worth_right")),
])
def test_what_a_row_is_worth_is_a_column_of_its_side(utility: str, worth: tuple[str, str]) -> None:
    result = compiled(f"{RANGES} ON a.n < b.n QOS UTILITY {utility} SHED JOIN BY 50 PERCENT")
    join = join_of(result)
    assert join.selects is not None
    assert join.selects.worth == worth
    for side, name in zip(join.inputs, worth, strict=True):
        assert {f.name for f in side.schema if f.name.startswith("__worth")} == ({name} if name else set())


@pytest.mark.parametrize(("length", "bw_s"), [("20 SECONDS", 2.5), ("1 SECOND", 0.125), ("2 MINUTES", 5.0), ("1 HOUR", 60.0)])
def test_where_all_is_compared_basic_windows_are_few_or_short(length: str, bw_s: float) -> None:
    (query,) = compiled(f"SELECT ISTREAM(a.n) FROM a [RANGE {length}] JOIN b [NOW] ON a.n < b.n").require().queries
    (step,) = (s for s in ph.walk(query.root) if isinstance(s, ph.WindowJoin))
    assert [bw / 1_000_000 for _, bw in step.grids] == [bw_s, bw_s]
