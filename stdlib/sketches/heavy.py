"""Heavy keys: those with at least a share of all rows (iceberg), and the k most frequent of them.

Deng 2007, section 4.7: the thesis. Count-Min says how frequent a key is, and never too little; which keys to ask for, it cannot
say. Candidates are kept in a summary of bounded size (Misra, Gries 1982; merged as in Agarwal et al. 2012, "Mergeable
Summaries"), which loses no heavy key whatever the order of rows.

Why none is lost: a summary has at most ``most`` keys. Where a batch, or a merge, makes more, the count of the
(most + 1)-th is taken from all. That takes it from most + 1 keys at least, so all that was ever taken
from one key is ``taken`` <= N/(most + 1). A key that is not there has f <= taken; with most = ceil(2/share) that is less than half
of share * N. And a key that is there has count <= f <= count + taken.
"""

from __future__ import annotations

import math

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.sketches.counter_sketch import CounterSketch, empty_count_min
from streamq.stdlib.sketches.counters import Floats, Numbers, checked
from streamq.stdlib.sketches.estimators import point_cm, point_cmm
from streamq.stdlib.sketches.hashing import Keys

ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Heavy:
    """Keys with the highest bound first, ``[n]``: frequencies in rows as estimated, and certain bounds of them."""

    keys: Keys
    estimate: Floats
    lo: Floats
    hi: Floats


@dataclass(frozen=True, slots=True)
class HeavyHitters:
    """``share``: of all rows, from which on a key is heavy.

    ``keys``, in order, and their ``counts``, ``[n]``: the candidates; ``taken``: what may be missing of each count.
    """

    sketch: CounterSketch
    share: float
    keys: Keys
    counts: Numbers
    taken: float

    @staticmethod
    def empty(share: float, width: int, depth: int, seed: int) -> HeavyHitters:
        """Of nothing. ValueError for a share that is not of 0 to 1, without 0."""
        if not 0 < share <= 1:
            raise ValueError(f"a share of the rows is more than 0 and at most 1: {share}")
        sketch = empty_count_min(width, depth, seed)
        return HeavyHitters(sketch, share, np.empty(0, np.uint64), np.empty(0, np.int64), 0)

    @property
    def most(self) -> int:
        """Candidates, at most."""
        return most_candidates(self.share)

    def added(self, keys: Keys, weights: Numbers | None = None) -> HeavyHitters:
        """With a batch of keys, ``[n]``, and weights of 0 and more, ``[n]``. ValueError for negative weights."""
        weights = checked(keys, weights)
        if weights is not None and (weights < 0).any():
            raise ValueError(
                "heavy keys of rows that are taken back are not known: only add, and merge panes"
            )
        if weights is None:
            found, counts = np.unique(keys, return_counts=True)
        else:
            found, counts = _summed(keys, weights)
        return self._with(self.sketch.added(keys, weights), found, counts, 0)

    def merged(self, other: HeavyHitters) -> HeavyHitters:
        """Of both inputs together. ValueError for another share, width, depth or seed."""
        if self.share != other.share:
            raise ValueError(
                f"only heavy keys of one share go together: {self.share} and {other.share}"
            )
        return self._with(self.sketch.merged(other.sketch), other.keys, other.counts, other.taken)

    def iceberg(self, share: float | None = None) -> Heavy:
        """All keys with at least a share of the rows, and maybe some with half of it or more.

        ``share``: this one's own, or a larger one; ValueError for a smaller.
        """
        share = self.share if share is None else share
        if not self.share <= share <= 1:
            raise ValueError(
                f"keys below {self.share} of the rows were not kept: {share} was asked for"
            )
        found = self._ranked()
        # 7 of 100 rows are a share of 0.07, and 0.07 * 100 is more than 7.
        heavy = found.hi >= share * self.sketch.total * (1 - ROUNDING)
        return Heavy(found.keys[heavy], found.estimate[heavy], found.lo[heavy], found.hi[heavy])

    def top(self, k: int) -> Heavy:
        """The k keys of the highest estimates, or fewer: only keys with at least the share of the rows are sure to be seen."""
        found = self._ranked()
        best = np.argsort(-found.estimate, kind="stable")[:k]
        return Heavy(found.keys[best], found.estimate[best], found.lo[best], found.hi[best])

    def _ranked(self) -> Heavy:
        """All candidates."""
        columns = self.sketch.columns(self.keys)
        lo = np.asarray(self.counts, np.float64)
        hi = np.minimum(point_cm(columns), lo + self.taken)
        estimate = np.clip(point_cmm(columns, self.sketch.counts, self.sketch.total), lo, hi)
        order = np.argsort(-hi, kind="stable")
        return Heavy(self.keys[order], estimate[order], lo[order], hi[order])

    def _with(
        self, sketch: CounterSketch, keys: Keys, counts: Numbers, taken: float
    ) -> HeavyHitters:
        both, sums = _summed(
            np.concatenate([self.keys, keys]), np.concatenate([self.counts, counts])
        )
        off: float = 0
        if len(both) > self.most:
            at = len(both) - self.most - 1
            off = np.partition(sums, at)[at].item()
            kept = sums > off
            both, sums = both[kept], sums[kept] - off
        return HeavyHitters(sketch, self.share, both, sums, self.taken + taken + off)


def most_candidates(share: float) -> int:
    """Candidates that are kept, at most, for keys with at least a share of the rows."""
    return math.ceil(2 / share)


def _summed(keys: Keys, counts: Numbers) -> tuple[Keys, Numbers]:
    """Different keys in order, and the sums of their counts."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])
    if not len(first):
        return keys, counts
    return ordered[first], np.add.reduceat(counts[order], first)
