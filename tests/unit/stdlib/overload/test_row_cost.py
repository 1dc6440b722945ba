"""What a row costs, and what fits into a given time."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamq.stdlib.overload.row_cost import Method, RowCost, RowCostModel


def model(method: Method, *batches: tuple[float, int]) -> RowCostModel:
    made = RowCostModel(method)
    for t, n in batches:
        made = made.after(t, n)
    return made


def test_g_12_one_batch() -> None:
    one = model("ratio", (300, 5000))
    assert one.cost() == RowCost(0.0, pytest.approx(0.06))  # type: ignore[arg-type]
    assert one.budget(250) == 4166


def test_g_12b_a_ratio_of_sums() -> None:
    assert model("ratio", (300, 5000), (250, 5000), (250, 2500)).budget(250) == 3906


def test_g_13_a_fixed_cost_for_each_batch() -> None:
    three = model("affine", (700, 1000), (900, 2000), (1300, 4000))
    cost = three.cost()
    assert cost is not None
    assert (cost.fixed, cost.per_row) == (pytest.approx(500), pytest.approx(0.2))
    assert three.budget(1000) == 2500
    assert [model("ratio", b).budget(1000) for b in three.batches] == [1428, 2222, 3076]
    assert three.budget(400) == 0


def test_nothing_is_known_before_the_first_batch() -> None:
    assert (RowCostModel().cost(), RowCostModel().budget(250)) == (None, math.inf)


def test_idle_times_say_nothing() -> None:
    known = model("ratio", (100, 100))
    assert known.after(1000, 1, idle=True) is known
    assert known.after(1000, 0) is known
    assert known.after(0, 10) is known


def test_old_batches_are_forgotten() -> None:
    made = RowCostModel("ratio", size=2)
    for t in (1000, 10, 10):
        made = made.after(t, 10)
    assert made.batches == ((10, 10), (10, 10))
    assert made.budget(100) == 100


@pytest.mark.parametrize(
    "batches",
    [
        ((700, 1000), (900, 2000), (700, 1000)),
        ((900, 1000), (700, 2000), (500, 4000)),
        ((500, 1000), (500, 2000), (500, 4000)),
    ],
)
def test_without_a_line_the_ratio_holds(batches: tuple[tuple[float, int], ...]) -> None:
    assert model("affine", *batches).cost() == model("ratio", *batches).cost()


@settings(max_examples=50)
@given(
    st.floats(0, 1000),
    st.floats(0.001, 10),
    st.lists(st.integers(1, 10**6), min_size=3, max_size=10, unique=True),
    st.integers(0, 10**5),
)
def test_a_true_line_is_found(fixed: float, per_row: float, sizes: list[int], rows: int) -> None:
    made = model("affine", *((fixed + per_row * n, n) for n in sizes))
    spread = max(sizes) - min(sizes)
    if spread >= 100:
        found = made.budget(fixed + per_row * (rows + 0.5))
        assert found == pytest.approx(rows, abs=1 + 1e-6 * (fixed / per_row + max(sizes)))
