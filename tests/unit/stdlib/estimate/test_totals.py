"""Estimates from samples: by hand, and against many samples of known populations."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.estimate.totals import (
    Estimates,
    Values,
    count,
    deviations,
    least_share,
    mean,
    total,
)

WINDOWS = 4000


def array(*values: float) -> Values:
    return np.array(values, dtype=np.float64)


def test_all_rows_are_no_estimate() -> None:
    for found in (
        count(array(7), array(7), array(0)),
        total(array(70), array(0)),
        mean(array(7), array(7), array(0), array(70), array(0), array(0)),
    ):
        assert found.value == found.low == found.high


def test_by_hand() -> None:
    """Of some rows a quarter is kept: 2, 4 and 6. Each stands for 4 rows; w (w - 1) = 12."""
    z = deviations(0.95)
    assert z == pytest.approx(1.959964, abs=1e-6)
    found = total(array(48), array(12 * (4 + 16 + 36)))
    assert found.value == 48
    assert found.high - found.value == pytest.approx(z * np.sqrt(672))
    found = mean(array(3), array(12), array(36), array(48), array(144), array(672))
    assert found.value == 4
    assert found.high - found.value == pytest.approx(z * np.sqrt(12 * 8 * 1.5) / 12)
    found = count(array(3), array(12), array(36))
    assert found.value == 12
    for bound in (found.low, found.high):
        # At the bounds the 3 kept rows are just as far from a quarter of N as z deviations.
        assert abs(3 - bound / 4) == pytest.approx(z * np.sqrt(bound * 3 / 16))


def test_nothing_kept() -> None:
    zero = array(0)
    assert count(zero, zero, zero).value == 0
    assert total(zero, zero).value == 0
    assert np.isnan(mean(zero, zero, zero, zero, zero, zero).value)


def sampled(
    rows: int, shares: Values, values: Values, seed: int
) -> tuple[Values, Values, Values, Values, Values, Values]:
    """The sums of many samples of one population, whose parts are kept with different probabilities."""
    random = np.random.default_rng(seed)
    kept = random.random((WINDOWS, rows)) < shares
    weight = kept / shares
    extra = weight * (1 / shares - 1)
    return (
        kept.sum(1).astype(np.float64), weight.sum(1), extra.sum(1), (weight * values).sum(1),
        (extra * values).sum(1), (extra * values * values).sum(1),
    )


def covered(found: Estimates, truth: float) -> float:
    return float(((found.low <= truth) & (truth <= found.high)).mean())


@pytest.mark.parametrize("share", [0.05, 0.2, 0.6, 0.95])
@pytest.mark.parametrize("mixed", [False, True])
def test_bounds_hold_as_often_as_they_say(share: float, mixed: bool) -> None:
    """Of 4,000 samples 95 % are 3,800, give or take 14: four times that is 1.4 %; the rest is for small samples.

    The values are exponential, so the mean of 20 rows of them leans to one side.
    """
    rows = 600
    values = np.random.default_rng(5).exponential(50, rows)
    shares = np.full(rows, share)
    if mixed:
        shares[: rows // 2] = min(1.0, 2 * share)
    n, c, v, t, m, q = sampled(rows, shares, values, seed=9)
    few = 0.02 if share * rows < 50 else 0.0
    assert covered(count(n, c, v), rows) == pytest.approx(0.95, abs=0.014 + few)
    assert covered(total(t, q), values.sum()) == pytest.approx(0.95, abs=0.02 + few)
    assert covered(mean(n, c, v, t, m, q), values.mean()) == pytest.approx(0.95, abs=0.02 + few)


@pytest.mark.parametrize("share", [0.05, 0.5])
def test_counts_and_sums_are_right_in_the_mean(share: float) -> None:
    """Four standard deviations of the mean of 4,000 samples."""
    rows = 600
    values = np.random.default_rng(5).exponential(50, rows)
    _n, c, v, t, _m, q = sampled(rows, np.full(rows, share), values, seed=2)
    for found, truth, spread in ((c, rows, v.mean()), (t, values.sum(), q.mean())):
        assert found.mean() == pytest.approx(truth, abs=4 * np.sqrt(spread / WINDOWS))


def test_a_share_for_an_error() -> None:
    """With that share the relative error has the asked size at the asked confidence."""
    share = least_share(0.05, 0.95, 10_000, variation=1.0)
    deviation = np.sqrt((1 / share - 1) * (1 + 1.0**2) / 10_000)
    assert deviations(0.95) * deviation == pytest.approx(0.05)
    assert least_share(0.05, 0.95, 0) == 1.0
    assert least_share(0.01, 0.95, 10) > 0.99
