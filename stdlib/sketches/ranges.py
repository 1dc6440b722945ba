"""How many rows have a number in a range, and quantiles: a table of counters for each level of halves of halves.

Deng 2007, section 4.6: the thesis. Numbers are ``0 .. 2^bits - 1``. At level l a node is 2^l numbers, ``number >> l``. A range is
two nodes of each level at most, and a quantile is found from the top. A level that has no more nodes than
the tables have columns is counted exactly. With CM a range is never too low, and too high by ``e/w N`` a node at most, with
the chance of the plan.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from streamq.dsl.records import dataclass
from streamq.stdlib.sketches.counters import (
    Cells,
    Floats,
    Numbers,
    cell_sums,
    check_alike,
    checked,
    empty_counts,
    fitting,
    parts,
    raised,
    row_seeds,
    total_of,
)
from streamq.stdlib.sketches.estimators import point_cm, point_cmm
from streamq.stdlib.sketches.hashing import Keys, buckets, unsigned

MOST_BITS = 63

Method = Literal["CM", "CMM"]


@dataclass(frozen=True, slots=True)
class RangeCounts:
    """``counts``: by level, the finest first, row and cell, ``[bits, d, w]``; ``total``: the sum of all weights (N)."""

    counts: Numbers
    total: int | float
    seed: int

    @staticmethod
    def empty(bits: int, width: int, depth: int, seed: int) -> RangeCounts:
        """Of no numbers below 2^bits. ValueError for fewer than 2 columns, no row, and bits that are not 1 to 63."""
        if not 1 <= bits <= MOST_BITS:
            raise ValueError(f"numbers have 1 to {MOST_BITS} bits, not {bits}")
        return RangeCounts(np.stack([empty_counts(width, depth)] * bits), 0, unsigned(seed))

    @property
    def bits(self) -> int:
        """Levels."""
        return len(self.counts)

    def added(self, numbers: NDArray[np.int64], weights: Numbers | None = None) -> RangeCounts:
        """With numbers, ``[n]``, and their weights, ``[n]``, or 1. ValueError for numbers that are not in the domain."""
        keys = self._keys(numbers)
        weights = checked(keys, weights)
        total = fitting(self.total + total_of(keys, weights))
        counts = raised(self.counts, weights)
        width = counts.shape[-1]
        for part in parts(len(keys)):
            of = None if weights is None else weights[part]
            for level in range(self.bits):
                cells = self._cells(level, keys[part] >> np.uint64(level))
                for row, column in enumerate(cells):
                    counts[level, row] += cell_sums(column, width, of)
        return RangeCounts(counts, total, self.seed)

    def merged(self, other: RangeCounts) -> RangeCounts:
        """Of both inputs together. ValueError for other bits, width, depth or seed."""
        self._check_alike(other)
        total = fitting(self.total + other.total)
        return RangeCounts(self.counts + other.counts, total, self.seed)

    def minus(self, other: RangeCounts) -> RangeCounts:
        """Without what ``other`` saw. ValueError as in ``merged``."""
        self._check_alike(other)
        total = fitting(self.total - other.total)
        return RangeCounts(self.counts - other.counts, total, self.seed)

    def within(
        self, first: NDArray[np.int64], last: NDArray[np.int64], method: Method = "CMM"
    ) -> Floats:
        """Rows with a number from ``first`` to ``last``, both of them in it, ``[n]``; 0 where last is before first.

        ValueError for bounds that are not in the domain.
        """
        start, end = self._keys(first), self._keys(last) + np.uint64(1)
        found = np.zeros(len(start))
        one = np.uint64(1)
        for level in range(self.bits):
            left = (start < end) & (start & one == one)
            found[left] += self._nodes(level, start[left], method)
            start = np.where(left, start + one, start)
            right = (start < end) & (end & one == one)
            found[right] += self._nodes(level, end[right] - one, method)
            end = np.where(right, end - one, end)
            start, end = start >> one, end >> one
        return found + np.where(start < end, float(self.total), 0.0)

    def quantiles(self, shares: Floats, method: Method = "CMM") -> NDArray[np.int64]:
        """The least number with a share of the rows at or below it, ``[n]``.

        ValueError for shares that are not of 0 to 1, and where there are no rows.
        """
        if not ((shares >= 0) & (shares <= 1)).all():
            raise ValueError("a quantile is of a share of the rows, from 0 to 1")
        if len(shares) and not self.total > 0:
            raise ValueError("there are no rows, and no number has a share of them")
        left = np.maximum(shares * self.total, 1.0 if self.counts.dtype.kind == "i" else 0.0)
        node = np.zeros(len(shares), np.uint64)
        for level in range(self.bits - 1, -1, -1):
            node = node << np.uint64(1)
            lower = self._nodes(level, node, method)
            up = left > lower
            left = np.where(up, left - lower, left)
            node = node + up.astype(np.uint64)
        return node.astype(np.int64)

    def exact(self, level: int) -> bool:
        """Whether the nodes of a level have a column each."""
        return len(self.counts[0, 0]) >= 1 << (self.bits - level)

    def _nodes(self, level: int, nodes: Keys, method: Method) -> Floats:
        """Rows in nodes of a level, ``[n]``."""
        counts = self.counts[level]
        columns = counts[np.arange(len(counts)), self._cells(level, nodes).T]
        if self.exact(level) or method == "CM":
            return point_cm(columns)
        return point_cmm(columns, counts, self.total)

    def _cells(self, level: int, nodes: Keys) -> Cells:
        """``[d, n]``."""
        depth, width = self.counts.shape[1:]
        if self.exact(level):
            return np.broadcast_to(nodes.astype(np.int64), (depth, len(nodes)))
        # Seeds of a level are its own: else neighbours that meet at one level would at others.
        return np.stack(
            [buckets(nodes, width, s) for s in row_seeds(unsigned(self.seed + level), depth)]
        )

    def _keys(self, numbers: NDArray[np.int64]) -> Keys:
        if len(numbers) and not (numbers.min() >= 0 and int(numbers.max()) >> self.bits == 0):
            raise ValueError(f"numbers are of 0 to 2^{self.bits} - 1")
        return numbers.astype(np.uint64)

    def _check_alike(self, other: RangeCounts) -> None:
        if self.bits != other.bits:
            raise ValueError(
                f"only numbers of as many bits go together: {self.bits} and {other.bits}"
            )
        check_alike(self.counts, self.seed, other.counts, other.seed)
