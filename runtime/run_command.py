"""``streamq run``: what was asked for, as options of a run; its listener and its exit code."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from streamq.runtime.arguments import Arguments
from streamq.runtime.output import (
    OK,
    PROGRAM_ERROR,
    RUN_FAILED,
    UsageError,
    exit_code_of_refusal,
    load,
    print_error,
    show,
)

if TYPE_CHECKING:
    from pathlib import Path

    from streamq.compiler.ir.physical import OptionValue, PhysicalPlan
    from streamq.dsl.diagnostics import Diagnostic
    from streamq.dsl.source import SourceMap
    from streamq.runtime.metrics import RunReport
    from streamq.runtime.programs import Loaded
    from streamq.runtime.report.events import EventLog
    from streamq.runtime.report.prometheus import Endpoint
    from streamq.runtime.report.record import Recorder
    from streamq.runtime.run import RunListener, RunOptions


JSON_ROWS = 100_000
"""Result rows of a micro-batch that ``--json`` prints where ``--rows`` does not say: a program wants all, and has a sink for more."""


def run(args: Arguments) -> int:
    """Runs queries on Spark and shows results and progress."""
    functions = args.allow_functions
    return run_program(args, _load_as_json(args.file, functions) if args.json else load(args.file, functions=functions))


def run_program(args: Arguments, program: Loaded) -> int:
    """The same for a program that is loaded, and what is wrong with it told."""
    from streamq.runtime.report.record import Recorder
    from streamq.runtime.run import RunOptions

    if program.result is None or not program.ok:
        return PROGRAM_ERROR
    if args.json and args.events == "-":
        raise UsageError("--events - and --json both write to standard output: give one of them a file")
    if args.fresh and args.checkpoint is None:
        raise UsageError("--fresh needs --checkpoint: without one, all queries start anew")
    master = [] if args.master is None else [f"spark.master={args.master}"]
    plan = _with_settings(program.result.require(), [*args.settings, *master])
    asked = RunOptions(
        duration_s=args.duration, once=args.once, limit=args.limit,
        queries=_chosen(plan, args.query), checkpoint=args.checkpoint, rows_per_batch=args.rows or (JSON_ROWS if args.json else None),
        log_file=args.log_file, stop_within_s=args.stop_within, jars=tuple(args.jars),
        fresh=_chosen(plan, args.fresh), texts=texts_of(plan, program.sources),
    )
    recorder, goals = Recorder(), _goals(plan)
    with _endpoint(args.metrics, goals) as endpoint, _events(args.events) as events:
        report = _run(
            plan, asked, program.sources, (recorder, *endpoint, *events), goals,
            quiet=args.quiet or args.events == "-", as_json=args.json,
        )
    if not (args.quiet or args.json or args.events == "-"):
        _say_which(args.file, plan, report)
    written = _write_reports(args.report, args.file, goals, recorder, report)
    return _exit_code(report) if written else RUN_FAILED


def _say_which(file: str, plan: PhysicalPlan, report: RunReport) -> None:
    """How to find the malformed rows of files, where there are any."""
    from streamq.compiler.ir.physical import ScanStream, walk

    bad = {totals.query for totals in report.totals if totals.malformed}
    scans = [step for query in plan.queries if query.name in bad for step in walk(query.root) if isinstance(step, ScanStream)]
    if not any(scan.connector == "file" for scan in scans):
        return
    for totals in report.totals:
        if totals.malformed and totals.malformed == totals.rows_in:
            print_error(f"{totals.query}: no row could be read: is a column declared with another type than the data has?")
    print_error(f"which rows are malformed: streamq malformed {file}")


def _exit_code(report: RunReport) -> int:
    if not report.failed:
        return OK
    return RUN_FAILED if report.totals else exit_code_of_refusal(report.diagnostics)


def backfill(args: Arguments) -> int:
    """Runs a query over the rows that it shed, all that are there."""
    import shutil
    from datetime import UTC, datetime
    from tempfile import TemporaryDirectory

    from streamq.compiler.backfill import backfill_plan, keeps_dropped
    from streamq.runtime.dropped import complete_batches, stream_folder
    from streamq.runtime.run import RunOptions

    if args.remove and args.into is None:
        raise UsageError("--remove needs --into: of what is printed some may be left out, and the rows would be gone")
    program = _load_as_json(args.file, args.allow_functions) if args.json else load(args.file, functions=args.allow_functions)
    if program.result is None or not program.ok:
        return PROGRAM_ERROR
    kept = keeps_dropped(program.result)
    if not kept:
        raise UsageError(f"no query of {args.file} has RECOVER DROPPED INTO, so nothing it shed is kept")
    if args.query is None and len(kept) > 1:
        raise UsageError(f"say which query with --query: {', '.join(kept)}")
    name = kept[0] if args.query is None else next((n for n in kept if n.casefold() == args.query.casefold()), None)
    if name is None:
        raise UsageError(f"query `{args.query}` does not keep what it sheds; {', '.join(kept)} do")
    running = program.result.require()
    query = next(q for q in running.queries if q.name == name)
    batches = complete_batches(stream_folder(query, query.dropped[0].stream, running.base_dir))
    if not batches:
        print_error(f"nothing that `{name}` shed is kept")
        return OK
    with TemporaryDirectory(prefix="streamq-backfill-") as folder:
        # What a run writes meanwhile is for the next time.
        for batch in batches:
            os.symlink(batch, os.path.join(folder, batch.name))
        part = f"backfill-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
        plan, found = backfill_plan(program.result, name, args.into, folder, running.base_dir, part)
        show(found, program.sources)
        if plan is None:
            return PROGRAM_ERROR
        asked = RunOptions(once=True, rows_per_batch=args.rows, jars=tuple(args.jars))
        report = _run(plan, asked, program.sources, (), {}, quiet=args.quiet, as_json=args.json, again=True)
    if report.failed or report.ended_by == "signal":
        return _exit_code(report) or RUN_FAILED
    if args.remove:
        for batch in batches:
            shutil.rmtree(batch)
    return OK


def texts_of(plan: PhysicalPlan, sources: SourceMap) -> dict[str, str]:
    """The statements of the queries as the program has them, by name."""
    from streamq.dsl.diagnostics import DiagnosticSink
    from streamq.dsl.parser import parse_program

    found = {}
    for file in sources.files.values():
        for statement in parse_program(file, DiagnosticSink()).statements:
            span = statement.span
            for query in plan.queries:
                if query.origin.file == file.name and span.start <= query.origin.start < span.end:
                    found[query.name] = file.text[span.start : span.end]
    return found


def _goals(plan: PhysicalPlan) -> dict[str, int]:
    """How old results may be, in milliseconds, for the queries that say so."""
    from streamq.runtime.steered import latency_goal

    goals = {query.name: latency_goal(query) for query in plan.queries}
    return {name: ms for name, ms in goals.items() if ms is not None}


@contextmanager
def _endpoint(
    address: tuple[str, int] | None, goals: Mapping[str, int]
) -> Iterator[tuple[Endpoint, ...]]:
    """What answers Prometheus while the run goes on, if it is asked for."""
    if address is None:
        yield ()
        return
    from streamq.runtime.report.prometheus import Endpoint

    try:
        endpoint = Endpoint(*address, goals)
    except OSError as error:
        host, port = address
        raise UsageError(f"--metrics {host}:{port}: cannot listen there: {error.strerror}") from error
    print_error(f"metrics are at {endpoint.address}")
    try:
        yield (endpoint,)
    finally:
        endpoint.close()


@contextmanager
def _events(path: str | None) -> Iterator[tuple[EventLog, ...]]:
    """What writes events while the run goes on, if it is asked for."""
    if path is None:
        yield ()
        return
    from streamq.runtime.report.events import EventLog, LineWriter

    try:
        events = EventLog(LineWriter(path))
    except OSError as error:
        raise UsageError(f"--events {path}: cannot be written: {error.strerror}") from error
    try:
        yield (events,)
    finally:
        events.close()


def _run(
    plan: PhysicalPlan, asked: RunOptions, sources: SourceMap, others: tuple[RunListener, ...],
    goals: Mapping[str, int], *, quiet: bool, as_json: bool, again: bool = False,
) -> RunReport:
    """Runs the plan with the listener that the options ask for, and prints how it ended.

    ``others`` hear of the run too. ``again``: it is over rows that were shed.
    """
    gc.enable()
    from streamq.runtime.console import (
        JsonListener,
        LiveListener,
        PlainListener,
        QuietListener,
        make_console,
        summary_text,
    )
    from streamq.runtime.metrics import RunReport
    from streamq.runtime.run import Listeners
    from streamq.runtime.spark.backfill import run_backfill
    from streamq.runtime.spark.runner import run_plan

    start = run_backfill if again else run_plan
    console = make_console()
    listener: JsonListener | LiveListener | PlainListener | QuietListener
    if as_json:
        listener = JsonListener(sys.stdout)
    elif quiet:
        listener = QuietListener(console)
    else:
        listener = LiveListener(console, goals) if console.is_terminal else PlainListener(console)
    try:
        try:
            with listener:
                report = start(plan, asked, Listeners((listener, *others)))
        except KeyboardInterrupt:
            report = RunReport("signal", 0.0)
        if isinstance(listener, JsonListener):
            listener.summary(report, sources)
            return report
        if not quiet and report.totals:
            console.print(summary_text(report), soft_wrap=True)
    except OSError as error:
        report = RunReport("failed", 0.0, diagnostics=(_not_printed(error),))
    show(report.diagnostics, sources)
    return report


def _not_printed(error: OSError) -> Diagnostic:
    """SQ0809 where the disk of what is printed, or of temporary files, takes no more; any other error is raised again.

    Results would be lost where the run went on. What is left to print goes nowhere.
    """
    from streamq.dsl.source import NO_SPAN
    from streamq.runtime.disk import is_trouble, of_error

    if not is_trouble(error):
        raise error
    if error.filename is None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return of_error(error, "the run", error.filename or "standard output", NO_SPAN)


def _write_reports(
    paths: list[Path], program: str, goals: Mapping[str, int], recorder: Recorder, report: RunReport
) -> bool:
    """Writes how the run went to the files asked for; False where one of them could not be written."""
    if not paths:
        return True
    import json

    from streamq.runtime.report.page import page

    record = recorder.record(program, report, goals)
    written = True
    for path in paths:
        html = path.suffix.lower() == ".html"
        text = page(record) if html else json.dumps(record.to_dict(), ensure_ascii=False, indent=1) + "\n"
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            print_error(f"the report cannot be written to {path}: {error.strerror}")
            written = False
    return written


def _load_as_json(name: str, functions: bool) -> Loaded:
    """The same for ``run --json``, which prints nothing but JSON lines."""
    from streamq.runtime.permission import limited
    from streamq.runtime.programs import load_program

    program = limited(load_program(name), functions=functions)
    show_as_json(program)
    return program


def show_as_json(program: Loaded) -> None:
    """A JSON line for each thing that is wrong with a program."""
    import json

    from streamq.dsl.visible import escaped

    for diagnostic in program.diagnostics:
        record = {"type": "diagnostic", **diagnostic.to_dict(program.sources)}
        print(escaped(json.dumps(record, ensure_ascii=False)))


def _with_settings(plan: PhysicalPlan, given: list[str]) -> PhysicalPlan:
    """The plan with ``--set key=value`` over the program's own settings."""
    from dataclasses import replace

    from streamq.compiler.binder.settings import BANNED, open_secret
    from streamq.compiler.options import SETTINGS
    from streamq.stdlib.options import Problem, read_value

    settings = dict(plan.settings)
    for text in given:
        key, equals, written = (part.strip() for part in text.partition("="))
        if not equals or not key:
            raise UsageError(f"--set {text}: write KEY=VALUE")
        value = _setting_value(written)
        if key.lower().startswith("spark."):
            if key.casefold() in {banned.casefold() for banned in BANNED}:
                raise UsageError(f"--set {key}: the meaning of programs rests on this setting")
            if (problem := open_secret(key, value)) is not None:
                raise UsageError(f"--set {key}: {problem.message}; {problem.help}")
            settings[key] = value
            continue
        spec = SETTINGS.get(key.casefold())
        if spec is None:
            known = ", ".join(SETTINGS)
            raise UsageError(f"--set {key}: unknown setting, there are {known} and spark.…")
        checked = read_value(spec, value)
        if isinstance(checked, Problem):
            raise UsageError(f"--set {key}: {checked.message}")
        settings[spec.name] = checked
    return replace(plan, settings=tuple(settings.items()))


def _setting_value(text: str) -> OptionValue:
    if text.casefold() in ("true", "false"):
        return text.casefold() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _chosen(plan: PhysicalPlan, given: list[str]) -> tuple[str, ...]:
    """The names of the queries to run, as the program spells them."""
    from streamq.dsl.diagnostics import did_you_mean

    by_fold = {query.name.casefold(): query.name for query in plan.queries}
    for name in given:
        if name.casefold() not in by_fold:
            names = by_fold.values()
            hint = did_you_mean(name, names) or f"there are {', '.join(names)}"
            raise UsageError(f"no query `{name}`, {hint}")
    return tuple(by_fold[name.casefold()] for name in given)
