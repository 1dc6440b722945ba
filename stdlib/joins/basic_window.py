"""How long basic windows should be: what of the best output at a load is reached when whole basic windows are chosen.

The shorter they are the better they follow the ages at which partners are found, and the more of them there are to look
into (Gedik, Wu, Yu, Liu 2007, "CPU Load Shedding for Binary Stream Joins": the optimality φ). Ages of partners have a
histogram, of which all that is said here is exact: no integration in steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.joins.kinds import USUAL
from streamq.stdlib.joins.selection import Floats

MOST_SCANNED = 64
"""Basic windows in a window that is scanned."""

MOST_INDEXED = 20
"""The same with an index in each: a probe looks each of its items up in every one."""

ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Ages:
    """The ages of partners, given a match: ``density`` (f, per second) in equal parts of the window, ``[parts]``.

    ``win_s``: the length of the window in seconds. ``of`` makes one of any histogram.
    """

    win_s: float
    density: Floats

    @property
    def part_s(self) -> float:
        """The length of a part in seconds."""
        return self.win_s / len(self.density)

    @property
    def edges(self) -> Floats:
        """The bounds of the parts, ``[parts + 1]`` seconds."""
        return np.linspace(0.0, self.win_s, len(self.density) + 1)

    def younger(self, age_s: Floats) -> Floats:
        """The share of partners that are younger (F), of ages in seconds."""
        return np.interp(age_s, self.edges, _summed(self.density * self.part_s))

    def younger_sum(self, age_s: Floats) -> Floats:
        """The integral of ``younger`` from 0 to an age, in seconds."""
        inner = np.clip(age_s, 0.0, self.win_s)
        part = np.minimum((inner / self.part_s).astype(np.int64), len(self.density) - 1)
        before = _summed(self.density * self.part_s)
        # A trapezium in each part, as F is linear there.
        until = _summed((before[1:] + before[:-1]) / 2 * self.part_s)[part]
        into = inner - part * self.part_s
        return until + into * (before[part] + self.density[part] * into / 2) + np.maximum(age_s - self.win_s, 0.0)

    def best(self, extent_s: Floats) -> Floats:
        """The largest share of partners in any part of the window of such an extent in seconds (g)."""
        densest = np.sort(self.density)[::-1]
        return np.interp(extent_s, self.edges, _summed(densest * self.part_s))


def ages(win_s: float, histogram: Sequence[float] | Floats) -> Ages:
    """From what falls into equal parts of a window, newest first, in any unit.

    ValueError for a window of no length, negative or NaN parts, and where all are 0.
    """
    parts = np.asarray(histogram, dtype=np.float64)
    if not (0 < win_s < math.inf and parts.size and np.all((parts >= 0) & np.isfinite(parts)) and parts.sum() > 0):
        raise ValueError("a window has a length, and a histogram parts of which none is negative and one is more than 0")
    return Ages(float(win_s), parts * (parts.size / (parts.sum() * win_s)))


def n_bw(win_s: float, bw_s: float) -> int:
    """Basic windows of a window: one more than fit, as the newest is only partly full. Lengths in seconds."""
    if not (0 <= win_s < math.inf and 0 < bw_s < math.inf):
        raise ValueError(f"a basic window has a length: {win_s} s in parts of {bw_s} s")
    return 1 + math.ceil(win_s / bw_s - ROUNDING)


def masses(of: Ages, bw_s: float) -> Floats:
    """The share of partners in each basic window (p_{i,j}), ``[n]``, the newest first, of sum 1.

    On average over how full the newest is, evenly from empty to full: the second difference of the integral of F.
    """
    ends = bw_s * np.arange(-1, n_bw(of.win_s, bw_s) + 1, dtype=np.float64)
    return np.diff(of.younger_sum(ends), 2) / bw_s


def optimality(of: Ages, bw_s: float, load: float) -> float:
    """φ: what is found in the best whole basic windows, and a part of the next one, by what could be found at this load.

    ``load`` (r'): what can be compared, in windows; above 0, and possibly more than 1. ValueError otherwise.
    """
    if not 0 < load < math.inf:
        raise ValueError(f"something is compared: {load}")
    best_first = np.sort(masses(of, bw_s))[::-1]
    budget = load * of.win_s / bw_s
    whole = min(len(best_first), math.floor(budget + ROUNDING))
    used = float(best_first[:whole].sum())
    if whole < len(best_first):
        used += max(0.0, budget - whole) * float(best_first[whole])
    return used / float(of.best(np.array(of.win_s * min(1.0, load))))


def shortest_bw_s(win_s: Sequence[float], most: int = MOST_SCANNED) -> float:
    """The shortest basic window in seconds with which no window has more than ``most`` of them.

    ValueError for windows of length 0, and for fewer than two basic windows.
    """
    if most < 2 or not 0 < max(win_s) < math.inf:
        raise ValueError("a window that has a length has two basic windows at least")
    return max(win_s) / (most - 1)


def usual_bw_s(win_s: Sequence[float]) -> float:
    """The length of basic windows in seconds where none is asked for."""
    return shortest_bw_s(win_s, USUAL + 1)


def _summed(parts: Floats) -> Floats:
    return np.append(0.0, np.cumsum(parts))
