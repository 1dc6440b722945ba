"""A load that changes between half and four times the capacity every half minute, under QOS LATENCY.

Run from the root of the repository, with the capacity that ``overload`` printed::

    python -m tests.benchmarks.square --capacity 40000 [--periods 3] [--period 60] [--goal 4] [--picture square.html]

Ends with 1 where rows are shed in a quiet half ten seconds after its start, where in a loud half, ten seconds after
its start, the share that is kept varies by more than 10 % (standard deviation over mean), or where the 95th
percentile of an age then is above the goal.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from streamq.runtime.metrics import QuerySample
from streamq.runtime.report.chart import Line, chart
from streamq.runtime.report.page import document
from tests.benchmarks.loads import run, square

SETTLED_S = 10.0
LOW, HIGH = 0.5, 4.0


def halves(samples: list[QuerySample], began: float, half_s: float) -> dict[int, list[QuerySample]]:
    """The micro-batches by the half period that all their rows came in, ten seconds after its start."""
    found: dict[int, list[QuerySample]] = {}
    for sample in samples:
        first = sample.ended - sample.result_age_ms / 1000 - began
        last = sample.ended - sample.batch_ms / 1000 - began
        half = int(first // half_s)
        if first >= half * half_s + SETTLED_S and last < (half + 1) * half_s and sample.rows_in > 0:
            found.setdefault(half, []).append(sample)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--capacity", type=float, required=True)
    parser.add_argument("--periods", type=int, default=3)
    parser.add_argument("--period", type=float, default=60.0)
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
    print(f"{'half':>5}{'batches':>9}{'share kept':>12}{'varies':>9}{'oldest 95 %':>13}")
    good = True
    for half, batches in sorted(halves(outcome.samples, began, args.period / 2).items()):
        shares = np.array([s.kept / s.rows_in for s in batches])
        varies = float(shares.std() / shares.mean())
        age = float(np.quantile([s.result_age_ms / 1000 for s in batches], 0.95))
        quiet = half % 2 == 0
        holds = age <= args.goal and (bool((shares == 1).all()) if quiet else varies <= 0.1)
        good = good and holds
        print(f"{half:5}{len(batches):9}{shares.mean():12.3f}{varies:9.3f}{age:12.2f}s{'' if holds else '  NO'}")
    if args.picture is not None:
        points = tuple((s.ended - began, s.kept / s.rows_in) for s in outcome.samples if s.rows_in)
        old = tuple((s.ended - began, s.result_age_ms / 1000) for s in outcome.samples)
        charts = chart("Share of the rows that is kept", "", [Line("kept", "a", points)])
        charts += chart("Age of results", "s", [Line("age", "a", old)], args.goal)
        args.picture.write_text(document("A square wave", f'<div class="charts">{charts}</div>'), encoding="utf-8")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
