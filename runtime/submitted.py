"""A program that was written into a script for ``spark-submit``: runs it in the session that is at work there."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from streamq.runtime.arguments import add_run_options
from streamq.runtime.output import PROGRAM_ERROR, USAGE, UsageError, print_error, show


def main(files: Mapping[str, str]) -> NoReturn:
    """Ends the process with the exit code of ``streamq run``. ``files``: name to text, the program first, then what it includes.

    Arguments of the process: those of ``streamq run`` without the file, and ``--base DIR``, where relative paths start.
    """
    raise SystemExit(_run(files))


def _run(files: Mapping[str, str]) -> int:
    from streamq.runtime.permission import limited
    from streamq.runtime.programs import load_embedded
    from streamq.runtime.run_command import run_program, show_as_json

    name = next(iter(files))
    parser = argparse.ArgumentParser(description=f"Runs {name}.", allow_abbrev=False)
    add_run_options(parser)
    parser.add_argument("--base", type=Path, default=Path(), metavar="DIR", help="folder that relative paths start from")
    args = parser.parse_args(namespace=argparse.Namespace(file=name))
    program = limited(load_embedded(files, args.base), functions=args.allow_functions)
    if args.json:
        show_as_json(program)
    else:
        show(program.diagnostics, program.sources)
    if not program.ok:
        return PROGRAM_ERROR
    try:
        return run_program(args, program)
    except UsageError as error:
        print_error(str(error))
        return USAGE
