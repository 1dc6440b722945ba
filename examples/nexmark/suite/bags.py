"""Answers as bags of rows, so that three engines' values can be compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

Bag = Counter[tuple[object, ...]]
"""How often each row is in an answer."""


def bag_of(rows: Iterable[Sequence[object]]) -> Bag:
    """The rows by the order of their columns; names of columns do not count."""
    return Counter(tuple(map(plain, row)) for row in rows)


def plain(value: object) -> object:
    """Floats to nine digits, for engines add in any order; times in UTC; structs and arrays as tuples."""
    match value:
        case float():
            return float(f"{value:.9g}")
        case datetime():
            return value.replace(tzinfo=None)
        case dict():
            return tuple(map(plain, value.values()))
        case list() | tuple():
            return tuple(map(plain, value))
        case _:
            return value


def differences(found: Bag, expected: Bag, most: int = 3) -> tuple[str, ...]:
    """Nothing where the answers are equal; else how much is missing and too much, and examples."""
    missing, more = expected - found, found - expected
    if not missing and not more:
        return ()
    return (
        f"{missing.total():,} missing, {more.total():,} too much",
        *(f"- {row}" for row in list(missing)[:most]),
        *(f"+ {row}" for row in list(more)[:most]),
    )
