"""Periods of one attribute."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.attributes.columns import Ints, codes
from streamq.stdlib.attributes.periods import first_repeat, period


def of(text: str) -> Ints:
    return codes(list(text))


@pytest.mark.parametrize(
    ("text", "resolved", "faithful"),
    [("abcabcabc", 3, 3), ("aabaabaab", 3, None), ("abbabbabb", 3, 3), ("abcabca", 3, 3), ("aaaaaa", None, 1), ("abcdef", None, None),
     ("abcabd", None, None), ("abcda", None, 4), ("", None, None), ("a", None, None), ("ab", None, None), ("abab", 2, 2)],
)
def test_g1_internal_repeats_and_what_is_no_period(text: str, resolved: int | None, faithful: int | None) -> None:
    """A sequence seen once and a bit, ``abcda``, has a period for the letter of the algorithm only."""
    assert period(of(text)) == resolved
    assert first_repeat(of(text)) == faithful


def by_definition(sequence: list[int], min_cycles: int) -> int | None:
    for d in range(1, len(sequence) // min_cycles + 1):
        if all(sequence[i] == sequence[i - d] for i in range(d, len(sequence))):
            return d if d > 1 else None
    return None


def test_is_the_definition() -> None:
    """Of sequences of two values, so short that there are many periods: all of up to 12 rows."""
    found = 0
    for n in range(13):
        for number in range(2**n):
            sequence = [number >> i & 1 for i in range(n)]
            expected = by_definition(sequence, 2)
            assert period(np.array(sequence, dtype=np.int64)) == expected
            found += expected is not None
    assert found > 100


@pytest.mark.parametrize("d", [2, 7, 75, 488, 5000])
def test_long_periods_are_found_and_one_other_row_is_none(d: int) -> None:
    random = np.random.default_rng(d)
    sequence = np.tile(random.integers(0, 50, d), 20_000 // d)
    sequence[: len(sequence)] = np.tile(np.concatenate([[99], sequence[1:d]]), 20_000 // d)
    assert period(sequence) == d
    sequence[-1] = 77
    assert period(sequence) is None


def test_constants_with_one_other_value_take_no_time() -> None:
    """Where every length is a candidate until the last row: comparing each would take 2e10 steps."""
    sequence = np.zeros(200_000, dtype=np.int64)
    sequence[-1] = 1
    assert period(sequence) is None


def test_a_tolerance_finds_cycles_with_missing_and_repeated_rows() -> None:
    """A row that is lost, or comes again, is seen by d rows after it: of 50 cycles one row changes 1 of 50."""
    whole = np.tile(np.arange(1, 21), 50)
    lost = np.delete(whole, 505)
    twice = np.insert(whole, 333, whole[333])
    for rows in (lost, twice):
        assert period(rows) is None
        assert period(rows, tolerance=0.03) == 20
        assert period(rows, tolerance=0.01) is None
        assert period(rows, tolerance=0.03, max_period=19) is None
    assert period(whole, tolerance=0.03) == 20


def test_cycles_are_counted() -> None:
    assert period(of("abcabcabc"), min_cycles=3) == 3
    assert period(of("abcabcab"), min_cycles=3) is None
    with pytest.raises(ValueError, match="at least twice"):
        period(of("abab"), min_cycles=1)
    with pytest.raises(ValueError, match="tolerance"):
        period(of("abab"), tolerance=1.0)
