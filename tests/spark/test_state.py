"""``streamq state`` against Spark: which operator of a program has which number, how far it is, and what it holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from streamq.runtime.spark.state_rows import read_rows
from streamq.runtime.state_summary import QueryState, summary
from tests.support.evolution import FIRST, Restart, run_restarts, write_input
from tests.support.evolution_cases import BOTH, COUNTS, MOVING, ONCE, PAIRS, SESSIONS

TWO = """SELECT a.k, a.n, b.m FROM (SELECT k, WINDOW_END AS e, COUNT(*) AS n FROM s [TUMBLE 20 SECONDS] GROUP BY k) a,
  (SELECT k, WINDOW_END AS e, SUM(y) AS m FROM r [TUMBLE 20 SECONDS] GROUP BY k) b WHERE a.k = b.k AND a.e = b.e"""
DIFFERENT = "SELECT k, COUNT(DISTINCT x) AS n FROM s [TUMBLE 10 SECONDS] GROUP BY k"
ALIKE = "SELECT k, SUM(x) AS a, SUM(x * 10) AS b, AVG(x) AS c FROM s [TUMBLE 10 SECONDS] GROUP BY k"
SHEDS = """SELECT ISTREAM(a.k, b.k AS m) FROM s [RANGE 60 SECONDS] a JOIN s [RANGE 60 SECONDS] b ON ABS(a.k - b.k) <= 3
  SHED JOIN BASIC WINDOW 4 SECONDS BY 50 PERCENT"""
QUERIES = {
    "counts": COUNTS, "pairs": PAIRS, "moving": MOVING, "sessions": SESSIONS, "once": ONCE, "two": TWO, "different": DIFFERENT, "alike": ALIKE,
    "sheds": SHEDS, "both": BOTH,
}
Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def root(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All queries over the first rows."""
    base = tmp_path_factory.mktemp("state")
    write_input(base, (FIRST,))
    folder = base / "checkpoint"
    started = {name: Restart(spark, f"CREATE QUERY {name} AS {text};", base, folder) for name, text in QUERIES.items()}
    for one in run_restarts(started).values():
        assert not one.error
    return folder


@pytest.fixture(scope="module")
def states(root: Path) -> dict[str, QueryState]:
    return {state.query: state for state in summary(root)}


def held(spark: SparkSession, root: Path, state: QueryState, operator: str, limit: int = 100) -> Rows:
    found = next(one for one in state.operators if one.operator == operator)
    return read_rows(root / state.query, found, limit, spark)


def test_every_operator_has_the_kind_that_spark_has_under_its_number(states: dict[str, QueryState]) -> None:
    assert {name: [(o.operator, o.spark) for o in state.operators] for name, state in states.items()} == {
        "counts": [("counts.aggregate", "stateStoreSave")],
        "pairs": [("pairs.join", "symmetricHashJoin")],
        "moving": [("moving.groups", "transformWithStateInPandasExec")],
        "sessions": [("sessions.aggregate", "sessionWindowStateStoreSaveExec")],
        "once": [("once.distinct", "stateStoreSave")],
        "two": [("two.join", "symmetricHashJoin"), ("two.aggregate", "stateStoreSave"), ("two.aggregate_2", "stateStoreSave")],
        "different": [("different.aggregate", "stateStoreSave"), ("different.distinct_values", "stateStoreSave")],
        "alike": [("alike.aggregate", "stateStoreSave")],
        "sheds": [("sheds.windows", "transformWithStateInPandasExec")],
        "both": [],
    }


def test_how_far_a_query_is(states: dict[str, QueryState]) -> None:
    counts, both = states["counts"], states["both"]
    assert (counts.planned, counts.done, counts.watermark) == (1, 1, "2024-01-01 00:00:14.000")
    assert [(p.stream, p.offset) for p in counts.positions] == [("s", '{"logOffset":0}')]
    assert [(p.stream, p.offset) for p in both.positions] == [("s", '{"logOffset":0}'), ("r", '{"logOffset":0}')]
    (operator,) = counts.operators
    assert operator.version == 2
    assert operator.size > 0
    assert operator.partitions == 1


def test_operators_of_one_kind_hold_what_is_theirs(spark: SparkSession, root: Path, states: dict[str, QueryState]) -> None:
    counts = held(spark, root, states["two"], "two.aggregate")
    assert sorted((row["k"], row["count(1)"]) for row in counts) == [(1, 4), (2, 2)]
    sums = held(spark, root, states["two"], "two.aggregate_2")
    assert sorted((row["k"], row["sum(r.y)"]) for row in sums) == [(1, 10), (2, 20)]
    values = held(spark, root, states["different"], "different.distinct_values")
    assert sorted((row["k"], row["x"]) for row in values) == [(1, 3), (1, 5), (2, 1)]


def test_values_that_spark_calls_alike_are_all_shown(spark: SparkSession, root: Path, states: dict[str, QueryState]) -> None:
    rows = held(spark, root, states["alike"], "alike.aggregate")
    assert rows
    assert all(list(row)[-4:] == ["sum(s.x)", "sum((s.x * 10))", "avg(s.x).sum", "avg(s.x).count"] for row in rows)
    assert all(10 * row["sum(s.x)"] == row["sum((s.x * 10))"] and row["sum(s.x)"] == row["avg(s.x).sum"] for row in rows)


def test_windows_are_shown_as_people_read_them(spark: SparkSession, root: Path, states: dict[str, QueryState]) -> None:
    rows = held(spark, root, states["counts"], "counts.aggregate")
    assert {row["__window"] for row in rows} == {"2024-01-01 00:00:10 to 2024-01-01 00:00:20"}
    assert len(held(spark, root, states["counts"], "counts.aggregate", limit=1)) == 1


def test_both_sides_of_a_join_are_shown(spark: SparkSession, root: Path, states: dict[str, QueryState]) -> None:
    rows = held(spark, root, states["pairs"], "pairs.join")
    assert {row["s.k"] for row in rows if "s.k" in row} == {1, 2}
    assert {row["r.y"] for row in rows if "r.y" in row} == {20}


def test_operators_of_ours_are_unpacked(spark: SparkSession, root: Path, states: dict[str, QueryState]) -> None:
    facts = [row for row in held(spark, root, states["moving"], "moving.groups") if row["table"] == "facts"]
    assert sorted(row["v0"] for row in facts) == [1, 1, 2]
    windows = held(spark, root, states["sheds"], "sheds.windows")
    assert windows
    assert all(str(row["rows"]).endswith(" bytes") for row in windows)
