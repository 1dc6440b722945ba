"""What the values of an operator's state are called: after the aggregates of the query, which Spark keeps in their order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

_BUFFERS = {
    "count": (("count",),), "min": (("min",),), "max": (("max",),), "avg": (("sum", "count"),),
    "sum": (("sum", "isEmpty"), ("sum",)),
}
"""What Spark keeps for a function, the longest first."""

_FUNCTION = re.compile(r"(\w+)\(")
_COLUMN = re.compile(r"`([^`]*) [A-Z]+[^`]*`")
_OF_ESTIMATES = ("__weight", "sum(1.0D)")


def value_names(aggregates: Sequence[str], fields: Sequence[str]) -> tuple[str, ...]:
    """A name for each field of a value, no two alike; ``fields``: the names that Spark has, ``sum`` for each sum.

    Where an aggregate keeps what is not known here the names are Spark's, with a number where they come again.
    """
    found = tuple(_named(aggregates, tuple(fields)))
    return _counted(found if len(found) == len(fields) else fields)


def _named(aggregates: Sequence[str], fields: tuple[str, ...]) -> Iterator[str]:
    at = 0
    for text in aggregates:
        function = _FUNCTION.match(text)
        kept = _BUFFERS.get(function[1], ()) if function is not None else ()
        names = next((names for names in kept if fields[at : at + len(names)] == names), None)
        if names is None:
            return
        shown = _COLUMN.sub(r"\1", text)
        shown = f"for estimates: {shown}" if any(word in text for word in _OF_ESTIMATES) else shown
        yield from (shown,) if len(names) == 1 else (f"{shown}.{name}" for name in names)
        at += len(names)


def _counted(names: Sequence[str]) -> tuple[str, ...]:
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return tuple(found)
