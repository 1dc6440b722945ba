"""Which aggregates run over windows that move, and as what."""

from __future__ import annotations

from typing import Any

import pytest

from streamq.compiler.driver import compile_program
from streamq.compiler.ir import physical as ph
from streamq.compiler.lowering.folds import NAMES, OF_TWO
from streamq.dsl.diagnostics import Severity
from streamq.stdlib.functions.aggregates import FUNCTIONS
from streamq.stdlib.registry import Kind
from streamq.stdlib.timelines import squares
from streamq.stdlib.timelines.folds import FOLDS

STREAM = """CREATE STREAM s (k STRING, v INT, x DOUBLE, d DECIMAL(10, 2), wide DECIMAL(30, 2), ts TIMESTAMP,
  WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS) WITH (connector = 'memory');
"""

WITH_A_WINDOW_ONLY = {
    "HISTOGRAM_NUMERIC", "HLL_SKETCH_AGG", "HLL_UNION_AGG", "KLL_SKETCH_AGG", "COUNT_MIN_SKETCH",
}
"""Aggregates whose values are those of an implementation that only Spark has."""


def folds_of(select: str) -> Any:
    """The folds of a query over the last rows of ``s``."""
    result = compile_program(f"{STREAM}SELECT {select} FROM s [ROWS 5];")
    (groups,) = (
        step for step in ph.walk(result.require().queries[0].root)
        if isinstance(step, ph.Stateful) and step.operator == "groups"
    )
    return dict(groups.params)["folds"]


def test_every_aggregate_is_known() -> None:
    aggregates = {name for name, spec in FUNCTIONS.items() if spec.kind is Kind.AGGREGATE}
    assert aggregates - NAMES.keys() == WITH_A_WINDOW_ONLY
    assert set(NAMES.values()) <= FOLDS
    assert set(OF_TWO) == squares.OF_TWO


@pytest.mark.parametrize(("select", "fold"), [
    ("COUNT(*) AS a", ("COUNT", (), "long")),
    ("COUNT(DISTINCT v, k) AS a", ("COUNT", (0, 1), "long", True)),
    ("APPROX_COUNT_DISTINCT(k, 0.1) AS a", ("COUNT", (0,), "long", True)),
    ("MAX(DISTINCT v) AS a", ("MAX", (0,), "long")),
    ("TRY_SUM(v) AS a", ("TRY_SUM", (0,), "long")),
    ("TRY_SUM(x) AS a", ("SUM", (0,), "double")),
    ("TRY_SUM(d) AS a", ("SUM", (0,), "text", False, (2,))),
    ("SUM(d) AS a", ("SUM", (0,), "text", False, (2,))),
    ("AVG(d) AS a", ("AVG", (0,), "text", False, (2, 6))),
    ("COLLECT_SET(x) AS a", ("COLLECT_LIST", (0,), "text", True)),
    ("STRING_AGG(k, '-' || '+') AS a", ("LISTAGG", (0,), "text", False, ("-+",))),
    ("COLLECT_SET(wide) AS a", ("COLLECT_LIST", (0, 1), "text", True)),
    ("COLLECT_LIST(ARRAY(v)) AS a", ("COLLECT_LIST", (0,), "text")),
    ("LISTAGG(DISTINCT k) AS a", ("LISTAGG", (0,), "text", True)),
    ("MEDIAN(v) AS a", ("PERCENTILE", (0,), "double", False, (0.5,))),
    ("PERCENTILE(v, ARRAY(0.25, 1)) AS a", ("PERCENTILE", (0,), "text", False, (0.25, 1.0))),
    ("APPROX_PERCENTILE(v, 0.5, 100) AS a", ("APPROX_PERCENTILE", (0,), "long", False, (0.5,))),
    ("MIN_BY(k, v, 3) AS a", ("MIN_BY_N", (0, 1), "text", False, (3,))),
    ("APPROX_TOP_K(k) AS a", ("APPROX_TOP_K", (0,), "text", False, (5,))),
    ("FIRST(v) AS a", ("FIRST", (0, 1), "long")),
    ("FIRST(v) FILTER (WHERE v > 1) AS a", ("FIRST", (0, 1, 2), "long")),
    ("MIN(wide) AS a", ("MIN_BY", (0, 1), "text")),
    ("LAST(wide) AS a", ("MAX_BY", (0, 1), "text")),
    ("FIRST(DISTINCT wide) AS a", ("MIN_BY", (0, 1), "text")),
    ("LAST(DISTINCT v) AS a", ("LAST", (0, 1), "long")),
    ("CORR(x, v) AS a", ("CORR", (0, 1), "double")),
])
def test_the_fold_of_a_call(select: str, fold: tuple[Any, ...]) -> None:
    assert folds_of(select) == (fold,)


def test_equal_arguments_are_one_value() -> None:
    folds = folds_of("SUM(v) AS a, AVG(v) AS b, SUM(v + 1) AS c, FIRST(v) AS d, LAST(x) AS e, CORR(x, x) AS f")
    assert [fold[1] for fold in folds] == [(0,), (0,), (1,), (0, 2), (3, 2), (3, 3)]


def errors_of(query: str) -> list[tuple[str, str]]:
    found = compile_program(f"{STREAM}{query};").diagnostics
    return [(d.code, d.message) for d in found if d.severity is Severity.ERROR]


def many(pattern: str, count: int) -> str:
    return ", ".join(pattern.format(i) + f" AS a{i}" for i in range(1, count + 1))


@pytest.mark.parametrize(("pattern", "most", "what"), [
    ("SUM(v + {})", 62, "64 keys and aggregates"),
    ("MAX_BY(v * {0}, x * {0})", 31, "65 keys and values for its aggregates"),
    ("COUNT(*) FILTER (WHERE v > {})", 62, "64 keys and aggregates"),
])
def test_more_values_than_can_be_kept(pattern: str, most: int, what: str) -> None:
    assert errors_of(f"SELECT k, {many(pattern, most)} FROM s [ROWS 5] GROUP BY k") == []
    assert errors_of(f"SELECT k, {many(pattern, most + 1)} FROM s [ROWS 5] GROUP BY k") == [
        ("SQ0501", f"a group over a window that moves cannot have {what} yet, only 63")
    ]


def wide_stream(columns: int) -> str:
    """A stream ``w`` of so many columns, with its event time."""
    names = ", ".join(f"c{i} INT" for i in range(1, columns))
    return f"CREATE STREAM w ({names}, ts TIMESTAMP, WATERMARK FOR ts) WITH (connector = 'memory');"


def test_last_rows_of_many_columns() -> None:
    assert errors_of(f"{wide_stream(63)} SELECT * FROM w [ROWS 5]") == []
    assert errors_of(f"{wide_stream(64)} SELECT * FROM w [ROWS 5]") == [
        ("SQ0501", "[ROWS n] over 64 columns cannot be run yet, only over 63")
    ]


def test_rows_of_many_columns_are_told_apart_by_their_nulls() -> None:
    query = f"{wide_stream(65)} SELECT DSTREAM(*) FROM w [RANGE 5 SECONDS];"
    (rows,) = (
        dict(step.input.items)["row"]
        for step in ph.walk(compile_program(query).require().queries[0].root)
        if isinstance(step, ph.Stateful) and isinstance(step.input, ph.Select)
    )
    assert rows.endswith("`v64`, `nulls`, `v63` IS NULL, `v64` IS NULL)")
