"""How much of the windows is compared: a fraction that follows the share of arriving rows that was processed.

Comparisons are nearly all that a windowed join costs, and there are in proportion to the fraction as many of them. So the
fraction times the share that was processed is what there is capacity for; where all rows were processed it is raised, and
taken back after the next period if that was too much (Algorithm 1 of Gedik, Wu, Yu, Liu 2007, "CPU Load Shedding for Binary
Stream Joins").
"""

from __future__ import annotations

import math

from streamq.dsl.records import dataclass, replace

BOOST = 1.2
"""By how much the fraction is raised (δ_r)."""

LEAST = 1e-3
"""The least fraction (r_min): from 0 none would be raised again."""

BUSY = 0.9
"""The part of its time from which on a processor has nothing to spare."""

OVERHEAD = 0.005
"""The most that adapting may take of a processor's time (ε)."""


@dataclass(frozen=True, slots=True)
class Rate:
    """``frac``: the fraction r that is compared, 0 to 1. ``beta``: consumed by arrived rows of the last period.

    ``boost``: at least 1. ``least``: above 0. Raises ``ValueError`` for others.
    """

    frac: float = 1.0
    beta: float = 1.0
    boost: float = BOOST
    least: float = LEAST

    def __post_init__(self) -> None:
        """Checks the numbers."""
        if not (0 < self.least <= 1 and 0 <= self.frac <= 1 and 1 <= self.boost < math.inf):
            raise ValueError("fractions are numbers from 0 to 1, the least above 0, and the boost is at least 1")

    def after(self, arrived: float, fetched: float, busy: float = 0.0) -> Rate:
        """The rate after a period in which so many rows arrived on both sides, lost ones too, and so many were processed.

        ``busy``: the part of its time that the processor worked; at ``BUSY`` and more the fraction is not raised. 0 where
        that is not known. A period without arrivals is one in which all were processed. ValueError for negative numbers.
        """
        if not (0 <= arrived < math.inf and 0 <= fetched < math.inf):
            raise ValueError(f"rows are counted from 0: {arrived}, {fetched}")
        beta = fetched / arrived if arrived > 0 else 1.0
        if beta < 1:
            frac = beta * self.frac
        else:
            frac = self.frac if busy >= BUSY else min(1.0, self.boost * self.frac)
        return replace(self, frac=max(frac, self.least), beta=beta)


def compared_share(frac: float, sample_p: float) -> float:
    """The share of the windows that is compared on average, full probes included: a little more than the fraction.

    A full probe, made with probability ``frac * sample_p``, compares all instead of ``frac`` (Algorithm 3).
    """
    return frac * (1 + sample_p * (1 - frac))


def rate_period_s(burst_s: float, step_s: float = 0.0, most: float = OVERHEAD) -> float:
    """Seconds between adaptations (T_r): twice in a period of the most frequent burst, so that it is seen.

    ``step_s``: seconds that an adaptation takes; they are at most the share ``most`` of the processor's time. ValueError
    where a time is negative, or no burst is given.
    """
    if not (burst_s > 0 and step_s >= 0 and most > 0):
        raise ValueError("times are positive")
    return max(burst_s / 2, step_s / most)
