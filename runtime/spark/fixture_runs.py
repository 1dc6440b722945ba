"""Runs the tests of programs on Spark: all in one session, each on rows in files of its own."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from streamq.compiler.ir.physical import PhysicalPlan, PhysicalQuery
from streamq.compiler.lowering.changes import CHANGE, CHANGED_AT
from streamq.dsl.diagnostics import Diagnostic
from streamq.runtime.fixtures.arrow import from_arrow, naive, to_table
from streamq.runtime.fixtures.engines import Form, SparkAnswer
from streamq.runtime.fixtures.feed import Feed
from streamq.runtime.fixtures.runner import SparkFailed
from streamq.runtime.metrics import ResultRows, RunReport
from streamq.runtime.reference.answers import Answer, Change
from streamq.runtime.reference.values import Instant, Row, to_instant
from streamq.runtime.run import RunOptions
from streamq.runtime.spark.errors import to_diagnostic
from streamq.runtime.spark.fixture_plan import CLOSING_COLUMN, Folders, as_fixture
from streamq.runtime.spark.own_session import is_alive, own_session
from streamq.runtime.spark.runner import run_plan

SECONDS = 600.0
"""How long the queries of one test may run."""

_FIRST_STAMP = 1_700_000_000
_BEGINNING = "1970-01-01T00:00:00.000Z"


def session_for_tests() -> AbstractContextManager[SparkSession]:
    """A session that starts fast; Abort where it does not start."""
    return own_session(
        {}, app="streamq test", fast_start=True, help="`streamq doctor` looks at Java"
    )


@dataclass(slots=True)
class FixtureRuns:
    """Starts Spark with the first test, or takes a session that runs; use as a context manager.

    ``starting`` is called before a session is made, which takes seconds.
    """

    session: SparkSession | None = None
    starting: Callable[[], None] = lambda: None
    _stack: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> FixtureRuns:
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    def __call__(
        self, plan: PhysicalPlan, feed: Feed, answers: Mapping[str, Answer]
    ) -> dict[str, SparkAnswer]:
        """What Spark gives for each query of the plan when the feed is its input; raises ``SparkFailed``."""
        try:
            report = self._report(plan, feed)
        except SparkFailed:
            self._drop_the_dead()
            raise
        return {q.name: _answer(q, feed, report, answers[q.name]) for q in plan.queries}

    def _report(self, plan: PhysicalPlan, feed: Feed) -> RunReport:
        """The run of a plan whose queries ended well; raises ``SparkFailed``."""
        spark = self._started()
        with tempfile.TemporaryDirectory(prefix="streamq-test-") as folder:
            folders = write_feed(feed, Path(folder))
            try:
                queries = tuple(as_fixture(q, folders, feed.closing, spark) for q in plan.queries)
                report = run_plan(
                    replace(plan, queries=queries),
                    RunOptions(once=True, duration_s=SECONDS), session=spark,
                )
            except (PySparkException, Py4JError, OSError) as error:
                raise SparkFailed((to_diagnostic(error, plan.queries[0]),)) from error
        if report.ended_by == "signal":
            raise KeyboardInterrupt
        if report.ended_by == "duration":
            slow = (query for query in plan.queries if query.name in report.unfinished)
            raise SparkFailed(tuple(map(_too_slow, slow)))
        if report.diagnostics:
            raise SparkFailed(report.diagnostics)
        return report

    def _drop_the_dead(self) -> None:
        """Lets the next test start a session where the Java process of this one is gone."""
        if self.session is not None and not is_alive(self.session):
            self._stack.close()
            self.session = None

    def _started(self) -> SparkSession:
        if self.session is None:
            self.starting()
            self.session = self._stack.enter_context(session_for_tests())
        return self.session


def _too_slow(query: PhysicalQuery) -> Diagnostic:
    return Diagnostic(
        "SQ0801", f"query `{query.name}` did not end within {SECONDS:.0f} s", query.origin
    )


def write_feed(feed: Feed, base: Path) -> Folders:
    """A folder for each source, and one that closes the input; a file per micro-batch.

    The closing row comes with the last batch: a watermark counts from the next one on.
    """
    found: dict[str, str] = {}
    for number, source in enumerate(feed.sources):
        folder = base / str(number)
        _write(folder, [to_table(source.decl.fields, rows) for rows in source.batches])
        found[source.decl.name] = str(folder)
    closing = base / "closing"
    at = [] if feed.closing is None else [feed.closing]
    stamps: list[list[Instant]] = [*([] for _ in range(feed.length - 1)), at]
    _write(closing, [_stamps(instants) for instants in stamps])
    return Folders(found, str(closing))


def _stamps(instants: Sequence[Instant]) -> pa.Table:
    values = pa.array(instants, pa.int64()).view(pa.timestamp("us", "UTC"))
    return pa.table({CLOSING_COLUMN: values})


def _write(folder: Path, batches: Sequence[pa.Table]) -> None:
    """Spark takes files in the order of their times of change, so these are set."""
    folder.mkdir(parents=True)
    for number, table in enumerate(batches):
        file = folder / f"{number:06d}.parquet"
        pq.write_table(table, file, compression="none", store_schema=False)
        os.utime(file, (_FIRST_STAMP + number, _FIRST_STAMP + number))


def _answer(query: PhysicalQuery, feed: Feed, report: RunReport, answer: Answer) -> SparkAnswer:
    """The rows of a query with values as the reference evaluator has them."""
    batches = report.memory.get(query.name, ())
    end = None if feed.closing is not None else _watermark(report, query.name)
    if query.mode == "update":
        newest: dict[Row, Row] = {}
        for batch in batches:
            places = [batch.columns.index(key) for key in query.keys]
            for row in _rows(batch, answer):
                newest[tuple(row[place] for place in places)] = row
        return SparkAnswer(Form.NEWEST, tuple(newest.values()), watermark=end)
    if answer.is_stream:
        rows = tuple(row for batch in batches for row in _rows(batch, answer))
        return SparkAnswer(Form.ROWS, rows, watermark=end)
    changes = tuple(change for batch in batches for change in _changes(batch, answer))
    return SparkAnswer(Form.CHANGES, changes=changes, watermark=end)


def _rows(batch: ResultRows, answer: Answer) -> Iterator[Row]:
    places = [batch.columns.index(name) for name in answer.columns]
    for row in batch.rows:
        yield tuple(
            from_arrow(row[place], type_) for place, type_ in zip(places, answer.types, strict=True)
        )


def _changes(batch: ResultRows, answer: Answer) -> Iterator[Change]:
    sign, at = batch.columns.index(CHANGE), batch.columns.index(CHANGED_AT)
    for raw, row in zip(batch.rows, _rows(batch, answer), strict=True):
        yield Change(to_instant(naive(raw[at])), row, 1 if raw[sign] == "+" else -1)


def _watermark(report: RunReport, query: str) -> Instant:
    """Where the watermark of a query stands at the end of its run."""
    text = next((t.watermark for t in report.totals if t.query == query), "") or _BEGINNING
    return to_instant(naive(datetime.fromisoformat(text)))
