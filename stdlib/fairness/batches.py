"""Batches of tuples as columns: how many tuples each holds, and how much information of the sources.

A *weight* is a share of what the sources of a query sent in one window, between 0 and 1. A batch
stores the weight of all its tuples together, so that one without tuples can carry weight too.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from streamq.dsl.records import dataclass

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Batches:
    """Batches of one stream in order. ``n``: tuples of each, ``total``: weight of each."""

    n: Ints
    total: Floats

    def __len__(self) -> int:
        return len(self.n)

    @property
    def weight(self) -> float:
        """The weight of all of them."""
        return float(self.total.sum())

    @property
    def size(self) -> int:
        """The tuples of all of them."""
        return int(self.n.sum())

    def per_tuple(self) -> Floats:
        """The weight of one tuple of each batch; 0 where a batch has none."""
        return np.divide(self.total, self.n, out=np.zeros(len(self)), where=self.n > 0)

    def part(self, start: int, stop: int | None = None) -> Batches:
        """The batches from ``start`` up to ``stop``, or to the end."""
        return Batches(self.n[start:stop], self.total[start:stop])


@dataclass(frozen=True, slots=True)
class Headers:
    """Batches that wait at a node, as far as a shedder looks at them; entry i is one batch.

    ``query``: to which query it belongs, counted from 0. ``n``: its tuples, 0 or more. ``total``:
    its weight in that query, 0 or more. ``seq``: its place in the order of arrival.
    """

    query: Ints
    n: Ints
    total: Floats
    seq: Ints

    def __len__(self) -> int:
        return len(self.n)

    @property
    def size(self) -> int:
        """The tuples of all of them."""
        return int(self.n.sum())

    def take(self, positions: Ints) -> Headers:
        """The batches at these positions, in this order."""
        return Headers(
            self.query[positions], self.n[positions], self.total[positions], self.seq[positions]
        )


NOTHING = Batches(np.zeros(0, dtype=np.int64), np.zeros(0))


def batches(n: ArrayLike, total: ArrayLike) -> Batches:
    """Batches of these sizes and weights; a single number is one batch.

    Raises ValueError for lengths that differ and for negative sizes or weights.
    """
    sizes = np.atleast_1d(np.asarray(n, dtype=np.int64))
    weights = np.atleast_1d(np.asarray(total, dtype=np.float64))
    if sizes.shape != weights.shape:
        raise ValueError(f"{sizes.size} sizes and {weights.size} weights are not the same batches")
    _not_negative(sizes, weights)
    return Batches(sizes, weights)


def headers(
    query: ArrayLike, n: ArrayLike, total: ArrayLike, seq: ArrayLike | None = None
) -> Headers:
    """Headers from columns of one length; without ``seq`` they arrived in the order given.

    Raises ValueError for lengths that differ and for negative sizes or weights.
    """
    sizes = np.asarray(n, dtype=np.int64)
    made = Headers(
        np.asarray(query, dtype=np.int64),
        sizes,
        np.asarray(total, dtype=np.float64),
        np.arange(sizes.size) if seq is None else np.asarray(seq, dtype=np.int64),
    )
    if not made.query.shape == made.n.shape == made.total.shape == made.seq.shape:
        raise ValueError("the columns of batch headers differ in length")
    _not_negative(made.n, made.total)
    return made


def joined_up(parts: Iterable[Batches]) -> Batches:
    """The batches of several streams, one after the other."""
    kept = [p for p in parts if len(p)]
    if not kept:
        return NOTHING
    return Batches(np.concatenate([p.n for p in kept]), np.concatenate([p.total for p in kept]))


def summed(group: Ints, values: Floats | Ints, groups: int) -> Floats:
    """The sum of the values of each group; groups are numbered from 0."""
    return np.bincount(group, weights=values, minlength=groups).astype(np.float64)


def _not_negative(n: Ints, total: Floats) -> None:
    if n.size and (n.min() < 0 or not total.min() >= 0):
        raise ValueError("a batch has neither a negative size nor a negative weight")
