"""Partitioning the domain into regions: equal cells, equal numbers of rows or queries, or by QDPart.

All take coordinates from 0 to 1. A grid of ``u`` slices in each attribute gives ``u ** attributes`` regions; for other
numbers regions are cut in two, the one that is worth most first (section 4.3 of the paper). The cost of QDPart is
O(rows log rows) for each level of the tree.
"""

from __future__ import annotations

import heapq

import numpy as np

from streamq.stdlib.sifters.boxes import Floats, Ints
from streamq.stdlib.sifters.plans import Method
from streamq.stdlib.sifters.regions import Regions, Tree
from streamq.stdlib.sifters.splits import Split, between, data_split, diverse_split, even_split


def partition(
    method: Method, count: int, sample: Floats, hits: Ints, centres: Floats, lines: int | None = None
) -> Regions:
    """``count`` regions, or fewer where the sample cannot be told apart further.

    ``sample``: ``[rows, attributes]``, and ``hits`` of its rows; ``centres``: of the boxes of queries. ``lines``: cuts are
    at so many equal steps of the domain. UNIFORM, DATA and QUERY are a grid where the number allows it. Without a
    sample, or without queries for QUERY, cells are equal.
    """
    n = sample.shape[1]
    slices = round(count ** (1 / n))
    points = centres if method == "QUERY" else sample
    if method == "UNIFORM" or not len(points):
        return (even_grid(slices, n) if slices**n == count else flexible(count, points[:0], None, True)).regions(lines)
    if method == "QDPART":
        return flexible(count, points, hits).regions(lines)
    return (equal_counts(points, slices) if slices**n == count else flexible(count, points, None)).regions(lines)


def even_grid(slices: int, attributes: int) -> Tree:
    """Equal cells."""
    tree = Tree(attributes)
    cuts = np.arange(1, slices) / slices
    regions = [0]
    for attribute in range(attributes):
        regions = [part for region in regions for part in _sliced(tree, region, attribute, cuts)]
    return tree


def equal_counts(points: Floats, slices: int) -> Tree:
    """In each attribute in turn as many points to each slice, within each slice of the ones before."""
    tree = Tree(points.shape[1])
    parts = [(0, points)]
    for attribute in range(points.shape[1]):
        after = []
        for region, unordered in parts:
            some = unordered[np.argsort(unordered[:, attribute], kind="stable")]
            ends = len(some) * np.arange(1, slices) // slices
            lo, hi = tree.bounds(region)
            cuts = np.array([_cut(some[:, attribute], int(e), float(lo[attribute]), float(hi[attribute])) for e in ends])
            bounds = [0, *ends.tolist(), len(some)]
            after += [
                (part, some[bounds[i] : bounds[i + 1]])
                for i, part in enumerate(_sliced(tree, region, attribute, cuts))
            ]
        parts = after
    return tree


def flexible(count: int, points: Floats, hits: Ints | None, even: bool = False) -> Tree:
    """Regions cut in two. ``hits``: by QDPart, then, where nothing more is gained, by number of points.
    ``even``: by volume.
    """
    tree = Tree(points.shape[1])
    across = np.ascontiguousarray(points.T)
    weights = None if hits is None else hits.astype(np.float64)
    rows = np.arange(points.shape[1])[:, None]
    queue: list[tuple[int, float, int, int, Split, Ints]] = []
    age = 0

    def consider(region: int, order: Ints) -> None:
        nonlocal age
        stage, split = 1, None
        values = across[rows, order]
        if even:
            split = even_split(*tree.bounds(region))
        elif weights is not None and (split := diverse_split(values, weights[order])) is not None:
            stage = 0
        else:
            split = data_split(values)
        if split is not None:
            heapq.heappush(queue, (stage, -split.worth, age, region, split, order))
        age += 1

    consider(0, np.argsort(across, axis=1, kind="stable"))
    while queue and len(tree) < count:
        *_, region, split, order = heapq.heappop(queue)
        goes_below = (across[split.attribute] < split.cut)[order]
        above = tree.split(region, split.attribute, split.cut)
        consider(region, order[goes_below].reshape(len(across), -1))
        consider(above, order[~goes_below].reshape(len(across), -1))
    return tree


def _sliced(tree: Tree, region: int, attribute: int, cuts: Floats) -> list[int]:
    """Cuts a region at all of ``cuts``, rising, by halves; the regions in order."""
    if not len(cuts):
        return [region]
    middle = len(cuts) // 2
    above = tree.split(region, attribute, float(cuts[middle]))
    return [
        *_sliced(tree, region, attribute, cuts[:middle]), *_sliced(tree, above, attribute, cuts[middle + 1 :])
    ]


def _cut(values: Floats, end: int, lo: float, hi: float) -> float:
    """Between the values before and from ``end``; where there are none, at the bounds."""
    if end == 0:
        return lo
    if end == len(values):
        return hi
    return between(float(values[end - 1]), float(values[end]))
