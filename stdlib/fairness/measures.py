"""How even a set of numbers is: of the coverages of queries, or of anything else that should be alike."""

from __future__ import annotations

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.fairness.batches import Floats


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and spread of some numbers.

    ``deviation``: standard deviation over all of them (divided by N). ``middle_half``: between the
    medians of the lower and the upper half. ``middle_90``: between the quantiles 0.05 and 0.95.
    ``variation``: deviation / mean, the one to compare where means differ. ``jain``: Jain's index
    of fairness, 1 where all are equal, 1/N where one has everything.
    """

    mean: float
    deviation: float
    middle_half: float
    middle_90: float
    variation: float
    jain: float
    least: float
    range: float


def spread(values: Floats) -> Spread:
    """The measures of at least one number; ValueError for none."""
    x = np.sort(np.asarray(values, dtype=np.float64))
    if not x.size:
        raise ValueError("no numbers have no spread")
    mean, deviation = float(x.mean()), float(x.std())
    return Spread(
        mean=mean,
        deviation=deviation,
        middle_half=middle_half(x),
        middle_90=float(np.quantile(x, 0.95) - np.quantile(x, 0.05)),
        variation=deviation / mean if mean else 0.0,
        jain=jain(x),
        least=float(x[0]),
        range=float(x[-1] - x[0]),
    )


def middle_half(values: Floats) -> float:
    """The distance between the medians of the lower and the upper half; the middle one is in neither."""
    x = np.sort(np.asarray(values, dtype=np.float64))
    half = x.size // 2
    return float(np.median(x[-half:]) - np.median(x[:half])) if half else 0.0


def jain(values: Floats) -> float:
    """Jain's index: (sum x)^2 / (N * sum x^2); 1 where all are 0."""
    x = np.asarray(values, dtype=np.float64)
    largest = float(np.abs(x).max(initial=0))
    if largest == 0:
        return 1.0
    scaled = x / largest
    return float(scaled.sum() ** 2 / (x.size * (scaled @ scaled)))
