"""Sessions for the tests of programs: one that died makes way for the next, and takes nothing with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from streamq.compiler.driver import compile_program
from streamq.compiler.ir.physical import PhysicalPlan
from streamq.runtime.fixtures.feed import Feed
from streamq.runtime.fixtures.runner import SparkFailed
from streamq.runtime.metrics import RunReport
from streamq.runtime.run import RunOptions
from streamq.runtime.spark import fixture_runs, own_session
from streamq.runtime.spark.fixture_runs import FixtureRuns

PROGRAM = """\
CREATE STREAM s (k INT) WITH (connector = 'file', path = 's');
CREATE QUERY quick AS SELECT k FROM s;
CREATE QUERY slow AS SELECT k FROM s;
"""
EMPTY = Feed((), 0, None)


@dataclass(slots=True)
class DeadSession:
    """What is left of a session when its Java process is gone."""

    stops: int = 0

    @property
    def version(self) -> str:
        raise Py4JNetworkError("connection refused")

    def stop(self) -> None:
        self.stops += 1
        raise Py4JNetworkError("connection refused")


def plan() -> PhysicalPlan:
    return compile_program(PROGRAM).require()


def run_that(
    monkeypatch: pytest.MonkeyPatch, ends: Callable[[PhysicalPlan], RunReport]
) -> None:
    """Every run ends as given; the sources stay as they are."""

    def run_plan(plan: PhysicalPlan, options: RunOptions, *, session: SparkSession) -> RunReport:
        return ends(plan)

    monkeypatch.setattr(fixture_runs, "run_plan", run_plan)
    monkeypatch.setattr(fixture_runs, "as_fixture", lambda query, *others: query)


def lost(plan: PhysicalPlan) -> RunReport:
    raise Py4JNetworkError("connection refused")


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> list[DeadSession]:
    """The sessions that were made; every one is dead at once."""
    made: list[DeadSession] = []

    def create(*settings: object, **options: object) -> SparkSession:
        made.append(DeadSession())
        return cast(SparkSession, made[-1])

    monkeypatch.setattr(own_session, "create_session", create)
    for name in ("_gateway", "_jvm", "_active_spark_context"):
        monkeypatch.setattr(SparkContext, name, "of the dead")
    for name in ("_instantiatedSession", "_activeSession"):
        monkeypatch.setattr(SparkSession, name, None)
    return made


def test_a_dead_session_makes_way_for_the_next(
    monkeypatch: pytest.MonkeyPatch, sessions: list[DeadSession]
) -> None:
    run_that(monkeypatch, lost)
    starts: list[int] = []
    with FixtureRuns(starting=lambda: starts.append(len(sessions))) as on_spark:
        for _ in range(2):
            with pytest.raises(SparkFailed, match="connection refused"):
                on_spark(plan(), EMPTY, {})
            assert on_spark.session is None
            assert (SparkContext._gateway, SparkContext._jvm) == (None, None)
    assert starts == [0, 1]
    assert [session.stops for session in sessions] == [1, 1]


def test_a_session_that_dies_last_is_no_error(
    monkeypatch: pytest.MonkeyPatch, sessions: list[DeadSession]
) -> None:
    run_that(monkeypatch, lambda plan: RunReport("finished", 0.0))
    monkeypatch.setattr(fixture_runs, "_answer", lambda query, *others: query.name)
    names: Mapping[str, object] = {"quick": None, "slow": None}
    with FixtureRuns() as on_spark:
        assert set(on_spark(plan(), EMPTY, names)) == set(names)  # type: ignore[arg-type]
    assert [session.stops for session in sessions] == [1]


def test_only_queries_that_have_not_ended_are_too_slow(
    monkeypatch: pytest.MonkeyPatch, sessions: list[DeadSession]
) -> None:
    run_that(monkeypatch, lambda plan: RunReport("duration", 600.0, unfinished=("slow",)))
    with FixtureRuns() as on_spark, pytest.raises(SparkFailed) as failed:
        on_spark(plan(), EMPTY, {})
    assert [d.message for d in failed.value.diagnostics] == ["query `slow` did not end within 600 s"]
