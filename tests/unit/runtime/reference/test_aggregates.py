"""Aggregates of the reference evaluator, with values worked out by hand."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

import pytest

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.expr import AggCall
from streamq.runtime.reference.aggregates import AGGREGATES, compile_aggregate
from streamq.runtime.reference.expressions import ReferenceUnsupported
from streamq.runtime.reference.functions import UNSUPPORTED
from streamq.stdlib.functions import FUNCTIONS
from streamq.stdlib.registry import Kind
from tests.support.compiling import logical_query

COLUMNS = ("i", "x", "d", "t", "b", "ts")
ROWS = [
    (None, 1.0, Decimal("1.00"), None, None, datetime(2024, 1, 1, 0, 0, 0)),
    (3, 2.0, Decimal("2.00"), "b", True, datetime(2024, 1, 1, 0, 0, 1)),
    (1, 3.0, Decimal("3.00"), "a", False, datetime(2024, 1, 1, 0, 0, 2)),
    (3, 6.0, Decimal("4.01"), "b", True, datetime(2024, 1, 1, 0, 0, 3)),
]


def call(text: str) -> AggCall:
    """The typed aggregate over the tests' stream."""
    root = logical_query(f"CREATE QUERY probe AS SELECT {text} AS r FROM s;").root
    while not isinstance(root, lg.Aggregate):
        (root,) = root.inputs
    return root.aggregates[0][1]


@pytest.mark.parametrize(
    ("text", "expected", "of_none"),
    [
        ("COUNT(*)", 4, 0), ("COUNT(i)", 3, 0), ("COUNT(i, b)", 3, 0), ("COUNT(DISTINCT i)", 2, 0), ("COUNT_IF(i > 1)", 2, 0),
        ("COUNT(*) FILTER (WHERE i = 3)", 2, 0), ("SUM(i)", 7, None), ("SUM(DISTINCT i)", 4, None), ("SUM(d)", Decimal("10.01"), None), ("SUM(x) FILTER (WHERE b)", 8.0, None),
        ("AVG(x)", 3.0, None), ("AVG(d)", Decimal("2.502500"), None), ("MIN(t)", "a", None), ("MAX(i)", 3, None),
        ("FIRST(i)", None, None), ("LAST(t)", "b", None), ("MIN_BY(t, i)", "a", None), ("MAX_BY(x, i)", 6.0, None), ("MAX_BY(i, x, 2)", (3, 1), None), ("MODE(i)", 3, None),
        ("BOOL_AND(b)", False, None), ("BOOL_OR(b)", True, None), ("BIT_XOR(i)", 1, None), ("VAR_POP(x)", 3.5, None), ("STDDEV_SAMP(i)", 1.1547005383792515, None),
        ("COVAR_POP(x, x)", 3.5, None), ("CORR(x, x)", 1.0, None), ("REGR_SLOPE(x * 2, x)", 2.0, None), ("MEDIAN(x)", 2.5, None), ("PERCENTILE(x, 0.25)", 1.75, None),
        ("APPROX_PERCENTILE(x, 0.5)", 2.0, None), ("APPROX_COUNT_DISTINCT(t)", 2, 0), ("APPROX_TOP_K(t, 1)", (("b", 2),), ()),
        ("COLLECT_LIST(i)", (3, 1, 3), ()), ("COLLECT_SET(i)", (1, 3), ()), ("LISTAGG(t, '-')", "b-a-b", None),
    ],
)
def test_aggregates(text: str, expected: object, of_none: object) -> None:
    aggregate = compile_aggregate(call(text), COLUMNS)
    assert aggregate(ROWS, ()) == pytest.approx(expected, rel=1e-12) if isinstance(expected, float) else aggregate(ROWS, ()) == expected
    assert aggregate([], ()) == of_none


def test_every_declared_aggregate_is_computed_or_said_not_to_be() -> None:
    declared = {name for name, spec in FUNCTIONS.items() if spec.kind is Kind.AGGREGATE}
    assert declared - set(AGGREGATES) - set(UNSUPPORTED) == set()
    assert not set(AGGREGATES) & set(UNSUPPORTED)


def test_sketches_are_refused() -> None:
    with pytest.raises(ReferenceUnsupported, match="HLL_SKETCH_AGG"):
        compile_aggregate(call("HLL_SKETCH_AGG(i)"), COLUMNS)
