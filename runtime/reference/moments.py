"""Measures of spread and relation: moments about the mean, and the line through points."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

Numbers = Sequence[float]


def mean(values: Numbers) -> float:
    return math.fsum(values) / len(values)


def about_mean(values: Numbers, power: int) -> float:
    """The sum of the powers of the distances from the mean."""
    center = mean(values)
    return math.fsum((v - center) ** power for v in values)


def _together(xs: Numbers, ys: Numbers) -> float:
    """The sum of the products of the distances from the means."""
    x_mean, y_mean = mean(xs), mean(ys)
    return math.fsum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys, strict=True))


def variance(values: Numbers, *, sample: bool) -> float | None:
    """NULL for no values, and for a sample of one."""
    count = len(values) - sample
    return about_mean(values, 2) / count if count > 0 else None


def deviation(values: Numbers, *, sample: bool) -> float | None:
    found = variance(values, sample=sample)
    return None if found is None else math.sqrt(found)


def skewness(values: Numbers) -> float | None:
    """NULL where all values are equal."""
    second = about_mean(values, 2) if values else 0.0
    return math.sqrt(len(values)) * about_mean(values, 3) / math.sqrt(second**3) if second else None


def kurtosis(values: Numbers) -> float | None:
    """In excess of that of a normal distribution; NULL where all values are equal."""
    second = about_mean(values, 2) if values else 0.0
    return len(values) * about_mean(values, 4) / (second * second) - 3 if second else None


def covariance(xs: Numbers, ys: Numbers, *, sample: bool) -> float | None:
    count = len(xs) - sample
    return _together(xs, ys) / count if count > 0 else None


def correlation(xs: Numbers, ys: Numbers) -> float | None:
    """NULL for fewer than two pairs, and where one side does not vary."""
    if len(xs) < 2:
        return None
    spread = math.sqrt(about_mean(xs, 2) * about_mean(ys, 2))
    return _together(xs, ys) / spread if spread else None


def slope(ys: Numbers, xs: Numbers) -> float | None:
    """Of the line of least squares of y over x; NULL where x does not vary."""
    spread = about_mean(xs, 2) if len(xs) > 1 else 0.0
    return _together(xs, ys) / spread if spread else None


def intercept(ys: Numbers, xs: Numbers) -> float | None:
    rise = slope(ys, xs)
    return None if rise is None else mean(ys) - rise * mean(xs)


def fit(ys: Numbers, xs: Numbers) -> float | None:
    """The share of y's variance that the line explains; NULL where x does not vary."""
    if not xs or about_mean(xs, 2) == 0:
        return None
    y_spread = about_mean(ys, 2)
    return _together(xs, ys) ** 2 / about_mean(xs, 2) / y_spread if y_spread else 1.0


def _if_any(compute: Callable[[Numbers, Numbers], float]) -> Callable[[Numbers, Numbers], float | None]:
    return lambda ys, xs: compute(ys, xs) if xs else None


OF_ONE: dict[str, Callable[[Numbers], float | None]] = {
    "STDDEV_SAMP STDDEV STD": lambda v: deviation(v, sample=True),
    "STDDEV_POP": lambda v: deviation(v, sample=False),
    "VAR_SAMP VARIANCE": lambda v: variance(v, sample=True),
    "VAR_POP": lambda v: variance(v, sample=False),
    "SKEWNESS": skewness,
    "KURTOSIS": kurtosis,
}
"""Measures of one list of numbers without NULL, by their names."""

OF_TWO: dict[str, Callable[[Numbers, Numbers], float | None]] = {
    "COVAR_SAMP": lambda a, b: covariance(a, b, sample=True),
    "COVAR_POP": lambda a, b: covariance(a, b, sample=False),
    "CORR": correlation,
    "REGR_SLOPE": slope,
    "REGR_INTERCEPT": intercept,
    "REGR_R2": fit,
    "REGR_AVGX": _if_any(lambda _, xs: mean(xs)),
    "REGR_AVGY": _if_any(lambda ys, _: mean(ys)),
    "REGR_SXX": _if_any(lambda _, xs: about_mean(xs, 2)),
    "REGR_SYY": _if_any(lambda ys, _: about_mean(ys, 2)),
    "REGR_SXY": _if_any(_together),
}
"""Measures of pairs without NULL, given as the list of the firsts (y of a line) and that of the seconds (x)."""
