"""G6, G8, G9, F9, F10: moving averages of attributes."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.attributes.columns import Floats
from streamq.stdlib.attributes.smoothing import alpha_of, ema, sma
from tests.unit.stdlib.attributes.tables import numeric, table

STOCK = ("last_sale", "net_change", "percent_change", "share_volume", "nasdaq_100_index")


def test_g6_weather_window() -> None:
    """Table 3.3: all 248 cells, which are rounded up; a hundred millionth is for binary numbers."""
    found = ema(numeric("g6_weather"), alpha=0.7)
    printed = numeric("g6_weather_ema")
    assert found.shape == printed.shape == (31, 8)
    assert np.ceil(found * 100 - 1e-8).tolist() == np.round(printed * 100).tolist()
    assert np.count_nonzero(np.round(found, 2) == printed) < 200  # rounding to the nearest is not what was done
    assert np.abs(ema(numeric("g6_weather"), alpha=0.18) - printed).max() > 22


def test_g8_stock_window() -> None:
    """Table 3.6: from 0 on, rounded away from 0; the index of Amgen (row 5) is -0.04, and printed without its sign."""
    found = ema(numeric("g8_stock", *STOCK), alpha=0.2, seed="ZERO")
    printed = numeric("g8_stock_ema", *STOCK)
    prices = [0, 1, 2, 4]
    away = (np.sign(found) * np.ceil(np.abs(found) * 100 - 1e-8))[:, prices]
    same = away == np.round(printed[:, prices] * 100)
    assert np.argwhere(~same).tolist() == [[4, 3]]
    assert away[4, 3] == -4
    assert np.abs(found[:, 3] - printed[:, 3]).max() <= 0.06


def test_g9_simple_and_exponential_average() -> None:
    """Tables B.1 and B.2, to three decimals, 22 values."""
    day = table("g9_kodak")
    simple, exponential = sma(day["close"], 10), ema(day["close"], alpha_of(10), "SMA", 10)
    for found, printed in ((simple, day["sma10"]), (exponential, day["ema10"])):
        assert np.isnan(found).tolist() == np.isnan(printed).tolist() == [True] * 9 + [False] * 11
        assert np.round(found[9:], 3).tolist() == printed[9:].tolist()


def test_g9_by_the_multiplier_of_the_text() -> None:
    day = table("g9_kodak")
    found = ema(day["close"], 0.18, "SMA", 10)
    assert found[10] == pytest.approx(63.259, abs=5e-4)
    assert found[19] == pytest.approx(59.887, abs=5e-4)
    assert np.abs(found - day["ema10"])[9:].max() == pytest.approx(0.020, abs=5e-4)
    assert ema(np.array([63.68, 61.33]), 0.18)[1] == pytest.approx(63.257)


def test_g9_exponential_is_closer() -> None:
    """On days 11 to 19, not on day 20: mean errors 1.588 and 1.811, with day 10, where they are the same."""
    day = table("g9_kodak")
    off = [np.abs(x - day["close"])[9:] for x in (ema(day["close"], alpha_of(10), "SMA", 10), sma(day["close"], 10))]
    assert [round(float(x.mean()), 3) for x in off] == [1.588, 1.811]
    assert (off[0] < off[1]).tolist() == [False] + [True] * 9 + [False]
    assert [round(float(x[-1]), 3) for x in off] == [1.0, 0.986]


def row_by_row(values: Floats, alpha: float, start: float) -> list[float]:
    found, last = [], start
    for x in values.tolist():
        if not np.isnan(x):
            last = x if np.isnan(last) else last + alpha * (x - last)
        found.append(last)
    return found


@pytest.mark.parametrize("alpha", [0.001, 0.18, 0.7, 1.0])
@pytest.mark.parametrize("rows", [1, 63, 64, 65, 400])
@pytest.mark.parametrize("nulls", [0.0, 0.3, 1.0])
def test_f9_is_the_recursion(alpha: float, rows: int, nulls: float) -> None:
    """NULL leaves it as it was; before the first value there is none, or the seed. 1e-11: 400 steps of values to 1e4."""
    random = np.random.default_rng(rows)
    values = random.normal(100, 1000, (rows, 3))
    values[random.random((rows, 3)) < nulls] = np.nan
    for seed, start in (("FIRST", np.nan), ("ZERO", 0.0), (7.5, 7.5)):
        found = ema(values, alpha, seed)  # type: ignore[arg-type]
        expected = np.array([row_by_row(values[:, a], alpha, start) for a in range(3)]).T
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-9)


def test_f9_every_window_starts_anew() -> None:
    values = np.random.default_rng(9).normal(size=(4, 75, 3))
    values[1, :5, 2] = np.nan
    for average in (lambda x: ema(x), lambda x: ema(x, 0.5, "ZERO"), lambda x: ema(x, 0.1, "SMA", 10), lambda x: sma(x, 7)):
        together = average(values)
        for window in range(4):
            np.testing.assert_allclose(together[window], average(values[window]), rtol=1e-13)
        np.testing.assert_allclose(average(values[0, :, 1]), together[0, :, 1], rtol=1e-13)


def test_equal_attributes_stay_equal() -> None:
    """To the last bit, whatever is beside them, so that a tie is one."""
    x = np.random.default_rng(4).normal(size=(300, 7))
    found = ema(np.concatenate([x, x, x[:, :1]], axis=1))
    assert np.array_equal(found[:, :7], found[:, 7:14])
    assert np.array_equal(found[:, 0], ema(x[:, 0]))


def test_constants_stay_exactly() -> None:
    assert ema(np.full(1000, 0.1), 0.18).tolist() == [0.1] * 1000


def test_f10_simple_average_skips_nulls() -> None:
    values = np.array([1.0, np.nan, 3.0, 5.0, np.inf, 7.0])
    assert sma(values, 2)[2:].tolist() == [2, 4, 4, 6]
    assert np.isnan(sma(values, 2)[:2]).all()
    assert np.isnan(sma(values, 5)).all()
    assert sma(values, 1)[1:].tolist() == [1, 3, 5, 5, 7]
    assert ema(values, 0.5, "SMA", 3)[3:].tolist() == [3, 3, 5]


def test_nothing_to_average() -> None:
    assert ema(np.empty((0, 3))).shape == (0, 3)
    assert sma(np.empty(0), 3).shape == (0,)


def test_settings_are_checked() -> None:
    x = np.ones(3)
    for alpha in (0.0, 1.1, -0.5, float("nan")):
        with pytest.raises(ValueError, match="weight"):
            ema(x, alpha)
    for bad in (lambda: sma(x, 0), lambda: ema(x, 0.5, "SMA"), lambda: alpha_of(0)):
        with pytest.raises(ValueError, match="at least one row"):
            bad()
    with pytest.raises(ValueError, match="LAST"):
        ema(x, 0.5, "LAST")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="values are of rows"):
        ema(np.ones((1, 1, 1, 1)))
    assert alpha_of(10) == pytest.approx(0.1818, abs=5e-5)
