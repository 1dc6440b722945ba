"""S19: the hot-spot workloads."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.sifters.workload import Kind, Settings, workload


@pytest.mark.parametrize("rows", ["UNIFORM", "SKEWED"])
def test_s19_rows_and_queries_lie_in_the_same_hot_spots(rows: Kind) -> None:
    made = workload(Settings(rows=rows, global_skew=10, local_skew=10), np.random.default_rng(19))
    points = made.rows(20_000)
    assert points.shape == (20_000, 2)
    assert np.all((points >= 0) & (points < 1))
    # Hot spots have sides of at most 0.1: with a skew of 10 no more than about five of them are taken of the square.
    cells = len(np.unique((points * 20).astype(int) @ [20, 1]))
    assert cells <= 5 * 25
    near = np.array([np.min(np.abs(points - c).max(axis=1)) for c in made.queries.centres])
    assert near.max() < 0.1


def test_s19_sizes_slopes_and_weights() -> None:
    made = workload(Settings(), np.random.default_rng(1))
    sides = made.queries.hi - made.queries.lo
    assert sides.max() <= 0.01
    assert np.median(sides) == pytest.approx(0.0075, abs=0.0003)
    assert made.queries.weight.sum() == pytest.approx(1.0)
    assert made.queries.slope.mean() == pytest.approx(1.0)
    assert made.queries.slope.min() >= 1 / 2 * 0.95
    assert made.queries.slope.max() <= 2 / 1.5 * 1.05


def test_a_seed_gives_the_same_workload() -> None:
    one, two = (workload(Settings(), np.random.default_rng(3)) for _ in range(2))
    assert np.array_equal(one.rows(100), two.rows(100))
    assert np.array_equal(one.queries.lo, two.queries.lo)
