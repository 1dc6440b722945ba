"""A stateful NEXMark query at several times its capacity: with QOS LATENCY, and as plain Spark runs it.

The age of a row's result is the end of its micro-batch less the moment in which the source gave the row. Rows arrive
evenly, so of the rows of a micro-batch the oldest came when the micro-batch before took its input, and the youngest
when this one did. Ages are counted over rows, after the first 15 seconds of a run.

Run from the root of the repository::

    python -m tests.benchmarks.overload [--seconds 180] [--factors 1 2 4 8] [--goal 4] [--picture overload.html]

Ends with 1 where the 95th percentile of an age is above the goal, or where less than 85 % is kept of what the
capacity allows.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from streamq.compiler.driver import compile_program
from streamq.runtime.metrics import QuerySample
from streamq.runtime.report.chart import Line, chart
from streamq.runtime.report.page import document
from streamq.runtime.report.record import Recorder
from streamq.runtime.run import RunOptions
from streamq.runtime.spark.runner import run_plan
from tests.benchmarks.measure import completed

WARM_UP_S = 15.0
KEPT_WANTED = 0.85
FIRST_RATE = 4_000.0
PROGRAM = """
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, ts TIMESTAMP,
  WATERMARK FOR ts AS ts - INTERVAL 4 SECONDS) WITH (connector = 'nexmark', table = 'bid', rate = {rate});
CREATE SINK none WITH (connector = 'noop');
CREATE QUERY q INTO none AS
  SELECT auction, channel, COUNT(*) AS bids, AVG(price) AS mean, MAX(price) AS most, WINDOW_END AS until
  FROM   bid [RANGE 10 SECONDS SLIDE 1 SECOND] GROUP BY auction, channel {policy};
"""


@dataclass(frozen=True, slots=True)
class Ages:
    """The rows of one run after its start: ``oldest`` and ``youngest`` age of each micro-batch, in seconds; rows."""

    ended: np.ndarray
    oldest: np.ndarray
    youngest: np.ndarray
    arrived: np.ndarray
    kept: np.ndarray

    def percentile(self, share: float) -> float:
        """The age that so large a share of the rows does not exceed, rows evenly spread in each micro-batch."""
        low, high = 0.0, float(self.oldest.max(initial=0.0))
        width = np.maximum(self.oldest - self.youngest, 1e-9)
        for _ in range(50):
            middle = (low + high) / 2
            below = np.clip((middle - self.youngest) / width, 0, 1)
            if (below * self.arrived).sum() >= share * self.arrived.sum():
                high = middle
            else:
                low = middle
        return high


@dataclass(frozen=True, slots=True)
class Run:
    """One run at ``factor`` times the capacity. ``kept_per_s``: rows after the warm-up."""

    name: str
    factor: float
    offered_per_s: float
    kept_per_s: float
    ages: Ages


def run(rate: float, policy: str, seconds: float) -> list[QuerySample]:
    """The micro-batches of a run."""
    result = compile_program(PROGRAM.format(rate=round(rate), policy=policy))
    recorder = Recorder()
    with TemporaryDirectory() as folder:
        report = run_plan(
            result.require(), RunOptions(duration_s=seconds, checkpoint=Path(folder)), recorder
        )
    completed(report)
    return recorder.samples.get("q", [])


def ages(samples: list[QuerySample]) -> Ages:
    """Of the micro-batches that ended after the warm-up, which counts from the end of the first one."""
    began = samples[0].ended if samples else 0.0
    late = [s for s in samples if s.ended >= began + WARM_UP_S and s.rows_in > 0]

    def column(values: Iterator[float]) -> np.ndarray:
        return np.fromiter(values, np.float64, len(late))

    return Ages(
        column(s.ended - began for s in late), column(s.result_age_ms / 1000 for s in late),
        column(s.batch_ms / 1000 for s in late), column(float(s.rows_in) for s in late),
        column(float(s.kept) for s in late),
    )


def measured(name: str, factor: float, rate: float, policy: str, seconds: float) -> Run:
    samples = run(rate, policy, seconds)
    found = ages(samples)
    if len(found.ended) < 2:
        return Run(name, factor, rate, 0.0, found)
    span = found.ended[-1] - found.ended[0]
    return Run(name, factor, rate, float(found.kept[1:].sum() / span), found)


def capacity(goal: float, seconds: float = 40.0) -> float:
    """The largest rate at which plain Spark stays within the goal: doubled until it does not, then halved in between.

    Larger micro-batches are cheaper by the row, so what a query can take depends on how old its results may be.
    """
    low, high = 0.0, FIRST_RATE
    while _keeps_up(high, goal, seconds):
        low, high = high, 2 * high
    while high / max(low, FIRST_RATE / 64) > 1.1:
        middle = (max(low, FIRST_RATE / 64) * high) ** 0.5
        low, high = (middle, high) if _keeps_up(middle, goal, seconds) else (low, middle)
    if not low:
        raise SystemExit(f"plain Spark is not within {goal:g} s at any rate")
    return low


def _keeps_up(rate: float, goal: float, seconds: float) -> bool:
    found = measured("plain Spark", 0.0, rate, "", seconds).ages
    within = len(found.ended) > 1 and found.percentile(0.95) <= goal
    print(f"  {rate:10,.0f} rows/s: {'within' if within else 'beyond'} the goal", flush=True)
    return within


def picture(runs: list[Run], goal: float) -> str:
    charts = []
    for factor in dict.fromkeys(r.factor for r in runs):
        lines = [
            Line(r.name, style, tuple(zip(r.ages.ended.tolist(), r.ages.oldest.tolist(), strict=True)))
            for r, style in zip((r for r in runs if r.factor == factor), ("a", "b"), strict=False)
        ]
        charts.append(chart(f"Age of results at {factor:g} times the capacity", "s", lines, goal))
    return document("Overload", "<div class=\"charts\">" + "".join(charts) + "</div>")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=180.0)
    parser.add_argument("--factors", type=float, nargs="+", default=[1.0, 2.0, 4.0, 8.0])
    parser.add_argument("--goal", type=float, default=4.0)
    parser.add_argument("--capacity", type=float, help="rows per second; measured where it is not given")
    parser.add_argument("--no-plain", action="store_true", help="leave plain Spark out")
    parser.add_argument("--picture", type=Path)
    args = parser.parse_args()
    allowed = args.capacity or capacity(args.goal)
    print(f"capacity {allowed:,.0f} rows/s, goal {args.goal:g} s", flush=True)
    print(f"{'':14}{'offered/s':>12}{'kept/s':>12}{'of capacity':>13}{'age 50 %':>10}{'95 %':>8}{'worst':>8}")
    policy = f"QOS LATENCY {round(args.goal * 1000)} MILLISECONDS"
    runs: list[Run] = []
    for factor in args.factors:
        ways = [("QOS LATENCY", policy)] + ([] if args.no_plain else [("plain Spark", "")])
        for name, clause in ways:
            one = measured(name, factor, factor * allowed, clause, args.seconds)
            runs.append(one)
            a = one.ages
            print(
                f"{one.name:12}{factor:g}×{one.offered_per_s:12,.0f}{one.kept_per_s:12,.0f}"
                f"{one.kept_per_s / allowed:13.2f}{a.percentile(0.5):9.2f}s{a.percentile(0.95):7.2f}s"
                f"{a.oldest.max(initial=0.0):7.2f}s", flush=True,
            )
    if args.picture is not None:
        args.picture.write_text(picture(runs, args.goal), encoding="utf-8")
    ours = [r for r in runs if r.name == "QOS LATENCY"]
    good = all(
        r.ages.percentile(0.95) <= args.goal
        and r.kept_per_s >= KEPT_WANTED * min(allowed, r.offered_per_s) for r in ours
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
