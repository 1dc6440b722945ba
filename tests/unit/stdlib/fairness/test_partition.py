"""Queries cut into parts for several nodes."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamq.stdlib.fairness.partition import contiguous_parts


@pytest.mark.parametrize(
    ("loads", "parts", "largest"),
    [
        ([4, 2, 3, 3, 2, 4], [[4, 2], [3, 3], [2, 4]], 6),
        ([150, 150, 1, 1, 10, 1], [[150], [150], [1, 1, 10, 1]], 150),
    ],
)
def test_g_15_the_busiest_of_three_nodes(
    loads: list[float], parts: list[list[float]], largest: float
) -> None:
    starts = contiguous_parts(np.array(loads), 3)
    assert [part.tolist() for part in np.split(loads, starts[1:])] == parts
    assert np.add.reduceat(loads, starts).max() == largest


def test_one_part_and_one_operator_each() -> None:
    assert contiguous_parts(np.array([3.0, 1, 2]), 1).tolist() == [0]
    assert contiguous_parts(np.array([3.0, 1, 2]), 3).tolist() == [0, 1, 2]


def test_of_equal_cuts_one_with_a_long_last_part() -> None:
    assert contiguous_parts(np.zeros(4), 2).tolist() == [0, 1]
    assert contiguous_parts(np.ones(5), 2).tolist() == [0, 2]


def test_what_cannot_be_cut_is_refused() -> None:
    for loads, parts in (([1.0], 2), ([], 1), ([1.0], 0)):
        with pytest.raises(ValueError, match=f"no {parts} parts"):
            contiguous_parts(np.array(loads), parts)
    for load in (-1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="not negative"):
            contiguous_parts(np.array([1, load]), 1)


@settings(max_examples=50)
@given(st.data(), st.lists(st.integers(0, 9), min_size=1, max_size=7))
def test_no_other_cut_is_better(data: st.DataObject, loads: list[int]) -> None:
    parts = data.draw(st.integers(1, len(loads)))
    starts = contiguous_parts(np.array(loads), parts)
    cuts = [(0, *rest) for rest in combinations(range(1, len(loads)), parts - 1)]
    assert tuple(starts) in cuts
    best = min(np.add.reduceat(loads, cut).max() for cut in cuts)
    assert np.add.reduceat(loads, starts).max() == best
