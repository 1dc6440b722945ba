"""Minimal increase: a Count-Min that raises no counter further than it must (Deng 2007, section 4.4: the thesis).

Nothing is ever counted too low, and never more than by Count-Min with the same hashes. What it says depends on the order of
rows, nothing can be taken back, and noise cannot be subtracted: there is no CMM of it.
"""

from __future__ import annotations

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.sketches.counters import (
    Cells,
    Floats,
    Numbers,
    check_alike,
    checked,
    empty_counts,
    fitting,
    raised,
    row_seeds,
    total_of,
)
from streamq.stdlib.sketches.hashing import Keys, buckets, unsigned


@dataclass(frozen=True, slots=True)
class MinimalIncrease:
    """``counts``: upper bounds by row and cell, ``[d, w]``; ``total``: the sum of all weights (N)."""

    counts: Numbers
    total: int | float
    seed: int

    @staticmethod
    def empty(width: int, depth: int, seed: int) -> MinimalIncrease:
        """A sketch of nothing. ValueError for fewer than 2 columns, and for no row."""
        return MinimalIncrease(empty_counts(width, depth), 0, unsigned(seed))

    def added(self, keys: Keys, weights: Numbers | None = None) -> MinimalIncrease:
        """With keys in their order, ``[n]``, and weights of 0 and more, ``[n]``. ValueError for negative weights."""
        weights = checked(keys, weights)
        if weights is not None and (weights < 0).any():
            raise ValueError(
                "minimal increase takes nothing back: a sketch by Count-Min has negative weights"
            )
        total = fitting(self.total + total_of(keys, weights))
        counts = increased(raised(self.counts, weights), self._cells(keys), weights)
        return MinimalIncrease(counts, total, self.seed)

    def merged(self, other: MinimalIncrease) -> MinimalIncrease:
        """A bound on both inputs together, with what was gained over Count-Min only inside of each. ValueError as there."""
        check_alike(self.counts, self.seed, other.counts, other.seed)
        total = fitting(self.total + other.total)
        return MinimalIncrease(self.counts + other.counts, total, self.seed)

    def points(self, keys: Keys) -> Floats:
        """Frequencies, ``[n]``, none below the truth."""
        depth = self.counts.shape[0]
        return np.asarray(self.counts[np.arange(depth), self._cells(keys)].min(axis=1), np.float64)

    def _cells(self, keys: Keys) -> Cells:
        depth, width = self.counts.shape
        return np.stack([buckets(keys, width, s) for s in row_seeds(self.seed, depth)], axis=-1)


def increased(counts: Numbers, cells: Cells, weights: Numbers | None = None) -> Numbers:
    """Counters, ``[d, w]``, after keys of these cells, ``[n, d]``, in their order.

    The only loop over rows in sketches: each row sees what the one before it left, and to find rows that do not touch each
    other takes longer. About a million a second.
    """
    depth, width = counts.shape
    flat = counts.ravel().tolist()
    places = (cells + np.arange(depth) * width).tolist()
    by = [1] * len(places) if weights is None else weights.tolist()
    for place, weight in zip(places, by, strict=True):
        least = min([flat[i] for i in place]) + weight
        for i in place:
            if flat[i] < least:  # noqa: PLR1730 - quicker than max()
                flat[i] = least
    return np.array(flat, counts.dtype).reshape(depth, width)
