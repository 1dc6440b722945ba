"""The attribute that rows are joined by, of many rows at once: a value each, or a set of items each.

Sets are one array of item codes with the place at which each set starts in it (CSR). A NULL is no value and no set.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamq.dsl.records import dataclass
from streamq.stdlib.joins.selection import Floats, Ints
from streamq.stdlib.timelines.table import firsts, spread

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Values:
    """One value of each row, ``[rows]``, of any type that numpy sorts; ``null``: ``[rows]``, where it means nothing."""

    values: NDArray[Any]
    null: Bools

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.null)

    def take(self, index: Any) -> Values:
        """The rows at positions, of a slice, or where a mask is true."""
        return Values(self.values[index], self.null[index])


@dataclass(frozen=True, slots=True)
class Sets:
    """One set of each row.

    ``offsets``: ``[rows + 1]``, where each set starts in ``items``; ``items``: codes, rising within a set. ``weights``: of
    the items; None: all are 1. ``null``: ``[rows]``; a NULL has no items, as an empty set. ``sets`` makes them of raw items.
    """

    offsets: Ints
    items: Ints
    weights: Floats | None
    null: Bools

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.null)

    @property
    def sizes(self) -> Ints:
        """Items of each set, ``[rows]``."""
        return np.diff(self.offsets)

    @property
    def owner(self) -> Ints:
        """The row of each item."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def take(self, index: Any) -> Sets:
        """The rows at positions, of a slice, or where a mask is true."""
        sizes = self.sizes[index]
        _, places = spread(self.offsets[:-1][index], sizes)
        weights = None if self.weights is None else self.weights[places]
        return Sets(_offsets(sizes), self.items[places], weights, self.null[index])


Column = Values | Sets


def sets(offsets: Ints, items: Ints, null: Bools, weights: Floats | None = None) -> Sets:
    """Sets of items in any order, ``[items]``; of an item that a set has again the weights add up."""
    owner = np.repeat(np.arange(len(null)), np.diff(offsets))
    order = np.lexsort((items, owner))
    order = order[~null[owner[order]]]
    new = np.flatnonzero(firsts(owner[order], items[order]))
    sizes = np.bincount(owner[order[new]], minlength=len(null))
    if weights is not None:
        weights = np.add.reduceat(weights[order], new) if len(new) else weights[:0]
    return Sets(_offsets(sizes), items[order[new]], weights, null)


def concat(columns: Sequence[Column]) -> Column:
    """The rows of all columns, at least one. Raises ``ValueError`` where they are not of one kind."""
    null = np.concatenate([c.null for c in columns])
    values = [c for c in columns if isinstance(c, Values)]
    if len(values) == len(columns):
        return Values(np.concatenate([c.values for c in values]), null)
    parts = [c for c in columns if isinstance(c, Sets)]
    weights = [c.weights for c in parts if c.weights is not None]
    if values or len(weights) not in (0, len(parts)):
        raise ValueError("columns of a join are all values, all sets, or all weighted sets")
    sizes = np.concatenate([c.sizes for c in parts])
    items = np.concatenate([c.items for c in parts])
    return Sets(_offsets(sizes), items, np.concatenate(weights) if weights else None, null)


def _offsets(sizes: Ints) -> Ints:
    return np.append(np.int64(0), np.cumsum(sizes))
