"""C25: intervals hold the truth as often as they say, whatever the keys are like, and are not wide for it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from streamq.stdlib.sketches.bounds import (
    Interval,
    largest,
    point_agms_interval,
    point_cm_interval,
    point_cmm_interval,
    smallest,
)
from streamq.stdlib.sketches.confidence import fails, middle_deviations, row_chance
from streamq.stdlib.sketches.counter_sketch import empty_count_min, empty_fast_agms
from streamq.stdlib.sketches.lookalike import zipf_counts

SKETCHES = 1000
SKEWS = [0.0, 0.5, 1.0, 1.5, 2.0]

Counts = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


def check(interval: Interval, truth: Counts, confidence: float, widest: float) -> None:
    """``[queries, sketches]``: each query is right in as many sketches as a binomial says, less 4 deviations.

    One in 30,000 would fail by chance where the confidence was exact. On average an interval is no wider than ``widest``.
    """
    right = ((interval.lo <= truth) & (truth <= interval.hi)).mean(axis=1)
    assert (right >= confidence - 4 * math.sqrt(confidence * (1 - confidence) / SKETCHES)).all()
    assert (interval.lo <= interval.estimate).all()
    assert (interval.estimate <= interval.hi).all()
    assert (interval.hi - interval.lo).mean() <= widest


@pytest.mark.parametrize(("width", "depth"), [(64, 5), (256, 3), (128, 4)])
@pytest.mark.parametrize("z", SKEWS)
def test_C25_points(z: float, width: int, depth: int) -> None:  # noqa: N802
    f = zipf_counts(20_000, 2_000, z, 21)
    keys = np.arange(2_000, dtype=np.uint64)
    # The most frequent, one in the middle, and one that is not there.
    query, truth = np.array([0, 30, 5_000], np.uint64), np.array([[f[0]], [f[30]], [0]])
    shape = (SKETCHES, depth, width)
    sketch = empty_count_min(width, depth * SKETCHES, 5).added(keys, f)
    counts, columns = (
        sketch.counts.reshape(shape),
        sketch.columns(query).reshape(3, SKETCHES, depth),
    )
    # Of normal noise 2 * 1.96 deviations of the median of 3 rows or more, 0.67 of one row's, would be 2.6; of one
    # key among 3 the noise lacks its own part. A bound for 99 % is of 4 in place of 2.6, and order statistics need a fifth more.
    deviation = math.sqrt(float((f**2.0).sum()) / width)
    signed = empty_fast_agms(width, depth * SKETCHES, 5).added(keys, f)
    signs = signed.signs(query).reshape(3, SKETCHES, depth)
    agms = signed.columns(query).reshape(3, SKETCHES, depth)
    signed_counts = signed.counts.reshape(shape)
    for confidence in (0.9, 0.99):
        found = point_cmm_interval(columns, counts, 20_000, confidence)
        check(found, truth, confidence, 5 * deviation)
        found = point_cmm_interval(columns, counts, 20_000, confidence, insert_only=False)
        check(found, truth, confidence, 6 * deviation)
        found = point_agms_interval(agms, signs, signed_counts, confidence)
        check(found, truth, confidence, 6 * deviation)
        found = point_cm_interval(columns, counts, confidence)
        check(found, truth, confidence, 20_000 / width + 4 * deviation)
        assert (found.hi >= truth).all()


def test_C25_points_where_rows_were_taken_back() -> None:  # noqa: N802
    """Frequencies of both signs, and a query that is far below 0."""
    f = np.random.default_rng(3).integers(-20, 21, 2_000)
    f[0] = -5_000
    keys = np.arange(2_000, dtype=np.uint64)
    sketch, signed = (
        kind(64, 5 * SKETCHES, 5).added(keys, f) for kind in (empty_count_min, empty_fast_agms)
    )
    query, shape, truth = keys[:2], (2, SKETCHES, 5), f[:2, None]
    counts = sketch.counts.reshape(SKETCHES, 5, 64)
    # Deviation of noise 12 * sqrt(2000/64) = 67, and 625 where the heavy key is met.
    found = point_cmm_interval(
        sketch.columns(query).reshape(shape), counts, sketch.total, 0.95, insert_only=False
    )
    check(found, truth, 0.95, 6 * 67)
    found = point_agms_interval(
        signed.columns(query).reshape(shape),
        signed.signs(query).reshape(shape),
        signed.counts.reshape(SKETCHES, 5, 64),
        0.95,
        insert_only=False,
    )
    check(found, truth, 0.95, 6 * 67)


def test_an_estimate_outside_widens_the_interval() -> None:
    """One key has all rows: by mean noise others seem to have less than none, without clips."""
    counts = np.array([[1000, 3, 2, 2, 2, 2, 2, 2]] * 5)
    found = point_cmm_interval(np.array([3] * 5), counts, 1015, 0.9, unbiased=True)
    assert found.estimate < 0
    assert found.lo == found.estimate
    assert found.hi >= 0


def test_too_few_columns_for_a_confidence_say_nothing() -> None:
    counts = np.array([[5, 1, 2, 2]])
    found = point_cmm_interval(np.array([5]), counts, 10, 0.99, insert_only=False)
    assert (found.lo, found.hi) == (-math.inf, math.inf)
    inserted = point_cmm_interval(np.array([5]), counts, 10, 0.99)
    assert (inserted.lo, inserted.hi) == (0, 5)


def test_order_of_counters() -> None:
    counts = np.array([[4, 9, 1, 7]])
    assert [float(largest(counts, k)[0]) for k in (-1, 0, 1, 3)] == [math.inf, 9, 7, 1]
    assert [float(smallest(counts, k)[0]) for k in (-1, 0, 1, 3)] == [-math.inf, 1, 4, 9]


def test_rows_that_fail_are_binomial() -> None:
    assert fails(3, 0.5, 2) == 0.5
    assert fails(1, 0.3, 1) == pytest.approx(0.3)
    for depth, least in ((1, 1), (3, 2), (5, 3), (5, 5), (40, 21)):
        chance = row_chance(depth, least, 0.01)
        assert fails(depth, chance, least) <= 0.01 < fails(depth, chance * 1.0001, least)
    assert row_chance(5, 5, 0.05) == pytest.approx(0.05 ** (1 / 5))


def test_the_middle_of_rows_is_bounded_by_whichever_is_nearer() -> None:
    """By the mean where not much is asked, by the median where much is: its tail falls faster."""
    assert middle_deviations(5, 0.05) == (pytest.approx(1 / math.sqrt(0.25)), "mean")
    deviations, how = middle_deviations(5, 0.001)
    assert how == "median"
    assert fails(5, 1 / deviations**2, 3) == pytest.approx(0.001)
    assert middle_deviations(1, 0.05)[0] == pytest.approx(math.sqrt(20))


@pytest.mark.parametrize("confidence", [0.0, 1.0, math.nan])
def test_what_is_no_confidence_is_refused(confidence: float) -> None:
    counts = np.array([[5, 1, 2, 2]])
    with pytest.raises(ValueError, match="between 0 and 1"):
        point_cm_interval(counts[:, 0], counts, confidence)
