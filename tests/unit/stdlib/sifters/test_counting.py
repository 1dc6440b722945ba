"""Golden 3.4: rows dropped by counting."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import numpy as np
import pytest

from streamq.stdlib.overload.hash_steps import HASH_STEPS
from streamq.stdlib.sifters.counting import dropped, numbers, units


@pytest.mark.parametrize(
    ("drop", "wanted"),
    [(0.3, "D..D..D...D."), (0.5, "D.D.D.D.D.D."), (0.75, "DDD.DDD.DDD."), (1.0, "D" * 12), (0.0, "." * 12)],
)
def test_3_4_which_of_twelve_rows_are_dropped(drop: float, wanted: str) -> None:
    # A threshold that is no number of units is a little more here, as the golden is of exact fractions.
    unit = np.array([round(drop * HASH_STEPS)]) if (drop * HASH_STEPS).is_integer() else np.array([int(drop * HASH_STEPS)])
    found = dropped(np.zeros(12, dtype=np.int64), unit, np.zeros(1, dtype=np.int64))
    assert "".join("D" if d else "." for d in found) == wanted


def test_3_4_is_the_ceiling_in_exact_fractions() -> None:
    random = np.random.default_rng(34)
    unit = random.integers(0, HASH_STEPS + 1, 30)
    found = dropped(np.repeat(np.arange(30), 200), unit, np.zeros(30, dtype=np.int64)).reshape(30, 200)
    for drop, row in zip(unit.tolist(), found, strict=True):
        share = Fraction(drop, HASH_STEPS)
        assert row.tolist() == [ceil(share * p) > ceil(share * (p - 1)) for p in range(1, 201)]


def test_s13_the_rows_dropped_are_right_to_one_whatever_comes_in_between() -> None:
    random = np.random.default_rng(13)
    drop = random.random(5)
    region = random.integers(0, 5, 5000)
    before = np.zeros(5, dtype=np.int64)
    gone, seen = np.zeros(5), np.zeros(5, dtype=np.int64)
    for part in np.split(region, np.sort(random.integers(0, 5000, 20))):
        is_dropped = dropped(part, units(drop), before)
        gone += np.bincount(part[is_dropped], minlength=5)
        before = seen = seen + np.bincount(part, minlength=5)
        assert np.all(np.abs(gone - drop * seen) < 1 + 5000 / HASH_STEPS)


def test_numbers_go_on_from_what_was_before() -> None:
    assert numbers(np.array([1, 0, 1, 1]), np.array([5, 2])).tolist() == [3, 6, 4, 5]
