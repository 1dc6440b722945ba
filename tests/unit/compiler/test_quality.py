"""COMPLETENESS(), KEPT(), SHED(): which rows stand behind a result, and that nothing else changes."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from streamq.compiler.driver import CompileResult, compile_program
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.expr import WEIGHT
from streamq.compiler.ir.rewrite import walk
from streamq.compiler.passes.quality import ARRIVED, KEPT
from streamq.runtime.reference.engine import evaluate

PRELUDE = """
CREATE STREAM s (k STRING, v BIGINT, ts TIMESTAMP, WATERMARK FOR ts AS ts) WITH (connector = 'memory');
CREATE STREAM r (k STRING, w BIGINT, ts TIMESTAMP, WATERMARK FOR ts AS ts) WITH (connector = 'memory');
CREATE TABLE t (k STRING, name STRING) WITH (connector = 'file', format = 'csv', path = 't.csv');
"""
SHED = "SHED RANDOM BY 50 PERCENT"
START = datetime(2024, 1, 1)
S = [("a", 1, 1), ("a", 4, 2), ("b", 2, 3), ("c", 7, 4), ("a", 9, 5)]
R = [("a", 1, 2), ("a", 2, 3), ("b", 3, 4)]
INPUT = {
    "s": [[(k, v, START + timedelta(seconds=at)) for k, v, at in S]],
    "r": [[(k, v, START + timedelta(seconds=at)) for k, v, at in R]],
    "t": [[("a", "one"), ("b", "two"), ("b", "three")]],
}
MINUTE = "[TUMBLE 1 MINUTE]"


def compiled(query: str, policy: str = SHED) -> CompileResult:
    return compile_program(f"{PRELUDE}CREATE QUERY q AS {query} {policy};")


def answers(query: str, policy: str = SHED) -> list[tuple[object, ...]]:
    result = compiled(query, policy)
    assert result.ok, result.diagnostics
    assert result.meant is not None
    found = evaluate(result.meant, INPUT)["q"]
    return sorted(found.rows(), key=repr)


@pytest.mark.parametrize("policy", [SHED, f"{SHED} RECOVER ESTIMATE", ""], ids=["shed", "estimated", "whole"])
@pytest.mark.parametrize(
    ("query", "rows"),
    [
        (f"SELECT k, KEPT() AS n FROM s {MINUTE} GROUP BY k", [("a", 3), ("b", 1), ("c", 1)]),
        (f"SELECT MAX(v) AS most, KEPT() AS n FROM s {MINUTE} WHERE v > 1", [(9, 4)]),
        ("SELECT k, KEPT() AS n FROM s WHERE v > 4", [("a", 1), ("c", 1)]),
        (f"SELECT k FROM s {MINUTE} GROUP BY k HAVING KEPT() > 1", [("a",)]),
        (f"SELECT n, KEPT() AS behind FROM (SELECT k, MAX(v) AS n FROM s {MINUTE} GROUP BY k)",
         [(2, 1), (7, 1), (9, 3)]),
        (f"SELECT MAX(n) AS most, KEPT() AS behind FROM (SELECT k, MAX(v) AS n FROM s {MINUTE} GROUP BY k)",
         [(9, 5)]),
        (f"SELECT name, KEPT() AS n FROM s {MINUTE} JOIN t ON s.k = t.k GROUP BY name",
         [("one", 3), ("three", 1), ("two", 1)]),
        (f"SELECT s.k, KEPT() AS n FROM s {MINUTE} JOIN r {MINUTE} ON s.k = r.k GROUP BY s.k",
         [("a", 6), ("b", 1)]),
        (f"SELECT s.k, KEPT() AS n FROM s {MINUTE} LEFT JOIN r {MINUTE} ON s.k = r.k GROUP BY s.k",
         [("a", 6), ("b", 1), ("c", 1)]),
        (f"SELECT k, KEPT() AS n FROM (SELECT k, ts FROM s UNION ALL SELECT k, ts FROM r) {MINUTE} GROUP BY k",
         [("a", 5), ("b", 2), ("c", 1)]),
        ("SELECT ISTREAM(k, KEPT() AS n) FROM s [ROWS 100] WHERE k = 'b' GROUP BY k", [("b", 1)]),
        (f"SELECT k, KEPT() AS n FROM s {MINUTE} GROUP BY k ORDER BY KEPT() DESC LIMIT 1", [("a", 3)]),
    ],
)  # fmt: skip
def test_kept_is_the_number_of_rows_behind_a_result(
    query: str, rows: list[tuple[object, ...]], policy: str
) -> None:
    found = answers(query, policy)
    width = len(rows[0])
    assert [row[:width] for row in found] == rows


@pytest.mark.parametrize("policy", [SHED, ""])
def test_where_nothing_is_lost_all_is_there(policy: str) -> None:
    query = f"SELECT k, COMPLETENESS() AS c, SHED() AS lost FROM s {MINUTE} GROUP BY k"
    assert answers(query, policy) == [("a", 1.0, 0), ("b", 1.0, 0), ("c", 1.0, 0)]


def test_a_global_aggregate_over_nothing_rests_on_no_rows() -> None:
    query = "SELECT RSTREAM(COUNT(*) AS n, KEPT() AS kept, COMPLETENESS() AS c) FROM s [RANGE 2 SECONDS SLIDE 1 SECOND]"
    assert {row[0]: row for row in answers(query)}.get(0, (0, 0, 1.0)) == (0, 0, 1.0)


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT k, COUNT(*) AS n, COMPLETENESS() AS c FROM s {MINUTE} GROUP BY k",
        f"SELECT k FROM s {MINUTE} GROUP BY k HAVING COMPLETENESS() > 0.5",
        "SELECT k, v, COMPLETENESS() AS c FROM s",
        "SELECT k FROM s WHERE COMPLETENESS() > 0.5",
    ],
)
def test_the_columns_of_a_result_stay_what_they_are(query: str) -> None:
    result = compiled(query)
    assert result.logical is not None
    assert result.optimized is not None
    ours, bound = (p.queries[0].root for p in (result.optimized, result.logical))
    assert [f.name for f in ours.schema] == [f.name for f in bound.schema]
    assert any({KEPT, WEIGHT} & {f.name for f in node.schema} for node in walk(ours))


def test_a_query_that_sheds_nothing_counts_nothing_for_what_is_known() -> None:
    result = compiled(f"SELECT k, COMPLETENESS() AS c, SHED() AS lost FROM s {MINUTE} GROUP BY k", "")
    assert result.optimized is not None
    names = {f.name for node in walk(result.optimized.queries[0].root) for f in node.schema}
    assert not names & {KEPT, ARRIVED, WEIGHT}


def test_a_query_that_does_not_ask_carries_nothing() -> None:
    result = compiled(f"SELECT k, COUNT(*) AS n FROM s {MINUTE} GROUP BY k")
    assert result.optimized is not None
    root = result.optimized.queries[0].root
    assert not {KEPT, ARRIVED} & {f.name for node in walk(root) for f in node.schema}
    assert any(isinstance(node, lg.Shed) for node in walk(root))


@pytest.mark.parametrize("policy", [SHED, ""])
def test_after_distinct_it_is_not_known_what_stands_behind(policy: str) -> None:
    result = compiled(f"SELECT k, KEPT() AS n FROM (SELECT DISTINCT k FROM s {MINUTE})", policy)
    (wrong,) = [d for d in result.diagnostics if d.code == "SQ0601"]
    assert "KEPT()" in wrong.message


@pytest.mark.parametrize(
    ("columns", "policy", "may_be_empty"),
    [
        ("k", "QOS LATENCY 2 SECONDS", True),
        ("k, COMPLETENESS() AS c", "QOS LATENCY 2 SECONDS", True),
        ("k, SOURCE_COVERAGE() AS c", "QOS LATENCY 2 SECONDS", False),
        ("k, LATE() AS late", "SHED RANDOM TO RATE 9 ROWS PER SECOND", False),
        ("k", "QOS UTILITY v LATENCY 2 SECONDS SHED BY UTILITY", False),
        ("k", "SHED RANDOM BY 5 PERCENT", False),
    ],
)
def test_a_control_relation_may_be_empty_where_a_decided_threshold_is_all_that_is_read(
    columns: str, policy: str, may_be_empty: bool
) -> None:
    (query,) = compiled(f"SELECT {columns} FROM s", policy).require().queries
    (control,) = query.controls
    assert control.may_be_empty == may_be_empty
    assert ("WHERE threshold >= 0" in repr(query.root)) == may_be_empty


def test_measures_of_the_whole_query_come_from_its_control_relation() -> None:
    query = "SELECT k, SOURCE_COVERAGE() AS c, LATE() AS late FROM s"
    result = compiled(query, "QOS LATENCY 2 SECONDS")
    assert result.ok
    assert "(SELECT coverage FROM `streamq_control_q`)" in repr(result.plan)
    assert "(SELECT late FROM `streamq_control_q`)" in repr(result.plan)
    assert answers("SELECT k, SOURCE_COVERAGE() AS c FROM s WHERE v > 8", "") == [("a", 1.0)]
    for policy in ("", SHED):
        wrong = compiled(query, policy).diagnostics
        assert [d.code for d in wrong if d.code == "SQ0601"] == ["SQ0601"]
