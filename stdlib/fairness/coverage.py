"""How much of its sources a query has seen: the sum of the weights that reached its results.

1 is everything, 0 nothing. It says how much input is missing, not how wrong a result is. Times are
numbers of one unit, the caller's; no clock is asked.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.fairness.batches import Flags, Floats, Ints, summed


@dataclass(frozen=True, slots=True)
class Log:
    """Weights of several queries over time, oldest first: of results given out, or of batches admitted.

    ``at``: when. ``query``: of which one, counted from 0. ``total``: how much.
    """

    at: Floats
    query: Ints
    total: Floats

    @staticmethod
    def empty() -> Log:
        """Nothing happened yet."""
        return Log(np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros(0))

    def after(self, now: float, query: Ints, total: Floats, keep: float) -> Log:
        """The log with these weights at ``now``, without what is older than ``keep``."""
        recent = self.at > now - keep
        return Log(
            np.concatenate((self.at[recent], np.full(len(query), now))),
            np.concatenate((self.query[recent], query)),
            np.concatenate((self.total[recent], total)),
        )

    def between(self, start: float, end: float, n_queries: int) -> Floats:
        """The weight of each query in (start, end]."""
        inside = (self.at > start) & (self.at <= end)
        return summed(self.query[inside], self.total[inside], n_queries)


@dataclass(frozen=True, slots=True)
class Coverage:
    """The coverage of each query at one instant. ``warming``: less than one window has passed.

    ``raw``: the plain sum of the weights. ``value``: the same for a whole window, where less has passed.
    """

    raw: Floats
    value: Floats
    warming: Flags


def coverage(results: Log, now: float, window: float, start: Floats) -> Coverage:
    """The coverage of each query from its results in (now - window, now].

    ``start``: when each query began. The window must be longer than a tuple takes through the
    query. The value may lie above 1 where weights were estimated; clip it to show it.
    """
    raw = results.between(now - window, now, len(start))
    elapsed = np.minimum(now - np.asarray(start, dtype=np.float64), window)
    scale = np.divide(window, elapsed, out=np.ones(len(raw)), where=elapsed > 0)
    return Coverage(raw, raw * scale, elapsed < window)


def pane_coverage(pane: Ints, total: Floats, panes: int) -> Floats:
    """The coverage of each pane from the weights of results: those of ``pane[i]``, counted from 0.

    A pane without results has 0: all its input was shed.
    """
    return summed(pane, total, panes)


def window_charge(range_ms: int, slide_ms: int) -> float:
    """Which part of its weight a tuple gives to each window that it is in, so that it counts once.

    Exact where the slide divides the range, and right on average elsewhere.
    """
    if range_ms <= 0 or slide_ms <= 0:
        raise ValueError(f"a window's lengths must be positive, not {range_ms} and {slide_ms} ms")
    return min(1.0, slide_ms / range_ms)


def window_totals(
    panes: Floats, per_window: int, charge: Literal["share", "first"] = "share"
) -> Floats:
    """The weight of the window that ends with each pane, ``per_window`` panes long.

    ``share``: a pane gives an equal part to each window that it is in; the first windows of a
    stream hold fewer panes and weigh less. ``first``: all to the first window, nothing later.
    """
    if charge == "first":
        return panes
    sums = np.concatenate((np.zeros(per_window), np.cumsum(panes)))
    return (sums[per_window:] - sums[: len(panes)]) / per_window
