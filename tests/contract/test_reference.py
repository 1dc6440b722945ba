"""The reference evaluator gives the answers of ``cases.py``, which Spark is held against too."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from streamq.runtime.reference.answers import Answer
from tests.contract.answers import by_definition, plain
from tests.contract.case import MAIN
from tests.contract.cases import CASES

APPEAR_AND_LEAVE = {"left join within ranges", "full join within ranges"}
"""Outer joins of [RANGE] windows: on Spark a row without a partner comes once, when it can no longer
get one (ADR 0006); by definition it comes at once, and leaves when a partner comes."""


def answer(query: str) -> Answer:
    return by_definition(query, MAIN)


def bag(found: Answer) -> Counter[tuple[Any, ...]]:
    return Counter({tuple(plain(v) for v in row): n for row, n in found.rows().items()})


@pytest.mark.parametrize("name", [name for name in CASES if name not in APPEAR_AND_LEAVE])
def test_construct(name: str) -> None:
    query, expected = CASES[name]
    found = answer(query)
    if found.is_stream:
        assert bag(found) == Counter(expected)
    else:
        # Spark gives each row of a relation that a batch changed; the end is among them.
        assert bag(found) <= Counter(expected)
        assert bag(found)


@pytest.mark.parametrize("name", sorted(APPEAR_AND_LEAVE))
def test_outer_joins_of_ranges_end_with_the_same_pairs(name: str) -> None:
    query, expected = CASES[name]
    pairs = {row for row in expected if None not in row}
    assert {row for row in bag(answer(query)) if None not in row} == pairs
