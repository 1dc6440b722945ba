"""Runs a physical plan: the session, the start of its queries, the end of the run and its report."""

from __future__ import annotations

import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from streamq.compiler.ir.physical import PhysicalPlan, PhysicalQuery
from streamq.dsl.diagnostics import Abort, Diagnostic
from streamq.runtime import checkpoint
from streamq.runtime.edge.at_run.receiving import land_all, receive, received
from streamq.runtime.evolution import move_aside, refusal, verdicts
from streamq.runtime.kafka_servers import unreachable
from streamq.runtime.metrics import RunReport
from streamq.runtime.one_run import hold
from streamq.runtime.preflight import output_taken
from streamq.runtime.run import Event, Happened, RunListener, RunOptions, SilentListener
from streamq.runtime.spark.cluster import before_start, executor_count, master_of
from streamq.runtime.spark.errors import silence_python_loggers
from streamq.runtime.spark.functions import register_functions
from streamq.runtime.spark.jars import (
    check_libraries,
)
from streamq.runtime.spark.kafka_topics import check_topics
from streamq.runtime.spark.plan_session import plan_session
from streamq.runtime.spark.starting import Starter
from streamq.runtime.spark.supervisor import Supervisor
from streamq.runtime.spark.watching import GONE, Watch
from streamq.runtime.spark.writers.offered import not_ready
from streamq.runtime.steered import goals_of
from streamq.runtime.supervise.settings import no_place_for_letters, supervision


def run_plan(
    plan: PhysicalPlan,
    options: RunOptions,
    listener: RunListener | None = None,
    *,
    session: SparkSession | None = None,
) -> RunReport:
    """Runs the plan's queries until they end, or the options or a signal say stop; one that fails stops no other.

    Problems of the program or its surroundings come back as the report's diagnostics. A session
    that is passed in is left running. SIGINT and SIGTERM end the run cleanly where this is called
    from the main thread.
    """
    queries = tuple(q for q in plan.queries if not options.queries or q.name in options.queries)
    master = master_of(dict(plan.settings), session)
    if (forbids := before_start(master, has_checkpoint=options.checkpoint is not None)) is not None:
        return RunReport("failed", 0.0, diagnostics=(forbids,))
    with ExitStack() as stack:
        root = _checkpoint_root(options, stack)
        stop = threading.Event()
        run = Watch(options, listener or SilentListener(), stop)
        # A folder is not made for a run that does not start.
        is_there = root.is_dir()
        held = hold(root, stack) if is_there else None
        try:
            problems = (held,) if held is not None else _before_start(queries, root, plan, run)
        except Abort as abort:
            problems = (abort.diagnostic,)
        if not problems and not is_there and (held := hold(root, stack)) is not None:
            problems = (held,)
        if problems:
            return RunReport("failed", 0.0, diagnostics=problems)
        stack.enter_context(_signals(stop))
        began, ended_by = time.monotonic(), "failed"
        try:
            run.reception = receive(plan, queries, run.told.put, stack, start=not options.once)
            spark = session or _own_session(run, plan, stack)
            run.executors = executor_count(spark)
            silence_python_loggers()
            if run.reception is not None and options.once:
                land_all(run.reception, plan, stop)
            check_libraries(queries, spark)
            check_topics(queries, plan.base_dir, spark)
            register_functions(spark, plan.functions, plan.base_dir)
            began = time.monotonic()
            run.start(_supervisor(run, plan, queries, spark, root), queries)
            ended_by = run.watch(began)
        except Abort as abort:
            run.diagnostics.append(abort.diagnostic)
        except KeyboardInterrupt:
            ended_by = "interrupt"
        except GONE as error:
            run.lost(error)
        finally:
            run.finish(ended_by)
        return _report(run, ended_by, time.monotonic() - began)


def _supervisor(
    run: Watch, plan: PhysicalPlan, queries: tuple[PhysicalQuery, ...], spark: SparkSession, root: Path
) -> Supervisor:
    starter = Starter(plan, run.options, spark, root, run.feed, goals_of(queries), run.steering)
    rules = supervision(dict(plan.settings), plan.base_dir, run.options.once)
    return Supervisor(starter, rules, run.listener.happened)


def _report(run: Watch, ended_by: str, seconds: float) -> RunReport:
    given_up = () if run.supervisor is None else tuple(run.supervisor.diagnostics)
    ended_by = "failed" if run.diagnostics else "signal" if ended_by == "interrupt" else ended_by
    run.listener.happened(Happened(event=Event.STOPPED, text=ended_by))
    return RunReport(
        ended_by, seconds, tuple(one.totals for one in run.running), (*given_up, *run.diagnostics),
        {name: tuple(rows) for name, rows in run.memory.items()},
        tuple(one.plan.name for one in run.running if not one.over), run.steering.sifted(),
        run.steering.joins.told(), () if run.reception is None else received(run.reception),
        tuple(one.plan.name for one in run.running if one.given_up),
        run.options.duration_s if run.all_began else None,
    )


def _own_session(run: Watch, plan: PhysicalPlan, stack: ExitStack) -> SparkSession:
    """A session that ends with the run; Abort where it does not start."""
    run.listener.preparing()
    help = "`--log-file` keeps all that it says; `streamq doctor` looks at Java"
    spark = stack.enter_context(plan_session(plan, run.options, "streamq", help))
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
    queries: tuple[PhysicalQuery, ...], root: Path, plan: PhysicalPlan, run: Watch
) -> tuple[Diagnostic, ...]:
    """What forbids the start: a checkpoint of another plan, an output folder of another run, a server that is not there."""
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
    found += no_place_for_letters(dict(plan.settings), queries, plan.base_dir)
    # All at once: who has two servers to set right learns of both.
    found += not_ready(queries, root, plan.base_dir)
    found += unreachable(queries)
    if not found:
        told += [(query.name, move_aside(query, root)) for query in queries if query.name in fresh]
        for name, text in told:
            run.listener.notice(name, text)
    return tuple(found)


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
