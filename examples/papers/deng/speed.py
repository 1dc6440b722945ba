"""How many elements filters and buffers take in a second (Deng 2007, section 3.5: the thesis).

The part ``time`` of ``examples.papers.deng.membership``. Filters and ``lru`` work on batches, ``clock`` on one element after
another in Python.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from examples.papers.deng.streams import NEW, URL_BITS
from examples.papers.parts import Options, counted, row
from examples.papers.statements import said
from streamq.stdlib.sketches.bloom import Bloom
from streamq.stdlib.sketches.buffering import clock, lru
from streamq.stdlib.sketches.hashing import Keys
from streamq.stdlib.sketches.lookalike import crawl
from streamq.stdlib.sketches.membership_plan import plan_rotating, stable_plan
from streamq.stdlib.sketches.rotating_bloom import RotatingBloom
from streamq.stdlib.sketches.stable_bloom import StableBloom

REPEATS = 3


def rate_of(made: Callable[[], Callable[[Keys], object]], keys: Keys) -> float:
    """Elements a second, of the quickest of some runs."""
    best = math.inf
    for _ in range(REPEATS):
        observe = made()
        began = time.perf_counter()
        observe(keys)
        best = min(best, time.perf_counter() - began)
    return len(keys) / best


def speed(options: Options) -> bool:
    """Section 3.5: elements a second, by memory and by the length of the stream."""
    n, memories = 200_000 if options.quick else 2_000_000, (1 << 16, 1 << 20, 1 << 24)
    keys = crawl(n, NEW[10_000_000])
    of: dict[str, Callable[[int], Callable[[Keys], object]]] = {
        "SBF, K = 2, P = 4, Max = 1": lambda bits: (
            StableBloom(stable_plan(bits, 2, 4, 1), 1).observe
        ),
        "SBF, K = 3, P = 33, Max = 7": lambda bits: (
            StableBloom(stable_plan(bits // 3, 3, 33, 7), 1).observe
        ),
        "Bloom, K = 2": lambda bits: Bloom(bits, 2, 1).observe,
        "Bloom in turn, 10 %": lambda bits: RotatingBloom(plan_rotating(bits, 0.1), 1).observe,
        "LRU, of the whole stream": lambda bits: lambda keys: lru(keys, bits // URL_BITS),
        "clock, one after another": lambda bits: lambda keys: clock(keys, bits // URL_BITS),
    }
    found = {
        name: [rate_of(partial(made, bits), keys) for bits in memories]
        for name, made in counted("time", of.items())
    }
    print(f"\nElements a second, millions, by bits; {n:,} URLs\n" + row("", memories, "10d"))
    for name, rates in found.items():
        print(row(name, [rate / 1e6 for rate in rates], "10.2f"))
    small, wide, bloom, turn, whole, buffer = found.values()
    made = partial(of["SBF, K = 2, P = 4, Max = 1"], memories[1])
    lengths = [rate_of(made, keys[: n // 10]), rate_of(made, keys)]
    print(
        f"  as parts of K = 2, P = 4: K = 3, P = 33 {np.mean(wide) / np.mean(small):.2f}, Bloom {np.mean(bloom) / np.mean(small):.2f}, in turn "
        f"{np.mean(turn) / np.mean(small):.2f}, LRU {np.mean(whole) / np.mean(small):.2f}, clock {np.mean(buffer) / np.mean(small):.2f}"
    )
    checks = [
        said(
            max(small) < 4 * min(small),
            "256 times the memory makes an element of a filter less than 4 times as dear",
        ),
        said(
            lengths[1] > lengths[0] / 2,
            "an element of a stream ten times as long costs less than twice as much",
        ),
        said(
            np.mean(wide) < np.mean(small),
            "cells of more bits are dearer, as more of them are lowered",
        ),
        said(
            np.mean(small) < np.mean(bloom), "a Bloom filter, which lowers nothing, is the quickest"
        ),
    ]
    return all(checks)
