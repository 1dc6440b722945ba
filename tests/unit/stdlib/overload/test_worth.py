"""Shares by worth: the budget is used up, the dear keep all, those alike share."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from streamq.stdlib.overload.worth import worth_shares

QUERY = st.tuples(st.floats(0.01, 100), st.floats(0.01, 100), st.floats(0, 1))


def shares(work: list[float], worth: list[float], part: float, least: list[float] | None = None) -> list[float]:
    columns = (np.array(column, dtype=np.float64) for column in (work, worth, least or [0.0] * len(work)))
    return worth_shares(*columns, part * sum(work)).tolist()


@given(st.lists(QUERY, min_size=1, max_size=20), st.floats(0, 1))
def test_all_of_the_work_is_used_and_no_more(queries: list[tuple[float, float, float]], part: float) -> None:
    work, worth, least = (np.array(column) for column in zip(*queries, strict=True))
    found = worth_shares(work, worth, least, part * work.sum())
    assert (found >= least).all()
    assert (found <= 1).all()
    assert work @ found == pytest.approx(max(part * work.sum(), work @ least), rel=1e-6)


@given(st.lists(QUERY, min_size=1, max_size=20), st.floats(0, 1))
def test_nobody_who_is_worth_more_for_the_same_work_keeps_less(queries: list[tuple[float, float, float]], part: float) -> None:
    work, worth, _ = (np.array(column) for column in zip(*queries, strict=True))
    found = worth_shares(work, worth, np.zeros(len(work)), part * work.sum())
    assert (np.diff(found[np.argsort(worth / work)]) >= -1e-12).all()


@pytest.mark.parametrize("seed", range(20))
def test_at_most_twice_as_much_is_lost_as_at_best(seed: int) -> None:
    """The bent loss of a share lies between the straight one and twice that, and ours is the best of the bent ones."""
    random = np.random.default_rng(seed)
    work, worth = random.exponential(1, 12), random.exponential(1, 12)
    part = random.uniform(0.05, 0.95)
    best = linprog(worth, A_ub=[-work], b_ub=[-(1 - part) * work.sum()], bounds=[(0, 1)] * 12).fun
    found = worth_shares(work, worth, np.zeros(12), part * work.sum())
    assert best - 1e-9 <= worth @ (1 - found) <= 2 * best + 1e-9


@pytest.mark.parametrize("seed", range(20))
def test_no_other_shares_lose_less_of_the_bent_worth(seed: int) -> None:
    """A step that moves work from one query to another, either way, does not help."""
    random = np.random.default_rng(seed)
    work, worth, least = random.exponential(1, 6), random.exponential(1, 6), random.uniform(0, 0.3, 6)
    found = worth_shares(work, worth, least, random.uniform(0.4, 0.9) * work.sum())
    value = worth @ np.sqrt(found)
    for one in range(6):
        for other in range(6):
            moved = found.copy()
            moved[one] += 1e-4 / work[one]
            moved[other] -= 1e-4 / work[other]
            if one != other and moved[one] <= 1 and moved[other] >= least[other]:
                assert worth @ np.sqrt(moved) <= value + 1e-9


def test_queries_that_are_alike_keep_the_same() -> None:
    assert shares([2, 2, 2], [5, 5, 5], 0.3) == pytest.approx([0.3] * 3)


def test_shares_are_as_the_squares_of_worth_for_work() -> None:
    assert shares([1, 1], [1, 2], 0.5) == pytest.approx([0.2, 0.8])
    assert shares([1, 2], [1, 1], 0.5) == pytest.approx([1.0, 0.25])
    assert shares([1, 1], [1, 10], 0.5) == pytest.approx([1 / 101, 100 / 101])
    assert shares([1, 1], [1, 10], 0.75) == pytest.approx([0.5, 1.0])


def test_what_is_needed_is_kept_whatever_it_is_worth() -> None:
    assert shares([1, 1], [1, 10], 0.5, [0.3, 0.0]) == pytest.approx([0.3, 0.7])
    assert shares([1, 1], [1, 10], 0.1, [0.3, 0.2]) == pytest.approx([0.3, 0.2])


def test_a_query_of_next_to_no_work_leaves_the_order_of_the_others() -> None:
    assert shares([1e-9, 1, 1], [1, 1, 2], 0.5) == pytest.approx([1.0, 0.2, 0.8], abs=1e-6)


def test_worth_nothing_and_work_of_nothing() -> None:
    assert shares([1, 1], [0, 0], 0.5) == pytest.approx([0.5, 0.5])
    assert shares([1, 1], [0, 1], 0.5) == pytest.approx([0.0, 1.0], abs=1e-5)
    assert shares([0, 1], [1, 1], 0.25) == pytest.approx([1.0, 0.25])
    assert shares([0.0, 0.0], [1, 1], 0.25) == [1.0, 1.0]
    assert shares([], [], 0.5) == []
    assert shares([1, 1], [1e9, 1], 0.5) == pytest.approx([1.0, 0.0], abs=1e-5)
