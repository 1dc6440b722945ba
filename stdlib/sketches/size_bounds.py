"""Intervals of self-join sizes (F2) and join sizes, with a confidence, from the counters alone.

Facts that hold for any data (Deng 2007, sections 4.1, 4.5 and 4.6: the thesis). A row without noise has no bias and a variance
of at most 2 F2^2/(w - 1) (of a join: 2 F2(A) F2(B)/(w - 1)): Chebyshev, for the mean of the rows or for their median, needs
nothing else, and the error is a fraction of the truth that is sought. Where Count-Min shows that no key is heavy the fourth
moment is nearer (``fourth_moment``). And Count-Min is never too low, and too high by (N^2 - F2)/w on average: Markov in
each row, and the least of d rows. That is near where keys are skewed, the moments where they are even; what may fail is
shared out between them. How rows differ is not used: d of them are too few to be sure of their spread. Where noise was
normal three quarters of the width would do, or half of it where only the variance serves: ``std_errors`` has that.

Shapes: as in ``estimators``.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from streamq.stdlib.sketches.bounds import Interval
from streamq.stdlib.sketches.confidence import How, check_confidence, middle_deviations
from streamq.stdlib.sketches.counters import Floats, Numbers
from streamq.stdlib.sketches.estimators import (
    f2_agms,
    f2_agms_rows,
    f2_cm,
    f2_cmm,
    f2_cmm_rows,
    join_agms,
    join_agms_rows,
    join_cm,
    join_cmm,
    join_cmm_rows,
    middle_of,
)
from streamq.stdlib.sketches.fourth_moment import f2_off

OF_VARIANCE = 0.9
"""Of what may fail, by moments; the rest by Count-Min, whose bound hardly moves with it."""

TURNS = 3
"""Of a bound that makes itself nearer: after them it hardly moves."""

OF_SELF_JOINS = 0.2
"""Of what may fail in a join, because the F2 of a side was bounded too low."""


def f2_interval(
    counts: Numbers,
    totals: Numbers | float,
    confidence: float,
    method: Literal["CM", "CMM"] = "CMM",
    how: How = "median",
    *,
    insert_only: bool = True,
) -> Interval:
    """F2 from counters of Count-Min, by the estimate ``method``: the bounds are the same for both.

    ``insert_only``: nothing was taken back; Count-Min is a bound too, and N where counters are whole. ValueError for what
    is no confidence, and for CM without it.
    """
    failure = check_confidence(confidence)
    if not insert_only:
        if method == "CM":
            raise ValueError("CM bounds nothing where rows were taken back: CMM does")
        lo, hi = _by_variance(f2_cmm_rows(counts, totals), counts.shape[-1] - 1, failure)
        return _holding(f2_cmm(counts, totals, how, clip=False), lo, hi)
    lo, hi = _by_moments(counts, totals, OF_VARIANCE * failure)
    most = f2_cm(counts)
    all_pairs = np.square(np.asarray(totals, np.float64))
    excess = _excess_share(counts, (1 - OF_VARIANCE) * failure)
    if excess < 1:
        lo = np.maximum(lo, (most - excess * all_pairs) / (1 - excess))
    if counts.dtype.kind == "i":
        lo = np.maximum(lo, totals)
    lo, hi = np.minimum(lo, most), np.minimum(np.maximum(hi, lo), most)
    return _holding(most if method == "CM" else f2_cmm(counts, totals, how), lo, hi)


def f2_agms_interval(
    counts: Numbers,
    totals: Numbers | float,
    confidence: float,
    how: How = "median",
    *,
    insert_only: bool = True,
) -> Interval:
    """F2 from counters of Fast-AGMS; ``insert_only``: nothing was taken back, so that N^2 is a bound. ValueError as above."""
    lo, hi = _by_variance(f2_agms_rows(counts), counts.shape[-1], check_confidence(confidence))
    if insert_only:
        hi = np.minimum(hi, np.square(np.asarray(totals, np.float64)))
        if counts.dtype.kind == "i":
            lo = np.maximum(lo, totals)
        lo = np.minimum(lo, hi)
    return _holding(f2_agms(counts, how), lo, hi)


def join_cmm_interval(
    a: Numbers,
    b: Numbers,
    totals_a: Numbers | float,
    totals_b: Numbers | float,
    confidence: float,
    method: Literal["CM", "CMM"] = "CMM",
    how: How = "median",
    *,
    insert_only: bool = True,
) -> Interval:
    """The join size from counters of Count-Min of one seed. As ``f2_interval``; the F2 of both sides are bounded first."""
    failure = check_confidence(confidence)
    if method == "CM" and not insert_only:
        raise ValueError("CM bounds nothing where rows were taken back: CMM does")
    of_side = 1 - OF_SELF_JOINS * failure / 2
    sides = [
        f2_interval(of, n, of_side, insert_only=insert_only).hi
        for of, n in ((a, totals_a), (b, totals_b))
    ]
    left = (1 - OF_SELF_JOINS) * failure
    rows, width = join_cmm_rows(a, b, totals_a, totals_b), a.shape[-1] - 1
    if not insert_only:
        lo, hi = _join_by_variance(rows, width, sides[0] * sides[1], left)
        return _holding(join_cmm(a, b, totals_a, totals_b, how), lo, hi)
    lo, hi = _join_by_variance(rows, width, sides[0] * sides[1], OF_VARIANCE * left)
    most = join_cm(a, b)
    all_pairs = np.asarray(totals_a, np.float64) * totals_b
    excess = _excess_share(a, (1 - OF_VARIANCE) * left)
    if excess < 1:
        lo = np.maximum(lo, (most - excess * all_pairs) / (1 - excess))
    lo = np.clip(lo, 0.0, most)
    hi = np.minimum(np.maximum(hi, lo), most)
    estimate = (
        most if method == "CM" else np.clip(join_cmm(a, b, totals_a, totals_b, how), 0.0, most)
    )
    return _holding(estimate, lo, hi)


def join_agms_interval(
    a: Numbers, b: Numbers, confidence: float, how: How = "median", *, insert_only: bool = True
) -> Interval:
    """The join size from counters of Fast-AGMS of one seed; ``insert_only``: it is not below 0. ValueError as above."""
    failure = check_confidence(confidence)
    of_side = OF_SELF_JOINS * failure / 2
    sides = [_by_variance(f2_agms_rows(of), of.shape[-1], of_side)[1] for of in (a, b)]
    lo, hi = _join_by_variance(
        join_agms_rows(a, b), a.shape[-1], sides[0] * sides[1], (1 - OF_SELF_JOINS) * failure
    )
    estimate = join_agms(a, b, how)
    if insert_only:
        estimate, lo, hi = (np.maximum(of, 0.0) for of in (estimate, lo, hi))
    return _holding(estimate, lo, hi)


def _by_moments(counts: Numbers, totals: Numbers | float, failure: float) -> tuple[Floats, Floats]:
    """Bounds of F2 from counters where nothing was taken back: the nearer, the lighter the heaviest key must be.

    That is told by its square over F2, for which F2 is bounded first: each turn is of all that the one before leaves.
    """
    depth, width = counts.shape[-2:]
    middle = f2_cmm_rows(counts, totals).mean(axis=-1)
    most = np.square(np.asarray(counts.max(axis=-1).min(axis=-1), np.float64))
    off = f2_off(np.ones_like(middle), width, depth, failure)
    for _ in range(TURNS):
        lo = middle / (1 + off)
        heaviest = np.minimum(np.divide(most, lo, out=np.ones_like(lo), where=lo > 0), 1.0)
        off = f2_off(heaviest, width, depth, failure)
    hi = np.divide(middle, 1 - off, out=np.full_like(middle, np.inf), where=off < 1)
    return middle / (1 + off), hi


def _by_variance(rows: Floats, width: int, failure: float) -> tuple[Floats, Floats]:
    """Bounds of F2 from rows without bias, of a variance of at most 2 F2^2/width."""
    deviations, how = middle_deviations(rows.shape[-1], failure)
    off = deviations * math.sqrt(2 / width)
    middle = middle_of(rows, how)
    return middle / (1 + off), middle / (1 - off) if off < 1 else np.full_like(middle, np.inf)


def _join_by_variance(
    rows: Floats, width: int, self_joins: Floats, failure: float
) -> tuple[Floats, Floats]:
    """Bounds of J from rows without bias, of a variance of at most (F2(A) F2(B) + J^2)/width.

    ``(middle - J)^2 <= share (self_joins + J^2)`` is a quadratic inequality in J; J^2 is no more than ``self_joins`` either.
    """
    deviations, how = middle_deviations(rows.shape[-1], failure)
    share = deviations**2 / width
    middle = middle_of(rows, how)
    most = np.sqrt(self_joins)
    if share >= 1:
        off = math.sqrt(2 * share) * most
        return np.maximum(middle - off, -most), np.minimum(middle + off, most)
    under = np.square(middle) - (1 - share) * (np.square(middle) - share * self_joins)
    root = np.sqrt(np.maximum(under, 0.0))
    return np.maximum((middle - root) / (1 - share), -most), np.minimum(
        (middle + root) / (1 - share), most
    )


def _excess_share(counts: Numbers, failure: float) -> float:
    """Of all pairs but those sought, so many are too much in the least row, or fewer, but for ``failure``: Markov in each."""
    depth, width = counts.shape[-2:]
    return float(failure ** (-1 / depth) / width)


def _holding(estimate: Floats, lo: Floats, hi: Floats) -> Interval:
    """An interval that holds its estimate: bounds are of the mean, or the median, where the estimate may be of the other."""
    return Interval(estimate, np.minimum(lo, estimate), np.maximum(hi, estimate))
