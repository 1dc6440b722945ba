"""Streams on which filters and buffers are compared, and how well each finds what came before (Deng 2007, chapter 3: the thesis)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamq.dsl.records import dataclass
from streamq.stdlib.sketches.bloom import Bloom, bloom_hashes
from streamq.stdlib.sketches.buffering import reuse_distances
from streamq.stdlib.sketches.hashing import Keys
from streamq.stdlib.sketches.lookalike import crawl
from streamq.stdlib.sketches.membership_measures import fn_rate, fp_rate
from streamq.stdlib.sketches.membership_plan import StablePlan, stable_plan
from streamq.stdlib.sketches.stable_bloom import StableBloom

NEW = {100_000: 0.7566, 10_000_000: 0.4851}
"""The share of distinct URLs among the first of the thesis's crawl."""

URL_BITS, NUMBER_BITS = 64, 32
"""An entry of a buffer: what its list takes is not charged."""

COLUMNS = (
    "FPBuffering, missed",
    "SBF, missed",
    "SBF, false positives",
    "LRU, missed",
    "Bloom, false positives",
)


@dataclass(frozen=True, slots=True)
class Stream:
    """``keys`` and whether each came before, ``[n]``; ``distances``: of those that did, rising, ``[duplicates]``.

    A distance is the number of distinct other keys since the last occurrence: a buffer of more keys still has it.
    """

    keys: Keys
    duplicate: NDArray[np.bool_]
    distances: NDArray[np.int64]

    @property
    def distinct(self) -> int:
        return len(self.keys) - len(self.distances)

    def rates(self, flags: NDArray[np.bool_]) -> tuple[float, float]:
        """False positives by new elements, and false negatives by duplicates."""
        return fp_rate(flags, self.duplicate), fn_rate(flags, self.duplicate)

    def stable(self, plan: StablePlan, seed: int) -> tuple[float, float]:
        """The rates of a Stable Bloom filter."""
        return self.rates(StableBloom(plan, seed).observe(self.keys))

    def lru(self, capacity: int) -> float:
        """What a buffer of the keys used last misses; it takes no new element for a duplicate."""
        return 1 - int(np.searchsorted(self.distances, capacity)) / max(len(self.distances), 1)

    def fp_buffering(self, capacity: int, q: float) -> float:
        """What the same buffer misses on average if it takes a share ``q`` of what it does not hold for duplicates."""
        return self.lru(capacity) * (1 - q)


def stream(keys: Keys) -> Stream:
    distances = reuse_distances(keys)
    return Stream(keys, distances >= 0, np.sort(distances[distances >= 0]))


def urls(n: int, seed: int) -> Stream:
    """Like the first ``n`` of the crawl, a length in ``NEW``."""
    return stream(crawl(n, NEW[n], seed=seed))


def of_memory(found: Stream, bits: int, seed: int) -> tuple[float, ...]:
    """``COLUMNS``, in percent."""
    fp, missed = found.stable(stable_plan(bits, 2, 4, 1), seed)
    full, _ = found.rates(Bloom(bits, bloom_hashes(bits, found.distinct), seed).observe(found.keys))
    capacity = bits // URL_BITS
    return tuple(
        100 * rate
        for rate in (found.fp_buffering(capacity, fp), missed, fp, found.lru(capacity), full)
    )
