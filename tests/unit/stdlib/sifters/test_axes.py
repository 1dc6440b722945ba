"""Where values lie on an axis."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.sifters.axes import NumberAxis, WordAxis, axis
from streamq.stdlib.sifters.boxes import boxes
from streamq.stdlib.sifters.grid import CELLS, steps_for
from streamq.stdlib.sifters.predicates import Compare, Either, Everywhere, Not


@pytest.mark.parametrize(("attributes", "steps"), [(1, 4096), (2, 64), (3, 16), (4, 8), (5, 5), (6, 4)])
def test_a_grid_has_at_most_so_many_cells(attributes: int, steps: int) -> None:
    assert steps_for(attributes) == steps
    assert steps**attributes <= CELLS < (steps + 1) ** attributes


def test_null_is_in_the_first_step_and_values_are_in_the_others() -> None:
    found = axis(np.array([0.0, 63.0]), 64)
    values = np.array([-np.inf, -5.0, 0.0, 31.6, 63.0, 1e9, np.inf])
    assert found.cells(values).tolist() == [0, 1, 1, 32, 63, 63, 63]


@pytest.mark.parametrize("kind", ["even", "prices", "far", "alike", "none", "nulls"])
def test_most_values_are_told_apart(kind: str) -> None:
    random = np.random.default_rng(1)
    values = {
        "even": random.random(2000), "prices": 100 * 10 ** (6 * random.random(2000)),
        "far": np.append(random.normal(0, 1, 1999), 1e12), "alike": np.full(2000, 7.0), "none": np.empty(0),
        "nulls": np.full(10, -np.inf),
    }[kind]
    found = axis(values, 64)
    cells = np.bincount(found.cells(values), minlength=64)
    assert len(cells) == 64
    if kind in ("even", "prices", "far"):
        assert cells.max() < 0.1 * 2000
        assert np.count_nonzero(cells) >= 40


@pytest.mark.parametrize("seed", range(6))
def test_the_cells_of_boxes_hold_their_rows(seed: int) -> None:
    """A row that a predicate holds lies within its bounds on the axis, also where it is outside of all that was seen."""
    random = np.random.default_rng(seed)
    sample = (100 * 10 ** (6 * random.random(500)), random.normal(0, 10, 500), random.integers(0, 10**18, 500).astype(float))[seed % 3]
    found = axis(sample, 64)
    values = np.concatenate([random.normal(0, 20, 300), 10 ** (9 * random.random(300)), sample, [np.inf]])
    tests = [(op, v) for op in ("<", "<=", ">", ">=") for v in random.choice(values[:-1], 40).tolist()]
    for op, value in (*tests, *(("=", v) for v in values[:-1].tolist())):
        made = boxes(Compare(0, op, value), 1)
        lo, hi = found.bounds(made.lo[:, 0], made.hi[:, 0])
        assert np.all(lo < hi)
        held = values[made.holds(values[:, None])]
        cell = found.cells(held)
        assert np.all((cell + 1) / 64 > lo[0])
        assert np.all(cell / 64 < hi[0])


@pytest.mark.parametrize("values", [[-1e308, 1e308], [0.0, 1e-310], [5.0, np.nextafter(5.0, 6.0)], [1e308, 1e308], [-1e300, 0.0]])
def test_the_ends_of_numbers(values: list[float]) -> None:
    found = axis(np.array(values * 5), 64)
    cells = found.cells(np.array([*values, 1.7e308, -1.7e308, np.inf, -np.inf]))
    assert np.all((cells >= 0) & (cells < 64))


def test_the_bounds_of_all_rows_have_null_and_those_of_a_comparison_do_not() -> None:
    found = axis(np.arange(100.0), 64)
    for predicate, low in ((Everywhere(), 0.0), (Compare(0, "<", 50), 1 / 64)):
        made = boxes(predicate, 1)
        assert found.bounds(made.lo[:, 0], made.hi[:, 0])[0].tolist() == [low]


def test_what_lies_outside() -> None:
    found = NumberAxis(0.0, 1.0, False, 64)
    assert found.outside(np.array([-1.0, 0.0, 62.0, 64.0, -np.inf])) == 0.5


def test_s18_words_have_steps_and_sets_of_them_are_looked_up_exactly() -> None:
    names = ["bus", "car", "tram", "ferry", "walk", "bike", "train", "taxi"]
    values = np.array([*names, "car", "car", None], dtype=object)
    found = axis(values, 64)
    assert isinstance(found, WordAxis)
    cells = found.cells(values)
    assert cells[-1] == 0
    assert len(set(cells[:8].tolist())) == 8
    assert cells[:8].min() >= 1
    assert cells.max() <= 63
    car, taxi = found.step("car"), found.step("taxi")
    for predicate, wanted in (
        (Compare(0, "=", "car"), {car}),
        (Either((Compare(0, "=", "car"), Compare(0, "=", "taxi"))), {car, taxi}),
        (Not(Compare(0, "=", "car")), {*range(64)}),  # other words may share its step
        (Compare(0, "<", "car"), {*range(64)}),
        (Everywhere(), {*range(64)}),
    ):
        made = boxes(predicate, 1, {0: found.step})
        lo, hi = found.bounds(made.lo[:, 0], made.hi[:, 0])
        held = {step for step in range(64) if np.any((lo * 64 <= step + 0.5) & (step + 0.5 < hi * 64))}
        assert held == wanted, predicate


def test_text_that_is_not_well_formed_has_a_step() -> None:
    found = axis(np.array(["a", "\ud800", "\ud800"], dtype=object), 64)
    assert found.cells(np.array(["\ud800"], dtype=object))[0] >= 1


def test_frequent_words_rarely_share_a_step() -> None:
    random = np.random.default_rng(2)
    values = np.array([f"w{min(999, int(n))}" for n in random.exponential(20, 5000)], dtype=object)
    found = axis(values, 64)
    counts = np.bincount(found.cells(values), minlength=64)
    assert counts.max() < 2.2 * 0.05 * 5000  # the most frequent word has a twentieth
    assert np.count_nonzero(counts) > 45
    assert found.outside(values) == 0
    assert axis(np.array([None, None], dtype=object), 64).cells(np.array([None, "x"], dtype=object))[0] == 0
