"""RECOVER ESTIMATE: which columns a query has, and what they say where nothing is shed."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from streamq.compiler.driver import CompileResult, compile_program
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.rewrite import walk
from streamq.compiler.passes.estimate import WEIGHT
from streamq.runtime.reference.engine import evaluate

PRELUDE = """
CREATE STREAM s (k STRING, v BIGINT, x DOUBLE, ts TIMESTAMP, WATERMARK FOR ts AS ts) WITH (connector = 'memory');
CREATE TABLE t (k STRING, name STRING) WITH (connector = 'file', format = 'csv', path = 't.csv');
"""
SHED = "SHED RANDOM BY 50 PERCENT RECOVER ESTIMATE"
ROWS = [("a", 1, 0.5, 1), ("a", 4, None, 2), ("b", None, 2.5, 3), (None, 7, 1.0, 4)]


def compiled(query: str) -> CompileResult:
    result = compile_program(f"{PRELUDE}CREATE QUERY q AS {query} {SHED};")
    assert result.ok, result.diagnostics
    return result


def columns(query: str) -> list[str]:
    optimized = compiled(query).optimized
    assert optimized is not None
    return [f.name for f in optimized.queries[0].root.schema]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("SELECT k, COUNT(*) AS n FROM s [TUMBLE 1 MINUTE] GROUP BY k", "k n n_lo n_hi"),
        ("SELECT SUM(v) AS t, k AS key FROM s [TUMBLE 1 MINUTE] GROUP BY k", "t t_lo t_hi key"),
        ("SELECT AVG(x) AS m, MAX(v) AS most FROM s [TUMBLE 1 MINUTE]", "m m_lo m_hi most"),
        ("SELECT COUNT(*) + 1 AS n FROM s [TUMBLE 1 MINUTE]", "n"),
        ("SELECT COUNT(DISTINCT v) AS n FROM s [TUMBLE 1 MINUTE]", "n"),
        ("SELECT k, v FROM s WHERE v > 1", "k v"),
        ("SELECT name, COUNT(*) AS n FROM s [TUMBLE 1 MINUTE] JOIN t ON s.k = t.k GROUP BY name",
         "name n n_lo n_hi"),
        ("SELECT k, COUNT(*) AS n FROM s GROUP BY k", "k n n_lo n_hi"),
        ("SELECT k, COUNT(*) AS n FROM s [SESSION 5 SECONDS PARTITION BY k] GROUP BY k", "k n n_lo n_hi"),
    ],
)  # fmt: skip
def test_estimates_have_bounds(query: str, names: str) -> None:
    assert columns(query) == names.split()


@pytest.mark.parametrize(
    "query",
    ["SELECT k, v FROM s WHERE v > 1", "SELECT MAX(v) AS most FROM s [TUMBLE 1 MINUTE]"],
)
def test_where_nothing_is_estimated_there_are_no_weights(query: str) -> None:
    result = compiled(query)
    assert result.optimized is not None
    root = result.optimized.queries[0].root
    assert all(WEIGHT not in {f.name for f in node.schema} for node in walk(root))
    assert [n.kind for n in result.notices].count("estimate") >= 1
    assert any(isinstance(node, lg.Shed) for node in walk(root))


@pytest.mark.parametrize(
    ("shed", "why"), [("", "no row of the query is shed"), ("SHED RANDOM BY 50 PERCENT", "only COUNT, SUM, AVG and sketches of shed rows are")],
)
def test_why_nothing_is_estimated_is_said(shed: str, why: str) -> None:
    result = compile_program(f"{PRELUDE}CREATE QUERY q AS SELECT MAX(v) AS most FROM s [TUMBLE 1 MINUTE] {shed} RECOVER ESTIMATE;")
    assert ("nothing is estimated", why) in [(n.message, n.hint) for n in result.notices]


def test_where_nothing_is_shed_estimates_are_what_they_estimate() -> None:
    query = (
        "SELECT k, COUNT(*) AS n, COUNT(v) AS some, COUNT_IF(v > 3) AS large, SUM(v) AS t, AVG(x) AS m, "
        "SUM(v) FILTER (WHERE v > 3) AS f FROM s [TUMBLE 1 MINUTE] GROUP BY k HAVING COUNT(*) > 0"
    )
    result = compiled(query)
    assert result.logical is not None
    assert result.optimized is not None
    start = datetime(2024, 1, 1)
    batch = [(k, v, x, start + timedelta(seconds=at)) for k, v, x, at in ROWS]
    plain = evaluate(result.logical, {"s": [batch]})["q"]
    found = evaluate(result.optimized, {"s": [batch]})["q"]
    rows = {row[0]: dict(zip(found.columns, row, strict=True)) for row in found.rows()}
    assert len(rows) == 3
    for row in plain.rows():
        for name, value in zip(plain.columns, row, strict=True):
            ours = rows[row[0]]
            assert ours[name] == value
            if name != "k":
                assert ours[f"{name}_lo"] == ours[f"{name}_hi"] == value
