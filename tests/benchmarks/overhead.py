"""What the machinery of shedding costs where nothing is shed, against the same query without its clauses.

All ways run side by side in one ``streamq run``, each over a folder of its own. They get the same files of NEXMark
bids, one way after the other by chance, and wait while another works. A goal keeps all rows (``COMPLETENESS >= 1``): its shedder
hashes each row, compares, and counts, and each micro-batch asks the control relation. From one rung of the ladder to
the next it is one thing more.

Run from the root of the repository::

    python -m tests.benchmarks.overhead [--files 132] [--only "stateful"]

Ends with 1 where the first query with a goal loses more than 5 % of its throughput, or more than 50 ms per micro-batch:
medians over the micro-batches, with their standard error. The others are for comparison: what a row costs shows more in them. All ways have the
settings of ``streamq run``.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from pyspark.sql import SparkSession

from streamq.compiler.driver import compile_program
from streamq.compiler.options import CompileOptions
from streamq.runtime.metrics import QuerySample, QueryTotals
from streamq.runtime.run import RunOptions, SilentListener
from streamq.runtime.spark.runner import run_plan
from streamq.runtime.spark.session import create_session
from tests.benchmarks.bids import DDL, write_bids
from tests.benchmarks.measure import completed

MOST_MS = 50.0
LEAST_RATIO = 0.95
WARM_UP = 12
"""Files of each way before anything is timed."""

QUIET_TICKS = 2
"""A way is done with a file when it has told of its rows, and nothing more in so many looks."""

GOAL = "QOS LATENCY 10 MINUTES COMPLETENESS >= 1"


@dataclass(frozen=True, slots=True)
class Query:
    """``rows``: of a micro-batch, so many that it takes about as long as one may under a goal of 2 to 4 seconds.

    ``files``: how many micro-batches each way has. ``ways``: rungs of the ladder; each has a state of its own in memory.
    """

    rows: int
    files: int
    ways: tuple[str, ...]
    text: str


ALL = ("plain", "fixed", "goal", "estimated")
QUERIES = {
    "stateful": Query(
        60_000, 132, ("plain", "goal"),
        "SELECT auction, channel, COUNT(*) AS bids, AVG(price) AS mean, MAX(price) AS most, WINDOW_END AS until "
        "FROM {} [RANGE 10 SECONDS SLIDE 1 SECOND] GROUP BY auction, channel",
    ),
    "stateful, q5": Query(
        400_000, 36, ALL,
        "SELECT auction, COUNT(*) AS n, WINDOW_END AS until FROM {} [RANGE 10 SECONDS SLIDE 2 SECONDS] "
        "GROUP BY auction",
    ),
    "stateless, q1": Query(400_000, 36, ALL, "SELECT auction, bidder, price * 0.908 AS euro, dateTime FROM {}"),
}
"""The first is that of ``overload``, and is judged."""

LADDER = {
    "plain": ("no clause", ""),
    "fixed": ("hash, compare, count", "SHED RANDOM BY 0 PERCENT"),
    "goal": ("and a decision for each micro-batch", GOAL),
    "estimated": ("and estimates with bounds", f"{GOAL} RECOVER ESTIMATE"),
}
JUDGED = "goal"


@dataclass(slots=True)
class Feeder(SilentListener):
    """Gives each way a file at a time, in turn; ``times`` has the milliseconds that each file took it."""

    folder: Path
    files: list[Path]
    ways: tuple[str, ...]
    times: dict[str, list[float]] = field(default_factory=dict)
    turns: list[tuple[Path, str]] = field(default_factory=list)
    _way: str = ""
    _ms: float = 0.0
    _told: bool = False
    _quiet: int = 0

    def __post_init__(self) -> None:
        self.times = {way: [] for way in self.ways}
        # By chance: full collections come at even distances, and would meet one way more often than another.
        order = np.random.default_rng(5)
        for file in self.files:
            self.turns += [(file, self.ways[place]) for place in order.permutation(len(self.ways))]

    def sample(self, sample: QuerySample, totals: QueryTotals) -> None:
        assert sample.shed == 0
        if sample.query == self._way:
            self._ms += sample.batch_ms
            self._told = self._told or sample.rows_in > 0
            self._quiet = 0

    def tick(self, seconds: float) -> None:
        self._quiet += 1
        if self._way and not (self._told and self._quiet > QUIET_TICKS):
            return
        if self._way:
            self.times[self._way].append(self._ms)
        if not self.turns:
            signal.raise_signal(signal.SIGINT)
            return
        file, self._way = self.turns.pop(0)
        self._ms, self._told, self._quiet = 0.0, False, 0
        os.link(file, self.folder / self._way / file.name)


def measured(spark: SparkSession, folder: Path, files: list[Path], query: Query) -> dict[str, list[float]]:
    """Milliseconds of each file after the first ones, by way; those of one place stood next to each other."""
    text = "CREATE SINK nowhere WITH (connector = 'noop');"
    for way in query.ways:
        (folder / way).mkdir()
        text += f"""
            CREATE STREAM bid_{way} ({DDL}, WATERMARK FOR dateTime AS dateTime - INTERVAL 4 SECONDS)
            WITH (connector = 'file', format = 'parquet', path = '{way}', max_files_per_trigger = 1);
            CREATE QUERY {way} INTO nowhere AS {query.text.format(f"bid_{way}")} {LADDER[way][1]};
        """
    plan = compile_program(text, CompileOptions(base_dir=str(folder))).require()
    feeder = Feeder(folder, files, query.ways)
    with TemporaryDirectory(prefix="streamq-benchmark-") as checkpoint:
        completed(run_plan(plan, RunOptions(checkpoint=Path(checkpoint), trigger_ms=100), feeder, session=spark))
    if feeder.turns:
        raise SystemExit("broken off")
    return {way: found[WARM_UP:] for way, found in feeder.times.items()}


def print_ladder(times: dict[str, list[float]], rows: float, judged: bool) -> bool:
    """A line for each way; True where the goal costs little enough, or is not ``judged``."""
    good = True
    print(f"{'':38}{'rows/s':>12}{'ratio':>8}{'ms more':>9}{'error':>7}{'best ms more':>14}")
    for way, own in times.items():
        pairs = list(zip(own, times["plain"], strict=True))
        ratio = statistics.median(plain / ours for ours, plain in pairs)
        more = statistics.median(ours - plain for ours, plain in pairs)
        best = min(times[way]) - min(times["plain"])
        # Of a median, from how far half of the pairs lie apart.
        error = 1.25 * 0.74 * float(np.subtract(*np.percentile([o - p for o, p in pairs], [75, 25]))) / len(pairs) ** 0.5
        holds = not judged or way != JUDGED or (ratio >= LEAST_RATIO and more <= MOST_MS)
        good = good and holds
        print(
            f"{LADDER[way][0]:38}{rows * 1000 / statistics.median(times[way]):12,.0f}{ratio:8.3f}{more:9.1f}{error:7.1f}{best:14.1f}"
            f"{'' if holds else '  NO'}", flush=True,
        )
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, help="micro-batches of each way")
    parser.add_argument("--only", choices=QUERIES, help="one of the queries")
    args = parser.parse_args()
    if args.files is not None and args.files <= WARM_UP:
        parser.error(f"--files: {WARM_UP} are for warming up, so give it more")
    # Under load each micro-batch has rows; the one without, which only moves the watermark on, is left out.
    settings = {
        "spark.master": "local[2]", "spark.driver.memory": "4g",
        "spark.sql.streaming.noDataMicroBatches.enabled": False,
    }
    spark = create_session(settings, app="streamq-benchmark")
    good = True
    for number, (name, query) in enumerate(QUERIES.items()):
        if args.only not in (None, name):
            continue
        with TemporaryDirectory(prefix="streamq-benchmark-") as scratch:
            folder = Path(scratch)
            count = args.files or query.files
            rows = write_bids(folder / "bids", query.rows * count, count) / count
            files = sorted((folder / "bids").iterdir())
            print(f"\n{name}: {rows:,.0f} rows in each of {count - WARM_UP} micro-batches of each way", flush=True)
            holds = print_ladder(measured(spark, folder, files, query), rows, judged=number == 0)
            good = good and holds
    spark.stop()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
