"""Budgets of probes, and which probes are full."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.joins.probe import budgets, counted, no_counts, sampled, takes, whole_budgets
from streamq.stdlib.joins.selection import Selection, newest_first


def test_F5_takes_are_those_of_the_loop_over_basic_windows() -> None:  # noqa: N802
    """Algorithm 3, lines 9 to 15, for each probe."""
    random = np.random.default_rng(5)
    counts = random.integers(0, 5, (300, 7))
    order, wanted = random.permutation(7), random.random(300) * 30
    expected = np.zeros_like(counts)
    for p in range(300):
        a = wanted[p]
        for j in order.tolist():
            if counts[p, j] == 0:
                continue
            take = min(int(counts[p, j]), int(np.floor(a)))
            expected[p, j] = take
            a -= take
            if take < counts[p, j]:
                break
    assert np.array_equal(takes(counts, order, whole_budgets(wanted)), expected)


def test_a_budget_is_not_less_by_rounding() -> None:
    assert 0.29 * 100 < 29
    assert whole_budgets(np.array([0.29 * 100, 28.999, 0.0])).tolist() == [29, 28, 0]


def test_parts_of_rows_are_carried_on_by_type() -> None:
    random = np.random.default_rng(6)
    wanted, types = random.random(2000) * 0.3, random.integers(0, 3, 2000)
    carry = np.zeros(3)
    given = []
    for part in np.array_split(np.arange(2000), 9):
        budget, carry = budgets(wanted[part], types[part], carry)
        given.append(budget)
        assert np.all((carry > -1e-8) & (carry < 1))
    budget = np.concatenate(given)
    for z in range(3):
        # After each probe what was given is what was wanted, less than a row short.
        short = np.cumsum(wanted[types == z]) - np.cumsum(budget[types == z])
        assert np.all((short > -1e-8) & (short < 1))
    assert np.array_equal(budget, budgets(wanted, types, np.zeros(3))[0])


def test_F6_the_share_of_full_probes_is_what_was_asked() -> None:  # noqa: N802
    """Each id is full with the probability p: of n, 3 standard deviations sqrt(n p (1 - p)) around n p."""
    for window in (0, 1):
        for frac, sample_p in ((1.0, 0.1), (0.5, 0.1), (0.016, 0.1), (0.3, 0.9)):
            p, n = frac * sample_p, 200_000
            for first in (0, 10**12):
                full = sampled(np.arange(first, first + n), window, p)
                assert abs(int(full.sum()) - n * p) < 3 * np.sqrt(n * p * (1 - p))


def test_F6_the_same_rows_are_full_on_replay_and_at_larger_shares() -> None:  # noqa: N802
    ids = np.arange(-5000, 5000)
    full = sampled(ids, 0, 0.2)
    shuffled = np.random.default_rng(0).permutation(10_000)
    assert np.array_equal(sampled(ids[shuffled], 0, 0.2), full[shuffled])
    assert np.all(sampled(ids, 0, 0.3)[full])
    assert sampled(ids, 0, 1.0).all()
    assert not sampled(ids, 0, 0.0).any()
    # Rows of both sides with the same ids are drawn apart: 10,000 · 0.2² = 400 would be full in both, ± 3 · 20.
    assert abs(int((full & sampled(ids, 1, 0.2)).sum()) - 400) < 60


def test_counters_are_of_full_probes_only() -> None:
    counts = np.array([[2, 3], [1, 0], [4, 4]])
    found = counted(
        np.array([True, False, True]), np.array([1, 0, 0]), counts, np.array([0, 0, 1, 2]), np.array([0, 1, 0, 1]),
        np.array([0.5, 1.5, 9.0, 4.0]), 2,
    )
    assert (found.matches.tolist(), found.compared.tolist()) == ([1, 2], [6, 7])
    assert (found.utility.tolist(), found.utility_compared.tolist()) == ([4.0, 2.0], [8, 5])
    twice = found.plus(found).plus(no_counts(2, 2))
    assert (twice.matches.tolist(), twice.utility_compared.tolist()) == ([2, 4], [16, 10])


def test_a_selection_gives_the_most_specific_fraction() -> None:
    order = (np.arange(3), np.arange(2))
    one = Selection(0.5, np.array([0.1, 0.9]), None, order)
    assert one.fractions(1, np.array([0, 4])).tolist() == [0.9, 0.9]
    typed = Selection(0.5, np.array([0.1, 0.9]), (np.array([0.2, 0.3]), np.array([0.0, 1.0])), order)
    assert typed.fractions(0, np.array([1, 0, 1])).tolist() == [0.3, 0.2, 0.3]
    plain = newest_first(0.25, (3, 2))
    assert plain.fractions(0, np.zeros(1, int)).tolist() == [0.25]
    assert (plain.order[0].tolist(), plain.sample_p) == ([0, 1, 2], 0.0)


@pytest.mark.parametrize("bad", [-0.1, 1.1, float("nan")])
def test_what_is_no_fraction_is_refused(bad: float) -> None:
    good, order = np.array([0.5, 0.5]), (np.arange(3), np.arange(2))
    for given in (
        (bad, good, None, order), (0.5, np.array([0.5, bad]), None, order), (0.5, good, (good, np.array([bad])), order),
        (0.5, good, None, order, bad), (0.5, np.array([0.5]), None, order),
    ):
        with pytest.raises(ValueError, match="fraction"):
            Selection(*given)


def test_what_is_no_permutation_is_refused() -> None:
    for order in ([0, 0, 2], [1, 2, 3], [0, 1, 2, 2]):
        with pytest.raises(ValueError, match="each position"):
            Selection(0.5, np.array([0.5, 0.5]), None, (np.array(order), np.arange(2)))
