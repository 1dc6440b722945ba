"""D5: generated streams are those that were measured."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.attributes.lookalike import Lookalike, flip, internet, stock, weather

STREAMS = {"weather": weather(), "stock": stock(), "internet": internet()}


@pytest.mark.parametrize(
    ("name", "attr", "fixed_point"),
    [("weather", "barometer", 5.973), ("weather", "sun_set", 1.163), ("weather", "temperature", 21.115),
     ("stock", "last_sale", 1.648), ("stock", "share_volume", 48.718), ("internet", "minimum_delay", 26.555)],
)
def test_d5_largest_change_from_the_first_cycle(name: str, attr: str, fixed_point: float) -> None:
    """In percent of the later value, over all keys and cycles: one number other than those measured would show."""
    x = STREAMS[name].values[attr]
    assert 100 * np.abs((x[0] - x) / x).max() == pytest.approx(fixed_point, abs=5.1e-4)


@pytest.mark.parametrize(("name", "attr"), [("stock", "percent_change"), ("internet", "response_time")])
def test_d5_changes_above_a_hundred_percent(name: str, attr: str) -> None:
    x = STREAMS[name].values[attr]
    with np.errstate(divide="ignore", invalid="ignore"):
        assert 100 * np.nanmax(np.abs((x[0] - x) / x)) > 100


@pytest.mark.parametrize(("name", "keys", "attributes"), [("weather", 75, 8), ("stock", 100, 5), ("internet", 96, 6)])
def test_rows_go_cycle_by_cycle(name: str, keys: int, attributes: int) -> None:
    stream: Lookalike = STREAMS[name]
    rows = stream.rows(3, 5)
    assert len(rows) == attributes + 1
    assert rows[stream.key].tolist() == list(stream.keys) * 2
    assert len(set(stream.keys)) == keys
    for attr, values in stream.values.items():
        assert values.shape == (96, keys)
        assert np.all(np.isfinite(values))
        assert rows[attr].tolist() == [*values[3], *values[4]]
    assert len(stream.rows()[stream.key]) == 96 * keys


def test_any_size_and_seed() -> None:
    assert weather(10, 500, 1).values["barometer"].shape == (10, 500)
    assert not np.array_equal(weather(seed=1).values["barometer"], STREAMS["weather"].values["barometer"])
    assert np.array_equal(weather().values["barometer"], STREAMS["weather"].values["barometer"])


def test_flip_takes_turns() -> None:
    """Deviations of 75 normal values are within a third of the true ones, four standard errors: 4 / sqrt(150)."""
    stream = flip(3, cycles=12)
    sd = {name: x.std(axis=1) for name, x in stream.values.items()}
    low = np.arange(12) // 3 % 2 == 0
    assert np.all(np.abs(sd["a"] / np.where(low, 0.1, 1) - 1) < 0.33)
    assert np.all(np.abs(sd["b"] / np.where(low, 1, 0.1) - 1) < 0.33)
    assert np.all(np.abs(sd["c"] / 5 - 1) < 0.33)
    with pytest.raises(ValueError, match="at least one cycle"):
        flip(0)
