"""A broker for all tests of a process, and a session with the connector's jars; without them the tests are skipped."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.artefacts import Artefacts, Unreachable, artefacts
from tests.support.broker import Broker, running
from tests.support.topics import Topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_HERE = Path(__file__).parent
_numbers = itertools.count(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.kafka)


@pytest.fixture(scope="session")
def kafka() -> Artefacts:
    try:
        return artefacts()
    except Unreachable as reason:
        pytest.skip(f"no Kafka: {reason}")


@pytest.fixture(scope="session")
def broker(kafka: Artefacts, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    from streamq.runtime.spark.java import find_java

    java = str(find_java().home / "bin" / "java")
    with running(kafka.broker, tmp_path_factory.mktemp("broker"), java=java) as one:
        yield one


@pytest.fixture(scope="session")
def spark(kafka: Artefacts, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session of other tests, with the libraries of Kafka and Avro."""
    from streamq.runtime.spark.session import create_session

    log = tmp_path_factory.mktemp("log") / "spark.log"
    jars = ",".join(map(str, kafka.jars))
    session = create_session({"spark.jars": jars}, app="streamq-kafka-tests", fast_start=True, log_file=log)
    yield session
    session.stop()


@pytest.fixture
def topics(broker: Broker) -> Topics:
    """Topics of this test alone, whose names begin with a number of its own."""
    return Topics(broker, f"t{next(_numbers)}-")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says what was tested with, or that nothing was."""
    skipped = {str(report.longrepr[2]) for report in terminalreporter.stats.get("skipped", []) if "no Kafka: " in str(report.longrepr)}
    for reason in skipped:
        terminalreporter.write_line(f"SKIPPED all tests with Kafka: {reason.removeprefix('Skipped: ')}", yellow=True)
    if terminalreporter.stats.get("passed") and not skipped:
        terminalreporter.write_line(f"Tests with Kafka: {artefacts().told}")
