"""Keys that sketches of counters take in a second on one core, against exact counts by ``np.unique``.

All take the same keys, in batches, in turn; the table has the median over the turns, and the ratio to exact counts of the same
turn. Exact counts are merged over batches, as a window that is open would have them. Keys follow Zipf's law, or are all different.

Run from the root of the repository::

    python -m tests.benchmarks.sketch_counts [--keys 1000000] [--batch 50000] [--repeat 5]

Ends with 1 where Count-Min of 1024 columns and 5 rows takes fewer than 5 million keys a second.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

from streamq.stdlib.sketches.conservative import MinimalIncrease
from streamq.stdlib.sketches.counter_sketch import CounterSketch, empty_count_min, empty_fast_agms
from streamq.stdlib.sketches.hashing import Keys, mix64
from streamq.stdlib.sketches.heavy import HeavyHitters

WIDTH, DEPTH, SEED = 1024, 5, 1
WANTED = 5_000_000
EXACT = "exact counts"


def exact(batches: list[Keys]) -> None:
    keys, counts = np.empty(0, np.uint64), np.empty(0, np.int64)
    for batch in batches:
        some, of = np.unique(batch, return_counts=True)
        both = np.concatenate([keys, some])
        keys, place = np.unique(both, return_inverse=True)
        counts = np.bincount(place, weights=np.concatenate([counts, of])).astype(np.int64)


def into(
    empty: CounterSketch | MinimalIncrease | HeavyHitters,
) -> Callable[[list[Keys]], None]:
    def run(batches: list[Keys]) -> None:
        sketch = empty
        for batch in batches:
            sketch = sketch.added(batch)

    return run


RUNS: dict[str, Callable[[list[Keys]], None]] = {
    EXACT: exact,
    "Count-Min": into(empty_count_min(WIDTH, DEPTH, SEED)),
    "Fast-AGMS": into(empty_fast_agms(WIDTH, DEPTH, SEED)),
    "heavy keys, 0.1 %": into(HeavyHitters.empty(0.001, WIDTH, DEPTH, SEED)),
    "minimal increase": into(MinimalIncrease.empty(WIDTH, DEPTH, SEED)),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--batch", type=int, default=50_000)
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    rng = np.random.default_rng(SEED)
    inputs = {
        "Zipf 1.2": mix64(rng.zipf(1.2, given.keys).astype(np.uint64)),
        "all different": mix64(np.arange(given.keys, dtype=np.uint64)),
    }
    slowest = float("inf")
    for kind, keys in inputs.items():
        batches = [keys[start : start + given.batch] for start in range(0, len(keys), given.batch)]
        took: dict[str, list[float]] = {name: [] for name in RUNS}
        for _ in range(given.repeat):
            for name, run in RUNS.items():
                started = time.perf_counter()
                run(batches)
                took[name].append(time.perf_counter() - started)
        print(f"{kind}, {WIDTH} columns, {DEPTH} rows")
        for name, seconds in took.items():
            ratio = statistics.median(e / s for e, s in zip(took[EXACT], seconds, strict=True))
            print(
                f"  {name:<20}{len(keys) / statistics.median(seconds):>14,.0f} keys/s{ratio:8.2f} times exact"
            )
        slowest = min(slowest, len(keys) / statistics.median(took["Count-Min"]))
    return int(slowest < WANTED)


if __name__ == "__main__":
    sys.exit(main())
