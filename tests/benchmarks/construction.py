"""How long it takes to build a sifter, from sample to thresholds, on one core.

Run from the root of the repository::

    OMP_NUM_THREADS=1 python -m tests.benchmarks.construction [--repeat 30]

"In a run": with the axes, the predicates of the queries as boxes, and thresholds for all cells of the grid. Ends with 1 where
the median without these is above what is wanted. The paper has 150 ms for 16 regions and 2.7 s for 100
(figure 7; a Pentium 4 of 3 GHz).
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time

import numpy as np

from streamq.stdlib.sifters.compact import built
from streamq.stdlib.sifters.plans import Plan
from streamq.stdlib.sifters.sifter import sifter
from streamq.stdlib.sifters.workload import Settings, workload
from tests.benchmarks.hot_spots import wishes

CASES = (
    # regions, queries, rows of the sample, most milliseconds
    (16, 1000, 1000, 5.0), (100, 1000, 1000, 25.0), (100, 1000, 6250, None), (250, 10_000, 1000, 250.0), (250, 10_000, 15_625, None),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=30)
    args = parser.parse_args()
    good = True
    print(f"{'regions':>8}{'queries':>9}{'sample':>8}{'median ms':>11}{'least':>8}{'in a run':>13}{'wanted':>8}")
    for regions, queries, rows, most in CASES:
        given = workload(Settings(count=queries), np.random.default_rng(1))
        sample = given.rows(rows)
        times = []
        for turn in range(-2, args.repeat):
            began = time.perf_counter()
            made = sifter(Plan(regions=regions, fairness=0.5), sample, given.queries, 0.5)
            if turn >= 0:
                times.append((time.perf_counter() - began) * 1000)
        assert len(made.drop) == regions
        whole = []
        wishes_of_all = wishes(given.queries)
        for _ in range(5):
            began = time.perf_counter()
            built(Plan(regions=regions, fairness=0.5), [sample[:, 0], sample[:, 1]], wishes_of_all, 0).drop(0.5)
            whole.append((time.perf_counter() - began) * 1000)
        median = statistics.median(times)
        holds = most is None or median <= most
        good = good and holds
        print(f"{regions:8}{queries:9,}{rows:8,}{median:11.1f}{min(times):8.1f}{statistics.median(whole):13.1f}{'' if most is None else f'{most:8.0f}'}{'' if holds else '  NO'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
