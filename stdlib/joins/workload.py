"""Two streams of sets that are alike some time apart: the workload of the paper's evaluation.

Items are drawn by rank from a Zipf distribution, and the item of the first rank moves once around all items in a cycle. So
rows are alike that arrive at about the same time, or that long apart by which one stream lags behind the other (Gedik, Wu,
Yu, Liu 2007, "CPU Load Shedding for Binary Stream Joins"; without replacement, ranks past the last item wrap around).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.joins.columns import Bools, Sets, Values
from streamq.stdlib.joins.selection import Floats, Ints

CURVE = ((60.0, 100.0), (15.0, 500.0), (30.0, 300.0), (60.0, 100.0))
"""The rates of the paper: seconds, and rows per second of each stream."""

CELLS = 1 << 22
"""Rows times items that are drawn at once, to bound the memory."""


@dataclass(frozen=True, slots=True)
class Settings:
    """``n_items`` (L) of the domain; sizes of sets are normal with ``set_mean``, ``set_sd``, from 1 to L.

    ``zipf``: the exponent κ, at least 0. ``cycle_s`` (ς), ``shift_s`` (τ): seconds of a cycle, and by which a stream lags.
    """

    n_items: int = 100
    set_mean: float = 5.0
    set_sd: float = 1.0
    zipf: float = 0.6
    cycle_s: float = 40.0
    shift_s: float = 0.0


def arrivals(curve: Sequence[tuple[float, float]], phase: float = 0.0) -> Floats:
    """Times in seconds at which rows arrive, evenly spaced at the rates of a curve: of (seconds, rows per second) each.

    ``phase``: the part of a row, 0 to 1, by which the first comes later. ValueError for negative numbers.
    """
    steps = np.array(curve, dtype=np.float64).reshape(-1, 2)
    if np.any(steps < 0) or not 0 <= phase < 1:
        raise ValueError("seconds and rates are at least 0, and a phase is less than 1")
    steps = steps[steps[:, 0] > 0]
    at = np.append(0.0, np.cumsum(steps[:, 0]))
    come = np.append(0.0, np.cumsum(steps[:, 0] * steps[:, 1]))
    number = np.arange(np.ceil(np.round(come[-1] - phase, 6))) + phase
    # The step that a row comes in is the last one that begins with fewer or as many rows, and has some itself.
    step = np.searchsorted(come, number, side="right") - 1
    ts: Floats = at[step] + (number - come[step]) / np.where(steps[step, 1] > 0, steps[step, 1], 1.0)
    return ts


def draw_sets(ts: Floats, settings: Settings, random: np.random.Generator) -> Sets:
    """The sets of rows that arrive at these times, ``[rows]`` in seconds."""
    count = settings.n_items
    size = np.clip(np.rint(random.normal(settings.set_mean, settings.set_sd, len(ts))), 1, count).astype(np.int64)
    first = _first(ts, settings)
    held = np.empty((len(ts), count), dtype=np.bool_)
    block = max(1, CELLS // count)
    for start in range(0, len(ts), block):
        part = slice(start, start + block)
        ranks = _ranks(size[part], settings, random)
        item = (np.arange(count) - first[part, None]) % count
        held[part] = np.take_along_axis(ranks, item, axis=1)
    offsets = np.append(np.int64(0), np.cumsum(held.sum(axis=1)))
    return Sets(offsets, np.nonzero(held)[1], None, np.zeros(len(ts), dtype=np.bool_))


def draw_values(ts: Floats, settings: Settings, random: np.random.Generator) -> Values:
    """The items of rows that have one each, for equality joins: what sets of size 1 hold, in less time."""
    share = np.cumsum(_zipf(settings))
    rank = np.searchsorted(share, random.random(len(ts)) * share[-1], side="right")
    return Values((_first(ts, settings) + rank) % settings.n_items, np.zeros(len(ts), dtype=np.bool_))


def draw_types(count: int, frequency: Sequence[float] | Floats, random: np.random.Generator) -> Ints:
    """The types of so many rows, ``[rows]``, with these frequencies, of any unit."""
    share = np.asarray(frequency, dtype=np.float64)
    return random.choice(len(share), size=count, p=share / share.sum())


def _zipf(settings: Settings) -> Floats:
    return np.arange(1, settings.n_items + 1, dtype=np.float64) ** -settings.zipf


def _first(ts: Floats, settings: Settings) -> Ints:
    """The item of the first rank, from 0."""
    part = (ts - settings.shift_s) % settings.cycle_s / settings.cycle_s
    return np.minimum((settings.n_items * part).astype(np.int64), settings.n_items - 1)


def _ranks(size: Ints, settings: Settings, random: np.random.Generator) -> Bools:
    """Which ranks are drawn, ``[rows, n_items]``: the first ``size`` clocks to ring, which do at rates of their frequency.

    That is drawing one after the other without replacement.
    """
    rings = random.standard_exponential((len(size), settings.n_items)) / _zipf(settings)
    last = np.partition(rings, np.unique(size) - 1, axis=1)[np.arange(len(size)), size - 1]
    return rings <= last[:, None]
