"""``streamq test``: finds the tests of programs, runs them, shows what differs."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from contextlib import ExitStack
from time import perf_counter

from streamq.dsl.diagnostics import Abort
from streamq.dsl.source import SourceMap
from streamq.dsl.visible import visible_lines
from streamq.runtime import permission
from streamq.runtime.arguments import Arguments
from streamq.runtime.fixtures.discover import NoTests, find_files
from streamq.runtime.fixtures.junit import to_junit
from streamq.runtime.fixtures.model import FileOutcome
from streamq.runtime.fixtures.report import closing_text, file_line, untold_lines
from streamq.runtime.fixtures.runner import OnSpark, Runner
from streamq.runtime.output import (
    OK,
    PROGRAM_ERROR,
    RUN_FAILED,
    UsageError,
    print_error,
    print_text,
    show,
    write,
)


def run_tests(args: Arguments) -> int:
    """Runs the tests that users wrote for their programs."""
    began = perf_counter()
    if args.allow_functions:
        permission.allow()
    try:
        files = find_files(args.paths)
    except NoTests as error:
        raise UsageError(str(error)) from error
    try:
        with ExitStack() as stack:
            runner = Runner(args.filter)
            if args.engine == "spark":
                runner.on_spark = _start_spark(stack)
                runner.begins = lambda test: print_error(f"{test} …")
            outcomes = _run_files(files, runner)
    except Abort as stop:
        show((stop.diagnostic,), SourceMap())
        return RUN_FAILED
    except KeyboardInterrupt:
        print_error("streamq: stopped before all tests were run")
        return PROGRAM_ERROR
    if not outcomes:
        raise UsageError(f"--filter {args.filter}: no test has this in its name")
    seconds = perf_counter() - began
    print_text(closing_text(outcomes, seconds))
    if args.junit is not None:
        write(args.junit, to_junit(outcomes, seconds, args.engine))
    return OK if all(outcome.passed for outcome in outcomes) else PROGRAM_ERROR


def _start_spark(stack: ExitStack) -> OnSpark:
    """What runs tests on Spark; the session starts with the first test and ends with the stack."""
    gc.enable()
    from streamq.runtime.spark.fixture_runs import FixtureRuns

    return stack.enter_context(FixtureRuns(starting=lambda: print_error("starting Spark …")))


def _run_files(files: Sequence[str], runner: Runner) -> list[FileOutcome]:
    """The outcome of each file, which is shown at once."""
    outcomes = []
    for file in files:
        outcome = runner.run(file)
        if outcome is None:
            continue
        outcomes.append(outcome)
        print(visible_lines("\n".join([file_line(outcome), *untold_lines(outcome)])), flush=True)
        found = [*outcome.diagnostics, *(d for o in outcome.outcomes for d in o.diagnostics)]
        show(tuple(sorted(found, key=lambda d: d.span)), outcome.sources, err=False)
    return outcomes
