"""Goldens G16 to G18: how much is drawn, bounds of errors; the weights solve the equations of the thesis."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest

from streamq.stdlib.sketches.similarity_plan import (
    MOST_SAMPLED,
    SimilarityPlan,
    error_constant,
    inversion_weights,
    is_loose,
    mu,
    offline_bound,
    online_bound,
    pair_weights,
    plan_similarity,
    rate_of,
    repetitions,
    samples_of,
    whole,
)


@pytest.mark.parametrize(
    ("rate", "n_proj"),
    [
        (0.25, (2, 4, 5, 4, 2, 1)),
        (0.5, (3, 8, 10, 8, 3, 1)),
        (0.75, (5, 12, 15, 12, 5, 1)),
        (1.0, (6, 15, 20, 15, 6, 1)),
    ],
)
def test_G16_super_values_of_a_record(rate: float, n_proj: tuple[int, ...]) -> None:  # noqa: N802
    plan = plan_similarity(6, 1, rate)
    assert plan.n_proj == n_proj
    assert tuple(samples_of(6, k, rate) for k in range(1, 7)) == n_proj
    assert plan.exact == (rate == 1)


def test_G16_a_rate_that_is_no_binary_number_rounds_up_no_further() -> None:  # noqa: N802
    # 0.1 * 20 is 2, and 0.7 * 10 is 7.000000000000001 or 7: neither is one more.
    assert [samples_of(6, 3, 0.1), samples_of(5, 2, 0.7), samples_of(5, 3, 0.3)] == [2, 7, 3]
    assert samples_of(6, 3, 1e-15) == 1


def test_G17_error_constants() -> None:  # noqa: N802
    assert error_constant(5, 4) == pytest.approx(7.0711, abs=5e-5)
    assert error_constant(6, 5) == pytest.approx(8.49, abs=5e-3)
    assert error_constant(6, 4) == pytest.approx(36.7, abs=0.05)
    assert error_constant(10, 8) == pytest.approx(110.227, abs=5e-4)
    assert error_constant(20, 16) == pytest.approx(40536.18, abs=5e-3)
    assert [is_loose(10, 8), is_loose(20, 16), is_loose(8, 4)] == [False, True, True]


def test_G17_bounds() -> None:  # noqa: N802
    assert offline_bound(6, 4, 0.5, 1_900_702) == pytest.approx(0.0377, abs=5e-5)
    assert online_bound(6, 4, 0.5, 1_900_702, 200_000, 1000) == pytest.approx(1.99, abs=5e-3)


def test_G18_table_5_1_and_memory() -> None:  # noqa: N802
    true = (219_356, 191_310, 1_690_036, 14_706_402, 87_385_874, 417_430_350, 39_478_376_672)
    assert sum(true) == 200_000**2
    assert len(plan_similarity(6, 4, 0.5).ks) * 1000 * 3 == 9000
    assert 750 * 6 * 64 == 9000 * 32


def test_usual_rate_is_the_largest_with_64_super_values() -> None:
    assert plan_similarity(6, 1).rate == 1
    assert plan_similarity(6, 4).n_proj == (15, 6, 1)
    for n_attrs, min_common in ((7, 1), (8, 5), (10, 6), (12, 1), (12, 7)):
        plan = plan_similarity(n_attrs, min_common)
        more = plan_similarity(n_attrs, min_common, plan.rate + 1e-6)
        assert sum(plan.n_proj) <= MOST_SAMPLED < sum(more.n_proj)
        assert not plan.exact
        assert plan.is_loose
    assert not plan_similarity(8, 1, 1.0).is_loose


def solved(plan: SimilarityPlan, other: SimilarityPlan, sizes: list[Fraction]) -> list[Fraction]:
    """X_k from above, as the thesis has it: X_k = (Z_k - sum over j > k of mu(j, k) X_j) / mu(k, k)."""
    found: dict[int, Fraction] = {}
    for k in reversed(plan.ks):
        above = sum((mu(plan, j, k, other) * found[j] for j in plan.ks if j > k), Fraction(0))
        found[k] = (sizes[k - plan.min_common] - above) / mu(plan, k, k, other)
    return [found[k] for k in plan.ks]


@pytest.mark.parametrize(
    ("n_attrs", "min_common", "rate", "other_rate"),
    [(3, 2, 0.5, 0.5), (6, 1, 0.5, 0.5), (6, 4, 0.3, 1.0), (8, 2, 0.1, 0.7), (12, 1, 0.01, 1.0)],
)
def test_weights_solve_the_equations(
    n_attrs: int, min_common: int, rate: float, other_rate: float
) -> None:
    plan, other = (plan_similarity(n_attrs, min_common, r) for r in (rate, other_rate))
    for i in range(len(plan.ks)):
        unit = [Fraction(int(j == i)) for j in range(len(plan.ks))]
        expected = [float(x) for x in solved(plan, other, unit)]
        assert [row[i] for row in pair_weights(plan, other)] == pytest.approx(expected, rel=1e-12)
        total = float(sum(solved(plan, other, unit)))
        assert inversion_weights(plan, other)[i] == pytest.approx(total, rel=1e-12)


def test_weights_at_one_rate_are_the_closed_form() -> None:
    """(-1)^(j - s) C(j - 1, s - 1) / r^2, where the rate draws whole numbers."""
    assert inversion_weights(plan_similarity(6, 1, 1.0)) == (1, -1, 1, -1, 1, -1)
    # l_k = C(4, k) / 2 for k = 1 .. 3.
    assert inversion_weights(plan_similarity(4, 2, 0.5)) == (4, -8, 3)


def test_mu_of_a_search_is_that_of_one_side() -> None:
    """mu(j, k) = l_k C(j, k) / C(d, k), where all sets of the record that is searched for are taken."""
    plan = plan_similarity(6, 2, 0.5)
    for j, k in product(plan.ks, plan.ks):
        l_k = plan.n_proj[k - 2]
        assert mu(plan, j, k, whole(plan)) == Fraction(l_k * math.comb(j, k), math.comb(6, k))


@pytest.mark.parametrize("confidence", [0.5, 0.75, 0.9, 0.95, 0.99, 0.999])
def test_the_median_of_so_many_fails_no_more_often(confidence: float) -> None:
    """Exactly: a median of t fails where more than half do, each with 1/8."""
    times = repetitions(confidence)
    assert times % 2 == 1
    assert times >= 2 * math.log2(1 / (1 - confidence)) - 1e-9
    wrong = [math.comb(times, i) * (1 / 8) ** i * (7 / 8) ** (times - i) for i in range(times + 1)]
    assert sum(wrong[times // 2 + 1 :]) <= 1 - confidence
    assert repetitions(0.95) == 9


def test_the_rate_of_a_selectivity_is_that_of_its_bound() -> None:
    """Were all pairs similar: 8 variances by the offline bound are the square of what was asked for."""
    n, off = 10_000, 0.003
    rate = rate_of(5, 4, off, n)
    # 8 * 7.0711^2 / (0.003^2 * 10^8), of n (n - 1) pairs.
    assert rate == pytest.approx(8 * 50 / (9e-6 * 1e8) / (1 - 1e-4))
    assert rate_of(6, 5, off, 100) == 1
    assert rate_of(6, 5, off, 1) == rate_of(6, 5, off, 0) == 1
    small = rate_of(5, 4, 0.01, n)
    assert 8 * offline_bound(5, 4, small, n * (n - 1)) ** 2 == pytest.approx(0.01**2)
    for wrong in (0.0, -1.0, math.nan):
        with pytest.raises(ValueError, match="how far off"):
            rate_of(5, 4, wrong, n)


def test_bounds_of_nothing_are_infinite() -> None:
    assert offline_bound(6, 4, 0.5, 0) == online_bound(6, 4, 0.5, 0, 10, 100) == math.inf


@pytest.mark.parametrize(
    ("n_attrs", "min_common", "rate", "message"),
    [
        (6, 0, 1.0, "1 to 6 attributes in common, not 0"),
        (6, 7, 1.0, "1 to 6 attributes in common, not 7"),
        (13, 12, 1.0, "at most 12 attributes .* min-hashes"),
        (6, 4, 0.0, "above 0 and at most 1"),
        (6, 4, 1.5, "above 0 and at most 1"),
        (6, 4, math.nan, "above 0 and at most 1"),
    ],
)
def test_plans_are_checked(n_attrs: int, min_common: int, rate: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plan_similarity(n_attrs, min_common, rate)


def test_sides_of_a_join_are_alike() -> None:
    plan = plan_similarity(6, 4)
    for other in (
        plan_similarity(6, 3),
        plan_similarity(5, 4),
        plan_similarity(6, 4, untagged=True),
    ):
        with pytest.raises(ValueError, match="both sides"):
            inversion_weights(plan, other)
    with pytest.raises(ValueError, match="between 0 and 1"):
        repetitions(1.0)
