"""Which aggregates run over windows that move, and as what."""

from __future__ import annotations

from typing import Any

import pytest

from streamq.compiler.driver import compile_program
from streamq.compiler.ir import physical as ph
from streamq.compiler.lowering.folds import NAMES
from streamq.stdlib.functions.aggregates import FUNCTIONS
from streamq.stdlib.registry import Kind
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


@pytest.mark.parametrize(("select", "fold"), [
    ("COUNT(*) AS a", ("COUNT", (), "long")),
    ("COUNT(DISTINCT v, k) AS a", ("COUNT", (0, 1), "long", True)),
    ("APPROX_COUNT_DISTINCT(k, 0.1) AS a", ("COUNT", (0,), "long", True)),
    ("MAX(DISTINCT v) AS a", ("MAX", (0,), "long")),
    ("SUM(d) AS a", ("SUM", (0,), "text", False, (2,))),
    ("AVG(d) AS a", ("AVG", (0,), "text", False, (2, 6))),
    ("COLLECT_SET(x) AS a", ("COLLECT_LIST", (0,), "text", True)),
    ("STRING_AGG(k, '-' || '+') AS a", ("LISTAGG", (0,), "text", False, ("-+",))),
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
    ("CORR(x, v) AS a", ("CORR", (0, 1), "double")),
])
def test_the_fold_of_a_call(select: str, fold: tuple[Any, ...]) -> None:
    assert folds_of(select) == (fold,)
