"""G8 and C13: minimal increase is between the truth and Count-Min."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.sketches.conservative import MinimalIncrease, increased
from streamq.stdlib.sketches.counter_sketch import empty_count_min
from streamq.stdlib.sketches.estimators import point_cm
from streamq.stdlib.sketches.lookalike import zipf_counts

A, B, C = [0, 0], [0, 1], [1, 1]


def test_G8_given_cells() -> None:  # noqa: N802
    cells = np.array([A, B, A, C, B])
    counts = increased(np.zeros((2, 3), np.int64), cells)
    assert counts.tolist() == [[2, 1, 0], [2, 2, 0]]
    assert [int(counts[[0, 1], of].min()) for of in (A, B, C)] == [2, 2, 1]
    # Count-Min has 4, 1, 0 and 2, 3, 0: 2, 3 and 1.
    plain = np.stack([np.bincount(row, minlength=3) for row in cells.T])
    assert [int(plain[[0, 1], of].min()) for of in (A, B, C)] == [2, 3, 1]


@pytest.mark.parametrize("z", [0.0, 1.0, 2.0])
def test_C13_between_the_truth_and_count_min(z: float) -> None:  # noqa: N802
    f = zipf_counts(20_000, 1_000, z, 51)
    keys = np.arange(1_000, dtype=np.uint64)
    rows = np.random.default_rng(1).permutation(np.repeat(keys, f))
    least = MinimalIncrease.empty(64, 4, 3)
    for batch in np.split(rows, 4):
        least = least.added(batch)
    plain = point_cm(empty_count_min(64, 4, 3).added(rows).columns(keys))
    assert (f <= least.points(keys)).all()
    assert (least.points(keys) <= plain).all()
    assert least.points(keys).sum() < plain.sum()
    assert np.array_equal(least.counts, MinimalIncrease.empty(64, 4, 3).added(rows).counts)


def test_a_weight_is_so_many_rows() -> None:
    keys = np.random.default_rng(2).integers(0, 50, 500).astype(np.uint64)
    weights = np.random.default_rng(3).integers(0, 5, 500)
    once = MinimalIncrease.empty(16, 3, 1).added(keys, weights)
    assert np.array_equal(
        once.counts, MinimalIncrease.empty(16, 3, 1).added(np.repeat(keys, weights)).counts
    )
    assert once.total == weights.sum()
    halves = MinimalIncrease.empty(16, 3, 1).added(keys, weights / 2)
    assert halves.counts == pytest.approx(once.counts / 2)


def test_merged_is_a_bound() -> None:
    f = zipf_counts(5_000, 300, 1.0, 52)
    keys = np.arange(300, dtype=np.uint64)
    one = MinimalIncrease.empty(64, 4, 3).added(keys, f)
    both = one.merged(one)
    assert both.total == 10_000
    assert (both.points(keys) >= 2 * f).all()
    with pytest.raises(ValueError, match="one depth, width and seed"):
        one.merged(MinimalIncrease.empty(64, 4, 2))


def test_nothing_is_taken_back() -> None:
    with pytest.raises(ValueError, match="takes nothing back"):
        MinimalIncrease.empty(16, 3, 1).added(np.arange(2, dtype=np.uint64), np.array([1, -1]))
