"""Count-Min and Fast-AGMS: a table of counters from which frequencies, self-join and join sizes are estimated.

Deng 2007, sections 4.1 and 4.5: the thesis. Both are linear: sketches of parts add up to the sketch of all, and what left a
window is subtracted. Fast-AGMS (Count-Sketch) adds each key with a sign of its own, so that noise has no bias; of one seed
both see keys by the same cells.
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
    fitting,
    packed,
    parts,
    raised,
    row_seeds,
    sign_seeds,
    total_of,
    unpacked,
)
from streamq.stdlib.sketches.hashing import Keys, buckets, signs, unsigned

_KINDS = {False: b"CMIN", True: b"AGMS"}


@dataclass(frozen=True, slots=True)
class CounterSketch:
    """``counts``: sums of weights by row and cell, ``[d, w]``, int64, or float64 once a weight was a fraction.

    ``total``: the sum of all weights, without signs (N). ``signed``: Fast-AGMS, and Count-Min where it is not.
    ``empty_count_min`` and ``empty_fast_agms`` make one.
    """

    counts: Numbers
    total: int | float
    seed: int
    signed: bool

    @property
    def depth(self) -> int:
        """Rows (d)."""
        return len(self.counts)

    @property
    def width(self) -> int:
        """Columns (w)."""
        return len(self.counts[0])

    def added(self, keys: Keys, weights: Numbers | None = None) -> CounterSketch:
        """With keys, ``[n]``, and their weights, ``[n]``: 1 where there are none, negative where rows are taken back.

        ValueError for keys that are not of 64 bits, weights that do not fit them, and sums that do not go into 64 bits.
        """
        weights = checked(keys, weights)
        total = fitting(self.total + total_of(keys, weights))
        counts, width = raised(self.counts, weights), self.width
        of_signs = sign_seeds(self.seed, self.depth)
        for part in parts(len(keys)):
            some, of = keys[part], None if weights is None else weights[part]
            for row, seed in enumerate(row_seeds(self.seed, self.depth)):
                cells = buckets(some, width, seed)
                if not self.signed:
                    counts[row] += cell_sums(cells, width, of)
                    continue
                # Keys of sign -1 in cells of their own: a count without weights is quicker than one of signs.
                cells += width * (signs(some, of_signs[row]) < 0)
                sums = cell_sums(cells, 2 * width, of)
                counts[row] += sums[:width] - sums[width:]
        return self._of(counts, total)

    def merged(self, other: CounterSketch) -> CounterSketch:
        """The sketch of both inputs together. ValueError for another kind, width, depth or seed."""
        self._check_alike(other)
        return self._of(self.counts + other.counts, fitting(self.total + other.total))

    def minus(self, other: CounterSketch) -> CounterSketch:
        """The sketch without what ``other`` saw, as a pane that left a window. ValueError as in ``merged``."""
        self._check_alike(other)
        return self._of(self.counts - other.counts, fitting(self.total - other.total))

    def columns(self, keys: Keys) -> Numbers:
        """What the cells of keys hold, ``[n, d]``, without the keys' signs: what estimators of points take."""
        checked(keys, None)
        found = np.empty((len(keys), self.depth), self.counts.dtype)
        for row, seed in enumerate(row_seeds(self.seed, self.depth)):
            found[:, row] = self.counts[row, buckets(keys, self.width, seed)]
        return found

    def signs(self, keys: Keys) -> NDArray[np.int64]:
        """-1 or 1 by key and row, ``[n, d]``. ValueError for Count-Min, where keys have none."""
        if not self.signed:
            raise ValueError("keys have signs in Fast-AGMS, and this is Count-Min")
        checked(keys, None)
        return np.stack([signs(keys, s) for s in sign_seeds(self.seed, self.depth)], axis=-1)

    def to_bytes(self) -> bytes:
        """The sketch as bytes, the same on every machine."""
        return packed(_KINDS[self.signed], self.counts, self.total, self.seed)

    def _of(self, counts: Numbers, total: int | float) -> CounterSketch:
        return CounterSketch(counts, total, self.seed, self.signed)

    def _check_alike(self, other: CounterSketch) -> None:
        if self.signed != other.signed:
            raise ValueError("a Count-Min and a Fast-AGMS do not go together")
        check_alike(self.counts, self.seed, other.counts, other.seed)


def empty_count_min(width: int, depth: int, seed: int) -> CounterSketch:
    """A Count-Min of nothing. ValueError for fewer than 2 columns, and for no row."""
    return CounterSketch(empty_counts(width, depth), 0, unsigned(seed), signed=False)


def empty_fast_agms(width: int, depth: int, seed: int) -> CounterSketch:
    """A Fast-AGMS of nothing. ValueError for fewer than 2 columns, and for no row."""
    return CounterSketch(empty_counts(width, depth), 0, unsigned(seed), signed=True)


def sketch_from_bytes(data: bytes) -> CounterSketch:
    """What ``to_bytes`` gave. ValueError for anything else."""
    signed = data[:4] == _KINDS[True]
    counts, total, seed = unpacked(_KINDS[signed], data)
    return CounterSketch(counts, total, seed, signed)
