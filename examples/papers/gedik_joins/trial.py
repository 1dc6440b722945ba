"""One trial: two streams of sets that lag, a processor that is too slow, and what a policy finds; means over seeds."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.joins.adapting import Policy, start
from streamq.stdlib.joins.conditions import EQUAL, SetCondition
from streamq.stdlib.joins.plan import WindowJoin
from streamq.stdlib.joins.processor import SECOND, Processor, Run, arriving, simulated
from streamq.stdlib.joins.selection import Floats
from streamq.stdlib.joins.utility import pair_utility
from streamq.stdlib.joins.window import Grid, Rows
from streamq.stdlib.joins.workload import (
    Settings,
    arrivals,
    draw_sets,
    draw_types,
    draw_values,
)

PHASES = (0.0, 0.5)
"""Rows of the two streams come in turns."""

RANDOM = None
"""The policy of random dropping."""

LAG = 5 / 8
"""Of a cycle, by which S1 is late."""


@dataclass(frozen=True, slots=True)
class Case:
    """``curve``: seconds and rows per second of each stream; ``windows``: seconds. ``bw_s``: of a basic window.

    ``zipf``: κ. ``lag``: of a cycle, which is twice the longer window. ``least``: shared items of a pair. ``equal``: rows
    have one value each, of 5000, and pairs have the same. ``types``: how often each comes; ``value``: what it is worth.
    ``told``: the join knows of types. ``warm_s``: before pairs are counted.
    """

    curve: tuple[tuple[float, float], ...] = ((70.0, 500.0),)
    windows: tuple[float, float] = (20.0, 20.0)
    bw_s: float = 1.0
    zipf: float = 0.6
    lag: float = LAG
    least: int = 3
    equal: bool = False
    indexed: bool = False
    types: tuple[float, ...] = (1.0,)
    value: tuple[float, ...] = (1.0,)
    told: bool = False
    warm_s: float = 30.0
    processor: Processor = Processor(step_s=0.25)

    @property
    def end_s(self) -> float:
        return sum(seconds for seconds, _ in self.curve)


def steady(rate: float, seconds: float = 40.0, warm_s: float = 30.0) -> tuple[tuple[float, float], ...]:
    """A curve of one rate that is measured for so long."""
    return ((warm_s + seconds, rate),)


@lru_cache(maxsize=4)
def _streams(
    curve: tuple[tuple[float, float], ...], settings: tuple[Settings, Settings], equal: bool, types: tuple[float, ...],
    seed: int,
) -> tuple[Rows, Rows]:
    random = np.random.default_rng(seed)
    found = []
    for one, phase in zip(settings, PHASES, strict=True):
        ts = arrivals(curve, phase)
        column = draw_values(ts, one, random) if equal else draw_sets(ts, one, random)
        found.append(arriving(ts, column, draw_types(len(ts), types, random)))
    return found[0], found[1]


def streams(case: Case, seed: int) -> tuple[Rows, Rows]:
    """The rows of both streams; the same for cases that only differ in what is done with them."""
    cycle_s = 2 * max(case.windows)
    size = (5000, 1.0, 0.0) if case.equal else (100, 5.0, 1.0)
    settings = [Settings(*size, case.zipf, cycle_s, shift) for shift in (case.lag * cycle_s, 0.0)]
    return _streams(case.curve, (settings[0], settings[1]), case.equal, case.types, seed)


def run(case: Case, policy: Policy | None, seed: int, decay: float = 0.8) -> Run:
    """``policy``: ``RANDOM`` is None."""
    condition = EQUAL if case.equal else SetCondition("OVERLAP", case.least, 100)
    grids = [Grid(round(w * SECOND), round(case.bw_s * SECOND)) for w in case.windows]
    value = np.array(case.value) if case.told else np.ones(1)
    plan = WindowJoin(condition, (grids[0], grids[1]), case.indexed, utility=value)
    rows = streams(case, seed)
    if not case.told:
        rows = _untyped(rows[0]), _untyped(rows[1])
    adapting = None if policy is None else start(plan, policy, decay)
    return simulated(plan, case.processor, adapting, rows, case.end_s)


def per_s(case: Case, found: Run) -> float:
    """Pairs per second after the windows have filled."""
    return found.per_s(case.warm_s, case.end_s)


def worth_per_s(case: Case, found: Run, seed: int) -> float:
    """The utility of these pairs per second."""
    which = found.between(case.warm_s, case.end_s)
    left, right = streams(case, seed)
    value = np.array(case.value)
    return float(
        pair_utility(value[left.types[found.left[which]]], value[right.types[found.right[which]]]).sum()
    ) / (case.end_s - case.warm_s)


def rates(case: Case, policy: Policy | None, seeds: int) -> Floats:
    """Pairs per second with each seed."""
    return np.array([per_s(case, run(case, policy, seed)) for seed in range(seeds)])


def gain(found: Floats, base: Floats) -> tuple[float, float]:
    """By how much the mean is larger, in percent, and the standard deviation of that over seeds, each with its own base."""
    each = 100 * (found / np.maximum(base, 1e-9) - 1)
    return float(100 * (found.mean() / base.mean() - 1)), float(each.std())


def spread_row(label: str, values: Iterable[tuple[float, float]]) -> str:
    """Percents with their spread."""
    return f"  {label:30}" + "".join(f"{f'{mean:+.0f} ± {spread:.0f}':>14}" for mean, spread in values)


def _untyped(rows: Rows) -> Rows:
    return Rows(rows.at, rows.ids, np.zeros_like(rows.types), rows.column)
