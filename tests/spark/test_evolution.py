"""Of each change of a program the verdict is what a restart really does; ``python -m tests.benchmarks.evolution`` shows the table."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.docs.pages import DOCS
from tests.support.evolution import Outcome, run_cases, table
from tests.support.evolution_cases import CASES


@pytest.fixture(scope="module")
def outcomes(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    """All cases are run side by side, which takes a fifth of the time."""
    return {o.case.change: o for o in run_cases(spark, CASES, tmp_path_factory.mktemp("evolution"))}


@pytest.mark.parametrize("change", [case.change for case in CASES])
def test_the_verdict_is_what_a_restart_does(outcomes: dict[str, Outcome], change: str) -> None:
    outcome = outcomes[change]
    assert outcome.agrees, f"given {outcome.verdict.kind}, found {outcome.found}: {outcome.detail[:500]}"


def test_the_page_shows_what_was_found(outcomes: dict[str, Outcome], request: pytest.FixtureRequest) -> None:
    page = DOCS / "evolution.md"
    text = page.read_text(encoding="utf-8")
    before, rest = text.split("<!-- matrix -->\n")
    shown, after = rest.split("<!-- end -->")
    found = table(list(outcomes.values()))
    if request.config.getoption("--accept"):
        page.write_text(f"{before}<!-- matrix -->\n{found}\n<!-- end -->{after}", encoding="utf-8")
        return
    assert shown.strip() == found
