"""Golden 3.3 and F4: the fraction that is compared follows the share that is processed."""

from __future__ import annotations

import math

import pytest

from streamq.stdlib.joins.rates import LEAST, Rate, compared_share, rate_period_s


def test_golden_3_3_rate_adaptation() -> None:
    rate, found = Rate(), []
    for fetched in (400, 900, 1000, 1000, 1000, 500, 1000):
        rate = rate.after(1000, fetched)
        found.append(rate.frac)
    assert found == pytest.approx([0.4, 0.36, 0.432, 0.5184, 0.62208, 0.31104, 0.373248], abs=1e-12)


def test_F4_recovers_from_the_least() -> None:  # noqa: N802
    rate = Rate().after(1_000_000, 0)
    assert rate.frac == LEAST
    assert rate.beta == 0
    periods = 0
    while rate.frac < 1:
        rate, periods = rate.after(1000, 1000), periods + 1
    assert periods == math.ceil(math.log(1 / LEAST) / math.log(1.2))


def test_F4_no_division_by_zero() -> None:  # noqa: N802
    """Where nothing arrives all of it was processed; rows from before do not count as more than all."""
    quiet = Rate(0.5).after(0, 0)
    assert (quiet.beta, quiet.frac) == (1, pytest.approx(0.6))
    assert Rate(0.5).after(0, 30).frac == pytest.approx(0.6)
    assert Rate(0.5).after(10, 30).frac == pytest.approx(0.6)
    assert Rate(0.95).after(10, 10).frac == 1


def test_F4_fraction_settles_at_the_capacity() -> None:  # noqa: N802
    """A processor for 0.1 of the comparisons: a saw-tooth from the capacity up to the boost."""
    rate, seen = Rate(), []
    for _ in range(60):
        rate = rate.after(1000, 1000 * min(1.0, 0.1 / rate.frac))
        seen.append(rate.frac)
    settled = seen[10:]
    assert min(settled) == pytest.approx(0.1)
    assert max(settled) == pytest.approx(0.12)


def test_a_busy_processor_is_not_given_more() -> None:
    assert Rate(0.3).after(100, 100, busy=0.95).frac == 0.3
    assert Rate(0.3).after(100, 100, busy=0.85).frac == pytest.approx(0.36)
    assert Rate(0.3).after(100, 50, busy=0.95).frac == pytest.approx(0.15)


def test_settings_stay() -> None:
    rate = Rate(0.5, boost=1.5, least=0.01).after(100, 100)
    assert (rate.frac, rate.boost, rate.least) == (0.75, 1.5, 0.01)
    assert rate.after(100, 0).frac == 0.01


@pytest.mark.parametrize(
    ("arrived", "fetched"), [(-1, 0), (1, -1), (math.nan, 1), (1, math.nan), (math.inf, 1), (1, math.inf)]
)
def test_counts_are_numbers_of_rows(arrived: float, fetched: float) -> None:
    with pytest.raises(ValueError, match="counted from 0"):
        Rate().after(arrived, fetched)


@pytest.mark.parametrize("wrong", [{"frac": 1.1}, {"frac": math.nan}, {"least": 0.0}, {"boost": 0.9}, {"boost": math.inf}])
def test_settings_are_checked(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="fractions"):
        Rate(**wrong)


def test_full_probes_cost_a_tenth_more_at_most() -> None:
    assert [compared_share(r, 0.1) for r in (1, 0.5, 0.1, 0)] == pytest.approx([1, 0.525, 0.109, 0])
    assert compared_share(0.5, 0.0) == 0.5


def test_period_sees_bursts_and_costs_little() -> None:
    assert rate_period_s(10) == 5
    assert rate_period_s(10, step_s=0.05) == pytest.approx(10)
    with pytest.raises(ValueError, match="positive"):
        rate_period_s(0)
