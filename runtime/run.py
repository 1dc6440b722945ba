"""What a run is asked for and who hears of it: options and the listener's protocol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Protocol

from streamq.dsl.diagnostics import Diagnostic
from streamq.runtime.metrics import QuerySample, QueryTotals, ResultRows

STOP_WITHIN_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """When a run ends, what it runs and where it keeps its place.

    ``duration_s``: seconds from the first micro-batch of every query. ``once``: take what the sources hold now,
    then end. ``limit``: end after that many result rows in all. ``queries``: names to run, empty
    for all. ``checkpoint``: None for one that is removed at the end. ``trigger_ms``: least time
    between micro-batches; None takes the program's setting. ``rows_per_batch``: rows that a console
    shows of one batch; None leaves it to the sink. ``log_file``: where Spark's own log goes; None
    drops it. ``memory_dir``: holds the input of ``memory`` sources, a folder per source; empty is
    the program's folder. ``fresh``: queries whose old checkpoint is moved aside. ``texts``: of queries, by name, to be kept with
    their checkpoints. ``stop_within_s``: how long a signal lets running micro-batches go on.
    """

    duration_s: float | None = None
    once: bool = False
    limit: int | None = None
    queries: tuple[str, ...] = ()
    checkpoint: Path | None = None
    trigger_ms: int | None = None
    rows_per_batch: int | None = None
    fast_start: bool = False
    log_file: Path | None = None
    memory_dir: str = ""
    jars: tuple[Path, ...] = ()
    stop_within_s: float = STOP_WITHIN_S
    fresh: tuple[str, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)


class Event(Enum):
    """What may happen to a query, or, where it has no name, to the run."""

    READY = "ready"
    FAILURE = "failure"
    RESTART = "restart"
    QUARANTINE = "quarantine"
    GIVEN_UP = "given_up"
    DONE = "done"
    STOPPING = "stopping"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """One event. ``text``: for people. ``batch``: the micro-batch it is about. ``wait_s``: until the next start.

    ``diagnostic``: of a failure, or of the end of a query. ``folder``: where rows were put.
    """

    event: Event
    query: str = ""
    text: str = ""
    batch: int | None = None
    wait_s: float | None = None
    folder: str = ""
    diagnostic: Diagnostic | None = None


class RunListener(Protocol):
    """Hears of a run while it goes on; all calls come from the thread that runs the plan."""

    def preparing(self) -> None:
        """Spark is about to start, which takes seconds."""

    def started(self, queries: tuple[str, ...]) -> None:
        """Spark is up and the queries run."""

    def sample(self, sample: QuerySample, totals: QueryTotals) -> None:
        """A query finished a micro-batch."""

    def rows(self, rows: ResultRows) -> None:
        """A console query produced rows."""

    def notice(self, query: str, text: str) -> None:
        """Something that whoever runs the query should know, told once."""

    def happened(self, what: Happened) -> None:
        """Something happened to a query or the run other than a micro-batch."""

    def tick(self, seconds: float) -> None:
        """Time passed since the start of the queries; called about five times a second."""


@dataclass(frozen=True, slots=True)
class Listeners:
    """Several listeners as one, told in their order."""

    each: tuple[RunListener, ...]

    def preparing(self) -> None:
        for one in self.each:
            one.preparing()

    def started(self, queries: tuple[str, ...]) -> None:
        for one in self.each:
            one.started(queries)

    def sample(self, sample: QuerySample, totals: QueryTotals) -> None:
        for one in self.each:
            one.sample(sample, totals)

    def rows(self, rows: ResultRows) -> None:
        for one in self.each:
            one.rows(rows)

    def notice(self, query: str, text: str) -> None:
        for one in self.each:
            one.notice(query, text)

    def happened(self, what: Happened) -> None:
        for one in self.each:
            one.happened(what)

    def tick(self, seconds: float) -> None:
        for one in self.each:
            one.tick(seconds)


class SilentListener:
    """A listener that shows nothing."""

    def preparing(self) -> None:
        pass

    def started(self, queries: tuple[str, ...]) -> None:
        pass

    def sample(self, sample: QuerySample, totals: QueryTotals) -> None:
        pass

    def rows(self, rows: ResultRows) -> None:
        pass

    def notice(self, query: str, text: str) -> None:
        pass

    def happened(self, what: Happened) -> None:
        pass

    def tick(self, seconds: float) -> None:
        pass
