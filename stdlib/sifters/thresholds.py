"""Drop thresholds: what is dropped of each region, so that quality is as high as it can be (section 4.5 of the paper).

The linear program: the least ``quality @ drop`` with ``share @ drop == dropped``, each ``drop`` from 0 to its most, and
those of regions that queries want at most ``fairness`` apart. Solved without a solver: for a given lowest threshold it is
a fractional knapsack, and its cost is convex in that. Exactly, in O(regions log regions), where no query needs a share of
its rows; else to the last digits, by search.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from streamq.stdlib.sifters.boxes import Floats
from streamq.stdlib.sifters.queries import Wanted

ROUNDING = 1e-12

STEPS = 100
"""Of a search that narrows by a third at least: more than a float has digits for."""


def thresholds(wanted: Wanted, share: Floats, dropped: float, fairness: float = 1.0, *, more: bool = True) -> Floats:
    """``[regions]``, from 0 to 1. ``share``: of the rows, by region, of sum 1; ``dropped``: of all rows, 0 to 1.

    ``more``: regions that no query wants are dropped whole, even where that is more than ``dropped``; it costs nothing.
    Less than ``dropped`` goes where queries need more.
    """
    drop = np.zeros(len(share))
    free = ~wanted.some
    without = float(share[free].sum())
    needed = min(1.0, max(0.0, dropped))
    if without > 0 and without >= needed - ROUNDING:
        drop[free] = 1.0 if more else min(1.0, needed / without)
        return drop
    drop[free] = 1.0
    kept = np.flatnonzero(wanted.some)
    if len(kept):
        apart = min(1.0, max(0.0, fairness))
        quality, rows, most = wanted.quality[kept], share[kept], wanted.most[kept]
        if np.all(most >= 1):
            drop[kept] = _fair(quality, rows, needed - without, apart)
        else:
            drop[kept] = _bounded(quality, rows, needed - without, apart, most)
    return drop


def _fair(quality: Floats, share: Floats, needed: float, fairness: float) -> Floats:
    """All regions are wanted. The lowest threshold is tried at the points where the cost can turn."""
    total = float(share.sum())
    if total <= 0 or needed <= 0:
        return np.zeros(len(share))
    if needed >= total - ROUNDING:
        return np.ones(len(share))
    order = cheapest_first(quality, share)
    rows = np.append(0.0, np.cumsum(share[order]))
    costs = np.append(0.0, np.cumsum(quality[order]))
    low = np.clip(np.concatenate([[0.0, 1.0 - fairness], (needed - fairness * rows) / total]), 0.0, 1.0 - fairness)
    slack = needed - low * total
    low = low[(slack >= -ROUNDING) & (slack <= fairness * total + ROUNDING)]
    slack = np.clip(needed - low * total, 0.0, fairness * total)
    # So many regions, the cheapest, are ``fairness`` above the lowest.
    full = np.searchsorted(fairness * rows, slack, side="right") - 1
    ratio = np.append(np.divide(quality, share, out=np.zeros_like(quality), where=share > 0)[order], 0.0)
    rest = slack - fairness * rows[full]
    cost = low * costs[-1] + fairness * costs[full] + rest * ratio[full]
    best = int(np.argmin(cost))
    drop = np.full(len(share), low[best])
    drop[order[: full[best]]] += fairness
    if full[best] < len(order) and share[order[full[best]]] > 0:
        drop[order[full[best]]] += min(fairness, rest[best] / share[order[full[best]]])
    found: Floats = np.clip(drop, 0.0, 1.0)
    return found


def _bounded(quality: Floats, share: Floats, needed: float, fairness: float, most: Floats) -> Floats:
    """As ``_fair``, with no threshold above its ``most``; as much as there can be where that is less than ``needed``."""
    total, low_most = float(share.sum()), float(most.min())
    if total <= 0 or needed <= 0:
        return np.zeros(len(share))
    if needed >= float(share @ np.minimum(low_most + fairness, most)):
        highest_of_all: Floats = np.minimum(low_most + fairness, most)
        return highest_of_all
    order = cheapest_first(quality, share)

    def filled(low: float) -> Floats:
        """With the lowest threshold ``low``: the cheapest rows up to their bound, until it is enough."""
        room = (np.minimum(low + fairness, most) - low)[order] * share[order]
        left = np.clip(needed - low * total - (np.cumsum(room) - room), 0.0, room)
        found = np.full(len(share), low)
        found[order] += np.divide(left, share[order], out=np.zeros_like(left), where=share[order] > 0)
        return found

    # So low that enough goes, and not so high that more does.
    lowest, highest = 0.0, min(low_most, needed / total)
    if float(share @ np.minimum(fairness, most)) < needed:
        lowest = _least_where(lambda low: float(share @ np.minimum(low + fairness, most)) >= needed, 0.0, highest)
    for _ in range(STEPS):
        third = (highest - lowest) / 3
        if float(quality @ filled(lowest + third)) <= float(quality @ filled(highest - third)):
            highest -= third
        else:
            lowest += third
    return filled((lowest + highest) / 2)


def _least_where(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The least number for which it holds, where it does from that on, by halves."""
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def cheapest_first(quality: Floats, share: Floats) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Regions by the quality that a dropped row costs, least first; those without rows last, as nothing is saved there."""
    ratio = np.divide(quality, share, out=np.full_like(quality, np.inf), where=share > 0)
    return np.argsort(ratio, kind="stable")
