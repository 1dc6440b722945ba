"""C25: intervals of self-join and join sizes hold the truth as often as they say, for even keys and skewed ones."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from streamq.stdlib.sketches.bounds import Interval
from streamq.stdlib.sketches.counter_sketch import CounterSketch, empty_count_min, empty_fast_agms
from streamq.stdlib.sketches.counters import Numbers
from streamq.stdlib.sketches.fourth_moment import f2_off
from streamq.stdlib.sketches.lookalike import zipf_counts
from streamq.stdlib.sketches.size_bounds import (
    f2_agms_interval,
    f2_interval,
    join_agms_interval,
    join_cmm_interval,
)
from streamq.stdlib.sketches.std_errors import f2_std_err, join_std_err, point_std_err
from tests.unit.stdlib.sketches.plain_counts import self_join

SKETCHES = 1000
N = 20_000
KEYS = np.arange(2_000, dtype=np.uint64)
SKEWS = [0.0, 0.5, 1.0, 1.5, 2.0]


def check(interval: Interval, truth: float, confidence: float, widest: float) -> None:
    """``[sketches]``: right as often as a binomial says, less 4 deviations; half of them no wider than ``widest`` truths."""
    right = ((interval.lo <= truth) & (truth <= interval.hi)).mean()
    assert right >= confidence - 4 * math.sqrt(confidence * (1 - confidence) / SKETCHES)
    assert (interval.lo <= interval.estimate).all()
    assert (interval.estimate <= interval.hi).all()
    assert np.median(interval.hi - interval.lo) <= widest * truth


def counters(
    kind: Callable[[int, int, int], CounterSketch], width: int, depth: int, f: Numbers
) -> Numbers:
    """``[sketches, d, w]``."""
    return kind(width, depth * SKETCHES, 8).added(KEYS, f).counts.reshape(SKETCHES, depth, width)


def chebyshev(width: float, depth: int, confidence: float) -> float:
    """How wide bounds by variance are, by the truth, where the mean of rows is right."""
    off = math.sqrt(2 / ((width - 1) * depth * (1 - confidence) * 0.9))
    return 1 / (1 - off) - 1 / (1 + off) if off < 1 else math.inf


@pytest.mark.parametrize(("width", "depth"), [(64, 5), (256, 3), (256, 4)])
@pytest.mark.parametrize("z", SKEWS)
def test_C25_self_joins(z: float, width: int, depth: int) -> None:  # noqa: N802
    f = zipf_counts(N, 2_000, z, 31)
    truth = self_join(f)
    counts, signed = (
        counters(empty_count_min, width, depth, f),
        counters(empty_fast_agms, width, depth, f),
    )
    for confidence in (0.9, 0.99):
        # The median estimate may widen it by a row's deviation.
        widest = chebyshev(width, depth, confidence) + math.sqrt(2 / width)
        check(f2_interval(counts, N, confidence), truth, confidence, widest)
        check(f2_interval(counts, N, confidence, insert_only=False), truth, confidence, widest)
        check(f2_agms_interval(signed, N, confidence), truth, confidence, widest)
        of_cm = f2_interval(counts, N, confidence, "CM")
        check(of_cm, truth, confidence, widest + (N**2 / truth - 1) / width)
        assert (of_cm.hi >= truth).all()


def test_C25_even_keys_are_bounded_by_the_fourth_moment() -> None:  # noqa: N802
    """Keys have 10 rows each, and cells 78, with a deviation of 29 and no more than 3 of these above it in some row.

    So no key has more than 166 rows, and none a square of more than 0.15 of the least F2 that might be.
    """
    f = zipf_counts(N, 2_000, 0.0, 32)
    found = f2_interval(counters(empty_count_min, 256, 5, f), N, 0.95)
    off = float(f2_off(np.array(0.15), 256, 5, 0.9 * 0.05))
    widest = 1 / (1 - off) - 1 / (1 + off)
    assert np.median(found.hi - found.lo) <= widest * self_join(f)
    assert widest < 0.75 * chebyshev(256, 5, 0.95)


@pytest.mark.parametrize("z", [1.5, 2.0])
def test_C25_skewed_keys_are_bounded_by_count_min(z: float) -> None:  # noqa: N802
    """By variance the width would be 0.37 and more; too much by Markov are 2.6 (N^2/F2 - 1)/w of 5 rows, for a tenth of 5 %."""
    f = zipf_counts(N, 2_000, z, 32)
    found = f2_interval(counters(empty_count_min, 256, 5, f), N, 0.95)
    share = (N**2 / self_join(f) - 1) / 256
    assert np.median(found.hi - found.lo) <= 1.3 * 2.9 * share * self_join(f)
    assert 1.3 * 2.9 * share < 0.3


@pytest.mark.parametrize("z", SKEWS)
def test_C25_joins(z: float) -> None:  # noqa: N802
    f, g = zipf_counts(N, 2_000, z, 33), np.roll(zipf_counts(N, 2_000, z, 34), 1)
    truth = float(f @ g)
    width, depth = 256, 5
    a, b = (counters(empty_count_min, width, depth, of) for of in (f, g))
    geometric = math.sqrt(self_join(f) * self_join(g)) / truth
    c, d = (counters(empty_fast_agms, width, depth, of) for of in (f, g))
    for confidence in (0.9, 0.99):
        # Both F2 are bounded first, which takes a fifth of what may fail, and makes each up to half as large again.
        widest = 2 * geometric * chebyshev(width, depth, confidence)
        check(join_cmm_interval(a, b, N, N, confidence), truth, confidence, widest)
        check(
            join_cmm_interval(a, b, N, N, confidence, insert_only=False), truth, confidence, widest
        )
        of_cm = join_cmm_interval(a, b, N, N, confidence, "CM")
        assert (of_cm.hi >= truth).all()
        check(of_cm, truth, confidence, widest + (N**2 / truth - 1) / width)
        check(join_agms_interval(c, d, confidence), truth, confidence, widest)


def test_bounds_of_tiny_sketches_are_bounds() -> None:
    """Two columns and one row: by variance there is no bound above, by Count-Min there is."""
    f = zipf_counts(N, 2_000, 1.0, 35)
    counts = counters(empty_count_min, 2, 1, f)
    found = f2_interval(counts, N, 0.95)
    assert ((found.lo <= self_join(f)) & (self_join(f) <= found.hi)).all()
    assert np.isfinite(found.hi).all()
    assert np.isinf(f2_interval(counts, N, 0.95, insert_only=False).hi).all()
    both = join_cmm_interval(counts, counts, N, N, 0.95)
    assert ((both.lo <= self_join(f)) & (self_join(f) <= both.hi)).all()


def test_count_min_bounds_nothing_where_rows_were_taken_back() -> None:
    counts = np.array([[5, 1, 2, 2]])
    with pytest.raises(ValueError, match="CMM does"):
        f2_interval(counts, 10, 0.95, "CM", insert_only=False)
    with pytest.raises(ValueError, match="CMM does"):
        join_cmm_interval(counts, counts, 10, 10, 0.95, "CM", insert_only=False)


@pytest.mark.parametrize("z", SKEWS)
def test_standard_errors_are_those_of_sketches(z: float) -> None:
    """No less than what estimates vary by; at most 1.35 times it where no key is heavy: the median of 5 rows is taken for normal."""
    f = zipf_counts(N, 2_000, z, 36)
    counts = counters(empty_count_min, 256, 5, f)
    truth = self_join(f)
    rows = (256 * (counts**2.0).sum(axis=2) - N**2) / 255
    std_err = float(f2_std_err(np.array(truth), N, 255, 5, "mean"))
    # The deviation of 1000 is known to 1/sqrt(2000), 2.2 %, where it is normal: 4 of these.
    assert rows.mean(axis=1).std() <= 1.09 * std_err
    if z < 1:
        assert rows.mean(axis=1).std() >= 0.91 * std_err
        median = float(f2_std_err(np.array(truth), N, 255, 5))
        assert (
            0.91 * np.median(rows, axis=1).std() <= median <= 1.35 * np.median(rows, axis=1).std()
        )


def test_standard_errors_of_points_and_joins() -> None:
    # (1000 - 10^2)/9 = 100 in one row.
    assert point_std_err(np.array(1000.0), np.array(10), 9, 1) == pytest.approx(10)
    assert point_std_err(np.array(1000.0), np.array(10), 9, 4, "mean") == pytest.approx(5)
    assert point_std_err(np.array(50.0), np.array(10), 9, 1) == 0
    # Without clips F2 may come out below 0, and no error is.
    assert f2_std_err(np.array(-5.0), 10, 9, 1) == 0
    assert join_std_err(np.array(40.0), np.array(10.0), np.array(20.0), 8, 1) == pytest.approx(10)
