"""Columns of all kinds: what is a number, what is equal, how wide it is."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from streamq.stdlib.attributes.columns import (
    array_of,
    codes,
    combined,
    encoded_bytes,
    is_numeric,
    nulls,
    numbers,
    row_count,
)


@pytest.mark.parametrize(
    ("values", "expected"),
    [([1, 2], True), ([1.5, None], True), ([True, False], True), (["1", "2"], False), ([1, "a"], False),
     ([Decimal("1.5"), 2, None], True), ([None, None], False), (np.array(["2006-03-01"], dtype="M8[s]"), True),
     (np.array(["a", None], dtype=object), False), (np.array([1, "1"], dtype=object), False)],
)
def test_what_is_a_number(values: object, expected: bool) -> None:
    assert is_numeric(array_of(values)) is expected


def test_numbers_and_what_is_none() -> None:
    found = numbers([1, None, float("nan"), float("inf"), -2.5])
    assert found.tolist()[0] == 1
    assert found.tolist()[4] == -2.5
    assert np.isnan(found).tolist() == [False, True, True, True, False]
    assert np.all(np.isnan(numbers([None, None])))
    times = numbers(np.array(["1970-01-01T00:01", "NaT"], dtype="M8[ns]"))
    assert times[0] == 60
    assert np.isnan(times[1])
    assert numbers(np.array([1500], dtype="m8[ms]")).tolist() == [1.5]
    with pytest.raises(ValueError, match="values are numbers"):
        numbers(["1", "2"])


def test_nulls() -> None:
    assert nulls(array_of(["a", None])).tolist() == [False, True]
    assert nulls(np.array([1.0, np.nan])).tolist() == [False, True]
    assert nulls(np.array(["NaT", "2006-01-01"], dtype="M8[D]")).tolist() == [True, False]
    assert nulls(np.array([1, 2])).tolist() == [False, False]


def test_codes_are_equal_where_values_are() -> None:
    assert codes(["b", "a", None, "b"]).tolist() == [2, 1, 0, 2]
    assert codes([2.5, np.nan, 2.5, -1]).tolist() == [2, 0, 2, 1]
    assert codes([1, 1.0, None]).tolist() == [1, 1, 0]
    big = 2**53
    assert len(set(codes(np.array([big, big + 1])).tolist())) == 2  # as floats they are equal
    assert codes([]).tolist() == []


def test_combinations() -> None:
    found = combined([np.array([1, 1, 2, 1]), np.array([5, 6, 5, 5])]).tolist()
    assert found[0] == found[3]
    assert len(set(found)) == 3


def test_widths() -> None:
    assert encoded_bytes(np.array([1.0, 2.0])) == 8
    assert encoded_bytes(np.array([1, 2], dtype=np.int16)) == 2
    assert encoded_bytes(["ab", "äb", None]) == pytest.approx(5 / 3)
    assert encoded_bytes([1.5, None]) == 4
    assert encoded_bytes([None]) == 0
    assert encoded_bytes(np.array([b"abc"])) == 3


def test_columns_are_equally_long_and_flat() -> None:
    assert row_count({"a": [1, 2], "b": ["x", "y"]}) == 2
    with pytest.raises(ValueError, match="equally long"):
        row_count({"a": [1, 2], "b": ["x"]})
    with pytest.raises(ValueError, match="equally long"):
        row_count({})
    with pytest.raises(ValueError, match="one dimension"):
        row_count({"a": [[1, 2]]})
