"""What all tests share: the Spark session, and the marker of the tests that need it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SPARK_TESTS = Path(__file__).parent / "spark"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--accept",
        action="store_true",
        help="record the outputs of tests/cases anew, to be reviewed",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests under ``tests/spark`` and all that use the session get the marker ``spark`` by themselves."""
    for item in items:
        uses_session = "spark" in getattr(item, "fixturenames", ())
        if uses_session or _SPARK_TESTS in item.path.parents:
            item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One session for all tests of a process, tuned to start fast and to end short queries soon."""
    from streamq.runtime.spark.session import create_session

    log = tmp_path_factory.mktemp("log") / "spark.log"
    session = create_session({}, app="streamq-tests", fast_start=True, log_file=log)
    yield session
    session.stop()


@pytest.fixture
def functions_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs of the test may bring Python functions with them."""
    monkeypatch.setenv("STREAMQ_ALLOW_FUNCTIONS", "1")


@pytest.fixture(autouse=True)
def _stop_queries(request: pytest.FixtureRequest) -> Iterator[None]:
    """A query that a test leaves running would slow down, or break, the tests after it."""
    yield
    if "spark" in request.fixturenames:
        session: SparkSession = request.getfixturevalue("spark")
        for query in session.streams.active:
            query.stop()
