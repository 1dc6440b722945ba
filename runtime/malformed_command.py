"""``streamq malformed FILE``: which rows of a program's streams are malformed, in which file and line, and why."""

from __future__ import annotations

import gc
import json
import os
from typing import TYPE_CHECKING

from streamq.dsl.diagnostics import Abort, did_you_mean
from streamq.dsl.visible import escaped
from streamq.runtime.arguments import Arguments
from streamq.runtime.output import (
    OK,
    PROGRAM_ERROR,
    RUN_FAILED,
    UsageError,
    load,
    print_error,
    print_text,
    show,
)

if TYPE_CHECKING:
    from streamq.runtime.spark.malformed import Search


def show_malformed(args: Arguments) -> int:
    """Prints a line for each malformed row, as compilers print errors; the sums go to standard error."""
    from streamq.compiler.malformed import file_streams

    program = load(args.file, functions=args.allow_functions)
    if program.result is None or not program.ok:
        return PROGRAM_ERROR
    found = {stream.scan.stream: stream for stream in file_streams(program.result)}
    if not found:
        raise UsageError(f"no query of {args.file} reads a stream of files; of records of Kafka only their number is known")
    if args.stream is not None:
        name = next((n for n in found if n.casefold() == args.stream.casefold()), None)
        if name is None:
            raise UsageError(f"no stream `{args.stream}` of files, {did_you_mean(args.stream, found) or 'there are ' + ', '.join(found)}")
        found = {name: found[name]}
    gc.enable()
    print_error("starting Spark …")
    from streamq.runtime.run import RunOptions
    from streamq.runtime.spark.malformed import search
    from streamq.runtime.spark.plan_session import plan_session

    plan = program.result.require()
    try:
        options = RunOptions(fast_start=True, jars=tuple(args.jars))
        with plan_session(plan, options, "streamq malformed", "`streamq doctor` looks at Java") as spark:
            for name, stream in found.items():
                print_error(f"reading the files of `{name}` …")
                _print(search(stream, plan.base_dir, args.limit, spark), as_json=args.json)
    except Abort as stop:
        show((stop.diagnostic,), program.sources)
        return RUN_FAILED
    return OK


def _print(found: Search, *, as_json: bool) -> None:
    for row in found.first:
        file = os.path.relpath(row.file) if row.file.startswith(os.getcwd() + os.sep) else row.file
        if as_json:
            record = {"stream": found.stream, "file": row.file, "line": row.line, "reasons": row.reasons, "text": row.text}
            print_text(escaped(json.dumps(record, ensure_ascii=False)))
            continue
        place = file if row.line is None else f"{file}:{row.line}"
        print_text(f"{place}: {'; '.join(row.reasons)}" + (f"\n    {row.text}" if row.text else ""))
    more = f"; the first {len(found.first):,} are shown, --limit shows more" if len(found.first) < found.malformed else ""
    print_error(
        f"{found.stream}: {found.malformed:,} of {found.rows:,} rows malformed, in {found.bad_files:,} of {found.files:,} files with rows{more}"
    )
