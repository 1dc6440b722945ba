"""A stateful NEXMark query at several times its capacity: with QOS LATENCY, and as plain Spark runs it.

Printed are the ages of results (``ages.py``) after the first 15 seconds of a run, and the rows that were kept. What
the capacity allows: the largest rate at which plain Spark stays within the goal; and at a multiple of it less, as
all rows have to be read, whatever is kept of them. How much less is reckoned from what micro-batches cost.

Plain Spark is the same query without its clause, in a session with the same settings.

Run from the root of the repository::

    python -m tests.benchmarks.overload [--seconds 180] [--factors 1 2 4 8] [--goal 4] [--picture overload.html]

Ends with 1 where the 95th percentile of an age is above the goal, or where less than 85 % is kept of what the
capacity allows.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from streamq.runtime.metrics import QuerySample
from streamq.runtime.report.chart import Line, chart
from streamq.runtime.report.page import document
from tests.benchmarks.ages import Ages, ages
from tests.benchmarks.loads import run, steady

KEPT_WANTED = 0.85
FIRST_RATE = 16_000.0
STEP = 1.1
"""How exactly a capacity is found."""
OURS, PLAIN = "QOS LATENCY", "plain Spark"


@dataclass(frozen=True, slots=True)
class Run:
    """One run at ``factor`` times the capacity; ``samples`` are of its micro-batches after the first."""

    name: str
    factor: float
    offered_per_s: float
    ages: Ages
    samples: list[QuerySample]
    failure: str


def measured(name: str, factor: float, rate: float, policy: str, seconds: float) -> Run:
    outcome = run(steady(rate), policy, seconds)
    found = ages(outcome.samples, outcome.ended, rate)
    return Run(name, factor, rate, found, outcome.samples[1:], outcome.failure)


def capacity(goal: float, judged: float, seconds: float = 40.0) -> tuple[float, list[QuerySample]]:
    """The largest rate at which plain Spark stays within the goal, and all micro-batches that were run to find it.

    The rate is doubled until it is too much, then halved in between. Larger micro-batches are cheaper by the row, so
    what a query can take depends on how old its results may be. Short runs may be lucky, so what they find is lowered
    until it holds for as long as it will be ``judged``.
    """
    low, high = 0.0, FIRST_RATE
    seen: list[QuerySample] = []
    while _keeps_up(high, goal, seconds, seen):
        low, high = high, 2 * high
    while high / max(low, FIRST_RATE / 64) > STEP:
        middle = (max(low, FIRST_RATE / 64) * high) ** 0.5
        low, high = (middle, high) if _keeps_up(middle, goal, seconds, seen) else (low, middle)
    while low and not _keeps_up(low, goal, judged, seen):
        low = 0.0 if low < FIRST_RATE / 64 else low / STEP
    if not low:
        raise SystemExit(f"plain Spark is not within {goal:g} s at any rate")
    return low, seen


def _keeps_up(rate: float, goal: float, seconds: float, seen: list[QuerySample]) -> bool:
    found = measured(PLAIN, 0.0, rate, "", seconds)
    within = len(found.ages.ended) > 1 and found.ages.percentile(0.95) <= goal
    print(f"  {rate:10,.0f} rows/s for {seconds:g} s: {'within' if within else 'beyond'} the goal", flush=True)
    seen += found.samples
    return within


def kept_at_most(samples: list[QuerySample], rate: float, goal: float) -> float:
    """Rows per second that can be kept of ``rate``, where each micro-batch takes half of the goal.

    By what micro-batches cost: a fixed time, one per row that arrives, one per row that is kept; the least squares of
    the relative errors.
    """
    some = [s for s in samples if s.rows_in > 0 and s.batch_ms > 0]
    if not some:
        return rate
    times = np.array([s.batch_ms / 1000 for s in some])
    sizes = np.array([(1.0, s.rows_in, s.kept) for s in some])
    scale = sizes.mean(axis=0)
    found, *_ = np.linalg.lstsq(sizes / scale / times[:, None], np.ones(len(some)), rcond=None)
    fixed, read, work = np.maximum(found, 0.0) / scale
    length = goal / 2
    return float(min(rate, max(0.0, length - fixed - read * rate * length) / max(work, 1e-12) / length))


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
    most, seen = (args.capacity, []) if args.capacity else capacity(args.goal, args.seconds)
    print(f"capacity {most:,.0f} rows/s, goal {args.goal:g} s", flush=True)
    print(f"{'':14}{'offered/s':>12}{'kept/s':>12}{'allowed/s':>12}{'age 50 %':>10}{'95 %':>8}{'worst':>8}")
    policy = f"QOS LATENCY {round(args.goal * 1000)} MILLISECONDS"
    runs: list[Run] = []
    good = True
    for factor in args.factors:
        for name, clause in [(OURS, policy)] + ([] if args.no_plain else [(PLAIN, "")]):
            one = measured(name, factor, factor * most, clause, args.seconds)
            runs.append(one)
            a, allowed = one.ages, most
            if name == OURS:
                seen += one.samples
                allowed = min(most, kept_at_most(seen, one.offered_per_s, args.goal))
                within = len(a.ended) > 1 and a.percentile(0.95) <= args.goal
                good = good and not one.failure and within and a.kept_per_s >= KEPT_WANTED * allowed
            print(
                f"{name:12}{factor:g}×{one.offered_per_s:12,.0f}{a.kept_per_s:12,.0f}{allowed:12,.0f}"
                f"{a.percentile(0.5):9.2f}s{a.percentile(0.95):7.2f}s{a.oldest.max(initial=0.0):7.2f}s"
                f"{'  ' + one.failure if one.failure else ''}", flush=True,
            )
            if args.picture is not None:
                args.picture.write_text(picture(runs, args.goal), encoding="utf-8")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
