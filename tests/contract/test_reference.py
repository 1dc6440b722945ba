"""The reference evaluator gives the answers that were worked out by hand."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import pytest

from streamq.compiler.driver import compile_program
from streamq.runtime.reference.answers import Answer, Inputs
from streamq.runtime.reference.engine import EvaluateOptions, evaluate
from tests.contract.cases import CASES, PRELUDE, R, S, T

START = datetime(2024, 1, 1)
AS_SPARK = EvaluateOptions(watermark=True, closed=False, behind=1)

APPEAR_AND_LEAVE = {"left join within ranges", "full join within ranges"}
"""Outer joins of [RANGE] windows: on Spark a row without a partner comes once, when it can no longer
get one (ADR 0006); by definition it comes at once, and leaves when a partner comes."""


def moment(second: float) -> datetime:
    return START + timedelta(seconds=second)


def plain(value: Any) -> Any:
    """Timestamps as seconds after the first instant of 2024, all else as it is."""
    if isinstance(value, datetime):
        seconds = (value - START).total_seconds()
        return int(seconds) if seconds == int(seconds) else seconds
    return value


def inputs() -> Inputs:
    return {
        "s": [[(k, v, x, moment(t)) for k, v, x, t in batch] for batch in S],
        "r": [[(k, w, moment(t)) for k, w, t in batch] for batch in R],
        "t": [[(row["k"], row["name"]) for row in batch] for batch in T],
    }


def answer(query: str) -> Answer:
    result = compile_program(f"{PRELUDE}{query};")
    assert result.logical is not None
    return evaluate(result.logical, inputs(), AS_SPARK)["query"]


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
