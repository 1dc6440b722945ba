"""Prints a line for each query; ends with 1 unless all answers are equal."""

from __future__ import annotations

import argparse
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from examples.nexmark.suite.compare import NOT_ASKED, YES, Line, Suite
from examples.nexmark.suite.programs import QUERIES
from streamq.dsl.diagnostics import Abort

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HEAD = ("query", "rows", "reference = independent", "Spark = reference", "events/s")


def main() -> int:
    options = _arguments()
    with_spark = not options.no_spark
    lines = []
    with (
        TemporaryDirectory(prefix="streamq-nexmark-") as scratch,
        _session() if with_spark else nullcontext() as session,
    ):
        _print(*HEAD)
        suite = Suite(
            Path(scratch), options.events, session, options.throughput_events, options.repeat
        )
        for query in options.only:
            line = suite.ask(query)
            speed = f"{line.speed:,.0f}" if line.speed else NOT_ASKED
            _print(query, f"{line.rows:,}", line.reference, line.spark, speed)
            lines.append(line)
    for line in lines:
        for note in line.notes:
            print(f"{line.query}: {note}")
    equal = sum(_is_equal(line, with_spark=with_spark) for line in lines)
    print(f"{equal} of {len(lines)} equal")
    return 0 if equal == len(lines) else 1


def _print(query: str, rows: str, reference: str, spark: str, speed: str) -> None:
    print(f"{query:6}{rows:>8}  {reference:25}{spark:19}{speed:>10}", flush=True)


def _is_equal(line: Line, *, with_spark: bool) -> bool:
    return line.reference == YES and (line.spark == YES or not with_spark)


def _session() -> AbstractContextManager[SparkSession]:
    from streamq.runtime.spark.own_session import own_session

    return own_session({}, app="streamq-nexmark", help="`streamq doctor` looks at Java")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m examples.nexmark.suite",
        description="The 24 queries of NEXMark: answers compared, throughput on Spark.",
    )
    parser.add_argument("--events", type=int, default=20_000, help="events that are answered about")
    parser.add_argument(
        "--throughput-events", type=int, default=500_000, help="events of a timed run"
    )
    parser.add_argument(
        "--repeat", type=int, default=2, help="timed runs, of which the best counts"
    )
    parser.add_argument("--only", type=_names, default=QUERIES, help="queries, as in q5,q7")
    parser.add_argument("--no-spark", action="store_true", help="leave Spark out")
    return parser.parse_args()


def _names(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    unknown = [name for name in names if name not in QUERIES]
    if unknown:
        raise argparse.ArgumentTypeError(f"not one of q0 … q23: {', '.join(unknown)}")
    return names


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Abort as stop:
        sys.exit(f"{stop.diagnostic.message}: {stop.diagnostic.help}")
