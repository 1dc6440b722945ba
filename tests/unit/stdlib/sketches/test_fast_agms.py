"""C14: Fast-AGMS against AMS, its oracle, in which every key is in every counter."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.sketches.counter_sketch import empty_count_min, empty_fast_agms
from streamq.stdlib.sketches.estimators import f2_agms, join_agms, point_agms
from streamq.stdlib.sketches.hashing import Keys, row_seed, signs
from streamq.stdlib.sketches.lookalike import zipf_counts
from tests.unit.stdlib.sketches.plain_counts import self_join

KEYS = np.arange(2_000, dtype=np.uint64)


def ams(keys: Keys, f: np.ndarray, width: int, depth: int, seed: int) -> float:
    """The median of ``depth`` means of ``width`` squared counters."""
    counters = [float(signs(keys, row_seed(seed, i)) @ f) for i in range(width * depth)]
    return float(np.median(np.square(counters).reshape(depth, width).mean(axis=1)))


@pytest.mark.parametrize("z", [0.0, 1.0, 2.0])
def test_C14_as_far_off_as_ams(z: float) -> None:  # noqa: N802
    f = zipf_counts(20_000, 2_000, z, 61)
    runs = 100
    found = f2_agms(empty_fast_agms(32, 5 * runs, 1).added(KEYS, f).counts.reshape(runs, 5, 32))
    oracle = np.array([ams(KEYS, f, 32, 5, seed) for seed in range(runs)])
    errors = [float(np.abs(of - self_join(f)).mean()) / self_join(f) for of in (found, oracle)]
    # A mean of 100 absolute errors has a deviation of 0.076 of itself where they are normal, and no
    # more than twice that here: 4 deviations of their ratio are a factor of 1.9.
    assert errors[0] < 1.9 * errors[1]
    # A row's deviation is sqrt(2/32) at most, the median of 5 varies by 0.54 of it, and 0.8 of that is the mean error.
    assert errors[0] < 0.25 * 0.54 * 0.8 * 1.3


def test_C14_points_and_joins() -> None:  # noqa: N802
    f, g = zipf_counts(20_000, 2_000, 1.0, 62), zipf_counts(20_000, 2_000, 0.8, 63)
    a, b = (empty_fast_agms(1024, 5, 2).added(KEYS, of) for of in (f, g))
    found = point_agms(a.columns(KEYS), a.signs(KEYS))
    # The median of 5 rows is beyond 3 of their deviations once in 1000 keys or so by Chebyshev's 1/9 in most of 5 rows: 0.012.
    off = np.abs(found - f) > 3 * np.sqrt(self_join(f) / 1024)
    assert off.mean() < 0.012
    deviation = np.sqrt((self_join(f) * self_join(g) + float(f @ g) ** 2) / 1024)
    assert abs(float(join_agms(a.counts, b.counts)) - float(f @ g)) < 3 * deviation


def test_cells_are_those_of_count_min() -> None:
    """A key alone: where Count-Min has 1 there is its sign, and these are even."""
    signed, plain = empty_fast_agms(50, 9, 6), empty_count_min(50, 9, 6)
    for key in KEYS[:20]:
        one = np.array([key])
        assert np.array_equal(np.abs(signed.added(one).counts), plain.added(one).counts)
        assert np.array_equal(signed.added(one).columns(one), signed.signs(one))
    # 18,000 signs: a deviation of 134.
    assert abs(int(signed.signs(KEYS).sum())) < 4 * 134
