"""Attributes that the key determines are given back by a dictionary, without any error."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.attributes.cycle import Cycle, discover
from streamq.stdlib.attributes.determined import dictionaries
from tests.unit.stdlib.attributes.tables import table


def test_g1_pair_is_recovered_from_its_narrower_one() -> None:
    rows = table("g1_training")
    rows.pop("row")
    (found,) = dictionaries(discover(rows), rows)
    assert (found.attr, found.by) == ("A2", "A1")
    assert found.values == {"a1": "aaaa", "a2": "bbbb", "a3": "cccc"}
    assert found.recovered({"A1": ["a3", "a1", "a9"]}).tolist() == ["cccc", "aaaa", None]
    assert found.agrees(rows)
    other = {**rows, "A2": np.array(["aaaa"] * 15)}
    assert not found.agrees(other)


def test_numbers_and_nulls() -> None:
    rows = {"k": ["a", None, "c"] * 2, "v": [1.5, -0.5, 0.0] * 2}
    (found,) = dictionaries(discover(rows, {"k": 1, "v": 8}), rows)
    assert found.recovered({"k": ["c", None, "a", "a"]}).tolist() == [0.0, -0.5, 1.5, 1.5]
    assert found.agrees(rows)
    assert not found.agrees({"k": ["a"], "v": [1.6]})


def test_what_is_not_determined_is_refused() -> None:
    cycle = Cycle(("k",), 2, groups=(("k", "v"),))
    with pytest.raises(ValueError, match="does not determine"):
        dictionaries(cycle, {"k": ["a", "b", "a"], "v": [1, 2, 3]})
