"""Sizes from rows that survived shedding: no bias, the variance that was derived, and intervals that hold the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest

from streamq.stdlib.sketches.bounds import point_cmm_interval
from streamq.stdlib.sketches.counter_sketch import empty_count_min
from streamq.stdlib.sketches.lookalike import zipf_counts
from streamq.stdlib.sketches.sampled import (
    Sampling,
    f2_of_weighted,
    f2_weighted_interval,
    f3_rows,
    point_of_weighted,
    sampling_variance,
)
from tests.unit.stdlib.sketches.plain_counts import self_join

KEYS = np.arange(2_000, dtype=np.uint64)
N, RUNS = 20_000, 2_000


def kept(f: np.ndarray, p: float, runs: int = RUNS, seed: int = 91) -> np.ndarray:
    """Rows that are left by key, ``[runs, keys]``, each kept with the chance p."""
    return np.random.default_rng(seed).binomial(f, p, (runs, len(f)))


def sampling_of(rows: int, p: float) -> Sampling:
    return Sampling(rows / p, rows / p * (1 / p - 1))


@pytest.mark.parametrize("p", [0.9, 0.5, 0.1])
@pytest.mark.parametrize("z", [0.0, 1.0, 2.0])
def test_no_bias_and_the_derived_variance(z: float, p: float) -> None:
    """With exact sums: the mean of 2,000 runs within 4 standard errors of the derived deviation, and the variance as derived."""
    f = zipf_counts(N, 2_000, z, 92)
    rows = kept(f, p)
    found = f2_of_weighted(
        (rows.astype(float) ** 2).sum(axis=1) / p**2, rows.sum(axis=1) / p * (1 / p - 1)
    )
    variance = float(
        sampling_variance(np.array(self_join(f)), np.array((f**3.0).sum()), N, 1 / p - 1)
    )
    assert abs(found.mean() - self_join(f)) < 4 * math.sqrt(variance / RUNS)
    # A variance of 2,000 normal runs is known to sqrt(2/2000) = 3.2 %: 4 of these, and a little for what is not normal.
    assert found.var() / variance == pytest.approx(1, abs=0.15)
    # What the sum of squares alone would be off by, where most rows went.
    biased = (rows.astype(float) ** 2).sum(axis=1).mean() / p**2
    assert biased == pytest.approx(
        self_join(f) + N * (1 / p - 1), abs=4 * math.sqrt(variance / RUNS)
    )


def test_weights_of_several_chances() -> None:
    """Half of the rows at 1/2 and half at 1/5, as where the load changed; rows of one key have both."""
    f = zipf_counts(N, 2_000, 1.0, 93)
    first, then = kept(f // 2, 0.5, seed=1), kept(f - f // 2, 0.2, seed=2)
    sums = first / 0.5 + then / 0.2
    surplus = (first * 2 * 1 + then * 5 * 4).sum(axis=1)
    found = f2_of_weighted((sums**2).sum(axis=1), surplus)
    assert abs(found.mean() - self_join(f)) < 4 * found.std() / math.sqrt(RUNS)


def test_cubes_have_no_bias() -> None:
    f = zipf_counts(N, 2_000, 1.0, 94)
    rows = f3_rows(empty_count_min(64, 4_000, 2).added(KEYS, f).counts, N)
    assert abs(rows.mean() - (f**3.0).sum()) < 4 * rows.std() / math.sqrt(4_000)
    with pytest.raises(ValueError, match="3 columns"):
        f3_rows(np.array([[1, 2]]), 3)


@pytest.mark.parametrize("p", [0.5, 0.1])
@pytest.mark.parametrize("z", [0.0, 0.5, 1.0, 1.5, 2.0])
def test_C25_intervals_hold_the_truth(z: float, p: float) -> None:  # noqa: N802
    """As often as they say, in 400 runs of other samples and other hashes, less 4 deviations of a binomial."""
    f = zipf_counts(N, 2_000, z, 95)
    runs, width, depth, confidence = 400, 256, 5, 0.95
    least = confidence - 4 * math.sqrt(confidence * (1 - confidence) / runs)
    right = points = 0
    widths = []
    for run, rows in enumerate(kept(f, p, runs, 96)):
        sketch = empty_count_min(width, depth, run).added(KEYS, rows / p)
        sampling = sampling_of(int(rows.sum()), p)
        found = f2_weighted_interval(sketch.counts, sampling, confidence)
        assert found.lo <= found.estimate <= found.hi
        right += bool(found.lo <= self_join(f) <= found.hi)
        widths.append(float(found.hi - found.lo) / self_join(f))
        # Half of what may fail each.
        of_sums = point_cmm_interval(
            sketch.columns(KEYS[:1])[0], sketch.counts, sketch.total, 0.975
        )
        point = point_of_weighted(of_sums, sampling.spread, 0.975)
        points += bool(point.lo <= f[0] <= point.hi)
    assert right / runs >= least
    assert points / runs >= least
    # By Chebyshev, of the deviation that is there: 2 * 4.5 of it, and twice that for an F3 that is taken too large.
    v, squares, cubes = 1 / p - 1, self_join(f), float((f**3.0).sum())
    of_sketch = 2 * (squares + v * N) ** 2 / (width - 1) / depth
    of_sampling = float(sampling_variance(np.array(squares), np.array(cubes), N, v))
    assert np.median(widths) <= 2 * 9 * math.sqrt(of_sketch + of_sampling) / squares


def test_what_is_known_of_weights_adds_up() -> None:
    both = Sampling().added(np.array([2.0, 2.0])).added(np.array([5, 1]))
    assert both == Sampling(10, 4 + 20)
    assert both.spread == 2.4
    assert Sampling().spread == 0
    assert Sampling().added(np.array([])) == Sampling()
    with pytest.raises(ValueError, match="stands for itself"):
        Sampling().added(np.array([0.5]))


def test_rows_that_were_all_kept_are_as_without_sampling() -> None:
    f = zipf_counts(N, 2_000, 1.0, 97)
    sketch = empty_count_min(256, 5, 1).added(KEYS, f)
    point = point_cmm_interval(sketch.columns(KEYS[:5]), sketch.counts, N, 0.95)
    again = point_of_weighted(point, 0.0, 0.95)
    assert again.lo == pytest.approx(point.lo)
    assert again.hi == pytest.approx(point.hi)
    assert float(sampling_variance(np.array(1e6), np.array(1e8), N, 0.0)) == 0
