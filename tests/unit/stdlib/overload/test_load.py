"""Whether operators can keep up with given rates."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.overload.load import load, load_per_row, overloaded


def test_g_28_load_of_a_chain() -> None:
    per_row = load_per_row(np.array([2.0, 3.0]), np.array([0.5, 1.0]))
    assert per_row == pytest.approx(3.5)
    total = load(np.array([100.0]), np.array([per_row]))
    assert total == pytest.approx(350)
    assert overloaded(total, capacity=349)
    assert not overloaded(total, capacity=350)
    assert overloaded(total, capacity=400, headroom=0.8)


def test_one_operator_and_none() -> None:
    assert load_per_row(np.array([2.0]), np.array([0.1])) == 2
    assert load_per_row(np.zeros(0), np.zeros(0)) == 0
    assert load(np.array([10.0, 20.0]), np.array([1.0, 0.5])) == 20
