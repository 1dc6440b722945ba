"""A load that changes between half and four times the capacity every minute, under QOS LATENCY.

Printed for each half, from ten seconds after the start of a quiet one and twenty of a loud one, when the windows of ten
seconds are as full as they get and a row costs what it costs: the throttle fraction z, which is the share that the loop
means to keep of a micro-batch of usual size, and how much it varies (standard deviation over mean); the share that was
kept, which is less than z where a micro-batch is larger than usual; and the ages of results.

Run from the root of the repository, with the capacity that ``overload`` printed::

    python -m tests.benchmarks.square --capacity 11500 [--periods 2] [--period 120] [--goal 4] [--picture square.html]

Ends with 1 where rows are shed in a quiet half by then, where z varies by more than 10 % in a loud half, where the 95th
percentile of an age is above the goal, or where a half has fewer than three micro-batches to judge by. The first half
is shown and not judged: costs are still being learned in it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from streamq.runtime.metrics import QuerySample
from streamq.runtime.report.chart import Line, chart
from streamq.runtime.report.page import document
from tests.benchmarks.ages import ages_of
from tests.benchmarks.loads import run, square

SETTLED_S = (10.0, 20.0)
"""Of a quiet half, of a loud one."""

LOW, HIGH = 0.5, 4.0
LEAST_BATCHES = 3


def halves(samples: list[QuerySample], began: float, half_s: float) -> dict[int, list[QuerySample]]:
    """The micro-batches by the half period that all their rows came in, once it has settled."""
    found: dict[int, list[QuerySample]] = {}
    for sample in samples:
        first = sample.ended - sample.result_age_ms / 1000 - began
        last = sample.ended - sample.batch_ms / 1000 - began
        half = int(first // half_s)
        if first >= half * half_s + SETTLED_S[half % 2] and last < (half + 1) * half_s and sample.rows_in > 0:
            found.setdefault(half, []).append(sample)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--capacity", type=float, required=True)
    parser.add_argument("--periods", type=int, default=2)
    parser.add_argument("--period", type=float, default=120.0)
    parser.add_argument("--goal", type=float, default=4.0)
    parser.add_argument("--picture", type=Path)
    args = parser.parse_args()
    load = square(LOW * args.capacity, HIGH * args.capacity, args.period)
    outcome = run(load, f"QOS LATENCY {round(args.goal * 1000)} MILLISECONDS", args.periods * args.period)
    if outcome.failure or not outcome.samples:
        print(outcome.failure or "no micro-batch was done", file=sys.stderr)
        return 1
    # The source's clock starts as its first micro-batch takes its input.
    began = outcome.samples[0].ended - outcome.samples[0].batch_ms / 1000
    print(f"{'half':>5}{'batches':>9}{'z':>8}{'varies':>9}{'kept':>8}{'varies':>9}{'age 95 %':>10}")
    good = True
    found = halves(outcome.samples, began, args.period / 2)
    few = [half for half in range(1, 2 * args.periods) if len(found.get(half, ())) < LEAST_BATCHES]
    for half, batches in sorted(found.items()):
        shares = np.array([s.kept / s.rows_in for s in batches])
        fractions = np.array([outcome.throttle.get(s.batch, 1.0) for s in batches])
        varies = float(fractions.std() / fractions.mean())
        age = ages_of(batches).percentile(0.95)
        quiet = half % 2 == 0
        holds = age <= args.goal and (bool((shares == 1).all()) if quiet else varies <= 0.1)
        good = good and (holds or half == 0)
        print(
            f"{half:5}{len(batches):9}{fractions.mean():8.3f}{varies:9.3f}{shares.mean():8.3f}"
            f"{shares.std() / shares.mean():9.3f}{age:9.2f}s{'' if holds else '  NO'}"
        )
    if few:
        good = False
        print(f"too few micro-batches to judge by in half {', '.join(map(str, few))}", file=sys.stderr)
    if args.picture is not None:
        points = tuple((s.ended - began, s.kept / s.rows_in) for s in outcome.samples if s.rows_in)
        z = tuple((s.ended - began, outcome.throttle.get(s.batch, 1.0)) for s in outcome.samples if s.rows_in)
        old = tuple((s.ended - began, s.result_age_ms / 1000) for s in outcome.samples)
        charts = chart("Share of the rows that is kept", "", [Line("kept", "a", points), Line("z", "b", z)])
        charts += chart("Age of results", "s", [Line("age", "a", old)], args.goal)
        args.picture.write_text(document("A square wave", f'<div class="charts">{charts}</div>'), encoding="utf-8")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
