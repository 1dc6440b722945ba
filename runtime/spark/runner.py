"""Runs a physical plan: starts its queries, watches them, stops them cleanly, reports."""

from __future__ import annotations

import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import SimpleQueue

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from streamq.compiler.ir.physical import OptionValue, PhysicalPlan, PhysicalQuery
from streamq.dsl.diagnostics import Abort, Diagnostic
from streamq.dsl.source import NO_SPAN
from streamq.runtime import checkpoint
from streamq.runtime.control.decisions import KEPT_FILES
from streamq.runtime.control.steering import Steering
from streamq.runtime.edge.at_run.receiving import land_all, no_reception, receive, received
from streamq.runtime.edge.at_run.reception import Reception
from streamq.runtime.evolution import move_aside, refusal, verdicts
from streamq.runtime.metrics import QueryTotals, ResultRows, RunReport
from streamq.runtime.preflight import output_taken
from streamq.runtime.run import RunListener, RunOptions, SilentListener
from streamq.runtime.spark.emit import EmitContext, build_frame, source_names
from streamq.runtime.spark.errors import silence_python_loggers, to_diagnostic
from streamq.runtime.spark.functions import register_functions
from streamq.runtime.spark.own_session import own_session
from streamq.runtime.spark.progress import ProgressReader
from streamq.runtime.spark.sinks import RowFeed, SinkContext, start_query
from streamq.runtime.spark.spool import Spool
from streamq.runtime.steered import goals_of, interval_ms

GONE = (Py4JError, ConnectionRefusedError, ConnectionResetError)
"""What calls raise when the Java process has ended."""

POLL_SECONDS = 0.2
WARM_UP_SECONDS = 120.0
"""How long a duration waits for every query's first micro-batch, in which Spark compiles its code."""


@dataclass(slots=True)
class _Running:
    """A started query and what is known of it so far."""

    plan: PhysicalQuery
    handle: StreamingQuery
    reader: ProgressReader
    totals: QueryTotals
    done: bool = False


@dataclass(slots=True)
class _Run:
    """The state of one run."""

    options: RunOptions
    listener: RunListener
    stop: threading.Event
    functions: tuple[str, ...]
    feed: RowFeed = field(default_factory=RowFeed)
    steering: Steering = field(default_factory=Steering)
    running: list[_Running] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    memory: dict[str, list[ResultRows]] = field(default_factory=dict)
    spools: dict[str, Spool] = field(default_factory=dict)
    shown: int = 0
    reception: Reception | None = None
    told: SimpleQueue[str] = field(default_factory=SimpleQueue)
    _warm_at: float | None = None

    def watch(self, began: float) -> str:
        """Follows the queries until the run ends; returns why it ended."""
        while True:
            for one in self.running:
                self._follow(one)
            self._hear()
            seconds = time.monotonic() - began
            self.listener.tick(seconds)
            if self.stop.is_set():
                return "signal"
            if self.diagnostics:
                return "failed"
            if all(one.done for one in self.running):
                return "finished"
            if self.options.limit is not None and self._rows_out() >= self.options.limit:
                return "limit"
            if self._warm_at is None and (seconds >= WARM_UP_SECONDS or self._all_began()):
                self._warm_at = seconds
            left = self._left(seconds)
            if left <= 0:
                return "duration"
            self.stop.wait(min(POLL_SECONDS, left))

    def finish(self) -> None:
        """Stops what still runs and takes in the last reports."""
        self.feed.stopping.set()
        try:
            for one in self.running:
                one.handle.stop()
            for one in self.running:
                self._take_samples(one)
            for query, spool in self.spools.items():
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

    def _follow(self, one: _Running) -> None:
        if one.done:
            return
        active = one.handle.isActive
        self._take_samples(one)
        if active:
            return
        one.done = True
        error = self.feed.failures.get(one.plan.name) or one.handle.exception()
        if error is not None and not self.stop.is_set():
            self.diagnostics.append(_diagnostic(error, one.plan, self.functions))

    def _take_samples(self, one: _Running) -> None:
        for sample, looked in one.reader.read():
            one.totals = one.totals.plus(sample)
            for text in self.steering.after(sample, looked):
                self.listener.notice(sample.query, text)
            if (spool := self.spools.get(sample.query)) is not None:
                spool.done(sample.batch)
                self._tell(sample.query, spool)
            self.listener.sample(sample, one.totals)
            rows = self.feed.take(one.plan, sample.batch, sample.rows_out)
            if rows is not None:
                self._deliver(one.plan, rows)

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

    def _rows_out(self) -> int:
        return sum(one.totals.rows_out for one in self.running)

    def _all_began(self) -> bool:
        return all(one.done or one.totals.batches or _is_idle(one.handle) for one in self.running)

    def _left(self, seconds: float) -> float:
        """Seconds until the asked duration is over; it counts from the first micro-batches."""
        if self.options.duration_s is None or self._warm_at is None:
            return POLL_SECONDS
        return self._warm_at + self.options.duration_s - seconds


def _is_idle(handle: StreamingQuery) -> bool:
    """True for a query that is up and has nothing to do."""
    return str(handle.status["message"]).startswith("Waiting")


def run_plan(
    plan: PhysicalPlan,
    options: RunOptions,
    listener: RunListener | None = None,
    *,
    session: SparkSession | None = None,
) -> RunReport:
    """Runs the plan's queries until they end, fail, or the options or a signal say stop.

    Problems of the program or its surroundings come back as the report's diagnostics. A session
    that is passed in is left running. SIGINT and SIGTERM end the run cleanly where this is called
    from the main thread.
    """
    queries = tuple(q for q in plan.queries if not options.queries or q.name in options.queries)
    with ExitStack() as stack:
        root = _checkpoint_root(options, stack)
        stop = threading.Event()
        run = _Run(options, listener or SilentListener(), stop, _function_names(plan))
        try:
            problems = _before_start(queries, root, plan, run)
        except Abort as abort:
            problems = (abort.diagnostic,)
        if problems:
            return RunReport("failed", 0.0, diagnostics=problems)
        stack.enter_context(_signals(stop))
        try:
            run.reception = receive(plan, queries, run.told.put, stack, start=not options.once)
            spark = session or _own_session(run, plan, stack)
            silence_python_loggers()
            if run.reception is not None and run.options.once:
                land_all(run.reception, plan, stop)
            _start_all(run, plan, queries, spark, root)
        except Abort as abort:
            run.diagnostics.append(abort.diagnostic)
        began = time.monotonic()
        ended_by = "failed"
        try:
            if not run.diagnostics:
                run.listener.started(tuple(q.name for q in queries))
                ended_by = run.watch(began)
        except KeyboardInterrupt:
            ended_by = "signal"
        except GONE as error:
            run.lost(error)
        finally:
            run.finish()
        return RunReport(
            "failed" if run.diagnostics else ended_by, time.monotonic() - began, tuple(one.totals for one in run.running),
            tuple(run.diagnostics), {name: tuple(rows) for name, rows in run.memory.items()},
            tuple(one.plan.name for one in run.running if not one.done), run.steering.sifted(),
            run.steering.joins.told(), () if run.reception is None else received(run.reception),
        )


def session_settings(plan: PhysicalPlan) -> dict[str, OptionValue]:
    """The program's settings by the names that Spark has for them."""
    settings = dict(plan.settings)
    partitions = settings.pop("shuffle_partitions", None)
    if partitions is not None:
        settings["spark.sql.shuffle.partitions"] = partitions
    if any(goal is not None and goal.worth is not None for goal in goals_of(plan.queries).values()):
        settings.setdefault("spark.scheduler.mode", "FAIR")
    if any(query.dropped for query in plan.queries):
        # What micro-batches read is to be known until the rows that they shed are written.
        settings.setdefault("spark.sql.streaming.minBatchesToRetain", KEPT_FILES)
    return settings


def _own_session(run: _Run, plan: PhysicalPlan, stack: ExitStack) -> SparkSession:
    """A session that ends with the run; Abort where it does not start."""
    run.listener.preparing()
    log = run.options.log_file
    spark = stack.enter_context(
        own_session(
            session_settings(plan), app="streamq", fast_start=run.options.fast_start, log_file=log,
            help="`--log-file` keeps all that it says; `streamq doctor` looks at Java",
        )
    )
    # Spark installs a handler of its own for SIGINT when it starts.
    stack.enter_context(_signals(run.stop))
    return spark


def _checkpoint_root(options: RunOptions, stack: ExitStack) -> Path:
    if options.checkpoint is not None:
        return options.checkpoint.absolute()
    root = Path(tempfile.mkdtemp(prefix="streamq-"))
    stack.callback(shutil.rmtree, root, ignore_errors=True)
    return root


def _before_start(
    queries: tuple[PhysicalQuery, ...], root: Path, plan: PhysicalPlan, run: _Run
) -> tuple[Diagnostic, ...]:
    """What forbids the start: a checkpoint of another plan, an output folder of another run."""
    found: list[Diagnostic] = []
    told: list[tuple[str, str]] = []
    fresh = run.options.fresh
    names = tuple(q.name for q in plan.queries)
    asked = int(dict(plan.settings).get("shuffle_partitions", 0))
    for query, verdict in zip(queries, verdicts(queries, root, all_of=names, partitions=asked), strict=True):
        if query.name not in fresh and (foreign := refusal(verdict, query, root)) is not None:
            found.append(foreign)
        elif query.name in fresh or checkpoint.is_new(checkpoint.folder_of(root, query.name)):
            found += output_taken(query, plan.base_dir)
        else:
            told += [(query.name, reason.told(query.name)) for reason in verdict.reasons]
    if not found:
        told += [(query.name, move_aside(query, root)) for query in queries if query.name in fresh]
        for name, text in told:
            run.listener.notice(name, text)
    return tuple(found)


def _start_all(
    run: _Run, plan: PhysicalPlan, queries: tuple[PhysicalQuery, ...], spark: SparkSession,
    root: Path,
) -> None:
    """Starts every query; Abort at the first that Spark refuses."""
    register_functions(spark, plan.functions, plan.base_dir)
    context = EmitContext(spark, plan.base_dir, run.options.memory_dir)
    goals = goals_of(queries)
    for query in queries:
        directory = checkpoint.folder_of(root, query.name)
        spool = Spool(query, context, directory) if query.dropped else None
        try:
            started = checkpoint.record(
                query, directory, run.options.texts.get(query.name, ""), int(spark.conf.get("spark.sql.shuffle.partitions") or 0)
            )
            if spool is not None:
                spool.prepare()
        except OSError as error:
            raise Abort(Diagnostic(
                "SQ0805", f"checkpoint `{directory}` cannot be written: {(error.strerror or str(error)).lower()}",
                query.origin, help="choose a folder that you may write to with `--checkpoint`",
            )) from error
        goal = goals[query.name]
        interval = interval_ms(run.options, plan, goal)
        trigger = {"availableNow": True} if run.options.once else {"processingTime": f"{interval} milliseconds"}
        if goal is not None:
            sift = next((c.sift for c in query.controls if c.sift is not None), None)
            run.steering.add(query.name, goal, directory, sift, interval)
        run.steering.joins.join(query, directory)
        # Each has a pool of its own, where pools get equal parts of the machine (``session_settings``).
        spark.sparkContext.setLocalProperty("spark.scheduler.pool", query.name)
        try:
            named = checkpoint.has_names(query, directory)
            with source_names(spark, named):
                frame = build_frame(query, replace(context, control_dir=directory, trigger_ms=interval, named=named))
                handle = start_query(
                    query, frame,
                    SinkContext(
                        directory, trigger, run.options.limit or run.options.rows_per_batch, run.feed,
                        plan.base_dir, started,
                    ),
                )
        except (PySparkException, Py4JError) as error:
            raise Abort(to_diagnostic(error, query, _function_names(plan))) from error
        if spool is not None:
            run.spools[query.name] = spool
            spool.start()
        run.running.append(
            _Running(
                query, handle, ProgressReader(handle, query.name), QueryTotals(query.name),
            )
        )


def _function_names(plan: PhysicalPlan) -> tuple[str, ...]:
    return tuple(function.name for function in plan.functions)


def _diagnostic(
    error: BaseException, query: PhysicalQuery, functions: tuple[str, ...]
) -> Diagnostic:
    if isinstance(error, Abort):
        return error.diagnostic
    return to_diagnostic(error, query, functions)


@contextmanager
def _signals(stop: threading.Event) -> Iterator[None]:
    """SIGINT and SIGTERM set the event; a second one breaks off at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {sig: signal.getsignal(sig) for sig in (signal.SIGINT, signal.SIGTERM)}

    def request(number: int, frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    for sig in before:
        signal.signal(sig, request)
    try:
        yield
    finally:
        for sig, handler in before.items():
            signal.signal(sig, handler)
