"""Stateful operators over changes (ADR 0008) against the nearest native operator of Spark, on equal work.

Both sides read the same Parquet files, a file per micro-batch, into a sink that keeps nothing, and give about as
many rows; how many is printed. Event times are such that the native operator has the same instants to give results
at. CPU time is that of Spark's JVM and of its Python workers.

Run from the root of the repository, on Linux::

    python -m tests.benchmarks.stateful [--rows 1000000] [--batch 100000] [--repeat 3] [--only groups]

A small ``--batch`` shows what a micro-batch costs whatever is in it. Ends with 1 where an operator reaches less than
0.3 of the other's throughput, the join of windows less than 0.5.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from streamq.compiler.driver import compile_program
from streamq.compiler.ir.physical import PhysicalQuery, Select, Step, WindowJoin, inputs_of
from streamq.compiler.options import CompileOptions
from streamq.runtime.spark.emit import EmitContext, build_frame, state_store
from streamq.runtime.spark.quiet import children_write_to
from streamq.runtime.spark.session import create_session
from tests.benchmarks.measure import TIMEOUT_S, Race, Sample, print_races

LEAST = 0.3
RATE = 10_000
"""Rows per second of event time, all streams together."""

SECOND = 1_000_000
START = 1_700_000_000 * SECOND
KEYS, MANY_KEYS, JOINED_KEYS = 1_000, 100_000, 10_000
DDL = "k BIGINT, v DOUBLE, n BIGINT, ts TIMESTAMP"


@dataclass(frozen=True, slots=True)
class Feed:
    """A folder of Parquet files. ``step_us``: event times are multiples of it; 0: of a micro-batch's length."""

    name: str
    keys: int
    step_us: int = 1
    share: float = 1.0


FEEDS = (
    Feed("readings", KEYS), Feed("seconds", KEYS, SECOND), Feed("instants", KEYS, 0),
    Feed("visits", MANY_KEYS), Feed("orders", JOINED_KEYS, share=0.5),
    Feed("payments", JOINED_KEYS, share=0.5),
)


@dataclass(frozen=True, slots=True)
class Inputs:
    """The session and the folder of the feeds."""

    spark: SparkSession
    folder: Path

    def stream(self, feed: str, delay: str = "1 second") -> DataFrame:
        reader = self.spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self.folder / feed)).withWatermark("ts", delay)


@dataclass(frozen=True, slots=True)
class Case:
    """A query in CQL, and what comes nearest in Spark.

    ``alone``: only the join of the query is run. ``least``: share of the other's throughput that is enough.
    """

    name: str
    cql: str
    other: str
    by_hand: Callable[[Inputs], DataFrame]
    mode: str = "append"
    alone: bool = False
    least: float = LEAST


def once_each(inputs: Inputs) -> DataFrame:
    """Keeps each row's columns until the watermark is 10 seconds on, and lets every row through."""
    return inputs.stream("readings", "10 seconds").dropDuplicatesWithinWatermark(["k", "v", "n"])


def sliding(inputs: Inputs) -> DataFrame:
    window = F.window("ts", "10 seconds", "1 second")
    groups = inputs.stream("seconds").groupBy(window, "k")
    return groups.agg(F.count("*").alias("c"), F.avg("v").alias("a"))


def running(inputs: Inputs) -> DataFrame:
    groups = inputs.stream("instants").groupBy("k")
    return groups.agg(F.count("*").alias("c"), F.avg("v").alias("a"))


def new_keys(inputs: Inputs) -> DataFrame:
    return inputs.stream("visits", "10 seconds").dropDuplicatesWithinWatermark(["k"]).select("k")


def interval_join(inputs: Inputs) -> DataFrame:
    left = inputs.stream("orders").alias("a")
    right = inputs.stream("payments").alias("b")
    near = "a.k = b.k AND b.ts > a.ts - INTERVAL 10 SECONDS AND b.ts < a.ts + INTERVAL 10 SECONDS"
    return left.join(right, F.expr(near)).select("a.k", "a.n", "a.v", "b.v")


PAIRS = """
    DSTREAM(SELECT a.k, a.n, a.v, b.v AS w
            FROM orders [RANGE 10 SECONDS] a JOIN payments [RANGE 10 SECONDS] b ON a.k = b.k)
"""
CASES = (
    Case(
        "rows",
        "ISTREAM(SELECT k, v, n FROM readings [PARTITION BY k ROWS 10])",
        "dropDuplicatesWithinWatermark: state per row, each row comes out", once_each,
    ),
    Case(
        "groups, [RANGE 10 SECONDS]",
        "ISTREAM(SELECT k, COUNT(*) AS c, AVG(v) AS a FROM seconds [RANGE 10 SECONDS] GROUP BY k)",
        "window of 10 s that slides by 1 s; stamps in whole seconds", sliding,
    ),
    Case(
        "groups, running",
        "ISTREAM(SELECT k, COUNT(*) AS c, AVG(v) AS a FROM instants GROUP BY k)",
        "groupBy in update mode; one instant per micro-batch", running, mode="update",
    ),
    Case(
        "counts, DSTREAM",
        "DSTREAM(SELECT k, v, n FROM readings [RANGE 10 SECONDS])",
        "dropDuplicatesWithinWatermark of 10 s: each row kept as long", once_each,
    ),
    Case(
        "counts, DISTINCT",
        "ISTREAM(SELECT DISTINCT k FROM visits [RANGE 10 SECONDS])",
        "dropDuplicatesWithinWatermark of 10 s on the key", new_keys,
    ),
    Case(
        "windows, equality", PAIRS, "stream-stream join within 10 s; the operator alone, pairs that come",
        interval_join, alone=True, least=0.5,
    ),
)


def write_feed(folder: Path, feed: Feed, rows: int, batch: int) -> None:
    """Files in order of time, each with the rows of a micro-batch; keys and values are random."""
    folder.mkdir(parents=True)
    numbers = np.random.default_rng(sum(feed.name.encode()))
    size = max(1, int(batch * feed.share))
    for i in range(-(-rows // batch)):
        n = np.arange(i * size, (i + 1) * size)
        at = (n / (RATE * feed.share) * SECOND).astype(np.int64)
        at -= at % (feed.step_us or batch * SECOND // RATE)
        table = pa.table({
            "k": numbers.integers(0, feed.keys, size), "v": numbers.random(size), "n": n,
            "ts": pa.array(START + at, pa.timestamp("us", tz="UTC")),
        })
        file = folder / f"{i:05}.parquet"
        pq.write_table(table, file)
        os.utime(file, (i, i))


def declarations() -> str:
    streams = "".join(
        f"CREATE STREAM {feed.name} ({DDL}, WATERMARK FOR ts AS ts - INTERVAL 1 SECOND) WITH "
        f"(connector = 'file', format = 'parquet', path = '{feed.name}', max_files_per_trigger = 1);\n"
        for feed in FEEDS
    )
    return f"{streams}CREATE SINK nowhere WITH (connector = 'noop');\n"


def compiled(case: Case, inputs: Inputs) -> PhysicalQuery:
    text = f"{declarations()}INSERT INTO nowhere {case.cql};"
    plan = compile_program(text, CompileOptions(base_dir=str(inputs.folder))).require()
    query = plan.queries[0]
    return replace(query, root=join_alone(query.root)) if case.alone else query


def join_alone(root: Step) -> Step:
    """The step that unpacks the pairs of the join."""
    if isinstance(root, Select) and isinstance(root.input, WindowJoin):
        return root
    for child in inputs_of(root):
        return join_alone(child)
    raise SystemExit("the query has no join")


def run_ours(case: Case, inputs: Inputs) -> tuple[Sample, int]:
    query = compiled(case, inputs)
    frame = build_frame(query, EmitContext(inputs.spark, str(inputs.folder)))
    return run(inputs.spark, frame, query.mode, state_store(query, inputs.spark))


def run_other(case: Case, inputs: Inputs) -> tuple[Sample, int]:
    return run(inputs.spark, case.by_hand(inputs), case.mode, nullcontext())


def run(
    spark: SparkSession, frame: DataFrame, mode: str, store: AbstractContextManager[None]
) -> tuple[Sample, int]:
    """Reads all that is there; gives the times, and how many rows came out."""
    with TemporaryDirectory(prefix="streamq-benchmark-") as checkpoint:
        cpu, began = cpu_seconds(spark), perf_counter()
        with store:
            query = (
                frame.writeStream.format("noop").outputMode(mode)
                .option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
            )
        if not query.awaitTermination(TIMEOUT_S):
            raise SystemExit(f"a run did not end within {TIMEOUT_S} s")
        sample = Sample(perf_counter() - began, cpu_seconds(spark) - cpu)
        return sample, sum(p.sink.numOutputRows for p in query.recentProgress)


def cpu_seconds(spark: SparkSession) -> float:
    """CPU time of the session's JVM and of all processes that it started, also of those that ended."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    root = int(jvm.java.lang.ProcessHandle.current().pid())
    parents, ticks = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        # user, system, and the same of children that ended
        parents[int(folder.name)] = int(fields[1])
        ticks[int(folder.name)] = sum(map(int, fields[11:15]))
    ours, found = {root}, True
    while found:
        found = {p for p, parent in parents.items() if parent in ours} - ours
        ours |= found
    return sum(ticks[p] for p in ours) / os.sysconf("SC_CLK_TCK")


def race(case: Case, inputs: Inputs, rows: int, repeat: int, warm_ups: int) -> tuple[Race, str]:
    """Runs both sides in turn, each first every second time; and a line on what was compared."""
    sides = (partial(run_ours, case, inputs), partial(run_other, case, inputs))
    samples: tuple[list[Sample], list[Sample]] = ([], [])
    results = [0, 0]
    for turn in range(-warm_ups, repeat):
        for side in ((0, 1) if turn % 2 == 0 else (1, 0)):
            sample, results[side] = sides[side]()
            if turn >= 0:
                samples[side].append(sample)
    line = f"{case.name:28}{results[0]:14,}{results[1]:14,}  {case.other}"
    return Race(case.name, rows, tuple(samples[0]), tuple(samples[1])), line


def main() -> int:
    parser = argparse.ArgumentParser(description="Stateful operators against Spark's own.")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--batch", type=int, default=100_000, help="rows per micro-batch")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--warm-ups", type=int, default=2)
    parser.add_argument("--only", default="", help="parts of names, with commas: rows,windows")
    options = parser.parse_args()
    wanted = [part for part in options.only.split(",") if part] or [""]
    cases = [case for case in CASES if any(part in case.name for part in wanted)]
    with children_write_to(None):
        spark = create_session({"spark.master": "local[2]"}, app="streamq-benchmark")
    races, lines = [], []
    with TemporaryDirectory(prefix="streamq-benchmark-") as scratch:
        inputs = Inputs(spark, Path(scratch))
        for feed in FEEDS:
            write_feed(inputs.folder / feed.name, feed, options.rows, options.batch)
        for case in cases:
            one, line = race(case, inputs, options.rows, options.repeat, options.warm_ups)
            races.append(one)
            lines.append(line)
            print(f"{case.name}: {one.ratio:.3f}, cpu {one.cpu_ratio:.3f}", file=sys.stderr, flush=True)
    print_races(races, "Spark's", LEAST)
    print(f"\n{'':28}{'our results':>14}{'its results':>14}  compared with")
    print("\n".join(lines))
    spark.stop()
    return 0 if all(one.ratio >= case.least for one, case in zip(races, cases, strict=True)) else 1


if __name__ == "__main__":
    raise SystemExit(main())
