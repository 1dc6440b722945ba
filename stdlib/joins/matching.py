"""Which stored rows of a basic window each probe matches, among those that it may compare: by a scan or through an index.

A scan compares blocks of probes and stored rows with the condition. Probes that compare about the same rows are in one
block, so a block has at most about twice the comparisons that are wanted, however little each probe compares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.joins.columns import Bools, Column, Sets, Values
from streamq.stdlib.joins.conditions import (
    Bitmaps,
    Condition,
    SetCondition,
    ValueCondition,
    bitmaps,
    block,
    holds,
    sided,
)
from streamq.stdlib.joins.postings import postings, shared
from streamq.stdlib.joins.selection import Ints

Method = Literal["SCAN", "INDEX"]

BLOCK = 1 << 17
"""Comparisons that are made at once, so that they stay in the cache; more only where a single probe has more."""

SMALL = 1 << 12
"""Comparisons that cost no more than the block itself."""


@dataclass(frozen=True, slots=True)
class Found:
    """Matches, ``[matches]``: positions of ``probe`` and stored ``row``. ``touched``: rows or postings that were read."""

    probe: Ints
    row: Ints
    touched: int


def method(condition: Condition, indexed: bool) -> Method:
    """How to find matches; ``indexed``: through an index, which sets that are no bitmaps always are.

    Raises ``ValueError`` where there is no index for the condition.
    """
    if isinstance(condition, SetCondition):
        return "SCAN" if condition.by_bitmaps and not indexed else "INDEX"
    if indexed and not condition.by_key:
        raise ValueError("of values there is an index for equality only")
    return "INDEX" if indexed else "SCAN"


def prepared(condition: Condition, column: Column, how: Method) -> Column | Bitmaps:
    """The rows as ``matches`` takes them, probes and stored ones alike."""
    if how == "SCAN" and isinstance(condition, SetCondition) and isinstance(column, Sets):
        return bitmaps(column, condition.alphabet or 0)
    return column


def matches(
    condition: Condition,
    side: int,
    probes: Column | Bitmaps,
    stored: Column | Bitmaps,
    start: Ints,
    stop: Ints,
    how: Method,
) -> Found:
    """The matches of each probe with the stored rows from ``start`` up to ``stop``, ``[probes]`` each, as ``prepared``.

    ``side``: of the probes, 0 for S1.
    """
    if how == "SCAN" or isinstance(probes, Bitmaps) or isinstance(stored, Bitmaps):

        def compared(which: Ints, first: int, last: int) -> Bools:
            return block(condition, side, probes.take(which), stored.take(slice(first, last)))

        return _scanned(compared, start, stop)
    if isinstance(condition, ValueCondition) and isinstance(probes, Values) and isinstance(stored, Values):
        found = [*_of_key(condition, side, probes, stored, start, stop)]
    elif isinstance(condition, SetCondition) and isinstance(probes, Sets) and isinstance(stored, Sets):
        found = [*_listed(condition, side, probes, stored, start, stop)]
        if condition.kind not in ("OVERLAP", "INNER_PRODUCT"):
            found += _without_items(condition, side, probes, stored, start, stop)
    else:
        raise TypeError("a condition on sets is about columns of sets, one on values about values")
    return _all(found)


def _all(found: Sequence[Found]) -> Found:
    none = np.empty(0, dtype=np.int64)
    probe, row = np.concatenate([none, *(f.probe for f in found)]), np.concatenate([none, *(f.row for f in found)])
    return Found(probe, row, sum(f.touched for f in found))


def _of_key(
    condition: ValueCondition, side: int, probes: Values, stored: Values, start: Ints, stop: Ints
) -> Iterator[Found]:
    """The matches among values of equal keys, in pieces."""
    for part in shared(postings(_keys(condition, stored)), _keys(condition, probes), start, stop):
        if condition.key is None:
            yield Found(part.probe, part.row, part.touched)
        else:
            held = np.broadcast_to(holds(condition, side, probes.values[part.probe], stored.values[part.row]), len(part.probe))
            yield Found(part.probe[held], part.row[held], part.touched)


def _keys(condition: ValueCondition, column: Values) -> Values:
    return column if condition.key is None else Values(column.values[condition.key], column.null)


def _listed(
    condition: SetCondition, side: int, probes: Sets, stored: Sets, start: Ints, stop: Ints
) -> Iterator[Found]:
    """The matches of sets that share an item, in pieces."""
    mine, theirs = probes.sizes, stored.sizes
    weighted = condition.kind == "INNER_PRODUCT"
    for part in shared(postings(stored), probes, start, stop, condition.least_amount, weighted):
        held = condition.holds(part.amount, *sided(side, mine[part.probe], theirs[part.row]))
        yield Found(part.probe[held], part.row[held], part.touched)


def _without_items(
    condition: SetCondition, side: int, probes: Sets, stored: Sets, start: Ints, stop: Ints
) -> list[Found]:
    """The matches in which a set is empty: no index tells of those, but they share nothing, so sizes are enough."""
    mine, theirs = np.flatnonzero(~probes.null), np.flatnonzero(~stored.null)
    empty, full = mine[probes.sizes[mine] == 0], mine[probes.sizes[mine] > 0]
    empties = theirs[stored.sizes[theirs] == 0]
    return [
        _sharing_nothing(condition, side, probes, stored, some, others, start, stop)
        for some, others in ((empty, theirs), (full, empties))
    ]


def _sharing_nothing(
    condition: SetCondition, side: int, probes: Sets, stored: Sets, some: Ints, others: Ints, start: Ints, stop: Ints
) -> Found:
    """The matches of some probes and some stored rows, given by position, which share nothing."""
    mine, theirs = probes.sizes[some], stored.sizes[others]

    def compared(which: Ints, first: int, last: int) -> Bools:
        sizes = sided(side, mine[which, None], theirs[None, first:last])
        return condition.holds(np.zeros((len(which), last - first), dtype=np.uint8), *sizes)

    first, last = np.searchsorted(others, start[some]), np.searchsorted(others, stop[some])
    found = _scanned(compared, first, last)
    return Found(some[found.probe], others[found.row], 0)


def _scanned(compared: Callable[[Ints, int, int], Bools], start: Ints, stop: Ints) -> Found:
    """Matches of each probe with the rows from ``start`` up to ``stop``.

    ``compared``: a function that gives the block of probes at some positions and the rows from a first up to a last.
    """
    order = np.argsort(start, kind="stable")
    order = order[(start < stop)[order]]
    found = []
    while len(order):
        count = _block_size(start[order[:SMALL]], stop[order[:SMALL]])
        which, order = order[:count], order[count:]
        begin, end = start[which], stop[which]
        first, last = int(begin[0]), int(end.max())
        held = compared(which, first, last)
        if begin[-1] > first or end.min() < last:
            rows = np.arange(first, last)
            held = held & (rows >= begin[:, None]) & (rows < end[:, None])
        probe, row = np.divmod(np.flatnonzero(held), last - first)
        found.append(Found(which[probe], row + first, int((end - begin).sum())))
    return _all(found)


def _block_size(start: Ints, stop: Ints) -> int:
    """How many of these probes, by rising ``start``, make a block that has at most twice the comparisons wanted."""
    wanted = np.cumsum(stop - start)
    area = np.arange(1, len(start) + 1) * (np.maximum.accumulate(stop) - start[0])
    fits = (area <= BLOCK) & (area <= 2 * wanted + SMALL)
    return max(1, len(fits) if fits.all() else int(np.argmin(fits)))
