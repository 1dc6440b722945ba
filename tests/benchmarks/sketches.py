"""What sketches take in a second on Spark, against an approximate count of different values over the same window.

All queries read the same Parquet files of NEXMark bids, a file per micro-batch, one query after the other in turn, every second
turn backwards. A ratio is the median over files and turns, each against the same file of the same turn; half of them lie
between the two numbers beside it. The first micro-batch of a run is not counted. The runs that warm up write their answers into files,
and these are held against what numpy counts: estimates lie between their bounds, what is exact is equal.

Run from the root of the repository::

    python -m tests.benchmarks.sketches [--rows 2000000] [--turns 3] [--only pairs]

Ends with 1 where an answer is wrong.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow.dataset as ds
from pyspark.sql import SparkSession

from streamq.compiler.driver import compile_program
from streamq.compiler.options import CompileOptions
from streamq.runtime.spark.emit import EmitContext, build_frame, state_store
from streamq.runtime.spark.quiet import children_write_to
from streamq.runtime.spark.session import create_session
from tests.benchmarks.bids import DDL, write_bids
from tests.benchmarks.measure import TIMEOUT_S
from tests.benchmarks.sketch_answers import (
    SECOND,
    SHARE,
    Bids,
    Check,
    every_pair_in,
    every_row,
    new_pairs,
    new_pairs_in,
    of_windows,
    read_bids,
)

BATCH = 200_000
"""Rows of a micro-batch."""

LEAST_FILES = 4
LEAST_ROWS = 400_000
"""Of fewer not three windows would be over: 9,200 bids are a second of event time."""

TUMBLE, SLIDE, RANGE = (
    "[TUMBLE 10 SECONDS]",
    "[RANGE 12 SECONDS SLIDE 2 SECONDS]",
    "[RANGE 10 SECONDS]",
)
PROGRAM = f"""
    CREATE STREAM bid ({DDL}, WATERMARK FOR dateTime AS dateTime - INTERVAL 4 SECONDS)
    WITH (connector = 'file', format = 'parquet', path = 'bids', max_files_per_trigger = 1);
    CREATE SINK nowhere WITH (connector = 'noop');
"""


@dataclass(frozen=True, slots=True)
class Variant:
    """A query, what holds its answers against the truth, and the name of that to which it is compared."""

    name: str
    cql: str
    check: Check
    base: str


def tumbling(name: str, items: str, *columns: str) -> Variant:
    cql = f"SELECT WINDOW_END AS until, {items} FROM bid {TUMBLE}"
    return Variant(name, cql, of_windows(10 * SECOND, 10 * SECOND, *columns), BASE)


def sliding(name: str, items: str, *columns: str) -> Variant:
    cql = f"SELECT WINDOW_END AS until, {items} FROM bid {SLIDE}"
    return Variant(name, cql, of_windows(12 * SECOND, 2 * SECOND, *columns), SLIDING_BASE)


BASE, SLIDING_BASE = "approximate count", "sliding, approximate count"
VARIANTS = (
    tumbling(BASE, "APPROX_COUNT_DISTINCT(auction) AS about", "about"),
    tumbling("rows", "COUNT(*) AS rows", "rows"),
    tumbling("exact count", "COUNT(DISTINCT auction) AS auctions", "auctions"),
    tumbling("self-join size", "SELF_JOIN_SIZE(auction) AS f2", "f2"),
    tumbling("frequency", "APPROX_FREQUENCY(auction, MAX(auction)) AS frequency", "frequency"),
    tumbling("heavy hitters", f"HEAVY_HITTERS(auction, {SHARE}) AS busy", "busy"),
    tumbling(
        "three in a block",
        "SELF_JOIN_SIZE(auction) AS f2, APPROX_FREQUENCY(auction, MAX(auction)) AS frequency, JOIN_SIZE(auction, bidder) AS joined",
        "f2",
        "frequency",
        "joined",
    ),
    tumbling(
        "pairs", "SIMILAR_PAIRS((auction, bidder, channel), 2 MEMORY 64 KB) AS alike", "alike"
    ),
    Variant("new pairs", "SELECT APPROX DISTINCT auction, bidder FROM bid", new_pairs, BASE),
    Variant(
        # 64 KB would not do for the 5,000 pairs of 1.25 s: the check is of what is remembered for certain.
        "new pairs in 10 s",
        f"SELECT APPROX DISTINCT auction, bidder FROM bid {RANGE} MEMORY 128 KB",
        new_pairs_in(10 * SECOND, 10 * SECOND // 8),
        BASE,
    ),
    Variant(
        "exact, in 10 s",
        f"ISTREAM(SELECT DISTINCT auction, bidder FROM bid {RANGE})",
        every_pair_in(10 * SECOND),
        BASE,
    ),
    Variant(
        "exact, with the time",
        "SELECT DISTINCT auction, bidder, dateTime FROM bid",
        every_row,
        BASE,
    ),
    sliding(SLIDING_BASE, "APPROX_COUNT_DISTINCT(auction) AS about", "about"),
    sliding("sliding, self-join size", "SELF_JOIN_SIZE(auction) AS f2", "f2"),
)


def run(
    spark: SparkSession, folder: Path, variant: Variant, results: Path | None = None
) -> list[float]:
    """Milliseconds that each file took but the first. ``results``: where the answers go, as Parquet; else nowhere."""
    text = f"{PROGRAM} INSERT INTO nowhere {variant.cql};"
    query = compile_program(text, CompileOptions(base_dir=str(folder))).require().queries[0]
    frame = build_frame(query, EmitContext(spark, str(folder)))
    with TemporaryDirectory(prefix="streamq-benchmark-") as checkpoint:
        writer = frame.writeStream.option("checkpointLocation", checkpoint).trigger(
            availableNow=True
        )
        with state_store(query, spark):
            if results is None:
                stream = writer.format("noop").outputMode(query.mode).start()
            else:
                stream = writer.format("parquet").outputMode("append").start(str(results))
        if not stream.awaitTermination(TIMEOUT_S):
            raise SystemExit(f"a run did not end within {TIMEOUT_S} s")
        taken = [
            float(p.durationMs["triggerExecution"]) for p in stream.recentProgress if p.numInputRows
        ]
    # What Spark generates for a query is compiled in the first; windows that a file closes are told with the next.
    return taken[1:]


def checked(spark: SparkSession, folder: Path, variant: Variant, bids: Bids) -> list[str]:
    """What is wrong with the answers of one run."""
    results = folder / "results" / variant.name
    run(spark, folder, variant, results)
    found = ds.dataset(results, format="parquet").to_table()
    return [f"{variant.name}: {problem}" for problem in variant.check(bids, found)]


def print_table(variants: list[Variant], times: dict[str, list[float]], rows: float) -> None:
    """A line for each query. ``times``: milliseconds by file and turn; ``rows``: of a file."""
    print(f"{'':28}{'rows/s':>12}{'ratio':>8}{'half lie within':>18}  compared with")
    for variant in variants:
        own = times[variant.name]
        line = f"{variant.name:28}{rows * 1000 / statistics.median(own):12,.0f}"
        if variant.base in times:
            low, ratio, high = np.percentile(
                np.array(times[variant.base]) / np.array(own), [25, 50, 75]
            )
            line += f"{ratio:8.3f}{low:9.3f} ..{high:6.3f}  {variant.base}"
        print(line)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--only", default="", help="parts of names, with commas: pairs,sliding")
    args = parser.parse_args()
    if args.rows < LEAST_ROWS or args.turns < 1:
        parser.error(f"give it {LEAST_ROWS:,} rows or more, and a turn")
    wanted = [part for part in args.only.split(",") if part] or [""]
    variants = [v for v in VARIANTS if any(part in v.name for part in wanted)]
    times: dict[str, list[float]] = {v.name: [] for v in variants}
    problems: list[str] = []
    with children_write_to(None):
        spark = create_session(
            {"spark.master": "local[2]", "spark.driver.memory": "4g"}, app="streamq-benchmark"
        )
    began = time.perf_counter()
    with TemporaryDirectory(prefix="streamq-benchmark-") as scratch:
        folder = Path(scratch)
        files = max(LEAST_FILES, args.rows // BATCH)
        rows = write_bids(folder / "bids", args.rows, files)
        bids = read_bids(folder / "bids")
        for variant in variants:
            wrong = checked(spark, folder, variant, bids)
            problems += wrong
            say(
                f"{time.perf_counter() - began:6.0f} s  {variant.name}: {'; '.join(wrong) or 'right'}"
            )
        for turn in range(args.turns):
            for variant in variants if turn % 2 == 0 else reversed(variants):
                own = run(spark, folder, variant)
                times[variant.name] += own
                rate = rows / files * 1000 / statistics.median(own)
                say(
                    f"{time.perf_counter() - began:6.0f} s  turn {turn + 1}, {variant.name}: {rate:,.0f} rows/s"
                )
    spark.stop()
    print(f"{rows:,} bids, {args.turns} turns; medians")
    print_table(variants, times, rows / files)
    print("\n".join(problems) if problems else "all answers are right")
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
