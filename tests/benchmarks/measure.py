"""Times two ways of doing the same on Spark, one after the other in turn, and prints who is faster."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame, SparkSession

from streamq.runtime.metrics import RunReport

WANTED = 0.95
"""The least share of the other's throughput that counts as equal: the noise of a good run."""

TIMEOUT_S = 1800

BuildFrame = Callable[[], DataFrame]


@dataclass(frozen=True, slots=True)
class Sample:
    """One run: seconds on the clock, of CPU in Spark's JVM, and on the clock in each micro-batch, if known."""

    wall: float
    cpu: float
    batches: tuple[float, ...] = ()

    @property
    def parts(self) -> tuple[float, ...]:
        """What the run consists of, one after the other: the same in each run of one query over the same rows."""
        return (self.wall - sum(self.batches), *self.batches)


def least_seconds(samples: Sequence[Sample]) -> float:
    """Seconds of a run that nothing disturbs: the sum of its parts, each as short as it ever was.

    Noise only ever makes a part slower. Where a machine is disturbed every few seconds no whole run is without,
    and the shortest of five whole runs is a matter of luck; a micro-batch of a second often is.
    """
    return sum(min(part) for part in zip(*(s.parts for s in samples), strict=True))


@dataclass(frozen=True, slots=True)
class Race:
    """The runs of ours and of the other over the same ``rows``."""

    name: str
    rows: int
    ours: tuple[Sample, ...]
    other: tuple[Sample, ...]

    @property
    def ratio(self) -> float:
        """Our undisturbed throughput over the other's."""
        return least_seconds(self.other) / least_seconds(self.ours)

    @property
    def median_ratio(self) -> float:
        """The median over the pairs of runs that stood next to each other."""
        pairs = zip(self.ours, self.other, strict=True)
        return statistics.median(other.wall / ours.wall for ours, other in pairs)

    @property
    def cpu_ratio(self) -> float:
        """The same as ``ratio`` in CPU time, which other processes disturb less."""
        return min(s.cpu for s in self.other) / min(s.cpu for s in self.ours)


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
        wall = time.perf_counter() - began
        batches = tuple(p.durationMs["triggerExecution"] / 1000 for p in query.recentProgress)
        return Sample(wall, jvm_cpu_seconds(spark) - cpu, batches)


def run_race(
    spark: SparkSession, name: str, rows: int, ours: BuildFrame, other: BuildFrame, *,
    mode: str = "append", repeat: int = 5, warm_ups: int = 1,
) -> Race:
    """Runs both ``repeat`` times in turn, each first every second time, after runs to warm up.

    Short runs are warm only after several: the JVM compiles what each query generates for itself.
    """
    for build in (ours, other) * warm_ups:
        run_stream(spark, build(), mode)
    samples: tuple[list[Sample], list[Sample]] = ([], [])
    for turn in range(repeat):
        order = (0, 1) if turn % 2 == 0 else (1, 0)
        for side in order:
            samples[side].append(run_stream(spark, (ours, other)[side](), mode))
    return Race(name, rows, tuple(samples[0]), tuple(samples[1]))


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
    head = ("ours rows/s", f"{other} rows/s", "ratio", "median", "cpu")
    print(f"{'':28}{head[0]:>14}{head[1]:>18}{head[2]:>8}{head[3]:>8}{head[4]:>8}")
    for race in races:
        ours, theirs = (race.rows / least_seconds(side) for side in (race.ours, race.other))
        verdict = "" if race.ratio >= wanted else f"  below {wanted}"
        print(
            f"{race.name:28}{ours:14,.0f}{theirs:18,.0f}{race.ratio:8.3f}"
            f"{race.median_ratio:8.3f}{race.cpu_ratio:8.3f}{verdict}",
            flush=True,
        )
    return all(race.ratio >= wanted for race in races)


def folder_size(folder: Path) -> int:
    """Bytes of the files in a folder."""
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
