"""Intervals of frequencies: between which numbers the truth is, with a confidence, from the counters alone.

Variances (Deng 2007, sections 4.2 to 4.5: the thesis) say little where keys are skewed: one heavy key makes them large,
and meets few others. The counters say more. Where hashes are random the cell of a key is any of a row's ``w``,
whatever the other keys did; so what is too much in its cell, its noise, is among the m largest of the row with a chance of
m/w, exactly and for any data. Rows are independent, and how many of d fail is binomial. The key itself is in one cell of
the row, which moves the order of the others by one place at most.

Shapes: as in ``estimators``. A confidence holds for one key, chosen without regard to the hashes.
"""

from __future__ import annotations

import math

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.sketches.confidence import How, check_confidence, majority, row_chance
from streamq.stdlib.sketches.counters import Floats, Numbers
from streamq.stdlib.sketches.estimators import point_agms, point_cm, point_cmm


@dataclass(frozen=True, slots=True)
class Interval:
    """``estimate``, and ``lo`` and ``hi`` with the truth between them: each ``[...]``, in the estimate's unit."""

    estimate: Floats
    lo: Floats
    hi: Floats


def point_cm_interval(columns: Numbers, counts: Numbers, confidence: float) -> Interval:
    """A frequency by Count-Min, where nothing was taken back: ``hi`` is the estimate, and certain.

    ``lo``: the noise of all rows would have to be among the largest of their row for the truth to be below it. ValueError
    for what is no confidence.
    """
    failure = check_confidence(confidence)
    depth, width = counts.shape[-2:]
    ranks = math.floor(row_chance(depth, depth, failure) * width)
    estimate = point_cm(columns)
    lo = (columns - largest(counts, ranks)).min(axis=-1)
    return Interval(estimate, np.clip(lo, 0.0, estimate), estimate)


def point_cmm_interval(
    columns: Numbers,
    counts: Numbers,
    totals: Numbers | float,
    confidence: float,
    noise: How = "median",
    *,
    unbiased: bool = False,
    insert_only: bool = True,
) -> Interval:
    """A frequency without noise, by ``point_cmm``: half of what may fail is below, half above.

    ``insert_only``: nothing was taken back; Count-Min is a bound too, and ``lo`` as there, which is nearer than that of the median
    where noise is skewed, and as near where it is not. Otherwise infinite where there are too few
    columns for the confidence. An estimate that is outside, as by mean noise on skewed keys, widens the interval. ValueError
    for what is no confidence.
    """
    failure = check_confidence(confidence)
    depth, width = counts.shape[-2:]
    ranks = math.floor(row_chance(depth, majority(depth), failure / 2) * width)
    if insert_only:
        _, hi = _middle(columns, columns - smallest(counts, ranks - 1))
        of_least = point_cm_interval(columns, counts, 1 - failure / 2)
        hi = np.minimum(hi, of_least.hi)
        lo = np.minimum(of_least.lo, hi)
    else:
        lo, hi = _middle(
            columns - largest(counts, ranks - 1), columns - smallest(counts, ranks - 1)
        )
    estimate = point_cmm(columns, counts, totals, noise, unbiased=unbiased, clip=insert_only)
    return Interval(estimate, np.minimum(lo, estimate), np.maximum(hi, estimate))


def point_agms_interval(
    columns: Numbers,
    signs: Numbers,
    counts: Numbers,
    confidence: float,
    *,
    insert_only: bool = True,
) -> Interval:
    """A frequency by Fast-AGMS: the noise has a sign of its own, so half of the largest are too high and half too low.

    ``insert_only``: nothing was taken back, so that 0 is a bound. Infinite where there are too few columns for the
    confidence. ValueError for what is no confidence.
    """
    failure = check_confidence(confidence)
    depth, width = counts.shape[-2:]
    ranks = math.floor(2 * row_chance(depth, majority(depth), failure / 2) * width)
    rows, off = columns * signs, largest(np.abs(counts), ranks - 1)
    lo, hi = _middle(rows - off, rows + off)
    if insert_only:
        lo, hi = np.maximum(lo, 0.0), np.maximum(hi, 0.0)
    return Interval(point_agms(columns, signs, clip=insert_only), lo, hi)


def largest(counts: Numbers, before: int) -> Floats:
    """The counter with ``before`` larger ones in its row, ``[..., d]``: without end where ``before`` is -1."""
    width = counts.shape[-1]
    if before < 0:
        return np.full(counts.shape[:-1], np.inf)
    at = max(0, width - 1 - before)
    return np.asarray(np.partition(counts, at, axis=-1)[..., at], np.float64)


def smallest(counts: Numbers, before: int) -> Floats:
    """The counter with ``before`` smaller ones in its row, ``[..., d]``: without end where ``before`` is -1."""
    width = counts.shape[-1]
    if before < 0:
        return np.full(counts.shape[:-1], -np.inf)
    at = min(width - 1, before)
    return np.asarray(np.partition(counts, at, axis=-1)[..., at], np.float64)


def _middle(below: Floats, above: Floats) -> tuple[Floats, Floats]:
    """The bounds that a majority of rows would have to fail for, ``[...]``, of those of each row, ``[..., d]``."""
    depth = below.shape[-1]
    lower, upper = (depth - 1) // 2, depth // 2
    lo = np.partition(below, lower, axis=-1)[..., lower]
    hi = np.partition(above, upper, axis=-1)[..., upper]
    return np.asarray(lo, np.float64), np.asarray(hi, np.float64)
