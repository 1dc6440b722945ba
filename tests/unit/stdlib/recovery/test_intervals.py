"""Which stored values stand for a value: exact for numbers of every magnitude, and for what is none."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from streamq.stdlib.recovery.columns import column
from streamq.stdlib.recovery.intervals import intervals
from tests.unit.stdlib.recovery.plain import stands_for

ERRORS = (0.0, 1e-300, 1e-13, 0.1, 1.0, 4.81, 10.0, 13.5, 25.0, 49.999999, 50.0, 66.6, 90.0, 99.99, 99.9999999999999, 100.0)
LARGEST, SMALLEST = 1.7976931348623157e308, 5e-324


def within(stored: float, value: float, error: float, denominator: str = "sv") -> bool:
    """By the intervals of both."""
    spans = intervals(column([stored, value]), error, denominator)  # type: ignore[arg-type]
    return not spans.beyond(spans.least[[0, 0]], spans.most[[0, 0]])[1]


def edges(value: float, error: float) -> list[float]:
    """Numbers around both bounds of a value, up to two steps away."""
    found = []
    for sign in (1, -1):
        edge = Fraction(value) + sign * Fraction(error) * abs(Fraction(value)) / 100
        y = float(edge) if abs(edge) <= Fraction(LARGEST) else (LARGEST if edge > 0 else -LARGEST)
        up, down = math.nextafter(y, math.inf), math.nextafter(y, -math.inf)
        found += [y, up, down, math.nextafter(up, math.inf), math.nextafter(down, -math.inf)]
    return found


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("denominator", ["sv", "mv"])
def test_bounds_are_exact_to_the_last_bit(error: float, denominator: str) -> None:
    random = np.random.default_rng(11)
    sizes = [*random.random(8), *np.round(random.uniform(0, 100, 8), 2), *2.0 ** random.integers(-1074, 1023, 12)]
    some = [*(sizes * random.choice([-1, 1], len(sizes))).tolist(), 0.0, 100.0, 90.0, LARGEST, SMALLEST, 7 * SMALLEST]
    pairs = [(a, b) for x in some for y in edges(x, error) for a, b in ((x, y), (y, x))]
    stored, values = (column([p[i] for p in pairs]) for i in (0, 1))
    kept, seen = (intervals(c, error, denominator) for c in (stored, values))  # type: ignore[arg-type]
    got = ~seen.beyond(kept.least, kept.most)
    expected = [stands_for(a, b, error, denominator) for a, b in pairs]
    assert got.tolist() == expected
    assert 0.1 < np.mean(expected) < 0.9  # both answers are there


def test_exactly_the_error_threshold_is_within() -> None:
    assert within(90.0, 100.0, 10)
    assert within(110.0, 100.0, 10)
    assert not within(math.nextafter(90.0, 0), 100.0, 10)
    assert not within(100.0, 90.0, 10)  # 11.1 % of the value
    assert within(100.0, 90.0, 10, "mv")
    assert not within(90.0, 100.0, 10, "mv")
    assert within(0.0, 5.0, 100)
    assert within(10.0, 5.0, 100)
    assert not within(-1e-300, 5.0, 100)


@pytest.mark.parametrize("error", [0.0, 10.0, 100.0])
@pytest.mark.parametrize("denominator", ["sv", "mv"])
def test_what_is_no_plain_number_stands_for_itself_alone(error: float, denominator: str) -> None:
    special = [0.0, math.nan, math.inf, -math.inf, None, LARGEST, -LARGEST, SMALLEST]
    spans = intervals(column(special), error, denominator)  # type: ignore[arg-type]
    for i, stored in enumerate(special):
        got = ~spans.beyond(np.full(len(special), spans.least[i]), np.full(len(special), spans.most[i]))
        assert got.tolist() == [stands_for(stored, v, error, denominator) for v in special]
    assert within(-0.0, 0.0, 0)


@pytest.mark.parametrize("denominator", ["sv", "mv"])
def test_whole_numbers_beyond_those_of_a_float_are_near_to_themselves_alone(denominator: str) -> None:
    whole = [0, 1, -1, 9, 10, 11, -11, 100, 2**53 - 1, 2**53, 2**53 + 1, 2**62, 2**62 + 1, -(2**63) + 1, 2**63 - 1, None]
    for error in (0.0, 10.0, 33.3):
        spans = intervals(column(whole), error, denominator)  # type: ignore[arg-type]
        for i, stored in enumerate(whole):
            got = ~spans.beyond(np.full(len(whole), spans.least[i]), np.full(len(whole), spans.most[i]))
            assert got.tolist() == [stands_for(stored, v, error, denominator) for v in whole], stored


@pytest.mark.parametrize("error", [-1.0, 100.1, math.nan, math.inf])
def test_errors_are_from_0_to_100_percent(error: float) -> None:
    with pytest.raises(ValueError, match="from 0 to 100 percent"):
        intervals(column([1.0]), error)


def test_denominators_are_sv_and_mv() -> None:
    with pytest.raises(ValueError, match="sv or mv"):
        intervals(column([1.0]), 1.0, "max")  # type: ignore[arg-type]
