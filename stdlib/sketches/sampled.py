"""Sizes from rows that were sampled on the way: where a row that was kept with the chance p has the weight 1/p.

Counters are sums of weights then, and a sum is without bias but its square is not. Deng 2007, section 4.6, for F2 itself:
the thesis. With w = 1/p, and kept rows in the sums:

F2 of weights:  E[(sum of w)^2] = f^2 + sum over all rows of (w - 1), as a row's w is 1 on average, and varies by w - 1.
Its surplus:    E[sum over kept rows of w(w - 1)] = sum over all rows of p w(w - 1) = sum over all rows of (w - 1).

So F2 of weights less that sum over kept rows has no bias. ``surplus`` sums up over batches as counters do.
"""

from __future__ import annotations

import math

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.sketches.bounds import Interval
from streamq.stdlib.sketches.confidence import How, check_confidence
from streamq.stdlib.sketches.counters import Floats, Numbers
from streamq.stdlib.sketches.estimators import f2_cm, f2_cmm, f2_cmm_rows


@dataclass(frozen=True, slots=True)
class Sampling:
    """What is known of the weights of kept rows: their sum, and the sum of w(w - 1); both add up over parts."""

    total: float = 0.0
    surplus: float = 0.0

    def added(self, weights: Numbers) -> Sampling:
        """With rows of such weights, ``[n]``. ValueError for weights below 1: nothing is kept with a chance above 1."""
        if len(weights) and not weights.min() >= 1:
            raise ValueError(
                "a kept row stands for itself at least: its weight is 1/p, and p a chance"
            )
        return Sampling(
            self.total + float(weights.sum()),
            self.surplus + float((weights * (weights - 1.0)).sum()),
        )

    @property
    def spread(self) -> float:
        """The mean of w - 1 over all rows (v): the variance that a row brings in."""
        return self.surplus / self.total if self.total else 0.0


def f2_of_weighted(f2_of_weights: Floats, surplus: Numbers | float) -> Floats:
    """F2 of all rows, from F2 of the sums of weights and the sum of w(w - 1) over kept rows: without bias, ``[...]``."""
    return np.asarray(f2_of_weights - surplus, np.float64)


def sampling_variance(f2: Floats, f3: Floats, total: float, spread: float) -> Floats:
    """The variance of ``f2_of_weighted`` with exact sums, ``[...]``, where weights do not depend on keys.

    With D = w * kept - 1 of a row, of the variance v: the estimate is F2 + sum of (2f - 1) D + sum over pairs of
    rows of one key of D D', whose terms are uncorrelated: v(4 F3 - 4 F2 + N) + 2 v^2 (F2 - N), for rows of one v.
    """
    pairs = np.maximum(f2 - total, 0.0)
    return np.asarray(
        spread * np.maximum(4 * f3 - 4 * f2 + total, 0.0) + 2 * spread**2 * pairs, np.float64
    )


def f3_rows(counts: Numbers, totals: Numbers | float) -> Floats:
    """The sum of cubes of frequencies by row, ``[..., d]``, without bias: E of the cubed counters around their mean.

    ValueError for fewer than 3 columns.
    """
    width = counts.shape[-1]
    if width < 3:
        raise ValueError("cubes are told apart by 3 columns at least")
    centred = (
        np.asarray(counts, np.float64) - np.asarray(totals, np.float64)[..., None, None] / width
    )
    return np.asarray(
        (centred**3).sum(axis=-1) * width**2 / ((width - 1) * (width - 2)), np.float64
    )


def f2_weighted_interval(
    counts: Numbers, sampling: Sampling, confidence: float, how: How = "mean"
) -> Interval:
    """F2 of all rows, from a Count-Min of kept rows with their weights, ``[..., d, w]`` of one sampling.

    The variance of the sketch and that of the sampling, by Chebyshev. What sampling varies by needs F3,
    which is estimated, and taken from the row in which it is largest: the confidence is not proven then, where rows are few.
    ValueError for fewer than 3 columns.
    """
    failure = check_confidence(confidence)
    depth, width = counts.shape[-2:]
    of_weights = f2_cmm(counts, sampling.total, how, clip=False)
    found = np.maximum(f2_of_weighted(of_weights, sampling.surplus), sampling.total)
    middle = f2_of_weighted(f2_cmm_rows(counts, sampling.total).mean(axis=-1), sampling.surplus)
    most = f2_of_weighted(f2_cm(counts), sampling.surplus)
    v = sampling.spread
    # Cubes of sums of weights have a surplus too: 3 v F2 + v(v - 1) N on average.
    cubes = (
        f3_rows(counts, sampling.total).max(axis=-1) - 3 * v * middle - v * (v - 1) * sampling.total
    )
    f3 = np.clip(cubes, middle, np.maximum(middle, 0.0) ** 1.5)
    of_sketch = 2 * np.square(of_weights) / ((width - 1) * depth)
    of_sampling = sampling_variance(np.maximum(middle, 0.0), f3, sampling.total, v)
    off = np.sqrt((of_sketch + of_sampling) / failure)
    # Count-Min is above F2 of the sums that came, which itself is off by what the sampling varies by.
    above = most + np.sqrt(of_sampling / failure)
    lo, hi = np.maximum(middle - off, 0.0), np.minimum(middle + off, above)
    return Interval(found, np.minimum(lo, found), np.maximum(hi, found))


def point_of_weighted(of_weights: Interval, spread: float, confidence: float) -> Interval:
    """The frequency of a key in all rows, where ``of_weights`` has the sum of its kept rows' weights in it.

    That sum has the variance f v: Chebyshev, solved for f. The result holds with the confidences of both, less what
    both may fail by. ``spread``: v of the key's rows, ``Sampling.spread`` where weights do not depend on keys.
    """
    half = math.sqrt(spread / check_confidence(confidence)) / 2
    # |g - f| <= 2 half sqrt(f): a quadratic inequality in sqrt(f).
    lo = np.square(np.sqrt(np.maximum(of_weights.lo, 0.0) + half**2) - half)
    hi = np.square(np.sqrt(np.maximum(of_weights.hi, 0.0) + half**2) + half)
    return Interval(of_weights.estimate, np.minimum(lo, of_weights.estimate), hi)
