"""Every window below every operator: a plan or a diagnostic, and never an error of the compiler's own."""

from __future__ import annotations

from itertools import product

import pytest

from streamq.compiler.driver import compile_program
from streamq.dsl.diagnostics import Severity
from tests.contract.programs import PRELUDE

WINDOWS = (
    "", "[RANGE 5 SECONDS]", "[ROWS 1]", "[ROWS 3]", "[NOW]", "[TUMBLE 5 SECONDS]",
    "[RANGE 10 SECONDS SLIDE 5 SECONDS]", "[SESSION 5 SECONDS PARTITION BY k]",
    "[PARTITION BY k ROWS 1]", "[UNBOUNDED]",
)
OPERATORS = ("{}", "ISTREAM({})", "DSTREAM({})", "RSTREAM({})")
AROUND = (
    "{}", "SELECT k, MAX(v) AS m FROM ({}) AS q GROUP BY k", "SELECT k FROM ({}) AS q WHERE v > 2",
    "SELECT COUNT(*) AS n FROM ({}) [TUMBLE 5 SECONDS] AS q",
)
BELOW = (
    "SELECT k, v, ts FROM s {}",
    "SELECT k, COUNT(*) AS v FROM s {} GROUP BY k",
    "SELECT DISTINCT k, v FROM s {}",
    "SELECT k, v FROM s {} ORDER BY v LIMIT 2",
    "SELECT s.k AS k, s.v AS v FROM s {} JOIN r [RANGE 5 SECONDS] ON s.k = r.k",
    "SELECT s.k AS k, s.v AS v FROM s {} LEFT JOIN r [TUMBLE 5 SECONDS] ON s.v < r.w",
    "SELECT s.k AS k, s.v AS v FROM s {} LEFT JOIN t ON s.k = t.k",
    "SELECT k, v FROM s {} UNION ALL SELECT k, w FROM r [RANGE 5 SECONDS]",
    "SELECT k, v FROM s {} WHERE k NOT IN (SELECT k FROM r [TUMBLE 5 SECONDS])",
)


@pytest.mark.parametrize("below", BELOW)
def test_a_plan_or_a_diagnostic(below: str) -> None:
    plans = 0
    for window, operator, around in product(WINDOWS, OPERATORS, AROUND):
        query = around.format(operator.format(below.format(window)))
        result = compile_program(f"{PRELUDE}{query};")
        errors = [d for d in result.diagnostics if d.severity is Severity.ERROR]
        assert result.ok != bool(errors), query
        plans += result.ok
    # Each of these runs under many windows.
    assert plans > len(WINDOWS)
