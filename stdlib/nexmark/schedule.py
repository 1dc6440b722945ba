"""When events happen: from event number to event time, and back from elapsed time to events due.

Event n happens at the time t with N(t) = n, where N is the integral of the rate curve. For a constant rate
t = n / rate; a period of ``square`` is half a period at ``rate``, then half at ``peak_rate``; ``sine`` starts at
``rate``, reaches ``peak_rate`` after half a period and comes back: r(t) = mid - amplitude * cos(2 pi t / period).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from streamq.stdlib.nexmark.config import NexmarkConfig
from streamq.stdlib.nexmark.draws import Integers

Floats = NDArray[np.float64]

_TABLE_POINTS = 2048
_NEWTON_STEPS = 3


def micros_of(config: NexmarkConfig, numbers: Integers) -> Integers:
    """Event times of event numbers, in microseconds since 1970, rounded down."""
    match config.shape:
        case "constant":
            elapsed = numbers * (1e6 / config.rate)
        case "square":
            elapsed = _square_seconds(config, numbers) * 1e6
        case "sine":
            elapsed = _sine_seconds(config, numbers) * 1e6
        case _:
            raise ValueError(f"no schedule for shape {config.shape!r}")
    result: Integers = np.floor(elapsed).astype(np.int64)
    result += config.start_micros
    return result


def events_due(config: NexmarkConfig, elapsed_seconds: float) -> int:
    """How many events have happened ``elapsed_seconds`` after event 0 was due; 0 before that."""
    if elapsed_seconds <= 0:
        return 0
    if config.shape == "constant":
        return int(elapsed_seconds * config.rate)
    periods, rest = divmod(elapsed_seconds, config.period)
    half = config.period / 2
    if config.shape == "square":
        in_rest = min(rest, half) * config.rate + max(rest - half, 0.0) * config.top_rate
    else:
        in_rest = float(_sine_count(config, np.array(rest)))
    return int(periods * events_per_period(config) + in_rest)


def events_per_period(config: NexmarkConfig) -> float:
    """The integral of a shaped rate over one period: the mean of both rates, times the period."""
    return (config.rate + config.top_rate) / 2 * config.period


def _square_seconds(config: NexmarkConfig, numbers: Integers) -> Floats:
    periods, rest = np.divmod(numbers.astype(np.float64), events_per_period(config))
    half = config.period / 2
    low = half * config.rate
    inside = np.where(rest < low, rest / config.rate, half + (rest - low) / config.top_rate)
    result: Floats = periods * config.period + inside
    return result


def _sine_seconds(config: NexmarkConfig, numbers: Integers) -> Floats:
    """Inverts the integral: a table lookup, then Newton steps on N(t) - n, whose derivative is the rate."""
    periods, rest = np.divmod(numbers.astype(np.float64), events_per_period(config))
    grid = np.linspace(0.0, config.period, _TABLE_POINTS)
    seconds: Floats = np.interp(rest, _sine_count(config, grid), grid)
    for _ in range(_NEWTON_STEPS):
        seconds -= (_sine_count(config, seconds) - rest) / _sine_rate(config, seconds)
    result: Floats = periods * config.period + seconds
    return result


def _sine_rate(config: NexmarkConfig, seconds: Floats) -> Floats:
    mid = (config.rate + config.top_rate) / 2
    amplitude = (config.top_rate - config.rate) / 2
    result: Floats = mid - amplitude * np.cos(seconds * (2 * math.pi / config.period))
    return result


def _sine_count(config: NexmarkConfig, seconds: Floats) -> Floats:
    mid = (config.rate + config.top_rate) / 2
    amplitude = (config.top_rate - config.rate) / 2
    omega = 2 * math.pi / config.period
    result: Floats = mid * seconds - amplitude / omega * np.sin(seconds * omega)
    return result
