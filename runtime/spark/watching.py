"""Follows the queries of a run: what they did, what became of them, and whether the run ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import SimpleQueue

from py4j.protocol import Py4JError
from pyspark.sql.streaming.query import StreamingQuery

from streamq.compiler.ir.physical import PhysicalQuery
from streamq.dsl.diagnostics import Diagnostic
from streamq.dsl.source import NO_SPAN
from streamq.runtime.control.steering import Steering
from streamq.runtime.edge.at_run.receiving import no_reception
from streamq.runtime.edge.at_run.reception import Reception
from streamq.runtime.metrics import QueryTotals, ResultRows
from streamq.runtime.run import Event, Happened, RunListener, RunOptions
from streamq.runtime.spark.cluster import NO_EXECUTOR_S
from streamq.runtime.spark.sinks import RowFeed
from streamq.runtime.spark.spool import Spool
from streamq.runtime.spark.stopping import stop_all, wait_for_batches
from streamq.runtime.spark.supervisor import Running, Supervisor
from streamq.runtime.steered import latency_goal

GONE = (Py4JError, ConnectionRefusedError, ConnectionResetError)
"""What calls raise when the Java process has ended."""

NO_EXECUTOR = (
    "no executor yet: no worker has registered with the master, or none has a free core and the memory of "
    "`spark.executor.memory`; the master's web page lists its workers"
)

POLL_SECONDS = 0.2
WARM_UP_SECONDS = 120.0
"""How long a duration waits for every query's first micro-batch, in which Spark compiles its code."""


@dataclass(slots=True)
class Watch:
    """The state of one run. ``diagnostics``: of the run as a whole, which cannot go on then. ``executors``: counts those of a cluster."""

    options: RunOptions
    listener: RunListener
    stop: threading.Event
    feed: RowFeed = field(default_factory=RowFeed)
    steering: Steering = field(default_factory=Steering)
    running: list[Running] = field(default_factory=list)
    supervisor: Supervisor | None = None
    diagnostics: list[Diagnostic] = field(default_factory=list)
    memory: dict[str, list[ResultRows]] = field(default_factory=dict)
    reception: Reception | None = None
    told: SimpleQueue[str] = field(default_factory=SimpleQueue)
    shown: int = 0
    executors: Callable[[], int] | None = None
    all_began: bool = False
    _warm_at: float | None = None

    def start(self, supervisor: Supervisor, queries: Sequence[PhysicalQuery]) -> None:
        """Starts every query; one that does not start is taken care of like one that fails later."""
        self.supervisor = supervisor
        failed = []
        for query in queries:
            one = Running(query, QueryTotals(query.name, latency_goal_ms=latency_goal(query)))
            self.running.append(one)
            failure = supervisor.start(one)
            if failure is not None:
                failed.append((one, failure))
        self.listener.started(tuple(query.name for query in queries))
        for one, failure in failed:
            supervisor.failed(one, failure)

    def watch(self, began: float) -> str:
        """Follows the queries until the run ends; returns why it ended."""
        while True:
            for one in self.running:
                self._follow(one)
            self._hear()
            seconds = time.monotonic() - began
            self.listener.tick(seconds)
            if self.executors is not None and seconds >= NO_EXECUTOR_S:
                self._look_for_executors(self.executors)
            if self.stop.is_set():
                return "signal"
            if self.diagnostics:
                return "failed"
            if all(one.over for one in self.running):
                return "failed" if any(one.given_up for one in self.running) else "finished"
            if self.options.limit is not None and self._rows_out() >= self.options.limit:
                return "limit"
            if self._warm_at is None:
                self.all_began = self._all_began()
                if self.all_began or seconds >= WARM_UP_SECONDS:
                    self._warm_at = seconds
                if self.all_began:
                    self.listener.happened(Happened(event=Event.READY, text="every query has begun"))
            left = self._left(seconds)
            if left <= 0:
                return "duration"
            self.stop.wait(min(POLL_SECONDS, left))

    def finish(self, ended_by: str) -> None:
        """Stops what still runs and takes in the last reports; after a signal micro-batches may end first."""
        try:
            if ended_by == "signal":
                within = f"{self.options.stop_within_s:g} s"
                self.listener.happened(Happened(event=Event.STOPPING, text=f"stopping when running batches are done, within {within}"))
                wait_for_batches(self._active(), self._folder, self._take_all, self.options.stop_within_s)
            self.feed.stopping.set()
            stop_all([handle for _, handle in self._active()])
            self._take_all()
            for query, spool in self._spools().items():
                spool.close()
                self._tell(query, spool)
        except GONE as error:
            # What it knew last is lost with it.
            self.lost(error)

    def lost(self, error: BaseException) -> None:
        """Takes down that Spark does not answer any more, where nobody asked it to stop."""
        if not self.diagnostics and not self.stop.is_set():
            self.diagnostics.append(Diagnostic(
                "SQ0801", "Spark ended in the middle of the run", NO_SPAN,
                help="`--log-file` keeps all that it says; a process that takes too much memory is killed by the system",
                notes=(type(error).__name__,),
            ))

    def _follow(self, one: Running) -> None:
        assert self.supervisor is not None
        if one.over:
            return
        if one.handle is None or one.restart_at != float("inf"):
            if not self.stop.is_set():
                self.supervisor.restart(one)
            return
        active = one.handle.isActive
        self._take_samples(one)
        if active:
            return
        error = self.feed.failures.get(one.plan.name) or one.handle.exception()
        if error is None:
            one.done = True
            self.listener.happened(Happened(event=Event.DONE, query=one.plan.name, text="all input read"))
        elif not self.stop.is_set():
            self.supervisor.failed(one, self.supervisor.starter.failure(one.plan, error))

    def _take_all(self) -> None:
        for one in self.running:
            self._take_samples(one)

    def _take_samples(self, one: Running) -> None:
        spool = self._spools().get(one.plan.name)
        for sample, looked in () if one.reader is None else one.reader.read():
            one.failures.clear()
            one.totals = one.totals.plus(sample)
            if not sample.dead:
                for text in self.steering.after(sample, looked):
                    self.listener.notice(sample.query, text)
            if spool is not None:
                spool.done(sample.batch)
                self._tell(sample.query, spool)
            self.listener.sample(sample, one.totals)
            rows = self.feed.take(one.plan, sample.batch, sample.rows_out)
            if rows is not None:
                self._deliver(one.plan, rows)

    def _look_for_executors(self, count: Callable[[], int]) -> None:
        """Spark waits without a word for a cluster that has nothing to give."""
        self.executors = None
        if count() == 0:
            self.listener.notice("cluster", NO_EXECUTOR)

    def _hear(self) -> None:
        """What the reception of edges has to say, which speaks from threads of its own."""
        while not self.told.empty():
            self.listener.notice("edges", self.told.get())
        if self.reception is not None and self.reception.failed is not None and not self.diagnostics:
            self.diagnostics.append(no_reception(str(self.reception.failed), NO_SPAN))

    def _tell(self, query: str, spool: Spool) -> None:
        while spool.told:
            self.listener.notice(query, spool.told.pop(0))

    def _deliver(self, query: PhysicalQuery, rows: ResultRows) -> None:
        if query.sink.connector == "memory":
            self.memory.setdefault(query.name, []).append(rows)
            return
        if self.options.limit is not None:
            left = max(0, self.options.limit - self.shown)
            rows = replace(rows, rows=rows.rows[:left])
        self.shown += len(rows.rows)
        if rows.rows:
            self.listener.rows(rows)

    def _active(self) -> list[tuple[Running, StreamingQuery]]:
        return [(one, one.handle) for one in self.running if one.handle is not None and not one.over]

    def _folder(self, one: Running) -> Path:
        assert self.supervisor is not None
        return self.supervisor.starter.folder(one.plan)

    def _spools(self) -> dict[str, Spool]:
        return {} if self.supervisor is None else self.supervisor.starter.spools

    def _rows_out(self) -> int:
        return sum(one.totals.rows_out for one in self.running)

    def _all_began(self) -> bool:
        """True where each query that is not over has done a micro-batch, or is up and has nothing to do."""
        return all(
            one.over or one.totals.batches or (one.handle is not None and _is_idle(one.handle)) for one in self.running
        )

    def _left(self, seconds: float) -> float:
        """Seconds until the asked duration is over; it counts from the first micro-batches."""
        if self.options.duration_s is None or self._warm_at is None:
            return POLL_SECONDS
        return self._warm_at + self.options.duration_s - seconds


def _is_idle(handle: StreamingQuery) -> bool:
    """True for a query that is up and has nothing to do."""
    return str(handle.status["message"]).startswith("Waiting")
