"""What queries want of a source, and how much quality each region gives (section 4.4 of the paper)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from streamq.dsl.records import dataclass
from streamq.stdlib.sifters.boxes import Boxes, Floats, Ints
from streamq.stdlib.sifters.regions import Regions

AT_ONCE = 4_000_000
"""Pairs of a box and a region that are worked out at once, to bound the memory."""


@dataclass(frozen=True, slots=True)
class Queries:
    """``lo``, ``hi``: boxes ``[boxes, attributes]`` in the domain 0 to 1; ``query``: whose each is, rising.

    ``weight``: of each query, of sum 1; ``slope``: the quality that it loses with all of its completeness, 0 to 1;
    ``least``: the share of its rows that it needs. A query without a box wants no row.
    """

    lo: Floats
    hi: Floats
    query: Ints
    weight: Floats
    slope: Floats
    least: Floats

    @property
    def centres(self) -> Floats:
        return (self.lo + self.hi) / 2

    @property
    def value(self) -> Floats:
        """The quality that each query can lose."""
        return self.weight * self.slope


@dataclass(frozen=True, slots=True)
class Wanted:
    """By region: ``quality``, lost where all of its rows are dropped (A of the paper), and ``some`` query wants rows.

    ``most``: the share of its rows that all who want them can do without.
    """

    quality: Floats
    some: NDArray[np.bool_]
    most: Floats


def queries_of(
    boxes: Sequence[Boxes], weights: Sequence[float], slopes: Sequence[float], least: Sequence[float] = ()
) -> Queries:
    """All queries in the domain 0 to 1, to which boxes are cut; weights are made to have the sum 1."""
    attributes = next((one.lo.shape[1] for one in boxes), 0)
    lo = np.clip(np.concatenate([np.empty((0, attributes)), *(one.lo for one in boxes)]), 0.0, 1.0)
    hi = np.clip(np.concatenate([np.empty((0, attributes)), *(one.hi for one in boxes)]), 0.0, 1.0)
    query = np.repeat(np.arange(len(boxes)), [len(one) for one in boxes])
    some = np.all(lo < hi, axis=1)
    total = sum(weights)
    weight = np.asarray(weights, dtype=np.float64) / total if total > 0 else np.zeros(len(boxes))
    needs = np.asarray(least or [0.0] * len(boxes), dtype=np.float64)
    return Queries(lo[some], hi[some], query[some], weight, np.asarray(slopes, dtype=np.float64), needs)


def consolidated(queries: Queries, regions: Regions, share: Floats) -> Wanted:
    """What all queries together want of each region; ``share``: of the rows that it has, ``[regions]``."""
    quality, some, most = np.zeros(len(regions)), np.zeros(len(regions), dtype=bool), np.ones(len(regions))
    value = queries.value
    for first, last, overlap in _overlaps(queries, regions):
        wants = overlap > 0
        some |= wants.any(axis=0)
        query = queries.query[first:last]
        if queries.least.any():
            most = np.minimum(most, np.where(wants, 1.0 - queries.least[query, None], 1.0).min(axis=0))
        found, parts = _by_query(overlap, query, density(regions, share))
        quality += value[found] @ parts
    return Wanted(quality, some, most)


def completeness(queries: Queries, regions: Regions, share: Floats, drop: Floats) -> Floats:
    """The share of its rows that each query gets, by the model: rows lie evenly in a region. 1 for one without rows."""
    found = np.ones(len(queries.weight))
    for first, last, overlap in _overlaps(queries, regions):
        some, parts = _by_query(overlap, queries.query[first:last], density(regions, share))
        found[some] -= parts @ drop
    return found


def density(regions: Regions, share: Floats) -> Floats:
    """The share of rows that a region has, for each unit of its volume; 0 where it has none."""
    volume = np.prod(regions.hi - regions.lo, axis=1)
    found: Floats = np.divide(share, volume, out=np.zeros_like(share), where=volume > 0)
    return found


def _by_query(overlap: Floats, query: Ints, dense: Floats) -> tuple[Ints, Floats]:
    """The queries, and the share of each one's rows that lies in each region; of sum 0 where it has none."""
    rows = overlap * dense
    if len(query) and np.any(query[1:] == query[:-1]):
        starts = np.flatnonzero(np.append(True, query[1:] != query[:-1]))
        rows, query = np.add.reduceat(rows, starts, axis=0), query[starts]
    total = rows.sum(axis=1, keepdims=True)
    return query, np.divide(rows, total, out=np.zeros_like(rows), where=total > 0)


def _overlaps(queries: Queries, regions: Regions) -> Iterator[tuple[int, int, Floats]]:
    """The volume that boxes have in common with regions, for whole queries at a time."""
    step = max(1, AT_ONCE // max(1, len(regions)))
    boxes = len(queries.lo)
    first = 0
    while first < boxes:
        last = min(boxes, first + step)
        while last < boxes and queries.query[last] == queries.query[last - 1]:
            last += 1
        lo, hi = queries.lo[first:last], queries.hi[first:last]
        common = np.ones((last - first, len(regions)))
        for d in range(lo.shape[1]):
            edge = np.minimum(hi[:, d, None], regions.hi[:, d])
            edge -= np.maximum(lo[:, d, None], regions.lo[:, d])
            np.maximum(edge, 0.0, out=edge)
            common *= edge
        yield first, last, common
        first = last
