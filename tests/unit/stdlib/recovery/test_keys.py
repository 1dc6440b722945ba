"""Keys as whole numbers, of one attribute and of several."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from streamq.stdlib.recovery.keys import Codes, no_keys


def test_codes_are_in_the_order_in_which_keys_come() -> None:
    keys, first = no_keys().grown([["New Delhi", "Ghurian", "New Delhi", "Abovyan"]])
    assert first.tolist() == [0, 1, 0, 2]
    more, second = keys.grown([["a place with a longer name", "Ghurian"]])
    assert (second.tolist(), len(keys), len(more)) == ([3, 1], 3, 4)
    assert more.find([["Kabul", "Abovyan", "a place with a longer name"]]).tolist() == [-1, 2, 3]
    assert keys.find([["a place with a longer name"]]).tolist() == [-1]


def test_keys_of_several_attributes() -> None:
    """A1 and A3 of table 3.1, whose cycle has 12 rows."""
    a1, a3 = np.tile([1, 2, 3], 5), np.tile(list("abcd"), 4)[:15]
    keys, codes = no_keys(2).grown([a1, a3])
    assert codes.tolist() == [*range(12), 0, 1, 2]
    assert keys.find([[1, 1, 9, 1], ["a", "d", "a", "z"]]).tolist() == [0, 3, -1, -1]
    assert [c.tolist() for c in keys.columns()] == [a1[:12].tolist(), a3[:12].tolist()]


@pytest.mark.parametrize("attributes", [1, 2, 3])
def test_codes_do_not_depend_on_batches(attributes: int) -> None:
    random = np.random.default_rng(attributes)
    rows = [random.integers(0, 4, 300), random.choice(["x", "yy", "zzz"], 300), random.integers(0, 3, 300) / 2]
    rows = rows[:attributes]
    expected: dict[Any, int] = {}
    codes = [expected.setdefault(key, len(expected)) for key in zip(*(r.tolist() for r in rows), strict=True)]
    for cuts in ([], [1, 2, 150], [299]):
        keys, got = no_keys(attributes), []
        for part in np.split(np.arange(300), cuts):
            keys, some = keys.grown([r[part] for r in rows])
            got += some.tolist()
        assert got == codes
        again, same = no_keys(attributes).grown(keys.columns())
        assert same.tolist() == [*range(len(expected))] == [*range(len(again))]


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ([["a", None]], "NULL"), ([[1.0, np.nan]], "NULL"), ([["a"], ["b"]], "1 attributes"), ([], "1 attributes"),
        ([[1, 2]], "keeps its type"),
    ],
)  # fmt: skip
def test_bad_keys(key: list[Any], told: str) -> None:
    keys, _ = no_keys().grown([["a"]])
    with pytest.raises(ValueError, match=told):
        keys.grown(key)


def test_no_key_and_no_values() -> None:
    with pytest.raises(ValueError, match="has an attribute"):
        no_keys(0)
    keys, codes = no_keys(2).grown([[], []])
    assert (len(keys), len(codes), len(Codes())) == (0, 0, 0)
    assert keys.find([[1], ["a"]]).tolist() == [-1]
