"""A sifter as data, and when it is built anew."""

from __future__ import annotations

import json

import numpy as np
import pytest

from streamq.dsl.records import replace
from streamq.stdlib.overload.hash_steps import HASH_STEPS
from streamq.stdlib.sifters.adapting import Adapting
from streamq.stdlib.sifters.compact import Columns, Compact, Wish, built, from_json
from streamq.stdlib.sifters.plans import Plan
from streamq.stdlib.sifters.predicates import Both, Compare, Everywhere

PLAN = Plan(regions=16, fairness=0.5)


def hot(random: np.random.Generator, count: int, centre: tuple[float, float] = (2000.0, 30.0)) -> Columns:
    """Half of the rows around a hot spot, half anywhere."""
    spot = random.normal(centre, (100.0, 3.0), (count, 2))
    anywhere = random.uniform((0.0, 0.0), (10_000.0, 100.0), (count, 2))
    return list(np.where(random.random((count, 1)) < 0.5, spot, anywhere).T)


def between(lo: float, hi: float, weight: float = 1.0, slope: float = 1.0) -> Wish:
    """A query over a range of the first attribute."""
    return Wish(Both((Compare(0, ">=", lo), Compare(0, "<", hi))), weight, slope)


def some(seed: int = 1, plan: Plan = PLAN) -> Compact:
    wishes = [between(5000, 6000), between(5500, 7000, 2, 0.5), between(100, 300)]
    return built(plan, hot(np.random.default_rng(seed), 1000), wishes, 0)


@pytest.mark.parametrize("keep", [0.9, 0.5, 0.2, 0.05])
def test_the_cells_keep_what_was_asked_and_what_is_wanted_most(keep: float) -> None:
    made = some(plan=replace(PLAN, fairness=1.0))
    rows = hot(np.random.default_rng(2), 50_000)
    thresholds = made.cells(made.drop(keep))
    cell = made.axes[0].cells(rows[0]) * 64 + made.axes[1].cells(rows[1])
    drop = thresholds[cell] / HASH_STEPS
    assert np.array_equal(drop, np.rint(made.drop(keep) * HASH_STEPS)[made.find(rows)] / HASH_STEPS)
    kept = float(1 - drop.mean())
    assert kept <= keep + 4 * 0.5 / np.sqrt(1000)
    inside = (rows[0] >= 5500) & (rows[0] < 6000)
    if keep >= 0.2:
        assert drop[inside].mean() < min(0.2, drop.mean() / 2)


def test_s21_sixteen_regions_are_small_and_come_back_as_they_were() -> None:
    made = some()
    text = made.to_json()
    assert len(text) < 1024
    again = from_json(text)
    assert again.to_json() == text
    assert np.array_equal(again.cells(again.drop(0.4)), made.cells(made.drop(0.4)))


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"version": 1}', "null"])
def test_what_is_no_sifter_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        from_json(text)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("version", float("inf")), ("axes", [[0, 1, 0, 64]]), ("axes", []), ("axes", [[0, 1, 0, 60], [0, 1, 0, 60]]),
        ("share", [1.0]), ("quality", None), ("share", [float("nan")] * 16), ("cuts", [[0], [1], [0], [0]]), ("most", [0.5]),
        ("cuts", [[5] * 15, [1] * 15, [-1] * 15, [-2] * 15]), ("cuts", [[0] * 15, [1] * 15, [0] * 15, [-2] * 15]),
    ],
)
def test_a_sifter_with_a_broken_part_is_refused(part: str, value: object) -> None:
    found = json.loads(some().to_json())
    with pytest.raises(ValueError, match=r"."):
        from_json(json.dumps(found | {part: value}))


def test_where_all_are_kept_nothing_is_dropped() -> None:
    assert some().drop(1.0).tolist() == [0.0] * 16
    assert some().drop(0.0).tolist() == [1.0] * 16


def test_rows_with_null_are_kept_where_a_query_wants_all() -> None:
    random = np.random.default_rng(3)
    first, second = hot(random, 1000)
    first[random.random(1000) < 0.2] = -np.inf
    plan, nulls = replace(PLAN, fairness=1.0), [np.array([-np.inf]), np.array([50.0])]
    without = built(plan, [first, second], [between(5000, 6000)], 0)
    assert without.drop(0.5)[without.find(nulls)].tolist() == [1.0]
    made = built(plan, [first, second], [Wish(Everywhere(), 9.0), between(5000, 6000)], 0)
    assert made.drop(0.9)[made.find(nulls)] < 1


def test_one_attribute_three_and_text() -> None:
    random = np.random.default_rng(4)
    for n in (1, 3):
        rows = list(random.random((n, 1000)))
        made = built(PLAN, rows, [Wish(Compare(0, "<", 0.3))], 0)
        assert len(made.cells(made.drop(0.5))) == 4096
        assert made.drop(0.5)[made.find(rows)].mean() >= 0.5 - 1e-5
        assert made.drop(0.5)[made.find([row[rows[0] < 0.28] for row in rows])].mean() < 0.1
    words = np.array(["car", "bus", "bike", "tram", None], dtype=object)[random.integers(0, 5, 1000)]
    rows = [words, random.random(1000)]
    made = built(PLAN, rows, [Wish(Both((Compare(0, "=", "bus"), Compare(1, ">", 0.5))))], 0)
    inside = (words == "bus") & (rows[1] > 0.55)
    drop = made.drop(0.5)[made.find(rows)]
    assert drop[inside].mean() < 0.05
    assert from_json(made.to_json()).to_json() == made.to_json()


def test_s16_it_is_built_anew_where_rows_have_moved_and_not_else() -> None:
    random = np.random.default_rng(5)
    adapting = Adapting(PLAN, [between(5000, 6000), between(2000, 2100)])
    assert not adapting.after([np.empty(0), np.empty(0)])
    assert not adapting.after(hot(random, 10))
    assert adapting.after(hot(random, 40))
    versions = [adapting.current.version if adapting.current else -1]
    for _ in range(40):
        adapting.after(hot(random, 200))
        assert adapting.current is not None
        versions.append(adapting.current.version)
    settled = versions[10]
    assert settled <= 5  # as the sample grows, and no more
    assert versions[10:] == [settled] * 31
    periods = 0
    while adapting.current.version == settled:
        adapting.after(hot(random, 1000, (7000.0, 80.0)))
        periods += 1
    assert periods <= 3


@pytest.mark.parametrize("seed", range(5))
def test_after_a_change_it_ends_up_as_one_of_rows_that_all_came_since(seed: int) -> None:
    """The change is seen while the sample is mixed; regions made for that would stay, as they hold what they held."""
    random = np.random.default_rng(seed)
    wishes = [between(5000, 6000), between(6900, 7100), between(1900, 2100)]
    adapting = Adapting(PLAN, wishes)
    for _ in range(20):
        adapting.after(hot(random, 200))
    versions = set()
    for _ in range(30):
        adapting.after(hot(random, 200, (7000.0, 80.0)))
        assert adapting.current is not None
        versions.add(adapting.current.version)
    assert len(versions) <= 7  # one for each part of the sample that changes, and one more
    later = hot(random, 20_000, (7000.0, 80.0))
    off = np.abs(adapting.current.shares(later) - adapting.current.share).sum() / 2
    # Of two samples of 1,000 rows in 16 regions it is 16 * sqrt(2 / 1000 / 16 / pi) / 2 = 0.05 on average.
    assert off < 0.08


def test_after_a_restart_it_is_kept_for_the_same_queries_and_built_anew_for_others() -> None:
    random = np.random.default_rng(7)
    first = Adapting(PLAN, [between(5000, 6000)])
    first.after(hot(random, 1000))
    again = Adapting(PLAN, [between(5000, 6000)], first.current)
    assert not again.after(hot(random, 50))
    assert not again.after(hot(random, 950))
    other = Adapting(PLAN, [between(5000, 6000), between(1, 2)], first.current)
    assert other.after(hot(random, 50))
    finer = Adapting(replace(PLAN, regions=30), [between(5000, 6000)], first.current)
    assert finer.after(hot(random, 50))
    assert finer.current is not None
    assert len(finer.current.share) == 30


def test_an_equality_is_wanted_wherever_its_value_lies() -> None:
    """A single value has no width, on the axis even less; its region is kept all the same."""
    random = np.random.default_rng(8)
    prices = 100 * 10 ** (6 * random.random(2000))
    plan = replace(PLAN, fairness=1.0, regions=64)
    for value in prices[:100].tolist():
        made = built(plan, [prices], [Wish(Compare(0, "=", value), 5.0), Wish(Compare(0, ">", 1e7))], 0)
        assert made.drop(0.3)[made.find([np.array([value])])][0] < 1


def test_it_is_built_anew_where_values_leave_the_axis() -> None:
    random = np.random.default_rng(6)
    adapting = Adapting(PLAN, [between(5000, 6000)])
    adapting.after(hot(random, 1000))
    before = adapting.current
    assert before is not None
    first, second = hot(random, 1000)
    adapting.after([first + 8_000.0, second])
    assert adapting.current is not None
    assert adapting.current.version == before.version + 1
    assert adapting.current.axes[0].outside(np.array([17_000.0])) == 0
