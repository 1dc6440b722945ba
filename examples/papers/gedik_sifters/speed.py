"""Figure 7: how long a sifter takes to build, and how many rows it finds the region of in a second, by partitioning.

On one core::

    OMP_NUM_THREADS=1 python -m examples.papers.gedik_sifters.speed [--repeat 15] [--figures FOLDER]

The paper's numbers are of a Pentium 4 of 3 GHz and Java 1.5. Ends with 1 where a statement does not come out.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

from examples.papers.figures import add_figures, draw
from examples.papers.gedik_sifters.trial import FAIRNESS, METHODS
from examples.papers.statements import said
from streamq.stdlib.sifters.counting import dropped, units
from streamq.stdlib.sifters.plans import Plan
from streamq.stdlib.sifters.sifter import ROWS_PER_REGION, sifter
from streamq.stdlib.sifters.workload import Settings, workload

REGIONS = (16, 36, 64, 100)
ROWS = 1_000_000


def median_ms(repeat: int, run: Callable[[], object]) -> float:
    times = []
    for turn in range(-1, repeat):
        began = time.perf_counter()
        run()
        if turn >= 0:
            times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=15)
    add_figures(parser)
    args = parser.parse_args()
    given = workload(Settings(), np.random.default_rng(1))
    rows = given.rows(ROWS)
    build: dict[str, list[float]] = {m: [] for m in METHODS}
    find: dict[str, list[float]] = {m: [] for m in METHODS}
    decide: dict[str, list[float]] = {m: [] for m in METHODS}
    print(f"{'':10}{'regions':>8}{'build, ms':>11}{'rows found/s':>15}{'and decided/s':>15}")
    for method in METHODS:
        for count in REGIONS:
            plan = Plan(regions=count, method=method, fairness=FAIRNESS)
            sample = given.rows(round(ROWS_PER_REGION * count))
            took = median_ms(args.repeat, lambda p=plan, s=sample: sifter(p, s, given.queries, 0.5))
            made = sifter(plan, sample, given.queries, 0.5)
            drop, before = units(made.drop), np.zeros(count, dtype=np.int64)
            found_ms = median_ms(3, lambda m=made: m.regions.find(rows))
            decided_ms = median_ms(3, lambda m=made, d=drop, b=before: dropped(m.regions.find(rows), d, b))
            build[method].append(took)
            find[method].append(ROWS / found_ms * 1000)
            decide[method].append(ROWS / decided_ms * 1000)
            print(f"{method:10}{count:8}{took:11.1f}{find[method][-1]:15,.0f}{decide[method][-1]:15,.0f}")
    draw(args.figures, "construction", "Building a sifter", REGIONS, build, xlabel="regions", ylabel="milliseconds")
    draw(args.figures, "lookup", "Rows whose region is found in a second", REGIONS, find, xlabel="regions", ylabel="rows per second")
    checks = [
        said(max(of[0] for of in build.values()) < 150, "R7: 16 regions take less than the 150 ms of the paper"),
        said(build["DATA"][-1] < 2700, "R7: 100 regions by DATA take less than its 2.7 s, most of which a solver took"),
        said(all(of[-1] < of[0] for of in find.values()), "R8: more regions take longer to look up"),
        said(min(of[-1] for of in decide.values()) > 1_000_000, "R8: millions of rows a second are still decided with 100 regions"),
    ]
    return 0 if all(checks) else 1


if __name__ == "__main__":
    sys.exit(main())
