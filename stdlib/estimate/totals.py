"""What a sample says of all rows: counts, sums and means, with bounds (Horvitz and Thompson 1952).

A row that is kept with the probability p stands for ``w = 1/p`` rows. Rows are kept or shed independently of each
other, so an estimated total ``sum(w x)`` has the variance ``sum(w (w - 1) x^2)``, estimated from kept rows too.
Five sums over the kept rows are all that is needed, and they add up over micro-batches with different p::

    n   rows kept          c   sum(w)           v   sum(w (w - 1))
    t   sum(w x)           m   sum(w (w - 1) x)          q   sum(w (w - 1) x^2)

``c``, ``v`` are of the rows where x is not NULL for SUM and AVG. All arrays have one value per result.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamq.dsl.records import dataclass
from streamq.stdlib.estimate.confidence import deviations

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimates:
    """Estimated values with the bounds between which the true ones lie with the asked confidence."""

    value: Values
    low: Values
    high: Values


def count(n: Values, c: Values, v: Values, confidence: float = 0.95) -> Estimates:
    """The number of all rows. There are at least as many as were kept.

    The bounds are all numbers N for which the kept rows are no surprise, as N itself says how much the sample
    varies (Wilson 1927): good for few rows, too, where those of the normal distribution around the estimate are not.
    """
    z = deviations(confidence)
    ratio = np.divide(v, c, out=np.zeros_like(v), where=c > 0)
    middle = c + z * z * ratio / 2
    width = z * np.sqrt(v + z * z * ratio * ratio / 4)
    return Estimates(c, np.maximum(middle - width, n), middle + width)


def total(t: Values, q: Values, confidence: float = 0.95) -> Estimates:
    """The sum over all rows."""
    width = deviations(confidence) * np.sqrt(q)
    return Estimates(t, t - width, t + width)


def mean(
    n: Values, c: Values, v: Values, t: Values, m: Values, q: Values, confidence: float = 0.95
) -> Estimates:
    """The mean of all rows, as the ratio of two estimates; NaN without rows.

    The distances from the mean are taken as those of ``n - 1`` rows, since the mean is of the same rows.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        value = t / c
        squares = np.maximum(q - 2 * value * m + value * value * v, 0.0)
        variance = squares / (c * c) * np.where(n > 1, n / (n - 1), 1.0)
    width = deviations(confidence) * np.sqrt(variance)
    return Estimates(value, value - width, value + width)


def least_share(error: float, confidence: float, rows: float, variation: float = 0.0) -> float:
    """The share of ``rows`` that must be kept for a relative error of a total, at a confidence.

    ``variation``: the standard deviation of the values over their mean; 0 for counts. From the variance of a total,
    ``(1/p - 1) sum(x^2)``.
    """
    if rows <= 0:
        return 1.0
    allowed = (error / deviations(confidence)) ** 2 * rows / (1 + variation**2)
    return 1 / (1 + allowed)
