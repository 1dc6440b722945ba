"""Times two ways of doing the same on Spark, one after the other in turn, and prints who is faster."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from streamq.runtime.metrics import RunReport

WANTED = 0.95
"""The least share of the other's throughput that counts as equal: the noise of a good run."""

TIMEOUT_S = 1800

BuildIn = Callable[[Path], DataFrame]
"""Makes the frame of a query over the input in a folder."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One run: seconds on the clock, and of CPU in Spark's JVM."""

    wall: float
    cpu: float


@dataclass(frozen=True, slots=True)
class Race:
    """Runs of ours and of the other, each over the same ``rows``; those of one place stood next to each other."""

    name: str
    rows: int
    ours: tuple[Sample, ...]
    other: tuple[Sample, ...]

    @property
    def ratio(self) -> float:
        """Our throughput over the other's: the median over the pairs.

        A machine that is slower for some seconds slows both runs of a pair; one that is slowed in the middle of a
        pair is as often the other's. The shortest run of each would be a matter of luck.
        """
        pairs = zip(self.ours, self.other, strict=True)
        return statistics.median(other.wall / ours.wall for ours, other in pairs)

    @property
    def best_ratio(self) -> float:
        """Our best throughput over the other's best."""
        return min(s.wall for s in self.other) / min(s.wall for s in self.ours)

    @property
    def cpu_ratio(self) -> float:
        """The same as ``ratio`` in CPU time."""
        pairs = zip(self.ours, self.other, strict=True)
        return statistics.median(other.cpu / ours.cpu for ours, other in pairs if ours.cpu > 0)


def run_stream(spark: SparkSession, frame: DataFrame, mode: str) -> Sample:
    """Reads all that is there into a sink that keeps nothing."""
    with TemporaryDirectory(prefix="streamq-benchmark-") as checkpoint:
        cpu, began = jvm_cpu_seconds(spark), time.perf_counter()
        query = (
            frame.writeStream.format("noop").outputMode(mode)
            .option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        )
        if not query.awaitTermination(TIMEOUT_S):
            raise SystemExit(f"a run did not end within {TIMEOUT_S} s")
        return Sample(time.perf_counter() - began, jvm_cpu_seconds(spark) - cpu)


@dataclass(slots=True)
class _Fed:
    """A query that runs over a folder of its own, into which one file comes after the other."""

    spark: SparkSession
    folder: Path
    query: StreamingQuery
    seen: int = -1

    def feed(self, file: Path) -> Sample:
        """What the micro-batches of one more file took; those without rows, which move windows on, included."""
        cpu = jvm_cpu_seconds(self.spark)
        os.link(file, self.folder / file.name)
        self.query.processAllAvailable()
        done = [p for p in self.query.recentProgress if p.batchId > self.seen and "addBatch" in p.durationMs]
        assert sum(p.numInputRows for p in done) > 0, f"nothing was read of {file.name}"
        self.seen = done[-1].batchId
        wall = sum(p.durationMs["triggerExecution"] for p in done) / 1000
        return Sample(wall, jvm_cpu_seconds(self.spark) - cpu)


@contextmanager
def _fed(
    spark: SparkSession, build: BuildIn, folder: Path, files: Sequence[Path], mode: str
) -> Iterator[_Fed]:
    """The query over the first of the files, which is done when this begins."""
    place = folder / files[0].parent.name
    place.mkdir(parents=True)
    os.link(files[0], place / files[0].name)
    query = (
        build(folder).writeStream.format("noop").outputMode(mode)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(processingTime="50 milliseconds").start()
    )
    try:
        query.processAllAvailable()
        yield _Fed(spark, place, query, max(p.batchId for p in query.recentProgress))
    finally:
        query.stop()


def run_race(
    spark: SparkSession, name: str, rows: int, files: Sequence[Path], ours: BuildIn, other: BuildIn, *,
    mode: str = "append", repeat: int = 5, warm_ups: int = 1,
) -> Race:
    """Both queries read the same files, a file at a time in turn, ``repeat`` times from the first to the last.

    ``ours`` and ``other`` make the frame over a folder, in which the files are under the name of their own folder.
    ``rows``: of a file, on average. The first file of each pass is read before anything is timed, and ``warm_ups``
    passes too: the JVM compiles what each query generates for itself.
    """
    found: tuple[list[Sample], list[Sample]] = ([], [])
    for turn in range(-warm_ups, repeat):
        with TemporaryDirectory(prefix="streamq-benchmark-") as scratch, ExitStack() as stack:
            sides = [
                stack.enter_context(_fed(spark, build, Path(scratch) / side, files, mode))
                for side, build in (("ours", ours), ("other", other))
            ]
            for place, file in enumerate(files[1:]):
                for side in ((0, 1) if (turn + place) % 2 == 0 else (1, 0)):
                    sample = sides[side].feed(file)
                    if turn >= 0:
                        found[side].append(sample)
    return Race(name, rows, tuple(found[0]), tuple(found[1]))


def completed(report: RunReport) -> RunReport:
    """The report of a run; ends the benchmark where it failed."""
    if report.failed:
        raise SystemExit("\n".join(d.message for d in report.diagnostics))
    return report


def jvm_cpu_seconds(spark: SparkSession) -> float:
    """CPU time that the JVM of the session has used since it started."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    duration = jvm.java.lang.ProcessHandle.current().info().totalCpuDuration().get()
    return float(duration.toMillis()) / 1000


def print_races(races: Sequence[Race], other: str, wanted: float = WANTED) -> bool:
    """A table of the races; True where each ratio is at least ``wanted``."""
    head = ("ours rows/s", f"{other} rows/s", "ratio", "best", "cpu")
    print(f"{'':28}{head[0]:>14}{head[1]:>18}{head[2]:>8}{head[3]:>8}{head[4]:>8}")
    for race in races:
        ours, theirs = (
            race.rows / statistics.median(s.wall for s in side) for side in (race.ours, race.other)
        )
        verdict = "" if race.ratio >= wanted else f"  below {wanted}"
        print(
            f"{race.name:28}{ours:14,.0f}{theirs:18,.0f}{race.ratio:8.3f}"
            f"{race.best_ratio:8.3f}{race.cpu_ratio:8.3f}{verdict}",
            flush=True,
        )
    return all(race.ratio >= wanted for race in races)


def folder_size(folder: Path) -> int:
    """Bytes of the files in a folder."""
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
