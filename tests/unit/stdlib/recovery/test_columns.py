"""What values an attribute can have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from streamq.stdlib.recovery.columns import alike, column, concat, nothing


@pytest.mark.parametrize(
    ("given", "kind", "items"),
    [
        ([1.5, None, 2], "number", [1.5, None, 2.0]),
        ([3, None, -4], "integer", [3, None, -4]),
        (["a", None, ""], "other", ["a", None, ""]),
        ([True, None], "other", [True, None]),
        ([None, None], "number", [None, None]),
        ([], "number", []),
        (np.array([1.5, 2], dtype=np.float32), "number", [1.5, 2.0]),
        (np.array([7], dtype=np.uint8), "integer", [7]),
        (np.ma.array([1, 2], mask=[True, False]), "integer", [None, 2]),
        (np.array(["x", None], dtype=object), "other", ["x", None]),
    ],
)
def test_kinds(given: Any, kind: str, items: list[Any]) -> None:
    got = column(given)
    assert (got.kind, [got.item(i) for i in range(len(got))]) == (kind, items)


def test_dates_that_are_none_are_null() -> None:
    assert column(np.array(["2006-03-01", "NaT"], dtype="M8[D]")).null.tolist() == [False, True]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([1, "a"], "all numbers"), ([True, 1], "all numbers"), ([object()], "all numbers"), ([2**63], "64 bits"),
        ([-(2**63)], "64 bits"), (np.array([2**63], dtype=np.uint64), "64 bits"), (["a\0"], "character 0"),
        (np.array([1j]), "complex"),
    ],
)  # fmt: skip
def test_what_cannot_be_kept(given: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        column(given)


def test_nulls_besides() -> None:
    assert column([1.0, 2.0], np.array([False, True])).item(1) is None
    with pytest.raises(ValueError, match="for each row"):
        column([1.0], np.array([False, True]))


def test_columns_are_joined_if_they_are_of_one_type() -> None:
    texts = concat([column(["ab"]), column([None]), column(["a longer one"])])
    assert [texts.item(i) for i in range(3)] == ["ab", None, "a longer one"]
    assert alike([column([None]), column(["a"])])[0].kind == "other"
    assert nothing(texts, 2).null.tolist() == [True, True]
    with pytest.raises(ValueError, match="keeps its type"):
        concat([column([1.0]), column(["a"])])
    with pytest.raises(ValueError, match="keeps its type"):
        concat([column([1.0]), column([1])])
