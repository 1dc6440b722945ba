"""Elements that filters of duplicates take in a second on one core, by the size of the filter.

Beside them, in the same run, ``np.unique`` of the same keys: what it costs to tell duplicates within a batch alone, exactly.
The keys are a look-alike of the thesis's crawl, whose hashes fall anywhere in a filter.

Run from the root of the repository::

    python -m tests.benchmarks.sketch_membership [--elements 1000000] [--batch 200000]

Ends with 1 where a Stable Bloom filter of cells of one bit takes fewer than five million elements a second.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

import numpy as np

from streamq.stdlib.sketches.hashing import Keys
from streamq.stdlib.sketches.lookalike import crawl
from streamq.stdlib.sketches.membership_plan import plan_rotating, stable_plan
from streamq.stdlib.sketches.rotating_bloom import RotatingBloom
from streamq.stdlib.sketches.stable_bloom import StableBloom

WANTED = 5e6
SIZES = (16, 20, 23)
REPEATS = 3


def per_second(take: Callable[[Keys], object], rounds: list[list[Keys]]) -> float:
    """The best of some rounds, each of its own keys, after one that warms up; by the processor's time."""
    best = 0.0
    for i, batches in enumerate(rounds):
        began = time.process_time()
        for batch in batches:
            take(batch)
        if i:
            best = max(best, sum(map(len, batches)) / (time.process_time() - began))
    return best


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--elements", type=int, default=1_000_000)
    parser.add_argument("--batch", type=int, default=200_000)
    args = parser.parse_args()
    parts = max(1, args.elements // args.batch)
    rounds = [
        np.array_split(crawl(args.elements, 0.4851, seed=i), parts) for i in range(REPEATS + 1)
    ]
    exact = per_second(np.unique, rounds)
    slowest = float("inf")

    def shown(name: str, rate: float) -> None:
        print(f"{name:<44}{rate:>14,.0f} elements/s{rate / exact:>8.1f} of np.unique")

    shown("np.unique", exact)
    for max_value, decrements in ((1, 5), (3, 15)):
        for size in SIZES:
            plan = stable_plan(1 << size, 2, decrements, max_value)
            rate = per_second(StableBloom(plan, 1).observe, rounds)
            shown(f"stable, K 2, P {decrements}, values to {max_value}, 2^{size} cells", rate)
            if max_value == 1:
                slowest = min(slowest, rate)
    for size in SIZES:
        filter_ = RotatingBloom(plan_rotating(1 << size, 0.1), 1)
        shown(f"rotating, 2 generations, 2^{size} bits", per_second(filter_.observe, rounds))
        panes = np.arange(len(rounds[0][0])) % 2
        timed = RotatingBloom(plan_rotating(1 << size, 0.1), 1)
        rate = per_second(lambda batch: timed.observe(batch, panes[: len(batch)]), rounds)
        shown(f"rotating, by panes, 2^{size} bits", rate)
    return int(slowest < WANTED)


if __name__ == "__main__":
    sys.exit(main())
