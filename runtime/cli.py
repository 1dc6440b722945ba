"""The command line: parses options, calls, renders, chooses the exit code.

Exit codes: 0 all is well, 1 the program has errors, 2 wrong usage, 3 a run failed. Commands import
what they need when they run: ``check`` must not wait for Spark, pandas or rich.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from streamq.dsl.codes import CODES
from streamq.dsl.diagnostics import Diagnostic, did_you_mean
from streamq.dsl.source import SourceMap

if TYPE_CHECKING:
    from streamq.compiler.ir.physical import OptionValue, PhysicalPlan
    from streamq.runtime.metrics import RunReport
    from streamq.runtime.programs import Loaded
    from streamq.runtime.run import RunOptions

OK, PROGRAM_ERROR, USAGE, RUN_FAILED = 0, 1, 2, 3

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)?")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}

app = typer.Typer(
    name="streamq",
    help="Continuous queries that say what they are worth, on Spark Structured Streaming.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


class Output(str, Enum):
    """How findings are printed."""

    text = "text"
    concise = "concise"
    json = "json"


class Emit(str, Enum):
    """What ``compile`` writes."""

    plan = "plan"
    pyspark = "pyspark"


class Stage(str, Enum):
    """How far ``explain`` goes."""

    logical = "logical"
    annotated = "annotated"
    physical = "physical"
    spark = "spark"


class PlanFormat(str, Enum):
    """How ``explain`` prints."""

    text = "text"
    json = "json"
    mermaid = "mermaid"


ProgramFile = Annotated[str, typer.Argument(metavar="FILE", help="a .cql program, - for stdin")]
ProgramFiles = Annotated[
    list[str], typer.Argument(metavar="FILE…", help=".cql programs, - for stdin")
]


def main() -> None:
    """Entry of the ``streamq`` command."""
    try:
        app()
    except BrokenPipeError:
        # The reader of our output is gone (``| head``): nothing is left to say to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(OK) from None
    except Exception as error:
        if os.environ.get("STREAMQ_DEBUG"):
            raise
        typer.echo(
            f"internal error: {type(error).__name__}: {error}\n"
            "This is a fault of StreamQ, please report it with the program; "
            "STREAMQ_DEBUG=1 shows where it happened.",
            err=True,
        )
        raise SystemExit(RUN_FAILED) from None


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"streamq {version('streamq')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="show the version"),
    ] = False,
) -> None:
    """Options of all commands."""


@app.command()
def check(
    files: ProgramFiles,
    output: Annotated[Output, typer.Option("--format", help="how to print findings")] = Output.text,
) -> None:
    """Find all errors of programs, and missing paths and columns, without starting Spark."""
    from streamq.runtime.programs import load_program

    programs = [load_program(name) for name in files]
    if output is Output.json:
        _echo_json([_program_json(program) for program in programs])
    else:
        for program in programs:
            _show(program.diagnostics, program.sources, output, err=False)
            if program.ok and output is Output.text:
                count = len(_queries(program))
                typer.echo(f"{program.name}: ok, {count} {'query' if count == 1 else 'queries'}")
    raise typer.Exit(OK if all(program.ok for program in programs) else PROGRAM_ERROR)


@app.command("compile")
def compile_file(
    file: ProgramFile,
    emit: Annotated[Emit, typer.Option(help="the plan as JSON, or a PySpark program")] = Emit.plan,
    out: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="PATH", help="write there")
    ] = None,
) -> None:
    """Compile a program and write its plan, or a PySpark program that runs on its own."""
    from streamq.compiler.explain import render
    from streamq.compiler.explain.pyspark_source import to_pyspark

    program = _load_or_exit(file)
    assert program.result is not None
    if emit is Emit.pyspark:
        text = to_pyspark(program.result.require(), name=Path(program.name).stem)
    else:
        text = render(program.result, stage="physical", format="json")
    if out is None:
        typer.echo(text, nl=not text.endswith("\n"))
        return
    try:
        out.write_text(text if text.endswith("\n") else text + "\n", encoding="utf-8")
    except OSError as error:
        _usage(f"cannot write {out}: {(error.strerror or str(error)).lower()}")


@app.command()
def explain(
    file: ProgramFile,
    stage: Annotated[Stage, typer.Option(help="how far to compile")] = Stage.annotated,
    plan_format: Annotated[
        PlanFormat, typer.Option("--format", help="how to print the plan")
    ] = PlanFormat.text,
    query: Annotated[str | None, typer.Option(metavar="NAME", help="only this query")] = None,
) -> None:
    """Show what the compiler makes of a program."""
    from streamq.compiler.explain import ExplainUnavailable, render
    from streamq.runtime.programs import load_program

    program = load_program(file)
    _show(program.diagnostics, program.sources, Output.text)
    if program.result is not None:
        try:
            text = render(program.result, stage.value, plan_format.value, query)
        except ValueError as error:
            _usage(str(error))
        except ExplainUnavailable:
            pass
        else:
            typer.echo(text, nl=not text.endswith("\n"))
    raise typer.Exit(OK if program.result is not None and program.result.ok else PROGRAM_ERROR)


@app.command()
def run(
    file: ProgramFile,
    duration: Annotated[
        str | None, typer.Option("--for", metavar="TIME", help="stop after 20s, 5m, 1h")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="read what is there now, then stop")] = False,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="stop after N result rows")
    ] = None,
    query: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="run only this query; repeatable")
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="keep the place here, so that a restart goes on from it"),
    ] = None,
    rows: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="rows shown of each batch")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="print results only")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON lines")] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="a setting, as SET in the program"),
    ] = None,
    log_file: Annotated[
        Path | None, typer.Option(metavar="PATH", help="write Spark's own log there")
    ] = None,
) -> None:
    """Run the queries of a program on Spark."""
    from streamq.runtime.run import RunOptions

    if quiet and as_json:
        _usage("--quiet and --json exclude each other")
    seconds = None if duration is None else _duration(duration)
    program = _load_or_exit(file)
    assert program.result is not None
    plan = _with_settings(program.result.require(), settings or [])
    names = _chosen(plan, query or [])
    asked = RunOptions(
        duration_s=seconds, once=once, limit=limit, queries=names, checkpoint=checkpoint,
        rows_per_batch=rows, log_file=log_file,
    )
    report = _run(plan, asked, program.sources, quiet=quiet, as_json=as_json)
    raise typer.Exit(RUN_FAILED if report.failed else OK)


@app.command()
def fmt(
    files: ProgramFiles,
    check_only: Annotated[
        bool, typer.Option("--check", help="change nothing, say which files would change")
    ] = False,
    diff: Annotated[bool, typer.Option("--diff", help="change nothing, show the changes")] = False,
) -> None:
    """Bring programs into the standard layout, in place; - reads stdin and writes stdout."""
    from streamq.runtime.formatting import format_file

    worst = OK
    for name in files:
        result = format_file(name, write=not (check_only or diff))
        _show(result.diagnostics, result.sources, Output.text)
        if result.failed:
            worst = PROGRAM_ERROR
            continue
        if name == "-" and not (check_only or diff):
            typer.echo(result.text, nl=False)
        if result.changed and diff:
            typer.echo(result.diff(), nl=False)
        if result.changed and check_only:
            typer.echo(f"{name}: would be formatted")
        if result.changed and (check_only or diff):
            worst = PROGRAM_ERROR
    raise typer.Exit(worst)


@app.command()
def doctor() -> None:
    """Say whether this machine can run queries: Python, Java and packages."""
    from streamq.runtime.doctor import examine

    healthy = True
    for item in examine():
        healthy = healthy and not item.problem
        typer.echo(f"{'ok  ' if not item.problem else 'BAD '} {item.name:<14} {item.found}")
        if item.problem:
            typer.echo(f"     {'':<14} {item.problem}")
    raise typer.Exit(OK if healthy else PROGRAM_ERROR)


@app.command("explain-error")
def explain_error(
    code: Annotated[str, typer.Argument(metavar="CODE", help="for example SQ0402")],
) -> None:
    """Explain an error code, with a program that has the error and one that is mended."""
    wanted = code.upper()
    if wanted not in CODES:
        hint = did_you_mean(wanted, CODES)
        _usage(f"unknown code {code}{', ' if hint else ''}{hint}")
    page = Path(__file__).resolve().parent.parent / "docs" / "errors" / f"{wanted}.md"
    if page.is_file():
        typer.echo(page.read_text(encoding="utf-8"), nl=False)
    else:
        typer.echo(f"{wanted}: {CODES[wanted]}")


def _run(
    plan: PhysicalPlan, asked: RunOptions, sources: SourceMap, *, quiet: bool, as_json: bool
) -> RunReport:
    """Runs the plan with the listener that the options ask for, and prints how it ended."""
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
    elif not quiet and report.totals:
        console.print(summary_text(report), soft_wrap=True)
    if not as_json:
        _show(report.diagnostics, sources, Output.text)
    return report


def _load_or_exit(name: str) -> Loaded:
    """The compiled program; prints what is wrong and exits with 1 where there are errors."""
    from streamq.runtime.programs import load_program

    program = load_program(name)
    _show(program.diagnostics, program.sources, Output.text)
    if not program.ok:
        raise typer.Exit(PROGRAM_ERROR)
    return program


def _with_settings(plan: PhysicalPlan, given: list[str]) -> PhysicalPlan:
    """The plan with ``--set key=value`` over the program's own settings."""
    from dataclasses import replace

    from streamq.compiler.binder.settings import BANNED
    from streamq.compiler.options import SETTINGS
    from streamq.stdlib.options import Problem, read_value

    settings = dict(plan.settings)
    for text in given:
        key, equals, written = text.partition("=")
        key = key.strip()
        if not equals or not key:
            _usage(f"--set {text}: write KEY=VALUE")
        value = _setting_value(written.strip())
        if key.lower().startswith("spark."):
            if key.casefold() in {banned.casefold() for banned in BANNED}:
                _usage(f"--set {key}: cannot be set, the meaning of programs rests on it")
            settings[key] = value
            continue
        spec = SETTINGS.get(key.casefold())
        if spec is None:
            _usage(f"--set {key}: unknown setting; settings are {', '.join(SETTINGS)} and spark.…")
        checked = read_value(spec, value)
        if isinstance(checked, Problem):
            _usage(f"--set {key}: {checked.message}")
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
    by_fold = {query.name.casefold(): query.name for query in plan.queries}
    for name in given:
        if name.casefold() not in by_fold:
            names = by_fold.values()
            hint = did_you_mean(name, names) or f"there are {', '.join(names)}"
            _usage(f"no query `{name}`, {hint}")
    return tuple(by_fold[name.casefold()] for name in given)


def _duration(text: str) -> float:
    found = _DURATION.fullmatch(text.strip().lower())
    if found is None:
        _usage(f"--for {text}: write a length of time such as 20s, 5m or 1h")
    return float(found.group(1)) * _SECONDS[found.group(2) or "s"]


def _show(
    diagnostics: tuple[Diagnostic, ...], sources: SourceMap, output: Output, *, err: bool = True
) -> None:
    """Prints diagnostics; nothing where there are none."""
    if not diagnostics:
        return
    from streamq.runtime.render import render_concise, render_diagnostics, render_summary

    if output is Output.concise:
        for diagnostic in diagnostics:
            typer.echo(render_concise(diagnostic, sources), err=err)
        return
    stream = sys.stderr if err else sys.stdout
    width = shutil.get_terminal_size((100, 24)).columns if stream.isatty() else 100
    colour = _colour(stream.isatty())
    typer.echo(render_diagnostics(diagnostics, sources, width=width, colour=colour), err=err)
    if summary := render_summary(diagnostics):
        typer.echo(summary, err=err)


def _colour(is_terminal: bool) -> bool:
    """Colours go to terminals only; NO_COLOR and FORCE_COLOR say otherwise."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (
        is_terminal and os.environ.get("TERM", "") != "dumb"
    )


def _program_json(program: Loaded) -> dict[str, object]:
    return {
        "file": program.name,
        "ok": program.ok,
        "queries": _queries(program),
        "diagnostics": [d.to_dict(program.sources) for d in program.diagnostics],
    }


def _echo_json(files: list[dict[str, object]]) -> None:
    typer.echo(json.dumps({"version": 1, "files": files}, ensure_ascii=False, indent=2))


def _queries(program: Loaded) -> list[str]:
    """The names of the program's queries; none where it has errors."""
    plan = program.result.plan if program.result is not None else None
    return [query.name for query in plan.queries] if plan is not None else []


def _usage(message: str) -> NoReturn:
    typer.echo(f"error: {message}", err=True)
    raise typer.Exit(USAGE)
