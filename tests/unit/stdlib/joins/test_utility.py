"""Golden 3.7, F10 and F11: comparisons go where they are worth most; and DIRECTION AUTO."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from streamq.stdlib.joins.correlation import Correlation, unknown
from streamq.stdlib.joins.direction import directions
from streamq.stdlib.joins.utility import (
    Combine,
    Gains,
    allocated,
    density,
    expected,
    fractions,
    frequencies,
    pair_utility,
    values,
)

NONE = Gains(np.zeros(2), np.zeros(2))


def learned(match_p: list[float] | np.ndarray, compared: float = 1e6) -> Correlation:
    count = np.full(len(match_p), compared)
    return unknown(len(match_p)).after(np.array(match_p) * count, count)


def value_of(taken: list[np.ndarray], dense: list[np.ndarray], probing: list[np.ndarray]) -> float:
    """Σ over what is taken, best basic window first, of frequency times density."""
    total = 0.0
    for t, d, f in zip(taken, dense, probing, strict=True):
        part = np.clip(t * len(d) - np.arange(len(d))[:, None], 0, 1)
        total += float((part * np.sort(d, axis=0)[::-1] * f).sum())
    return total


def golden() -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Densities and frequencies of probing rows of the worked example: n=(4,3), V=(4,1), max."""
    ones = learned([0.01, 0.04, 0.03, 0]), learned([0.02, 0.05, 0.01])
    frequency, value = (np.array([0.5, 0.5]), np.array([0.25, 0.75])), values([4, 1])
    gain = [expected(NONE, one.average, f, value) for one, f in zip(ones, frequency, strict=True)]
    assert gain[0] == pytest.approx([0.08, 0.05])
    assert gain[1] == pytest.approx([0.106667, 0.046667], abs=1e-6)
    return [density(one, g) for one, g in zip(ones, gain, strict=True)], [frequency[1], frequency[0]]


def test_golden_3_7_densities() -> None:
    first, second = golden()[0]
    assert first == pytest.approx(np.array([[0.04, 0.025], [0.16, 0.1], [0.12, 0.075], [0, 0]]))
    assert second == pytest.approx(np.array([[0.08, 0.035], [0.2, 0.0875], [0.04, 0.0175]]))


@pytest.mark.parametrize(
    ("capacity", "value", "expected_fractions"),
    [
        (1.25, 0.195, (0.5, 0.083333, 0.333333, 0)), (1.75, 0.245, (0.5, 0.25, 0.333333, 0)),
        (2.5, 0.30875, (0.5, 0.25, 0.5, 0.333333)), (3.5, 0.385, (0.5, 0.5, 0.666667, 0.333333)),
        (3.75, 0.395, None), (5.25, 0.445, None),
    ],
)
def test_golden_3_7_allocation(capacity: float, value: float, expected_fractions: tuple[float, ...] | None) -> None:
    dense, probing = golden()
    taken = allocated(dense, probing, capacity)
    assert value_of(taken, dense, probing) == pytest.approx(value, abs=1e-9)
    assert sum(len(d) * float(f @ t) for d, f, t in zip(dense, probing, taken, strict=True)) == pytest.approx(capacity)
    if expected_fractions is not None:
        assert np.concatenate(taken) == pytest.approx(expected_fractions, abs=1e-6)


def instance(random: np.random.Generator) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """With types that nobody sends, basic windows without matches, and equal densities."""
    types = int(random.integers(1, 5))
    dense, probing = [], []
    for _ in range(2):
        n = int(random.integers(1, 8))
        match_p = random.choice([random.random(n), random.integers(0, 3, n) / 3]) * (random.random(n) < 0.8)
        dense.append(density(learned(match_p), random.random(types)))
        frequency = random.dirichlet(np.ones(types)) * (random.random(types) < 0.9)
        probing.append(frequencies(frequency))
    return dense, probing


def test_F10_allocation_is_that_of_highs() -> None:  # noqa: N802
    optimize = pytest.importorskip("scipy.optimize")
    random = np.random.default_rng(10)
    for _ in range(200):
        dense, probing = instance(random)
        capacity = random.random() * sum(map(len, dense))
        taken = allocated(dense, probing, capacity)
        assert all(np.all((t >= 0) & (t <= 1)) for t in taken)
        assert sum(len(d) * float(f @ t) for d, f, t in zip(dense, probing, taken, strict=True)) == pytest.approx(capacity)
        volume = np.concatenate([np.tile(f, len(d)) for d, f in zip(dense, probing, strict=True)])
        gain = volume * np.concatenate([d.ravel() for d in dense])
        best = optimize.linprog(-gain, A_ub=volume[None], b_ub=[capacity], bounds=(0, 1), method="highs")
        assert best.status == 0
        assert value_of(taken, dense, probing) == pytest.approx(-best.fun, abs=1e-9)


def test_F10_fraction_one_takes_everything() -> None:  # noqa: N802
    random = np.random.default_rng(11)
    for _ in range(200):
        dense, probing = instance(random)
        for taken in allocated(dense, probing, float(sum(map(len, dense))), unseen=1.0):
            assert taken.tolist() == [1.0] * len(taken)


def test_types_that_do_not_come_get_what_is_said() -> None:
    dense, probing = [np.ones((3, 2)), np.ones((3, 2))], [np.array([1.0, 0.0]), np.array([0.5, 0.5])]
    first, second = allocated(dense, probing, 3.0, unseen=0.5)
    assert first.tolist() == [1, 0.5]
    assert second.tolist() == [0, 0]


@pytest.mark.parametrize("combine", ["MAX", "AVG"])
def test_F11_pair_utility_totals_are_those_of_brute_force(combine: Combine) -> None:  # noqa: N802
    random = np.random.default_rng(12)
    value = values(random.exponential(3, 4))
    one, other = random.integers(0, 4, 60), random.integers(0, 4, 50)
    total = 0.0
    for a, b in product(one, other):
        total += max(value[a], value[b]) if combine == "MAX" else (value[a] + value[b]) / 2
    assert pair_utility(value[one][:, None], value[other][None, :], combine).sum() == pytest.approx(total)
    # What is expected of a comparison is the mean over the rows of the window, times the match probability.
    counts = np.bincount(other, minlength=4).astype(float)
    gain = expected(Gains(np.zeros(4), np.zeros(4)), 0.02, frequencies(counts), value, combine)
    assert 0.02 * total / len(other) == pytest.approx(float(gain[one].sum()))


def test_what_is_measured_goes_before_what_is_expected() -> None:
    frequency, value = np.array([0.5, 0.5]), values([4, 1])
    assert expected(NONE, 0.01, frequency, value) == pytest.approx([0.04, 0.025])
    much = Gains(np.array([300.0, 100.0]), np.array([1e6, 1e6]))
    assert expected(much, 0.01, frequency, value) == pytest.approx([0.0003, 0.0001], rel=0.3)
    # Ten matches, here 1,000 comparisons, of each.
    even = Gains(np.array([80.0, 0.0]), np.array([1000.0, 0.0]))
    assert expected(even, 0.01, frequency, value) == pytest.approx([0.06, 0.025])


def test_gains_fade() -> None:
    gains = Gains(np.array([10.0, 0]), np.array([100.0, 50])).after(np.array([1.0, 2]), np.array([10.0, 20]))
    assert gains.utility.tolist() == [9, 2]
    assert gains.compared.tolist() == [90, 60]


def test_utilities_that_are_null_or_negative_count_as_nothing() -> None:
    assert values([None, np.nan, -3, 0, 2.5]).tolist() == [0, 0, 0, 0, 2.5]
    with pytest.raises(ValueError, match="finite"):
        values([np.inf])


def test_frequencies_of_nothing_are_even() -> None:
    assert frequencies(np.zeros(4)).tolist() == [0.25] * 4
    assert frequencies(np.array([3.0, 1])).tolist() == [0.75, 0.25]


ONE_TYPE = (np.ones(1), np.ones(1))


def auto(frac: float, first: Correlation, second: Correlation, win_s: tuple[float, float] = (20, 20)) -> list[float]:
    gains = [np.array([first.average]), np.array([second.average])]
    return [float(f[0]) for f in fractions(frac, win_s, [first, second], gains, ONE_TYPE)]


def test_auto_is_the_knapsack_where_basic_windows_compete() -> None:
    first, second = learned([0.01, 0.04, 0.03, 0.0]), learned([0.02, 0.05, 0.01, 0.0])
    # 0.05 and 0.04 of eight basic windows.
    assert auto(0.25, first, second) == pytest.approx([0.25, 0.25])
    assert auto(0.375, first, second) == pytest.approx([0.5, 0.25])
    assert directions(0.25, (20, 20), [first.average, second.average]) == pytest.approx([0.5, 0])


@pytest.mark.parametrize("swapped", [False, True])
def test_auto_is_by_direction_where_one_window_is_better_throughout(swapped: bool) -> None:
    """0.019 is best in the worse one and below the average of the other, 0.02, though 0 is worse than that."""
    pair = [learned([0.04, 0.04, 0.0, 0.0]), learned([0.019, 0.019, 0.0, 0.0])]
    if swapped:
        pair.reverse()
    found = auto(0.4, *pair)
    assert sorted(found) == pytest.approx([0, 0.8])
    assert found[int(swapped)] == pytest.approx(0.8)


def test_auto_is_by_direction_until_enough_matches_were_sampled() -> None:
    few, many = learned([0.05, 0.01, 0.0, 0.0], 450), learned([0.04, 0.03, 0.0, 0.0], 10_000)
    assert few.matches == pytest.approx(27)
    assert auto(0.25, few, many) == pytest.approx([0, 0.5])
    more = learned([0.05, 0.01, 0.0, 0.0], 550)
    assert auto(0.25, more, many) == pytest.approx([0.25, 0.25])


@pytest.mark.parametrize("few", [True, False])
def test_auto_spends_the_same_on_types_by_what_they_are_worth(few: bool) -> None:
    """Within a direction too, where that is chosen: rows of the dear type compare more."""
    random = np.random.default_rng(13)
    for _ in range(100):
        pair = [learned(random.random(n) * 0.01, 10 if few else 1e6) for n in (5, 9)]
        frequency = [random.dirichlet(np.ones(3)) for _ in range(2)]
        gains = [one.average * pair_utility(np.array([9.0, 3, 1])[:, None], np.array([9.0, 3, 1]), "MAX") @ f
                 for one, f in zip(pair, frequency, strict=True)]
        frac = random.random()
        found = fractions(frac, (4.0, 8.0) if few else (4, 4), pair, gains, frequency)
        spent = [float(f @ t) for f, t in zip(reversed(frequency), found, strict=True)]
        if few:
            assert np.dot(spent, (4, 8)) == pytest.approx(frac * 12)
        else:
            assert np.dot(spent, (5, 9)) == pytest.approx(frac * 14) or np.dot(spent, (4, 4)) == pytest.approx(frac * 8)
        assert all(np.all(np.diff(t) <= 1e-9) for t in found)


def test_auto_without_matches_or_worth_treats_all_alike() -> None:
    nothing = [unknown(4), unknown(4)]
    none = [np.zeros(2), np.zeros(2)]
    found = fractions(0.3, (20, 20), nothing, none, [np.array([0.5, 0.5])] * 2)
    assert [f.tolist() for f in found] == [[0.3, 0.3], [0.3, 0.3]]
    worthless = fractions(0.3, (20, 20), [learned([0.01, 0.02])] * 2, none, [np.array([0.5, 0.5])] * 2)
    assert [f.tolist() for f in worthless] == [[0.3, 0.3], [0.3, 0.3]]


def test_auto_with_a_silent_stream() -> None:
    """Its window was never found to hold anything, and rows that do not come are of all types."""
    found = auto(0.3, learned([0.01, 0.02, 0.03]), unknown(3))
    assert found == pytest.approx([0.6, 0])


@pytest.mark.parametrize("win_s", [(20.0, 0.0), (0.0, 20.0), (0.0, 0.0)])
def test_auto_with_windows_of_no_length(win_s: tuple[float, float]) -> None:
    pair = [learned([0.01, 0.02]) if w else learned([0.5]) for w in win_s]
    assert auto(0.3, *pair, win_s) == pytest.approx([0.3 if w else 0 for w in win_s])
    assert auto(1.0, *pair, win_s) == [1, 1]
