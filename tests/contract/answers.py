"""What comes out of a query as plain data that two engines can be compared by.

A change is (instant, row, count): the row came so often, or left so often where the count is below zero.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from streamq.compiler.driver import compile_program
from streamq.runtime.reference.answers import Answer, Inputs
from streamq.runtime.reference.engine import EvaluateOptions, evaluate
from tests.contract.case import Case, Input, Row
from tests.contract.cases import PRELUDE

START = datetime(2024, 1, 1)
EPOCH = datetime(1970, 1, 1)
AS_SPARK = EvaluateOptions(watermark=True, closed=False, behind=1)

Changes = Counter[tuple[float, Row]]
"""How often each row came at each instant, less how often it left; nothing where that is nothing."""


def moment(second: float) -> datetime:
    return START + timedelta(seconds=second)


def plain(value: Any) -> Any:
    """Timestamps as seconds after the first instant of 2024, also those in arrays; all else as it is."""
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if isinstance(value, datetime):
        seconds = (value - START).total_seconds()
        return int(seconds) if seconds == int(seconds) else seconds
    return value


def rows_of(data: Input) -> Inputs:
    """The input as the reference evaluator takes it."""
    return {
        "s": [[(k, v, x, moment(at)) for k, v, x, at in batch] for batch in data.s],
        "r": [[(k, w, moment(at)) for k, w, at in batch] for batch in data.r],
        "t": [list(data.t)],
    }


def by_definition(query: str, data: Input, options: EvaluateOptions = AS_SPARK) -> Answer:
    """The answer of the reference evaluator."""
    result = compile_program(f"{PRELUDE}{query};")
    assert result.logical is not None, result.diagnostics
    return evaluate(result.logical, rows_of(data), options)["query"]


def changes_until(answer: Answer, second: float) -> Changes:
    """The elements of a stream, or the changes of a relation, up to an instant."""
    found: Changes = Counter()
    for change in answer.changes:
        at = plain(EPOCH + timedelta(microseconds=change.at))
        if at <= second:
            found[at, tuple(plain(v) for v in change.row)] += change.count
    return found


def expected_of(case: Case) -> Changes:
    """The answer of a case as it is written down."""
    if case.is_stream:
        return Counter((at, tuple(row)) for at, *row in case.rows)
    return net(((at, tuple(row)), sign) for at, sign, *row in case.rows)


def net(signed: Iterable[tuple[tuple[float, Row], str]]) -> Changes:
    """Changes with ``+`` and ``-`` added up: a row that leaves and comes at one instant does neither."""
    found: Changes = Counter()
    for change, sign in signed:
        found[change] += {"+": 1, "-": -1}[sign]
    return Counter({change: count for change, count in found.items() if count})


def net_of_rows(rows: Iterable[Row]) -> Changes:
    """The changes in rows that end with a sign and an instant, as a relation leaves Spark."""
    return net(((at, tuple(row)), sign) for *row, sign, at in rows)


def difference(found: Changes, expected: Changes) -> str:
    """The first instant at which the bags are not the same, and what they hold then; empty if none."""
    held: Counter[Row] = Counter()
    wanted: Counter[Row] = Counter()
    for at in sorted({at for at, _ in (*found, *expected)}):
        for bag, changes in ((held, found), (wanted, expected)):
            for (when, row), count in changes.items():
                if when == at:
                    bag[row] += count
        if any(held[row] != wanted[row] for row in {*held, *wanted}):
            return f"at {at}: {_shown(held)}, and not {_shown(wanted)}"
    return ""


def _shown(bag: Counter[Row]) -> str:
    return str(sorted(((row, n) for row, n in bag.items() if n), key=repr))
