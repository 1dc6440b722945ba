"""``streamq test``: finds the tests of programs, runs them, shows what differs."""

from __future__ import annotations

from time import perf_counter

from streamq.runtime.arguments import Arguments
from streamq.runtime.fixtures.discover import NoTests, find_files
from streamq.runtime.fixtures.junit import to_junit
from streamq.runtime.fixtures.report import closing_text, file_line
from streamq.runtime.fixtures.runner import Runner
from streamq.runtime.output import OK, PROGRAM_ERROR, UsageError, print_text, show, write


def run_tests(args: Arguments) -> int:
    """Runs the tests that users wrote for their programs."""
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
        show(tuple(found), outcome.sources, err=False)
    if not outcomes:
        raise UsageError(f"--filter {args.filter}: no test has this in its name")
    seconds = perf_counter() - began
    print_text(closing_text(outcomes, seconds))
    if args.junit is not None:
        write(args.junit, to_junit(outcomes, seconds))
    return OK if all(outcome.passed for outcome in outcomes) else PROGRAM_ERROR
