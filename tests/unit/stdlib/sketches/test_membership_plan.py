"""Plans of filters: the table of optima, the bound kept where the thesis exceeds it, memory that would do."""

from __future__ import annotations

import contextlib
import math
import subprocess
import sys

import pytest

from streamq.stdlib.sketches.membership_plan import (
    MAX_VALUES,
    best_hashes,
    fp_bound,
    least_stable_bits,
    part_of,
    plan_rotating,
    plan_stable,
    real_decrements,
    rotating_bits,
    stable_plan,
    whole_decrements,
)

# By rate and max_value 1, 3, 7, 15: K, P, P rounded up, bound, zero fraction. Bounds to four digits, zeros to three.
OPTIMA = {
    0.2: [(1, 4.0, 4, 0.2, 0.8), (2, 9.155, 10, 0.1775, 0.579), (2, 22.631, 23, 0.1955, 0.558), (2, 49.615, 50, 0.1978, 0.555)],
    0.1: [(2, 4.325, 5, 0.0816, 0.714), (2, 14.805, 15, 0.098, 0.687), (3, 32.181, 33, 0.0949, 0.544), (3, 70.635, 71, 0.0989, 0.538)],
    0.05: [(2, 6.944, 7, 0.0494, 0.778), (3, 18.125, 19, 0.0451, 0.644), (4, 41.759, 42, 0.0492, 0.529), (4, 91.719, 92, 0.0496, 0.528)],
    0.02: [(3, 8.052, 9, 0.0156, 0.75), (4, 23.492, 24, 0.0188, 0.63), (5, 54.8, 55, 0.0197, 0.544), (5, 120.225, 121, 0.0195, 0.545)],
    0.01: [(3, 10.925, 11, 0.0098, 0.786), (5, 27.117, 28, 0.0089, 0.611), (6, 64.361, 65, 0.0096, 0.539), (6, 141.271, 142, 0.0098, 0.538)],
    0.005: [(3, 14.544, 15, 0.0046, 0.833), (6, 30.821, 31, 0.0049, 0.588), (7, 73.936, 74, 0.005, 0.531), (7, 162.345, 163, 0.0049, 0.532)],
    0.001: [(4, 18.494, 19, 0.0009, 0.826), (7, 41.614, 42, 0.001, 0.63), (9, 96.542, 97, 0.001, 0.537), (9, 211.906, 212, 0.001, 0.536)],
}  # fmt: skip

ROWS = [
    (fp, value, *row)
    for fp, rows in OPTIMA.items()
    for value, row in zip(MAX_VALUES, rows, strict=True)
]


@pytest.mark.parametrize(("fp", "value", "hashes", "real", "whole", "bound", "zeros"), ROWS)
def test_golden_8_1_optima(
    fp: float, value: int, hashes: int, real: float, whole: int, bound: float, zeros: float
) -> None:
    assert best_hashes(fp, value) == hashes
    assert real_decrements(hashes, fp, value) == pytest.approx(real, abs=5e-4)
    plan = plan_stable(10**8, fp, value)
    assert (plan.hashes, plan.decrements, plan.max_value) == (hashes, whole, value)
    assert plan.cells == 10**8 // value.bit_length()
    assert plan.fp_bound == pytest.approx(bound, abs=5.1e-5)
    assert plan.zero_fraction == pytest.approx(zeros, abs=5.1e-4)


@pytest.mark.parametrize("fp", OPTIMA)
@pytest.mark.parametrize("value", MAX_VALUES)
def test_C4_the_bound_holds_but_for_the_size_of_the_filter(fp: float, value: int) -> None:  # noqa: N802
    for bits in (least_stable_bits(fp, value), 10**5, 10**7):
        plan = plan_stable(bits, fp, value)
        assert plan.fp_bound <= fp * (1 + 2 * plan.hashes**2 / plan.cells)
        assert plan.bits <= bits


def test_E1_decrements_rounded_down_exceed_the_rate() -> None:  # noqa: N802
    """What the thesis takes, and what comes of it."""
    for decrements, hashes, value, asked, found in [
        (4, 2, 1, 0.1, 0.111),
        (10, 3, 1, 0.01, 0.0123),
        (141, 6, 15, 0.01, 0.01008),
    ]:
        assert fp_bound(10**6, hashes, decrements, value) == pytest.approx(found, rel=5e-3)
        assert fp_bound(10**6, hashes, whole_decrements(hashes, asked, value), value) < asked


def test_a_plan_says_what_it_is_worth() -> None:
    plan = plan_stable(10**6, 0.1)
    assert plan == plan_stable(10**6, 0.1, None)
    # ln(1 - (1 - (1 - q)^(1/K)) / z*) / ln((1 - p)(1 - k)) is 10,650.67 and 75,388.2.
    assert (plan.horizon_10, plan.horizon_50) == (10_650, 75_388)
    # m / (P + K) ln((1 - z*) / eta), of which the first is -1 / ln((1 - p)(1 - k)).
    assert plan.stable_after == math.ceil(
        math.log(1e-3 / (1 - plan.zero_fraction)) / math.log((1 - 5e-6) * (1 - 2e-6))
    )


def test_nothing_is_lowered_in_a_filter_without_decrements() -> None:
    plan = stable_plan(1000, 3, 0, 1)
    assert (plan.zero_fraction, plan.fp_bound, plan.horizon_10, plan.horizon_50) == (
        0,
        1,
        None,
        None,
    )
    assert plan.stable_after is not None


@pytest.mark.parametrize("value", MAX_VALUES)
@pytest.mark.parametrize("fp", [0.5, 0.1, 0.001])
def test_the_bits_that_would_do_do(fp: float, value: int) -> None:
    least = least_stable_bits(fp, value)
    assert plan_stable(least, fp, value).cells >= 100 * best_hashes(fp, value)
    with pytest.raises(ValueError, match=f"{least - 1} bits are too few .*: {least} would do"):
        plan_stable(least - 1, fp, value)


@pytest.mark.parametrize("fp", [1e-17, 1e-30])
def test_rates_below_the_digits_of_one(fp: float) -> None:
    """With one hash, fp new elements in all are flagged where K/P of the cells are set: P is 1/fp."""
    assert real_decrements(1, fp, 1) == pytest.approx(1 / fp, rel=1e-9)
    plan = plan_stable(10**8, fp)
    assert plan.fp_bound <= fp * (1 + 2 * plan.hashes**2 / plan.cells)


@pytest.mark.parametrize("fp", [0, 1, -1, math.nan])
def test_rates_are_shares(fp: float) -> None:
    for plan in (plan_stable, plan_rotating):
        with pytest.raises(ValueError, match="between 0 and 1"):
            plan(10**6, fp)
    with pytest.raises(ValueError, match="between 0 and 1"):
        rotating_bits(10, fp)


@pytest.mark.parametrize("wrong", [(2, 2, 1, 1), (100, 0, 1, 1), (100, 2, 101, 1), (100, 2, -1, 1)])
def test_filters_that_cannot_be(wrong: tuple[int, int, int, int]) -> None:
    with pytest.raises(ValueError, match="more cells than hashes"):
        stable_plan(*wrong)


def test_cells_are_whole_bits() -> None:
    for value in (0, 2, 5, 31):
        with pytest.raises(ValueError, match="1, 3, 7 or 15"):
            stable_plan(1000, 2, 5, value)


def test_parts_of_a_stream_have_parts_of_the_cells() -> None:
    plan = plan_stable(1 << 18, 0.1)
    part = part_of(plan, 512)
    assert (part.cells, part.hashes, part.decrements, part.max_value) == (512, 2, 5, 1)
    assert part.fp_bound == pytest.approx(0.0821, abs=5e-5)
    # 200 cells at least.
    assert part_of(plan, 1310).cells == 200
    for parts in (0, 1311):
        with pytest.raises(ValueError, match="1 to 1310 parts"):
            part_of(plan, parts)


@pytest.mark.parametrize("generations", [2, 3, 8])
@pytest.mark.parametrize("fp", [0.3, 0.1, 0.01, 1e-6])
@pytest.mark.parametrize("capacity", [1, 2, 7, 1000, 123_456])
def test_C10_least_bits_of_generations(generations: int, fp: float, capacity: int) -> None:  # noqa: N802
    bits = rotating_bits(capacity, fp, generations)
    plan = plan_rotating(bits, fp, generations)
    assert plan.capacity >= capacity
    assert plan.bits_each * generations == bits
    full = (1 - (1 - 1 / plan.bits_each) ** (plan.hashes * plan.capacity)) ** plan.hashes
    assert plan.fp_bound == pytest.approx(1 - (1 - full) ** generations, rel=1e-6)
    assert plan.fp_bound <= fp * (1 + 1e-9)
    if plan.bits_each > 2:
        # One bit less each is not enough.
        with (
            pytest.raises(ValueError, match="would do")
            if capacity == 1
            else contextlib.nullcontext()
        ):
            assert plan_rotating(bits - generations, fp, generations).capacity < capacity


def test_C10_two_generations_by_the_formula() -> None:  # noqa: N802
    plan = plan_rotating(1_000_000, 0.1)
    each = 1 - math.sqrt(0.9)
    assert (plan.bits_each, plan.hashes) == (500_000, round(math.log2(1 / each)))
    assert plan.capacity == pytest.approx(-500_000 / 4 * math.log(1 - each**0.25), abs=1)


def test_generations_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="two generations"):
        plan_rotating(1000, 0.1, 1)
    with pytest.raises(ValueError, match="two generations"):
        rotating_bits(1000, 0.1, 1)
    with pytest.raises(ValueError, match="an element at least"):
        rotating_bits(0, 0.1)
    with pytest.raises(ValueError, match=f"{rotating_bits(1, 0.001)} would do"):
        plan_rotating(3, 0.001)


def test_plans_are_made_without_numpy() -> None:
    """Where a query is compiled there is no time for it."""
    told = "import sys, streamq.stdlib.sketches.membership_plan; print('numpy' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"
