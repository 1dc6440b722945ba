"""An index of one basic window: for each item the rows that have it, in order of time (section 4.4 of the paper).

Rows of a basic window are numbered in order of time, so that the rows which a probe may compare are a stretch of each
list: what is older than the probe's ``start`` is not touched. A column of values is a hash index: each row has one item.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamq.dsl.records import dataclass
from streamq.stdlib.joins.columns import Column, Sets
from streamq.stdlib.joins.selection import Floats, Ints
from streamq.stdlib.timelines.table import firsts

PIECE = 1 << 17
"""Postings that are touched at once, more or less, so that counting them stays in the cache."""

SPARSE = 8
"""Pairs for each posting above which they are sorted instead of counted in a table of all pairs."""


@dataclass(frozen=True, slots=True)
class Postings:
    """The rows that have each item.

    ``keys``: the items or values, rising, each once; ``offsets``: ``[keys + 1]``, where the list of each starts in ``rows``,
    which are rising within a list; ``weights``: of the item in each of these rows, or None. ``size``: rows of the basic
    window.
    """

    keys: NDArray[Any]
    offsets: Ints
    rows: Ints
    weights: Floats | None
    size: int


@dataclass(frozen=True, slots=True)
class Shared:
    """Pairs of a probe and a stored row that share an item, each pair once, by probe and row.

    ``amount``: how many they share, or the inner product. ``touched``: postings that were read for them.
    """

    probe: Ints
    row: Ints
    amount: NDArray[Any]
    touched: int


def postings(column: Column) -> Postings:
    """The index of the rows of a basic window, which are in order of time: O(items log items)."""
    rows, keys, weights = _keys(column)
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(firsts(keys[order]))
    offsets = np.append(starts, len(order))
    return Postings(keys[order[starts]], offsets, rows[order], None if weights is None else weights[order], len(column))


def shared(
    index: Postings, probes: Column, start: Ints, stop: Ints, least: float = 1, weighted: bool = False
) -> Iterator[Shared]:
    """The pairs of probes and the stored rows from ``start`` up to ``stop`` of each, ``[probes]``, that share an item.

    ``weighted``: the amount is the sum of the products of weights, added by rising item. Pairs of less than ``least`` are
    left out. Given in pieces, to bound the memory; a piece has all that its probes share.
    """
    owner, first, sizes, weights = _lists(index, probes, start, stop)
    for low, high in _pieces(owner, sizes):
        some, head = sizes[low:high], owner[low]
        places = np.repeat(first[low:high] - np.cumsum(some) + some, some)
        places += np.arange(len(places))
        pair = np.repeat((owner[low:high] - head) * index.size, some)
        pair += index.rows[places]
        products = None
        if weighted:
            products = np.ones(len(pair)) if weights is None else np.repeat(weights[low:high], some)
            with np.errstate(invalid="ignore"):
                products = products if index.weights is None else products * index.weights[places]
        different, amount = _summed(pair, products, int(owner[high - 1] - head + 1) * index.size)
        enough = ~(amount < least)
        probe, row = np.divmod(different[enough], index.size)
        yield Shared(probe + head, row, amount[enough], len(pair))


def _keys(column: Column) -> tuple[Ints, NDArray[Any], Floats | None]:
    """Each row and one of its items, with the weight; by row, then item."""
    if isinstance(column, Sets):
        return column.owner, column.items, column.weights
    rows = np.flatnonzero(~column.null)
    return rows, column.values[rows], None


def _lists(index: Postings, probes: Column, start: Ints, stop: Ints) -> tuple[Ints, Ints, Ints, Floats | None]:
    """For each item of each probe the stretch of its list in time: the probe, first place, length, the probe's weight."""
    owner, keys, weights = _keys(probes)
    rank = np.searchsorted(index.keys, keys)
    known = np.flatnonzero(rank < len(index.keys))
    known = known[index.keys[rank[known]] == keys[known]]
    owner, rank = owner[known], rank[known]
    # A list after the other, and rows within each: one rising array, in which all stretches are found at once.
    places = np.repeat(np.arange(len(index.keys)), np.diff(index.offsets)) * index.size + index.rows
    first = np.searchsorted(places, rank * index.size + start[owner])
    last = np.searchsorted(places, rank * index.size + stop[owner])
    return owner, first, np.maximum(last - first, 0), None if weights is None else weights[known]


def _pieces(owner: Ints, sizes: Ints) -> Iterator[tuple[int, int]]:
    """Stretches of lists with about ``PIECE`` postings, none of which parts the lists of a probe."""
    if not len(owner):
        return
    heads = np.flatnonzero(firsts(owner))
    before = (np.cumsum(sizes) - sizes)[heads]
    cuts = heads[firsts(before // PIECE)].tolist()
    yield from zip(cuts, [*cuts[1:], len(owner)], strict=True)


def _summed(pair: Ints, products: Floats | None, upto: int) -> tuple[Ints, NDArray[Any]]:
    """The different ones of pairs below ``upto``, rising, and how often each is there, or the sum of its products."""
    if upto <= SPARSE * len(pair):
        counts = np.bincount(pair)
        there = np.flatnonzero(counts)
        return there, counts[there] if products is None else np.bincount(pair, products)[there]
    if products is None:
        return np.unique(pair, return_counts=True)
    different, place = np.unique(pair, return_inverse=True)
    return different, np.bincount(place, products)
