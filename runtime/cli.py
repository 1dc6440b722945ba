"""The command line: calls, renders, chooses the exit code.

Exit codes: 0 all is well, 1 the program has errors, 2 wrong usage, 3 a run failed. Commands import
what they need when they run: ``check`` must not wait for Spark, pandas or rich.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import NoReturn

from streamq.runtime import commands
from streamq.runtime.arguments import Arguments, Command, build_parser
from streamq.runtime.output import OK, RUN_FAILED, USAGE, UsageError, print_error


def main(argv: list[str] | None = None) -> int:
    """Runs one command and returns its exit code. ``argv``: the arguments, else the process's."""
    given = sys.argv[1:] if argv is None else argv
    parser = build_parser(COMMANDS, asked=given[0] if given else "")
    args = parser.parse_args(given)
    if args.version:
        return commands.show_version()
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
        print_error(f"streamq: {error}")
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
        print_error(
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


def init(args: Arguments) -> int:
    """Makes a project that works."""
    from streamq.runtime.new_project import init

    return init(args)


def run(args: Arguments) -> int:
    """Runs queries on Spark and shows results and progress."""
    from streamq.runtime.run_command import run

    return run(args)


def state(args: Arguments) -> int:
    """Shows what the queries of a checkpoint hold."""
    from streamq.runtime.state_command import show_state

    return show_state(args)


def malformed(args: Arguments) -> int:
    """Shows which rows of a program's streams are malformed."""
    from streamq.runtime.malformed_command import show_malformed

    return show_malformed(args)


def edge(args: Arguments) -> int:
    """Reads a stream at its source and sends it to the run."""
    from streamq.runtime.edge_command import edge

    return edge(args)


def backfill(args: Arguments) -> int:
    """Runs a query over the rows that it shed."""
    from streamq.runtime.run_command import backfill

    return backfill(args)


def run_tests(args: Arguments) -> int:
    """Runs the tests that users wrote for their programs."""
    from streamq.runtime.test_command import run_tests

    return run_tests(args)


COMMANDS: dict[str, Command] = {
    "init": init,
    "check": commands.check,
    "compile": commands.compile_file,
    "explain": commands.explain,
    "run": run,
    "state": state,
    "malformed": malformed,
    "edge": edge,
    "backfill": backfill,
    "test": run_tests,
    "fmt": commands.fmt,
    "doctor": commands.doctor,
    "explain-error": commands.explain_error,
}
