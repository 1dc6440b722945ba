"""Fast-AGMS (Count-Sketch): counters to which keys are added with a sign of their own, so that noise has no bias.

Deng 2007, section 4.5: the thesis. Linear as Count-Min; the cells are those of a ``CountMin`` of the same seed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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
    sign_seeds,
    total_of,
    unpacked,
    unsigned,
)
from streamq.stdlib.sketches.hashing import Keys, buckets, signs

_KIND = b"AGMS"


@dataclass(frozen=True, slots=True)
class FastAgms:
    """``counts``: sums of weights with signs by row and cell, ``[d, w]``, int64, or float64 once a weight was a fraction.

    ``total``: the sum of all weights, without signs (N).
    """

    counts: Numbers
    total: int | float
    seed: int

    @staticmethod
    def empty(width: int, depth: int, seed: int) -> FastAgms:
        """A sketch of nothing. ValueError for fewer than 2 columns, and for no row."""
        return FastAgms(empty_counts(width, depth), 0, unsigned(seed))

    @property
    def depth(self) -> int:
        """Rows (d)."""
        return len(self.counts)

    @property
    def width(self) -> int:
        """Columns (w)."""
        return len(self.counts[0])

    def added(self, keys: Keys, weights: Numbers | None = None) -> FastAgms:
        """With keys, ``[n]``, and their weights, ``[n]``: 1 where there are none, negative where rows are taken back.

        ValueError for keys that are not of 64 bits, and weights that do not fit them.
        """
        weights = checked(keys, weights)
        counts = raised(self.counts, weights)
        width = self.width
        for part in parts(len(keys)):
            some, of = keys[part], None if weights is None else weights[part]
            for row, (seed, sign_seed) in enumerate(self._row_seeds()):
                # Keys of sign -1 in cells of their own: a count without weights is quicker than one of signs.
                cells = buckets(some, width, seed) + width * (signs(some, sign_seed) < 0)
                sums = cell_sums(cells, 2 * width, of)
                counts[row] += sums[:width] - sums[width:]
        return FastAgms(counts, self.total + total_of(keys, weights), self.seed)

    def merged(self, other: FastAgms) -> FastAgms:
        """The sketch of both inputs together. ValueError for another width, depth or seed."""
        check_alike(self.counts, self.seed, other.counts, other.seed)
        return FastAgms(self.counts + other.counts, self.total + other.total, self.seed)

    def minus(self, other: FastAgms) -> FastAgms:
        """The sketch without what ``other`` saw, as a pane that left a window. ValueError as in ``merged``."""
        check_alike(self.counts, self.seed, other.counts, other.seed)
        return FastAgms(self.counts - other.counts, self.total - other.total, self.seed)

    def columns(self, keys: Keys) -> Numbers:
        """What the cells of keys hold, ``[n, d]``, without the keys' signs."""
        checked(keys, None)
        found = np.empty((len(keys), self.depth), self.counts.dtype)
        for row, seed in enumerate(row_seeds(self.seed, self.depth)):
            found[:, row] = self.counts[row, buckets(keys, self.width, seed)]
        return found

    def signs(self, keys: Keys) -> NDArray[np.int64]:
        """-1 or 1 by key and row, ``[n, d]``."""
        checked(keys, None)
        return np.stack([signs(keys, s) for s in sign_seeds(self.seed, self.depth)], axis=-1)

    def to_bytes(self) -> bytes:
        """The sketch as bytes, the same on every machine."""
        return packed(_KIND, self.counts, self.total, self.seed)

    @staticmethod
    def from_bytes(data: bytes) -> FastAgms:
        """The sketch of such bytes. ValueError for others."""
        return FastAgms(*unpacked(_KIND, data))

    def _row_seeds(self) -> zip[tuple[np.uint64, np.uint64]]:
        return zip(row_seeds(self.seed, self.depth), sign_seeds(self.seed, self.depth), strict=True)
