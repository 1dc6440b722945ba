"""The formulas of Stable Bloom filters against fixed numbers, against sums, and plans by gaps."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from streamq.stdlib.sketches.membership_measures import GapCounts
from streamq.stdlib.sketches.membership_plan import (
    fp_bound,
    real_decrements,
    stable_plan,
    whole_decrements,
    zero_fraction,
)
from streamq.stdlib.sketches.stable_theory import (
    cell_zero,
    expected_missed,
    missed,
    phi_deviation,
    phi_range,
    plan_with_gaps,
    set_probability,
    zeros_after,
)


@pytest.mark.parametrize(
    ("plan", "zeros", "bound"),
    [
        ((1000, 2, 5, 1), 0.713877, 0.081866),
        ((10**6, 2, 5, 1), 0.714285, 0.081633),
        ((10**6, 2, 4, 1), 0.666666, 0.111111),
        ((10**6, 3, 11, 1), 0.785714, 0.009840),
        ((10**6, 4, 30, 3), 0.686952, 0.009604),
        ((10**6, 6, 142, 15), 0.537524, 0.009784),
    ],
)
def test_G4_zeros_and_bound(plan: tuple[int, int, int, int], zeros: float, bound: float) -> None:  # noqa: N802
    assert zero_fraction(*plan) == pytest.approx(zeros, abs=6e-7)
    assert fp_bound(*plan) == pytest.approx(bound, abs=6e-7)


@pytest.mark.parametrize(
    ("fp", "value", "hashes", "real"),
    [(0.01, 1, 3, 10.925), (0.01, 15, 6, 141.27), (0.1, 1, 2, 4.3246)],
)
def test_G4_decrements(fp: float, value: int, hashes: int, real: float) -> None:  # noqa: N802
    m = 10**6
    assert real_decrements(hashes, fp, value) / (1 - hashes / m) == pytest.approx(
        real, abs=1e-2 if real > 100 else 6e-4
    )


def test_G4_zeros_from_an_empty_filter() -> None:  # noqa: N802
    plan = stable_plan(1000, 2, 5, 1)
    found = zeros_after(plan, np.array([0, 100, 1000, 5000]))
    assert found == pytest.approx([1, 0.855755, 0.714134, 0.713877], abs=6e-7)


@pytest.mark.parametrize(
    ("plan", "gap", "zero", "lost"),
    [
        ((1000, 2, 5, 1), 20, 0.093443, 0.178154),
        ((1000, 2, 5, 1), 100, 0.359891, 0.590261),
        ((1000, 2, 5, 1), 400, 0.670718, 0.891573),
        ((10_000, 2, 15, 3), 1000, 0.166664, 0.305551),
        ((10_000, 4, 30, 3), 500, 0.166551, 0.517479),
        ((10_000, 3, 33, 7), 1000, 0.039604, 0.114169),
        ((64, 2, 15, 3), 2, 0, 0),
        ((64, 2, 15, 3), 3, 0.011705, 0.023273),
    ],
)
def test_G4_missed(plan: tuple[int, int, int, int], gap: int, zero: float, lost: float) -> None:  # noqa: N802
    made = stable_plan(*plan)
    assert cell_zero(made, np.array([gap]))[0] == pytest.approx(zero, abs=6e-7)
    assert missed(made, np.array([gap]))[0] == pytest.approx(lost, abs=6e-7)


def test_G4_phi() -> None:  # noqa: N802
    plan = stable_plan(10**6, 1, 4, 1)
    lowest, highest = phi_range(plan, 1e-6)
    assert (lowest, highest) == (pytest.approx(-0.001, rel=1e-5), pytest.approx(1000, rel=1e-5))
    assert phi_deviation(0.01) == pytest.approx(0.1)
    # At the ends of its range no other key sets the cell, or all do.
    assert set_probability(plan, 1e-6, lowest) == pytest.approx(1e-6, rel=1e-6)
    assert set_probability(plan, 1e-6, highest) == pytest.approx(1, rel=1e-6)
    assert set_probability(plan) == 1e-6


def _at_least(n: int, p: float, value: int) -> float:
    return 1 - sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(value))


@pytest.mark.parametrize("value", [1, 3, 7])
def test_the_chain_is_the_sum_over_last_sets(value: int) -> None:
    """The thesis's sum: the cell was set last l elements ago, and lowered ``value`` times or more since."""
    plan = stable_plan(300, 3, 40, value)
    for set_prob in (0.01, 0.2):
        for gap in (0, 1, value - 1, value, 30):
            by_sum = sum(
                set_prob * (1 - set_prob) ** i * _at_least(i, 40 / 300, value)
                for i in range(value, gap)
            )
            by_sum += (1 - set_prob) ** gap * _at_least(gap, 40 / 300, value)
            assert cell_zero(plan, np.array([gap]), set_prob)[0] == pytest.approx(by_sum, abs=1e-12)


@pytest.mark.parametrize("plan", [(1000, 2, 5, 1), (10_000, 4, 30, 3), (10_000, 3, 71, 15)])
def test_what_is_forgotten_is_as_new(plan: tuple[int, int, int, int]) -> None:
    made = stable_plan(*plan)
    found = missed(made, np.array([0, made.max_value - 1, made.max_value, 10**9]))
    assert found[:2].tolist() == [0, 0]
    assert found[2] > 0
    assert found[3] == pytest.approx(1 - made.fp_bound, abs=1e-9)


@pytest.mark.parametrize("plan", [(10**6, 2, 5, 1), (10_000, 4, 30, 3), (10_000, 3, 33, 7)])
def test_horizons_are_the_last_gaps_within(plan: tuple[int, int, int, int]) -> None:
    made = stable_plan(*plan)
    for share, gap in ((0.1, made.horizon_10), (0.5, made.horizon_50)):
        assert gap is not None
        at, after = missed(made, np.array([gap, gap + 1]))
        assert at <= share < after
    assert made.stable_after is not None
    before, stable = zeros_after(made, np.array([made.stable_after - 1, made.stable_after]))
    assert stable - made.zero_fraction <= 1e-3 < before - made.zero_fraction


def test_the_horizon_of_a_percent() -> None:
    plan = stable_plan(10**6, 2, 5, 1)
    at, after = missed(plan, np.array([1006, 1007]))
    assert at <= 0.01 < after


def _best_by_small_gaps(fp: float, value: int) -> tuple[int, int]:
    """Of whole decrements, as the table has it."""
    hashes = min(
        range(1, 11), key=lambda k: math.log(k) + value * math.log(whole_decrements(k, fp, value))
    )
    return hashes, whole_decrements(hashes, fp, value)


def test_golden_8_2_whole_decrements() -> None:
    assert [_best_by_small_gaps(0.1, value) for value in (1, 3, 7)] == [(1, 9), (3, 13), (3, 33)]


@pytest.mark.parametrize(
    ("fp", "smaller", "share"),
    [(0.2, 1, 0.065), (0.2, 3, 0.065), (0.1, 1, 0.060), (0.1, 3, 0.039), (0.01, 1, 0.027), (0.01, 3, 0.020), (0.001, 1, 0.019), (0.001, 3, 0.014)],
)  # fmt: skip
def test_golden_8_2_larger_values_win_at_small_gaps(fp: float, smaller: int, share: float) -> None:
    """At equal memory M the curves of missed duplicates cross at a gap of this share of M, to its last digit."""
    bits = 3 << 20
    gaps = np.arange(5, 120) * bits // 1000
    curves: list[NDArray[np.float64]] = []
    for value in (smaller, 2 * smaller + 1):
        hashes, decrements = _best_by_small_gaps(fp, value)
        curves.append(
            missed(stable_plan(bits // value.bit_length(), hashes, decrements, value), gaps)
        )
    wins = curves[1] < curves[0]
    crossing = int(np.flatnonzero(~wins)[0])
    assert wins[:crossing].all()
    assert gaps[crossing] / bits == pytest.approx(share, abs=2e-3)


def test_plans_follow_gaps() -> None:
    """Small gaps: large values; large ones: 1. Each is better there than the other is."""
    bits, one = 1 << 20, np.ones(1, np.int64)
    near, far = GapCounts(np.array([bits // 100]), one), GapCounts(np.array([bits // 5]), one)
    plan_near, plan_far = plan_with_gaps(bits, 0.1, near), plan_with_gaps(bits, 0.1, far)
    assert plan_near.max_value == 7
    assert plan_far.max_value == 1
    assert expected_missed(plan_near, near) < expected_missed(plan_far, near)
    assert expected_missed(plan_far, far) < expected_missed(plan_near, far)
    for plan in (plan_near, plan_far):
        assert plan.fp_bound <= 0.1 * (1 + 2 * plan.hashes**2 / plan.cells)
        assert plan.bits <= bits
    with pytest.raises(ValueError, match=r"too few .* would do"):
        plan_with_gaps(50, 0.1, near)
    with pytest.raises(ValueError, match="between 0 and 1"):
        plan_with_gaps(bits, 0.0, near)
