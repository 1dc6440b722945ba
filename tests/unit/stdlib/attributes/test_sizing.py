"""G4, G10, D1, F14 to F16: how many attributes are shed."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from streamq.stdlib.attributes.kinds import Unsheddable
from streamq.stdlib.attributes.sizing import (
    drop_ratio,
    exact,
    n_shed,
    n_shed_by_bytes,
    residual_rate,
)


def test_g4_n_shed() -> None:
    """Example 3: ⌈1.75⌉."""
    assert n_shed(160, 120, 7) == 2
    assert drop_ratio(160, 120) * 7 == Fraction(7, 4)


RATES = [(90, 72), (120, 72), (90, 98), (120, 98)]


@pytest.mark.parametrize(
    ("n", "expected"), [(9, [2, 4, 0, 2]), (7, [2, 3, 0, 2]), (6, [2, 3, 0, 2]), (5, [1, 2, 0, 1])]
)
def test_g10_table_4_6(n: int, expected: list[int]) -> None:
    assert [n_shed(r, c, n) for r, c in RATES] == expected
    assert [n_shed(60, c, n) for c in (72, 98, 132)] == [0, 0, 0]
    assert [n_shed(r, 132, n) for r in (60, 90, 120)] == [0, 0, 0]


@pytest.mark.parametrize(("rate", "capacity", "n", "expected"), [(50, 22, 25, 14), (50, 36, 25, 7), (100, 44, 25, 14)])
def test_d1_float_trap(rate: int, capacity: int, n: int, expected: int) -> None:
    assert math.ceil((rate - capacity) / rate * n) == expected + 1
    for kind in (int, float, Fraction, Decimal, np.float64, np.int64):
        assert n_shed(kind(rate), kind(capacity), n) == expected


def test_numbers_are_read_in_decimal() -> None:
    """(0.9 - 0.6) / 0.9 of 3 attributes is one exactly; of the binary numbers next to these it is more, however exact."""
    assert n_shed(0.9, 0.6, 3) == 1
    assert math.ceil((Fraction(0.9) - Fraction(0.6)) / Fraction(0.9) * 3) == 2
    assert exact(256.6) == Fraction(2566, 10)
    assert exact(np.float64(256.6)) == Fraction(2566, 10)
    assert exact(np.int64(3)) == 3


def test_f14_least_number_that_fits() -> None:
    """Against trying them out: shedding one less would not fit."""
    random = np.random.default_rng(14)
    for _ in range(500):
        n, rate = int(random.integers(1, 30)), int(random.integers(1, 1000))
        capacity = int(random.integers(0, 1200))
        fitting = [k for k in range(n + 1) if rate * (n - k) <= capacity * n]
        assert n_shed(rate, capacity, n) == fitting[0]


def test_utilisation() -> None:
    assert n_shed(100, 100, 10) == 0
    assert n_shed(100, 100, 10, utilisation=0.9) == 1
    assert n_shed(100, 100, 10, utilisation=Fraction(89, 100)) == 2
    for bad in (0, 1.01, -1):
        with pytest.raises(ValueError, match=r"part of|from 0"):
            n_shed(100, 100, 10, utilisation=bad)


def test_unsheddable() -> None:
    assert n_shed(100, 0, 10) == 10
    assert n_shed(100, 10, 10, protected=1) == 9
    with pytest.raises(Unsheddable, match="10 attributes would have to be shed, and 9 may be") as raised:
        n_shed(100, 9.99, 10, protected=1)
    assert (raised.value.wanted, raised.value.possible) == (10, 9)
    with pytest.raises(Unsheddable):
        n_shed(100, 0, 10, protected=1)
    with pytest.raises(Unsheddable):
        n_shed(100, 99, 2, protected=2)
    assert n_shed(0, 0, 5, protected=5) == 0


@pytest.mark.parametrize("bad", [-1, float("nan"), float("inf"), -0.5, Decimal("-1"), Decimal("NaN")])
def test_rates_are_numbers(bad: float) -> None:
    with pytest.raises(ValueError, match="from 0"):
        n_shed(bad, 10, 5)
    with pytest.raises(ValueError, match="from 0"):
        n_shed(10, bad, 5)


def test_counts_are_checked() -> None:
    for n, protected in ((0, 0), (5, 6), (5, -1)):
        with pytest.raises(ValueError, match="cannot be protected"):
            n_shed(10, 5, n, protected=protected)


WIDTHS = {"key": 12, "a": 1, "b": 2, "c": 8, "d": 17}
ORDER = ("a", "b", "c", "d")


@pytest.mark.parametrize(("capacity", "expected"), [(40, 0), (39.9, 1), (39, 1), (38.99, 2), (37, 2), (36, 3), (29, 3), (28, 4), (12, 4)])
def test_f15_by_bytes(capacity: float, expected: int) -> None:
    """40 bytes of a row at 40 kbit/s: the excess is as many bytes. The prefix is enough, and one less is not."""
    assert n_shed_by_bytes(40, capacity, ORDER, WIDTHS) == expected
    gone = [sum(WIDTHS[a] for a in ORDER[:k]) for k in range(5)]
    assert gone[expected] >= 40 - capacity
    assert expected == 0 or gone[expected - 1] < 40 - capacity


def test_f15_by_bytes_too_narrow() -> None:
    with pytest.raises(Unsheddable):
        n_shed_by_bytes(40, 11.9, ORDER, WIDTHS)
    with pytest.raises(Unsheddable):
        n_shed_by_bytes(40, 39, ["a"], {"key": 1, "a": 0})
    with pytest.raises(Unsheddable):
        n_shed_by_bytes(40, 39, ["a"], {"key": 0, "a": 0})
    with pytest.raises(ValueError, match="no width is given of z"):
        n_shed_by_bytes(40, 30, ["a", "z"], WIDTHS)


def test_by_bytes_is_by_count_where_all_are_equally_wide() -> None:
    names = [f"a{i}" for i in range(9)]
    for rate, capacity in RATES:
        assert n_shed_by_bytes(rate, capacity, names, dict.fromkeys(names, 8)) == n_shed(rate, capacity, 9)


def test_f16_what_is_left() -> None:
    assert residual_rate(160, 2, 7) == Fraction(160 * 5, 7)
    assert residual_rate(160, 2, 7) <= 120
    assert residual_rate(0, 0, 7) == 0
    with pytest.raises(ValueError, match="cannot be shed"):
        residual_rate(160, 8, 7)
    with pytest.raises(ValueError, match="cannot be shed"):
        residual_rate(160, 0, 0)
