"""F17: the streams of the evaluation, and when they arrive."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.joins.columns import Sets
from streamq.stdlib.joins.workload import (
    CURVE,
    Settings,
    arrivals,
    draw_sets,
    draw_types,
    draw_values,
)

LAG = 5 / 8 * 40


def matrix(sets: Sets, items: int) -> np.ndarray:
    held = np.zeros((len(sets), items), dtype=np.float32)
    held[sets.owner, sets.items] = 1
    return held


def profile(zipf: float, scanned_lag: float, probing_lag: float, rows: int = 2000) -> tuple[np.ndarray, float]:
    """Shares of matches by age in twentieths of a window of 20 s, over a whole cycle, and the mean match probability.

    At 24 times of a cycle, of all phases of a step to the next item, 300 probes are compared with a window of so many rows.
    """
    random = np.random.default_rng(17)
    found, pairs = np.zeros(20), 0
    for at in np.arange(24) * 40 / 24 + np.arange(24) * 0.618 % 1:
        probes = draw_sets(np.full(300, at), Settings(zipf=zipf, shift_s=probing_lag), random)
        stored = draw_sets(at - (np.arange(rows) + 0.5) / rows * 20, Settings(zipf=zipf, shift_s=scanned_lag), random)
        match = matrix(probes, 100) @ matrix(stored, 100).T >= 3
        found += match.sum(axis=0).reshape(20, -1).sum(axis=1)
        pairs += match.size
    return found / found.sum(), float(found.sum() / pairs)


@pytest.mark.parametrize(
    ("zipf", "peak", "tenth", "quarter", "mean"), [(0.6, 0.122, 0.24, 0.46, 0.0012), (0.8, 0.209, 0.42, 0.64, 0.0018)]
)
def test_F17_partners_in_the_first_window_are_three_quarters_old(  # noqa: N802
    zipf: float, peak: float, tenth: float, quarter: float, mean: float
) -> None:
    """Within a point a slice, two for five: of 14 million pairs 17,000 match, so a slice is known to 0.25 points if all were
    independent. Means are given to two digits, 3 %, and known to about 6 % (3 σ of 7,200 probes)."""
    share, p = profile(zipf, LAG, 0.0)
    assert share[14:16] == pytest.approx([peak, peak], abs=0.01)
    assert np.argsort(-share)[:2].tolist() in ([14, 15], [15, 14])
    best = np.sort(share)[::-1]
    assert best[:2].sum() == pytest.approx(tenth, abs=0.02)
    assert best[:5].sum() == pytest.approx(quarter, abs=0.02)
    assert p == pytest.approx(mean, rel=0.09)


@pytest.mark.parametrize(("zipf", "mean"), [(0.6, 0.00063), (0.8, 0.00048)])
def test_F17_partners_in_the_second_window_are_of_all_ages(zipf: float, mean: float) -> None:  # noqa: N802
    share, p = profile(zipf, 0.0, LAG)
    assert share.max() < 0.115
    assert p == pytest.approx(mean, rel=0.09)


def test_sets_have_their_sizes_and_no_item_twice() -> None:
    random = np.random.default_rng(1)
    drawn = draw_sets(np.linspace(0, 40, 20_000), Settings(), random)
    assert drawn.sizes.mean() == pytest.approx(5, abs=3 * 1.04 / np.sqrt(20_000))
    assert drawn.sizes.std() == pytest.approx(np.sqrt(1 + 1 / 12), abs=0.03)
    inner = np.diff(drawn.items)[np.diff(drawn.owner) == 0]
    assert inner.min() > 0
    assert (drawn.items.min(), drawn.items.max()) == (0, 99)
    small = draw_sets(np.zeros(2000), Settings(n_items=3, set_mean=1, set_sd=3), random)
    assert (small.sizes.min(), small.sizes.max()) == (1, 3)


def test_drawing_is_one_after_the_other_without_replacement() -> None:
    """Two of three items: one of them by frequency, then one of the others by theirs; within four standard deviations."""
    share = np.array([1, 1 / 2, 1 / 3]) / (11 / 6)
    pairs = {
        (i, j): share[i] * share[j] * (1 / (1 - share[i]) + 1 / (1 - share[j])) for i, j in ((0, 1), (0, 2), (1, 2))
    }
    settings = Settings(n_items=3, set_mean=2, set_sd=0, zipf=1)
    drawn = draw_sets(np.zeros(40_000), settings, np.random.default_rng(2))
    found = drawn.items.reshape(-1, 2)
    for (i, j), p in pairs.items():
        assert np.mean((found[:, 0] == i) & (found[:, 1] == j)) == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / 40_000))


def test_first_rank_goes_round_and_wraps() -> None:
    settings = Settings(n_items=10, set_mean=1, set_sd=0, zipf=50, cycle_s=40, shift_s=4)
    ts = np.array([0.0, 4, 8, 12, 43.9, 44])
    random = np.random.default_rng(3)
    assert draw_sets(ts, settings, random).items.tolist() == [9, 0, 1, 2, 9, 0]
    assert draw_values(ts, settings, random).values.tolist() == [9, 0, 1, 2, 9, 0]
    two = draw_sets(np.array([3.9]), Settings(n_items=10, set_mean=2, set_sd=0, zipf=50, shift_s=4), random)
    assert two.items.tolist() == [0, 9]


def test_values_are_sets_of_one() -> None:
    settings, ts = Settings(n_items=30, set_mean=1, set_sd=0, zipf=0.8), np.zeros(50_000)
    one = np.bincount(draw_sets(ts, settings, np.random.default_rng(4)).items, minlength=30) / len(ts)
    other = np.bincount(draw_values(ts, settings, np.random.default_rng(5)).values, minlength=30) / len(ts)
    share = np.arange(1, 31) ** -0.8
    share /= share.sum()
    bound = 4 * np.sqrt(share / len(ts))
    assert np.all(np.abs(one - share) < bound)
    assert np.all(np.abs(other - share) < bound)


def test_arrivals_are_even_at_the_rates_of_a_curve() -> None:
    assert arrivals([(1, 4), (0.5, 0), (1, 2)]).tolist() == [0, 0.25, 0.5, 0.75, 1.5, 2.0]
    assert arrivals([(1, 4)], 0.5).tolist() == [0.125, 0.375, 0.625, 0.875]
    assert arrivals([(1, 0)]).tolist() == []
    assert arrivals([]).tolist() == []
    assert arrivals([(0.5, 3), (1, 3)]) == pytest.approx([0, 1 / 3, 2 / 3, 1, 4 / 3])  # a row does not begin anew at a step
    ts = arrivals(CURVE)
    assert len(ts) == 6000 + 7500 + 9000 + 6000
    assert np.bincount(ts.astype(int))[[0, 59, 60, 74, 75, 104, 105]].tolist() == [100, 100, 500, 500, 300, 300, 100]
    assert np.all(np.diff(ts) > 0)


@pytest.mark.parametrize("wrong", [[(-1, 5)], [(1, -5)]])
def test_curves_are_checked(wrong: list[tuple[float, float]]) -> None:
    with pytest.raises(ValueError, match="at least 0"):
        arrivals(wrong)


def test_types_come_as_often_as_is_said_and_a_seed_gives_the_same() -> None:
    drawn = draw_types(20_000, [1, 2, 5], np.random.default_rng(6))
    assert np.bincount(drawn) / 20_000 == pytest.approx([1 / 8, 2 / 8, 5 / 8], abs=0.014)
    ts = arrivals([(2, 50)])
    one, two = (draw_sets(ts, Settings(), np.random.default_rng(7)) for _ in range(2))
    assert np.array_equal(one.items, two.items)
