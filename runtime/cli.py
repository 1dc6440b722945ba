"""The command line: calls, renders, chooses the exit code.

Exit codes: 0 all is well, 1 the program has errors, 2 wrong usage, 3 a run failed. Commands import
what they need when they run: ``check`` must not wait for Spark, pandas or rich.
"""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from streamq.runtime.arguments import Arguments, Command, build_parser

if TYPE_CHECKING:
    from streamq.compiler.ir.physical import OptionValue, PhysicalPlan
    from streamq.dsl.diagnostics import Diagnostic
    from streamq.dsl.source import SourceMap
    from streamq.runtime.metrics import RunReport
    from streamq.runtime.programs import Loaded
    from streamq.runtime.run import RunOptions

OK, PROGRAM_ERROR, USAGE, RUN_FAILED = 0, 1, 2, 3
WIDTH = 100
"""Columns of output that does not go to a terminal."""


class UsageError(Exception):
    """The command cannot be done as it was asked for; ends it with exit code 2."""


def main(argv: list[str] | None = None) -> int:
    """Runs one command and returns its exit code. ``argv``: the arguments, else the process's."""
    parser = build_parser(COMMANDS)
    args = parser.parse_args(argv)
    if args.version:
        return show_version()
    if args.command is None:
        parser.print_help(sys.stderr)
        return USAGE
    command: Command = args.command
    # A short command makes many small objects and keeps nearly all of them: looking for garbage
    # among them is a tenth of its time. A run is long, and turns this on again.
    gc.disable()
    try:
        code = command(args)
        sys.stdout.flush()
        return code
    except UsageError as error:
        _print_error(f"streamq: {error}")
        return USAGE
    except BrokenPipeError:
        # The reader of our output is gone (``| head``): nothing is left to say to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except KeyboardInterrupt:
        return OK
    except Exception as error:
        if os.environ.get("STREAMQ_DEBUG"):
            raise
        _print_error(
            f"internal error: {type(error).__name__}: {error}\n"
            "This is a fault of StreamQ, please report it with the program; "
            "STREAMQ_DEBUG=1 shows where it happened."
        )
        return RUN_FAILED
    finally:
        gc.enable()


def entry() -> NoReturn:
    """Entry of the ``streamq`` command: ends the process with the exit code of ``main``.

    Without Spark nothing is left to clean up, and taking the modules apart would be a tenth of the
    time that a check takes.
    """
    code = main()
    if "pyspark" not in sys.modules:
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def show_version() -> int:
    from importlib.metadata import version

    print(f"streamq {version('streamq')}")
    return OK


def check(args: Arguments) -> int:
    """All errors of programs, and missing paths and columns, without starting Spark."""
    from streamq.runtime.programs import load_program

    programs = [load_program(name) for name in args.files]
    if args.format == "json":
        import json

        files = [_program_json(program) for program in programs]
        print(json.dumps({"version": 1, "files": files}, ensure_ascii=False, indent=2))
    else:
        for program in programs:
            concise = args.format == "concise"
            _show(program.diagnostics, program.sources, concise=concise, err=False)
            if program.ok and not concise:
                count = len(_queries(program))
                print(f"{program.name}: ok, {count} {'query' if count == 1 else 'queries'}")
    return OK if all(program.ok for program in programs) else PROGRAM_ERROR


def compile_file(args: Arguments) -> int:
    """The physical plan as JSON, or a PySpark program."""
    from streamq.compiler.explain import render
    from streamq.compiler.explain.pyspark_source import to_pyspark

    program = _load(args.file)
    if program.result is None or not program.ok:
        return PROGRAM_ERROR
    if args.emit == "pyspark":
        text = to_pyspark(program.result.require(), name=Path(program.name).stem)
    else:
        text = render(program.result, stage="physical", format="json")
    if args.output is None:
        _print_text(text)
        return OK
    _write(args.output, text if text.endswith("\n") else f"{text}\n")
    return OK


def explain(args: Arguments) -> int:
    """The program at one stage of the compiler; shown as far as it goes where there are errors."""
    from streamq.compiler.explain import ExplainUnavailable, render

    program = _load(args.file)
    if program.result is None:
        return PROGRAM_ERROR
    try:
        _print_text(render(program.result, args.stage, args.format, args.query))
    except ValueError as error:
        raise UsageError(str(error)) from error
    except ExplainUnavailable:
        return PROGRAM_ERROR
    return OK if program.result.ok else PROGRAM_ERROR


def run(args: Arguments) -> int:
    """Runs queries on Spark and shows results and progress."""
    from streamq.runtime.run import RunOptions

    program = _load_as_json(args.file) if args.json else _load(args.file)
    if program.result is None or not program.ok:
        return PROGRAM_ERROR
    plan = _with_settings(program.result.require(), args.settings)
    asked = RunOptions(
        duration_s=args.duration, once=args.once, limit=args.limit,
        queries=_chosen(plan, args.query), checkpoint=args.checkpoint, rows_per_batch=args.rows,
        log_file=args.log_file,
    )
    report = _run(plan, asked, program.sources, quiet=args.quiet, as_json=args.json)
    return RUN_FAILED if report.failed else OK


def run_tests(args: Arguments) -> int:
    """Runs the tests that users wrote for their programs."""
    from time import perf_counter

    from streamq.runtime.fixtures.discover import NoTests, find_files
    from streamq.runtime.fixtures.report import closing_text, file_line
    from streamq.runtime.fixtures.runner import Runner

    if args.engine != "reference":
        raise UsageError(
            "--engine spark: tests run on the reference evaluator only; Spark tells neither at which "
            "instant a row came nor what an open window holds"
        )
    began = perf_counter()
    try:
        files = find_files(args.paths)
    except NoTests as error:
        raise UsageError(str(error)) from error
    runner = Runner(args.filter)
    outcomes = []
    for file in files:
        outcome = runner.run(file)
        if outcome is None:
            continue
        outcomes.append(outcome)
        print(file_line(outcome), flush=True)
        found = [*outcome.diagnostics, *(d for o in outcome.outcomes for d in o.diagnostics)]
        _show(tuple(found), outcome.sources, err=False)
    if not outcomes:
        raise UsageError(f"--filter {args.filter}: no test has this in its name")
    seconds = perf_counter() - began
    _print_text(closing_text(outcomes, seconds))
    if args.junit is not None:
        from streamq.runtime.fixtures.junit import to_junit

        _write(args.junit, to_junit(outcomes, seconds))
    return OK if all(outcome.passed for outcome in outcomes) else PROGRAM_ERROR


def fmt(args: Arguments) -> int:
    """Formats files in place, or standard input to standard output."""
    from streamq.runtime.formatting import format_file

    dry = args.check or args.diff
    worst = OK
    for name in args.files:
        result = format_file(name, write=not dry)
        _show(result.diagnostics, result.sources)
        if result.failed:
            worst = PROGRAM_ERROR
            continue
        if name == "-" and not dry:
            sys.stdout.write(result.text)
        if not (result.changed and dry):
            continue
        worst = PROGRAM_ERROR
        if args.diff:
            sys.stdout.write(result.diff())
        if args.check:
            print(f"{name}: would be formatted")
    return worst


def doctor(args: Arguments) -> int:
    """Whether this machine can run queries."""
    from streamq.runtime.doctor import examine

    healthy = True
    for item in examine():
        healthy = healthy and not item.problem
        print(f"{'BAD ' if item.problem else 'ok  '} {item.name:<14} {item.found}")
        if item.problem:
            print(f"{'':<19} {item.problem}")
    return OK if healthy else PROGRAM_ERROR


def explain_error(args: Arguments) -> int:
    """The page of an error code where the documentation is at hand, else its title."""
    from streamq.dsl.codes import CODES
    from streamq.dsl.diagnostics import did_you_mean

    code = args.code.upper()
    if code not in CODES:
        hint = did_you_mean(code, CODES)
        raise UsageError(f"unknown code {args.code}{', ' if hint else ''}{hint}")
    page = Path(__file__).resolve().parent.parent / "docs" / "errors" / f"{code}.md"
    _print_text(page.read_text("utf-8") if page.is_file() else f"{code}: {CODES[code]}")
    return OK


COMMANDS: dict[str, Command] = {
    "check": check,
    "compile": compile_file,
    "explain": explain,
    "run": run,
    "test": run_tests,
    "fmt": fmt,
    "doctor": doctor,
    "explain-error": explain_error,
}


def _run(
    plan: PhysicalPlan, asked: RunOptions, sources: SourceMap, *, quiet: bool, as_json: bool
) -> RunReport:
    """Runs the plan with the listener that the options ask for, and prints how it ended."""
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
    from streamq.runtime.spark.runner import run_plan

    console = make_console()
    listener: JsonListener | LiveListener | PlainListener | QuietListener
    if as_json:
        listener = JsonListener(sys.stdout)
    elif quiet:
        listener = QuietListener(console)
    else:
        listener = LiveListener(console) if console.is_terminal else PlainListener(console)
    try:
        with listener:
            report = run_plan(plan, asked, listener)
    except KeyboardInterrupt:
        report = RunReport("signal", 0.0)
    if isinstance(listener, JsonListener):
        listener.summary(report, sources)
        return report
    if not quiet and report.totals:
        console.print(summary_text(report), soft_wrap=True)
    _show(report.diagnostics, sources)
    return report


def _load(name: str) -> Loaded:
    """The compiled program; prints what is wrong with it."""
    from streamq.runtime.programs import load_program

    program = load_program(name)
    _show(program.diagnostics, program.sources)
    return program


def _load_as_json(name: str) -> Loaded:
    """The same for ``run --json``, which prints nothing but JSON lines."""
    import json

    from streamq.runtime.programs import load_program

    program = load_program(name)
    for diagnostic in program.diagnostics:
        record = {"type": "diagnostic", **diagnostic.to_dict(program.sources)}
        print(json.dumps(record, ensure_ascii=False))
    return program


def _with_settings(plan: PhysicalPlan, given: list[str]) -> PhysicalPlan:
    """The plan with ``--set key=value`` over the program's own settings."""
    from dataclasses import replace

    from streamq.compiler.binder.settings import BANNED
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


def _show(
    diagnostics: tuple[Diagnostic, ...], sources: SourceMap, *, concise: bool = False,
    err: bool = True,
) -> None:
    """Prints diagnostics; nothing where there are none."""
    if not diagnostics:
        return
    import shutil

    from streamq.runtime.render import render_concise, render_diagnostics, render_summary

    stream = sys.stderr if err else sys.stdout
    if concise:
        for diagnostic in diagnostics:
            print(render_concise(diagnostic, sources), file=stream)
        return
    terminal = stream.isatty()
    width = shutil.get_terminal_size((WIDTH, 24)).columns if terminal else WIDTH
    colour = _colour(terminal)
    print(render_diagnostics(diagnostics, sources, width=width, colour=colour), file=stream)
    if summary := render_summary(diagnostics):
        print(summary, file=stream)


def _colour(is_terminal: bool) -> bool:
    """Colours go to terminals only; NO_COLOR and FORCE_COLOR say otherwise."""
    if os.environ.get("NO_COLOR"):
        return False
    plain = os.environ.get("TERM", "") == "dumb"
    return bool(os.environ.get("FORCE_COLOR")) or (is_terminal and not plain)


def _program_json(program: Loaded) -> dict[str, object]:
    return {
        "file": program.name,
        "ok": program.ok,
        "queries": _queries(program),
        "diagnostics": [d.to_dict(program.sources) for d in program.diagnostics],
    }


def _queries(program: Loaded) -> list[str]:
    """The names of the program's queries; none where it has errors."""
    plan = program.result.plan if program.result is not None else None
    return [query.name for query in plan.queries] if plan is not None else []


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {_reason(error)}") from error


def _print_text(text: str) -> None:
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


def _print_error(text: str) -> None:
    print(text, file=sys.stderr)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
