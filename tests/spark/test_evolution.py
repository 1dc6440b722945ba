"""Of each change of a program the verdict is what a restart really does; ``python -m tests.benchmarks.evolution`` shows the table."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.support.evolution import Outcome, run_cases
from tests.support.evolution_cases import CASES


@pytest.fixture(scope="module")
def outcomes(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    """All cases are run side by side, which takes a fifth of the time."""
    return {o.case.change: o for o in run_cases(spark, CASES, tmp_path_factory.mktemp("evolution"))}


@pytest.mark.parametrize("change", [case.change for case in CASES])
def test_the_verdict_is_what_a_restart_does(outcomes: dict[str, Outcome], change: str) -> None:
    outcome = outcomes[change]
    assert outcome.agrees, f"given {outcome.verdict.kind}, found {outcome.found}: {outcome.detail[:500]}"
