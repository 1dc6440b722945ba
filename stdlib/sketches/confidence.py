"""How far the middle of d rows may be off, from what one row may (Deng 2007, chapter 4: the thesis; made exact here).

NumPy-free. Rows are independent, so how many of them fail is binomial: no constant of a Chernoff bound is needed.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal

How = Literal["median", "mean"]
"""What rows are made one by."""

HALVINGS = 60
"""More than a float has digits."""


def fails(depth: int, chance: float, least: int) -> float:
    """The chance that at least ``least`` of ``depth`` independent rows fail, each with ``chance``."""
    return math.fsum(
        math.comb(depth, k) * chance**k * (1 - chance) ** (depth - k)
        for k in range(least, depth + 1)
    )


@lru_cache(maxsize=1024)
def row_chance(depth: int, least: int, failure: float) -> float:
    """The most that each row may fail with, so that ``least`` of them fail with a chance of ``failure`` at most."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if fails(depth, middle, least) <= failure else (low, middle)
    return low


def majority(depth: int) -> int:
    """So many rows must be off on one side for the one in the middle to be, whichever it is of two."""
    return depth // 2 + 1


@lru_cache(maxsize=1024)
def middle_deviations(depth: int, failure: float) -> tuple[float, How]:
    """``(deviations, how)``: the middle of rows is further off than so many deviations of a row with ``failure`` at most.

    Chebyshev, for the mean of the rows, or for each of them and then their median: whichever is nearer. A row of which
    only the variance is known may be too high much more often than too low, and both sides are in this.
    """
    of_mean = 1 / math.sqrt(failure * depth)
    # Of an even number of rows the median is the mean of two: one of these off by much is enough.
    of_median = 1 / math.sqrt(row_chance(depth, (depth + 1) // 2, failure))
    return (of_mean, "mean") if of_mean <= of_median else (of_median, "median")


def middle_share(depth: int, how: How = "median") -> float:
    """The deviation of the middle of rows, by that of one: sqrt(1/d), or sqrt(pi/2d) for the median of normal rows.

    Of one row or two it is 1 for the median.
    """
    if how == "mean":
        return 1 / math.sqrt(depth)
    return 1.0 if depth <= 2 else math.sqrt(math.pi / (2 * depth))


def check_confidence(confidence: float) -> float:
    """The chance of failure. ValueError for what is no confidence."""
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence is between 0 and 1, as 0.95: {confidence}")
    return 1 - confidence
