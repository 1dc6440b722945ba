"""Shedding at random, by weight alone, and by whole windows."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.fairness.batches import headers
from streamq.stdlib.fairness.policies import (
    heaviest,
    keeps_windows,
    random_batches,
    random_tuples,
    thinned,
)

QUEUE = headers([0, 1, 0, 1, 1], [10, 20, 0, 30, 40], [0.1, 0.2, 0.05, 0.3, 0.4], [5, 3, 4, 2, 1])


def test_batches_are_drawn_until_the_budget_is_used() -> None:
    for seed in range(20):
        found = random_batches(QUEUE, 35, np.random.default_rng(seed))
        used = int(QUEUE.n[found].sum())
        assert 35 <= used < 35 + 40
        assert 2 in found
        assert np.all(np.diff(QUEUE.seq[found]) > 0)
    again = random_batches(QUEUE, 35, np.random.default_rng(19))
    assert again.tolist() == found.tolist()


def test_each_batch_is_as_likely_as_any_other() -> None:
    even = headers([0] * 4, [10] * 4, [0.1] * 4)
    random = np.random.default_rng(1)
    drawn = np.concatenate([random_batches(even, 20, random) for _ in range(500)])
    assert np.bincount(drawn) == pytest.approx([250] * 4, abs=50)


@pytest.mark.parametrize("budget", [-3, 0, 1, 35, 99, 100, 101, float("inf")])
def test_tuples_are_drawn_exactly(budget: float) -> None:
    kept = random_tuples(QUEUE, budget, np.random.default_rng(3))
    assert kept.sum() == min(max(budget, 0), 100)
    assert np.all((kept >= 0) & (kept <= QUEUE.n))


def test_thinned_batches_keep_the_weight_of_their_tuples() -> None:
    fewer = thinned(QUEUE, np.array([5, 0, 0, 30, 10]))
    assert fewer.n.tolist() == [5, 0, 30, 10]
    assert fewer.total == pytest.approx([0.05, 0.05, 0.3, 0.1])
    assert fewer.seq.tolist() == [5, 4, 2, 1]


def test_the_heaviest_of_all_queries() -> None:
    made = headers([0, 1, 0, 1], [10, 10, 0, 1], [0.1, 0.3, 0.01, 0.2])
    assert heaviest(made, 2).tolist() == [1, 2, 3]
    assert heaviest(made, 1).tolist() == [2, 3]
    assert heaviest(made, 0).tolist() == [2]
    assert heaviest(made, 21).tolist() == [0, 1, 2, 3]
    assert heaviest(made, 1, order="total").tolist() == [1, 2]
    assert heaviest(headers([], [], []), 5).tolist() == []


def test_nothing_to_draw_from() -> None:
    none = headers([], [], [])
    assert random_batches(none, 5, np.random.default_rng(0)).tolist() == []
    assert random_tuples(none, 5, np.random.default_rng(0)).tolist() == []


def test_windows_are_kept_whole_and_always_alike() -> None:
    starts = np.repeat(np.arange(-500, 500) * 60_000_000, 4)
    groups = np.tile(np.arange(4), 1000)
    kept = keeps_windows(starts, groups, 0.3, seed=7)
    assert kept.mean() == pytest.approx(0.7, abs=0.03)
    assert np.array_equal(kept, keeps_windows(starts, groups, 0.3, seed=7))
    order = np.random.default_rng(0).permutation(len(starts))
    assert np.array_equal(kept[order], keeps_windows(starts[order], groups[order], 0.3, seed=7))
    for group in range(4):
        assert kept[groups == group].mean() == pytest.approx(0.7, abs=0.06)
    assert keeps_windows(starts, groups, 0.3, seed=8).tolist() != kept.tolist()


def test_all_windows_or_none() -> None:
    starts, groups = np.arange(1000), np.zeros(1000, dtype=np.int64)
    assert keeps_windows(starts, groups, 0, seed=1).all()
    assert not keeps_windows(starts, groups, 1, seed=1).any()
    more, fewer = (keeps_windows(starts, groups, drop, seed=1) for drop in (0.2, 0.6))
    assert np.all(more | ~fewer)
    with pytest.raises(ValueError, match="between 0 and 1"):
        keeps_windows(starts, groups, 1.5, seed=1)


def test_g_09_loss_changes_counts_more_than_averages() -> None:
    random = np.random.default_rng(9)
    averages, counts = [], []
    for _ in range(200):
        values = random.random(100)
        kept = random_tuples(headers([0] * 100, [1] * 100, [0.01] * 100), 50, random) > 0
        averages.append((values.mean(), values[kept].mean()))
        counts.append(((values < 0.5).sum(), (values[kept] < 0.5).sum()))
    assert np.mean(averages, axis=0) == pytest.approx([0.5, 0.5], abs=0.02)
    assert np.mean(counts, axis=0) == pytest.approx([50, 25], abs=2)
