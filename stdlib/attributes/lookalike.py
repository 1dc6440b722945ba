"""Streams that are like those of the thesis, whose data are lost: weather, stocks, internet traffic (Ahuja 2006, Table 4.1).

They come from numpy's ``RandomState``, whose numbers never change, so that what was measured of them stays. Schemas are those
of the thesis, with an explicit key.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.attributes.columns import Array, Floats, Ints

SEED = 2006


@dataclass(frozen=True, slots=True)
class Lookalike:
    """``key``: the name of the cycle key, ``keys``: its values. ``values``: of each attribute, ``[cycles, keys]``."""

    key: str
    keys: tuple[str, ...]
    values: Mapping[str, Floats]

    @property
    def codes(self) -> Ints:
        """The number of the key of each row, cycle by cycle, ``[rows]``."""
        return np.tile(np.arange(len(self.keys)), len(next(iter(self.values.values()))))

    def series(self, attribute: str) -> Floats:
        """The values of an attribute, cycle by cycle, ``[rows]``."""
        return self.values[attribute].ravel()

    def rows(self, first: int = 0, end: int | None = None) -> dict[str, Array]:
        """The rows of some cycles, all without a number, cycle by cycle: the key, and each attribute."""
        of = {name: x[first:end] for name, x in self.values.items()}
        count = len(next(iter(of.values())))
        return {self.key: np.tile(np.array(self.keys), count), **{name: x.ravel() for name, x in of.items()}}


def weather(cycles: int = 96, keys: int = 75, seed: int = SEED) -> Lookalike:
    """Weather at some places, 96 cycles a day in the thesis; the sun rises and sets at the same minute all day."""
    rs = np.random.RandomState(seed)

    def normal(mean: float, sd: float) -> Floats:
        return mean + sd * rs.standard_normal(keys)

    cycle = np.arange(cycles)[:, None]
    phase = 2 * np.pi * (cycle / 96 + rs.random_sample(keys))
    temperature = normal(80, 16) + 4 * np.sin(phase) + _ar(rs, cycles, keys, 0.5)
    dew_point = temperature - np.abs(normal(18, 10)) + _ar(rs, cycles, keys, 0.5)
    barometer = normal(29.93, 0.12) + _ar(rs, cycles, keys, 0.15)
    wind_speed = np.abs(normal(7, 5) + _ar(rs, cycles, keys, 0.8))
    humidity = np.clip(normal(58, 18) - 5 * np.sin(phase) + _ar(rs, cycles, keys, 1), 5, 100)
    day = cycle // 24
    sun_rise = normal(6.2, 0.6) + 0.02 * day
    sun_set = normal(6.0, 0.55) - 0.02 * day
    visibility = np.minimum(9.99, normal(10.5, 2) + _ar(rs, cycles, keys, 0.4))
    of = {
        "temperature": temperature, "dew_point": dew_point, "barometer": barometer, "wind_speed": wind_speed,
        "humidity": humidity, "sun_rise": sun_rise, "visibility": visibility, "sun_set": sun_set,
    }
    return Lookalike("location", _names("loc%02d", keys), {name: np.round(x, 2) for name, x in of.items()})


def stock(cycles: int = 96, keys: int = 100, seed: int = SEED) -> Lookalike:
    """Stocks on a day: prices wander from where they closed the day before, and volumes grow."""
    rs = np.random.RandomState(seed)
    close = np.round(np.exp(3.4 + 0.6 * rs.standard_normal(keys)), 2)
    gain = 0.012 * rs.standard_normal(keys) + np.cumsum(0.0006 * rs.standard_normal((cycles, keys)), 0)
    last = np.round(close * (1 + gain), 2)
    net = np.round(last - close, 2)
    percent = np.round(100 * (last / close - 1), 2)
    volume = np.floor(np.exp(14 + rs.standard_normal(keys)) * (1 + 0.01 * np.arange(cycles)[:, None]))
    index = np.round(net * rs.random_sample(keys) * 0.6, 2)
    of = {
        "last_sale": last, "net_change": net, "percent_change": percent, "share_volume": volume, "nasdaq_100_index": index,
    }
    return Lookalike("company", _names("S%03d", keys), of)


def internet(cycles: int = 96, keys: int = 96, seed: int = SEED) -> Lookalike:
    """Routers: how long packets take, and how many are lost."""
    rs = np.random.RandomState(seed)
    least = np.abs(20 + 60 * rs.random_sample(keys)) + _ar(rs, cycles, keys, 0.6)
    average = least * (1.1 + 0.3 * rs.random_sample(keys)) + np.abs(_ar(rs, cycles, keys, 2))
    most = average * 1.5 + np.abs(_ar(rs, cycles, keys, 8))
    response = average * 2 + _ar(rs, cycles, keys, 4)
    loss = np.floor(np.clip(_ar(rs, cycles, keys, 3), 0, 100))
    index = np.clip(np.round(100 - response / 4 - loss), 0, 100)
    of = {
        "current_index": index, "response_time": np.round(response, 2), "packet_loss": loss,
        "minimum_delay": np.round(least, 3), "average_delay": np.round(average, 3), "maximum_delay": np.round(most, 3),
    }
    return Lookalike("router", _names("r%02d", keys), of)


def flip(period: int, cycles: int = 96, keys: int = 75, seed: int = SEED) -> Lookalike:
    """A stream whose least informative attribute is a, and b, in turn, for ``period`` cycles each; c never is."""
    if period < 1:
        raise ValueError("each has its turn for at least one cycle")
    rs = np.random.RandomState(seed)
    low = (np.arange(cycles)[:, None] // period) % 2 == 0
    a = np.where(low, 0.1, 1.0) * rs.standard_normal((cycles, keys))
    b = np.where(low, 1.0, 0.1) * rs.standard_normal((cycles, keys))
    return Lookalike("key", _names("k%02d", keys), {"a": a, "b": b, "c": 5 * rs.standard_normal((cycles, keys))})


def _ar(rs: np.random.RandomState, cycles: int, keys: int, sd: float, rho: float = 0.9) -> Floats:
    """Of each key a sequence in which a value keeps ``rho`` of the one before it (autoregressive), ``[cycles, keys]``."""
    noise = rs.standard_normal((cycles, keys)) * sd
    found = np.empty((cycles, keys))
    found[0] = noise[0] / (1 - rho * rho) ** 0.5
    for c in range(1, cycles):
        found[c] = rho * found[c - 1] + noise[c]
    return found


def _names(pattern: str, keys: int) -> tuple[str, ...]:
    return tuple(pattern % k for k in range(keys))
