"""Fair shedding by rates: which share of its rows each query keeps, so that coverages are level.

It is what ``fair`` comes to with batches as small as can be, where all rows of a query weigh the same.
"""

from __future__ import annotations

from bisect import bisect_left

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.fairness.batches import Floats
from streamq.stdlib.fairness.fair import filled


@dataclass(frozen=True, slots=True)
class Level:
    """``keep``: the share of its rows that each query keeps, 0 to 1.

    ``level``: the coverage, divided by its weight, that each query reaches which keeps some of its
    rows but not all; infinite where all rows are kept.
    """

    level: float
    keep: Floats


def fair_shares(
    rows: Floats,
    pending: Floats,
    coverage: Floats,
    budget: float,
    weights: Floats | None = None,
) -> Level:
    """The shares with ``sum(rows * keep) == budget``, or 1 for all where the budget is enough.

    Of each query: ``rows`` that wait, ``pending``: their weight together, ``coverage``: with these
    rows, over all nodes (NaN: not yet known, counts as the mean of the others), ``weights``: its
    claim; one of claim 0 gets what the others leave. A query without rows has the share 1.
    Rows without weight are kept as soon as the level reaches the coverage of their query.
    Raises ValueError for negative rows, pending weights or claims.
    """
    n = np.asarray(rows, dtype=np.float64)
    weight = np.asarray(pending, dtype=np.float64)
    claims = np.ones(len(n)) if weights is None else np.asarray(weights, dtype=np.float64)
    if not all(np.all(column >= 0) for column in (n, weight, claims)):
        raise ValueError("rows, weights and claims are not negative")
    base = filled(coverage) - weight
    keep = np.ones(len(n))
    left = float(budget)
    for group, divisor in ((claims > 0, claims), (claims == 0, np.ones(len(n)))):
        some = np.flatnonzero(group & (n > 0))
        if left < n[some].sum():
            keep[(claims == 0) & (n > 0)] = 0.0
            claim = divisor[some]
            found = _shares(n[some], base[some] / claim, weight[some] / claim, left)
            keep[some] = found.keep
            return Level(found.level, keep)
        left -= float(n[some].sum())
    return Level(np.inf, keep)


def _shares(rows: Floats, base: Floats, height: Floats, budget: float) -> Level:
    """The level at which exactly ``budget`` rows are kept, of queries that all have rows.

    The rows kept grow with the level, in straight pieces between the levels at which a query
    begins and ends to fill, and in a jump where it fills at once.
    """
    if budget <= 0:
        return Level(float(base.min()), np.zeros(len(rows)))
    top = base + height
    at_once = top <= base
    height = np.where(at_once, 1.0, height)

    def kept(level: float) -> Floats:
        return np.where(level >= top, 1.0, np.clip((level - base) / height, 0, 1))

    edges = np.unique(np.concatenate((base, top)))
    place = bisect_left(edges, budget, hi=len(edges) - 1, key=lambda e: float(rows @ kept(e)))
    edge = float(edges[place])
    jumping = at_once & (base == edge)
    below = np.where(jumping, 0.0, kept(edge))
    missing = budget - float(rows @ below)
    if missing >= 0 and jumping.any():
        share = min(1.0, missing / float(rows[jumping].sum()))
        return Level(edge, np.where(jumping, share, below))
    previous = float(edges[place - 1]) if place else edge
    start = kept(previous)
    filling = ~at_once & (base <= previous) & (top > previous)
    slope = np.where(filling, 1 / height, 0.0)
    step = (budget - float(rows @ start)) / float(rows @ slope)
    keep = np.clip(start + step * slope, 0, 1)
    # Weights so small that floats hardly tell the levels apart leave a gap, to those that still fill.
    gap = budget - float(rows @ keep)
    room = np.where(filling, 1 - keep if gap > 0 else keep, 0.0)
    part = min(1.0, abs(gap) / max(float(rows @ room), 1e-300))
    return Level(previous + step, keep + np.sign(gap) * part * room)
