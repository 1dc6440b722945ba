"""Streams that look like those of Ahuja 2006, which are lost: weather, stock exchange and Internet traffic by cycle and key.

The same seed gives the same values with every version of numpy, as ``RandomState`` does not change any more.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.recovery.columns import Column, Floats, Ints, column

SEED = 2006


@dataclass(frozen=True, slots=True)
class Lookalike:
    """A stream: ``keys``: ``[keys]``, names; ``columns``: by attribute, ``[cycles, keys]``."""

    keys: tuple[str, ...]
    columns: Mapping[str, Floats]

    @property
    def codes(self) -> Ints:
        """The key of each row, cycle after cycle, ``[rows]``."""
        cycles = len(next(iter(self.columns.values())))
        return np.tile(np.arange(len(self.keys)), cycles)

    def column(self, attribute: str) -> Column:
        """The values of an attribute in the same order."""
        return column(self.columns[attribute].ravel())


def weather(cycles: int = 96, keys: int = 75, seed: int = SEED) -> Lookalike:
    """Places with the attributes of weather.yahoo.com, as in table 3.2."""
    rs = np.random.RandomState(seed)

    def around(mean: float, deviation: float) -> Floats:
        return mean + deviation * rs.standard_normal(keys)

    def drift(deviation: float) -> Floats:
        return _drift(rs, cycles, keys, deviation)

    cycle = np.arange(cycles)[:, None]
    phase = 2 * np.pi * (cycle / 96 + rs.random_sample(keys))
    temperature = around(80, 16) + 4 * np.sin(phase) + drift(0.5)
    dew_point = temperature - np.abs(around(18, 10)) + drift(0.5)
    barometer = around(29.93, 0.12) + drift(0.15)
    wind_speed = np.abs(around(7, 5) + drift(0.8))
    humidity = np.clip(around(58, 18) - 5 * np.sin(phase) + drift(1), 5, 100)
    sun_rise = around(6.2, 0.6) + 0.02 * (cycle // 24)
    sun_set = around(6.0, 0.55) - 0.02 * (cycle // 24)
    visibility = np.minimum(9.99, around(10.5, 2) + drift(0.4))
    columns = {
        "temperature": temperature, "dew_point": dew_point, "barometer": barometer, "wind_speed": wind_speed,
        "humidity": humidity, "sun_rise": sun_rise, "visibility": visibility, "sun_set": sun_set,
    }  # fmt: skip
    return Lookalike(_names("loc{:02d}", keys), {name: np.round(x, 2) for name, x in columns.items()})


def stock(cycles: int = 96, keys: int = 100, seed: int = SEED) -> Lookalike:
    """Companies with the attributes of the NASDAQ-100, as in table 3.5."""
    rs = np.random.RandomState(seed)
    before = np.round(np.exp(3.4 + 0.6 * rs.standard_normal(keys)), 2)
    gain = 0.012 * rs.standard_normal(keys) + np.cumsum(0.0006 * rs.standard_normal((cycles, keys)), 0)
    last_sale = np.round(before * (1 + gain), 2)
    net_change = np.round(last_sale - before, 2)
    percent_change = np.round(100 * (last_sale / before - 1), 2)
    volume = np.floor(np.exp(14 + rs.standard_normal(keys)) * (1 + 0.01 * np.arange(cycles)[:, None]))
    index = np.round(net_change * rs.random_sample(keys) * 0.6, 2)
    columns = {
        "last_sale": last_sale, "net_change": net_change, "percent_change": percent_change, "share_volume": volume,
        "nasdaq_100_index": index,
    }  # fmt: skip
    return Lookalike(_names("S{:03d}", keys), columns)


def internet(cycles: int = 96, keys: int = 96, seed: int = SEED) -> Lookalike:
    """Routers with the attributes of internettrafficreport.com."""
    rs = np.random.RandomState(seed)

    def drift(deviation: float) -> Floats:
        return _drift(rs, cycles, keys, deviation)

    minimum = np.abs(20 + 60 * rs.random_sample(keys)) + drift(0.6)
    average = minimum * (1.1 + 0.3 * rs.random_sample(keys)) + np.abs(drift(2))
    maximum = average * 1.5 + np.abs(drift(8))
    response = average * 2 + drift(4)
    loss = np.floor(np.clip(drift(3), 0, 100))
    index = np.clip(np.round(100 - response / 4 - loss), 0, 100)
    columns = {
        "current_index": index, "response_time": np.round(response, 2), "packet_loss": loss,
        "minimum_delay": np.round(minimum, 3), "average_delay": np.round(average, 3),
        "maximum_delay": np.round(maximum, 3),
    }  # fmt: skip
    return Lookalike(_names("r{:02d}", keys), columns)


def _drift(rs: np.random.RandomState, cycles: int, keys: int, deviation: float, rho: float = 0.9) -> Floats:
    """An autoregressive process of each key, ``[cycles, keys]``, that starts as it goes on."""
    steps = rs.standard_normal((cycles, keys)) * deviation
    found = np.empty((cycles, keys))
    found[0] = steps[0] / (1 - rho * rho) ** 0.5
    for cycle in range(1, cycles):
        found[cycle] = rho * found[cycle - 1] + steps[cycle]
    return found


def _names(pattern: str, keys: int) -> tuple[str, ...]:
    return tuple(pattern.format(i) for i in range(keys))
