"""Fair shares of rows: a level for all, exact at every edge."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamq.stdlib.fairness.batches import headers
from streamq.stdlib.fairness.fair import fair
from streamq.stdlib.fairness.levels import Level, fair_shares


def shares(
    rows: list[float],
    pending: list[float],
    coverage: list[float],
    budget: float,
    weights: list[float] | None = None,
) -> Level:
    claims = None if weights is None else np.array(weights, dtype=float)
    return fair_shares(np.array(rows), np.array(pending), np.array(coverage), budget, claims)


def test_gs_1_as_rates() -> None:
    found = shares([20, 20], [0.2, 0.2], [0.8, 0.4], 20)
    assert found.keep.tolist() == pytest.approx([0, 1])
    assert shares([20, 20], [0.2, 0.2], [0.8, 0.4], 30).keep == pytest.approx([0.5, 1])


def test_two_queries_meet_at_one_level() -> None:
    found = shares([100, 100], [0.5, 0.5], [0.6, 0.8], 100)
    assert found.keep == pytest.approx([0.7, 0.3])
    assert found.level == pytest.approx(0.45)


def test_g_11_the_fluid_limit() -> None:
    """Two queries on an overloaded node; one has another source on a node that is not."""
    assert shares([100, 100], [0.5, 1.0], [1.0, 1.0], 100).keep == pytest.approx([1 / 3, 2 / 3])
    # With local numbers only, the share of one source is taken for all.
    assert shares([100, 100], [0.5, 1.0], [0.5, 1.0], 100).keep == pytest.approx([2 / 3, 1 / 3])


@pytest.mark.parametrize("budget", [0, -1])
def test_no_budget(budget: float) -> None:
    assert shares([20, 5], [0.2, 0.1], [0.8, 0.4], budget).keep.tolist() == [0, 0]
    both = shares([20, 5], [0.2, 0.1], [0.8, 0.4], budget, [1, 0])
    assert both.keep.tolist() == [0, 0]


@pytest.mark.parametrize("budget", [25, 26, math.inf])
def test_budget_enough(budget: float) -> None:
    found = shares([20, 5], [0.2, 0.1], [0.8, 0.4], budget)
    assert (found.keep.tolist(), found.level) == ([1, 1], math.inf)


def test_one_query() -> None:
    found = shares([40], [0.4], [0.9], 10)
    assert (found.keep.tolist(), found.level) == ([0.25], pytest.approx(0.6))


def test_a_query_without_rows_is_left_out() -> None:
    found = shares([0, 40], [0, 0.4], [0.1, 0.9], 10)
    assert found.keep.tolist() == [1, 0.25]
    assert shares([0, 0], [0, 0.1], [0.1, 0.9], 0).keep.tolist() == [1, 1]
    assert fair_shares(np.zeros(0), np.zeros(0), np.zeros(0), 5).keep.tolist() == []


def test_equal_levels() -> None:
    found = shares([10, 30, 60], [0.3, 0.3, 0.3], [0.5, 0.5, 0.5], 25)
    assert found.keep == pytest.approx([0.25] * 3)


def test_a_budget_that_ends_at_an_edge() -> None:
    assert shares([10, 10], [0.2, 0.2], [0.3, 0.5], 10).keep.tolist() == pytest.approx([1, 0])


def test_weights() -> None:
    found = shares([100, 100], [0.5, 0.5], [0.5, 0.5], 75, [2, 1])
    assert found.keep == pytest.approx([0.5, 0.25])
    assert found.level == pytest.approx(0.125)


def test_weight_0_gets_what_the_others_leave() -> None:
    assert shares([20, 20], [0.2, 0.2], [0.2, 0.9], 15, [0, 1]).keep.tolist() == [0, 0.75]
    assert shares([20, 20], [0.2, 0.2], [0.2, 0.9], 25, [0, 1]).keep.tolist() == [0.25, 1]
    assert shares([20, 20], [0.2, 0.2], [0.2, 0.2], 20, [0, 0]).keep.tolist() == [0.5, 0.5]


def test_rows_without_weight_are_kept_at_once() -> None:
    rows, pending, coverage = [10, 20, 10], [0.5, 0.0, 0.0], [0.6, 0.3, 0.3]
    assert shares(rows, pending, coverage, 4).keep == pytest.approx([0.4, 0, 0])
    assert shares(rows, pending, coverage, 19).keep == pytest.approx([0.4, 0.5, 0.5])
    assert shares(rows, pending, coverage, 37).keep == pytest.approx([0.7, 1, 1])
    # A weight that is lost beside the coverage is none.
    assert shares([10, 10], [1e-300, 0], [1, 1], 5).keep == pytest.approx([0.25, 0.25])


def test_an_unknown_coverage_is_the_mean_of_the_others() -> None:
    known = shares([10, 10, 10], [0.2] * 3, [0.3, 0.4, 0.5], 12)
    unknown = shares([10, 10, 10], [0.2] * 3, [0.3, math.nan, 0.5], 12)
    assert unknown.keep == pytest.approx(known.keep)


def test_negative_numbers_are_refused() -> None:
    for rows, pending, claim in ((-1, 0.1, 1), (1, -0.1, 1), (1, 0.1, -1), (1, math.nan, 1)):
        with pytest.raises(ValueError, match="not negative"):
            shares([rows], [pending], [0.5], 1, [claim])


NUMBERS = st.one_of(st.just(0.0), st.floats(1e-17, 1))
QUERY = st.tuples(st.integers(0, 1000), NUMBERS, NUMBERS, st.sampled_from([0, 0.5, 1, 3]))


@settings(max_examples=200)
@given(st.lists(QUERY, min_size=1, max_size=8), st.floats(0, 1.2))
def test_the_budget_is_used_exactly_and_levels_are_fair(
    queries: list[tuple[int, float, float, float]], part: float
) -> None:
    rows, pending, coverage, claims = (np.array(c, dtype=float) for c in zip(*queries, strict=True))
    budget = part * rows.sum()
    found = fair_shares(rows, pending, coverage, budget, claims)
    keep = found.keep
    assert np.all((keep >= 0) & (keep <= 1))
    assert float(rows @ keep) == pytest.approx(min(budget, rows.sum()), rel=1e-9, abs=1e-9)
    partial = (keep > 1e-6) & (keep < 1 - 1e-6) & (claims > 0)
    reached = (coverage - pending * (1 - keep))[partial] / claims[partial]
    assert reached == pytest.approx([found.level] * int(partial.sum()), abs=1e-9)
    if partial.any():
        starved = (keep == 0) & (claims > 0) & (rows > 0)
        base = ((coverage - pending)[starved]) / claims[starved]
        assert np.all(base >= found.level - 1e-9)


@settings(max_examples=25)
@given(
    st.lists(
        st.tuples(st.integers(1, 5), st.floats(0.05, 1), st.floats(0, 1)), min_size=1, max_size=4
    ),
    st.floats(0, 1),
)
def test_it_is_fair_shedding_with_small_batches(
    queries: list[tuple[int, float, float]], part: float
) -> None:
    pieces = 400
    rows, pending, coverage = (np.array(c, dtype=float) for c in zip(*queries, strict=True))
    rows *= pieces
    query = np.repeat(np.arange(len(rows)), pieces)
    made = headers(query, (rows / pieces)[query], (pending / pieces)[query])
    budget = part * rows.sum()
    kept = np.bincount(query[fair(made, budget, coverage)], minlength=len(rows)) / pieces
    assert kept == pytest.approx(fair_shares(rows, pending, coverage, budget).keep, abs=0.12)
