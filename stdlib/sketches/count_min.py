"""Count-Min: one table of counters from which frequencies, self-join and join sizes are estimated.

Deng 2007, section 4.1: the thesis. It is linear: sketches of parts add up to the sketch of all, and what left a window is
subtracted.
"""

from __future__ import annotations

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.sketches.counters import (
    Numbers,
    cell_sums,
    check_alike,
    checked,
    empty_counts,
    packed,
    parts,
    raised,
    row_seeds,
    total_of,
    unpacked,
    unsigned,
)
from streamq.stdlib.sketches.hashing import Keys, buckets

_KIND = b"CMIN"


@dataclass(frozen=True, slots=True)
class CountMin:
    """``counts``: sums of weights by row and cell, ``[d, w]``, int64, or float64 once a weight was a fraction.

    ``total``: the sum of all weights (N).
    """

    counts: Numbers
    total: int | float
    seed: int

    @staticmethod
    def empty(width: int, depth: int, seed: int) -> CountMin:
        """A sketch of nothing. ValueError for fewer than 2 columns, and for no row."""
        return CountMin(empty_counts(width, depth), 0, unsigned(seed))

    @property
    def depth(self) -> int:
        """Rows (d)."""
        return len(self.counts)

    @property
    def width(self) -> int:
        """Columns (w)."""
        return len(self.counts[0])

    def added(self, keys: Keys, weights: Numbers | None = None) -> CountMin:
        """With keys, ``[n]``, and their weights, ``[n]``: 1 where there are none, negative where rows are taken back.

        ValueError for keys that are not of 64 bits, and weights that do not fit them.
        """
        weights = checked(keys, weights)
        counts = raised(self.counts, weights)
        for part in parts(len(keys)):
            some, of = keys[part], None if weights is None else weights[part]
            for row, seed in enumerate(row_seeds(self.seed, self.depth)):
                counts[row] += cell_sums(buckets(some, self.width, seed), self.width, of)
        return CountMin(counts, self.total + total_of(keys, weights), self.seed)

    def merged(self, other: CountMin) -> CountMin:
        """The sketch of both inputs together. ValueError for another width, depth or seed."""
        check_alike(self.counts, self.seed, other.counts, other.seed)
        return CountMin(self.counts + other.counts, self.total + other.total, self.seed)

    def minus(self, other: CountMin) -> CountMin:
        """The sketch without what ``other`` saw, as a pane that left a window. ValueError as in ``merged``."""
        check_alike(self.counts, self.seed, other.counts, other.seed)
        return CountMin(self.counts - other.counts, self.total - other.total, self.seed)

    def columns(self, keys: Keys) -> Numbers:
        """What the cells of keys hold, ``[n, d]``: what estimators of points take."""
        checked(keys, None)
        found = np.empty((len(keys), self.depth), self.counts.dtype)
        for row, seed in enumerate(row_seeds(self.seed, self.depth)):
            found[:, row] = self.counts[row, buckets(keys, self.width, seed)]
        return found

    def to_bytes(self) -> bytes:
        """The sketch as bytes, the same on every machine."""
        return packed(_KIND, self.counts, self.total, self.seed)

    @staticmethod
    def from_bytes(data: bytes) -> CountMin:
        """The sketch of such bytes. ValueError for others."""
        return CountMin(*unpacked(_KIND, data))
