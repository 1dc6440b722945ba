"""Asks all three for the answer to a query, and compares."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from examples.nexmark.suite.bags import Bag, differences
from examples.nexmark.suite.events import MIDNIGHT, MORNING, Events, make_events
from examples.nexmark.suite.independent import independent_answer
from examples.nexmark.suite.on_spark import (
    RunFailed,
    events_per_second,
    spark_answer,
    write_scripts,
)
from examples.nexmark.suite.programs import MEMORY, compile_query, copy_programs, generator
from examples.nexmark.suite.reference import reference_answer
from streamq.compiler.driver import CompileResult
from streamq.dsl.diagnostics import Severity

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

YES = "yes"
NOT_ASKED = "-"

TIMED_BATCHES = 5
"""Micro-batches of a run that is timed."""


@dataclass(slots=True)
class Line:
    """What was found about a query: ``reference`` and ``spark`` are ``yes``, ``no`` or why there is no answer.

    ``rows``: of the independent answer. ``speed``: events per second on Spark. ``notes``: what differs.
    """

    query: str
    rows: int = 0
    reference: str = NOT_ASKED
    spark: str = NOT_ASKED
    speed: float = 0.0
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class Suite:
    """The events and programs of one run. ``scratch``: an empty folder.

    ``session`` None: Spark is not asked. ``timed_runs``: over ``timed_events`` events, of which the best counts.
    """

    scratch: Path
    events: int
    session: SparkSession | None = None
    timed_events: int = 0
    timed_runs: int = 0
    _made: dict[str, Events] = field(default_factory=dict)

    def ask(self, query: str) -> Line:
        """Compares the reference with the independent answer, and Spark with the reference."""
        line = Line(query)
        events, scripts = self._events(query)
        expected = independent_answer(query, events)
        line.rows = expected.total()
        compiled = compile_query(self._programs("programs", MEMORY), query)
        if compiled.logical is None:
            line.reference = line.spark = _refusal(compiled, line)
            return line
        by_definition = reference_answer(compiled.logical, events)
        line.reference = _verdict(by_definition, expected, line)
        if self.session is not None:
            self._ask_spark(compiled, by_definition, scripts, self.session, line)
        return line

    def _ask_spark(
        self,
        compiled: CompileResult,
        expected: Bag,
        scripts: Path,
        session: SparkSession,
        line: Line,
    ) -> None:
        if compiled.plan is None:
            line.spark = _refusal(compiled, line)
            return
        assert compiled.logical is not None
        (query,) = compiled.logical.queries
        try:
            found = spark_answer(compiled.plan, len(query.root.schema), scripts, session)
            line.spark = _verdict(found, expected, line)
            line.speed = self._speed(line.query, session)
        except RunFailed as failure:
            line.spark = "failed"
            line.notes += (str(failure),)

    def _speed(self, query: str, session: SparkSession) -> float:
        if not self.timed_runs:
            return 0.0
        source = generator(self.timed_events, -(-self.timed_events // TIMED_BATCHES))
        plan = compile_query(self._programs("timed", source), query).require()
        return max(
            events_per_second(plan, self.timed_events, session) for _ in range(self.timed_runs)
        )

    def _programs(self, name: str, source: str) -> Path:
        folder = self.scratch / name
        return folder if folder.exists() else copy_programs(folder, source)

    def _events(self, query: str) -> tuple[Events, Path]:
        """The events of the query, and where they lie for Spark.

        They are those of two days; q14 asks for the time of day, and gets the morning.
        """
        middle = MORNING if query == "q14" else MIDNIGHT
        name = f"events-{middle:%H}"
        if name not in self._made:
            self._made[name] = make_events(self.events, middle)
            if self.session is not None:
                write_scripts(self.scratch / name, self._made[name])
        return self._made[name], self.scratch / name


def _verdict(found: Bag, expected: Bag, line: Line) -> str:
    if not expected:
        line.notes += ("there is nothing to compare: ask for more events",)
        return "no rows"
    different = differences(found, expected)
    line.notes += different
    return "no" if different else YES


def _refusal(compiled: CompileResult, line: Line) -> str:
    """The code of the first error, whose message goes to the notes."""
    first = next(d for d in compiled.diagnostics if d.severity is Severity.ERROR)
    line.notes += (f"{first.code} {first.message}",)
    return first.code
