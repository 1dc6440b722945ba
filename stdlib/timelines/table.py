"""Tables of numpy columns: what the stateful operators over changes work on and keep.

Every table of changes has these columns, each of int64:

- ``at``: the instant, in microseconds since the epoch;
- ``sign``: 1 where a row comes, -1 where it goes;
- ``end``: for a row that comes, the instant at which it goes, or ``FOREVER`` where a row of sign -1 will tell;
- ``side``: 0 or 1, the relation that the row belongs to;
- ``key``: hash of what the operator groups or joins by; ``row``: hash of the whole row;
- ``nulls``: bit i is set where the i-th value is NULL.

Values are in ``v0``, ``v1``, …: int64 (also booleans, dates as days, timestamps as microseconds), float64, or
object (texts and None). A NULL number is 0 in its column.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamq.dsl.records import dataclass, field

Column = NDArray[Any]
Table = dict[str, Column]
Index = NDArray[np.int64]

FOREVER = 2**63 - 1
"""No end is known."""

NEVER = -(2**63)
"""Before every instant."""

CHANGE = ("at", "sign", "end", "side", "key", "row", "nulls")
"""The columns of int64 that every table of changes has."""


@dataclass(frozen=True, slots=True)
class State:
    """What an operator keeps of one bucket. ``through``: the instant up to which its answer is given."""

    tables: Mapping[str, Table] = field(default_factory=dict)
    through: int = NEVER


def length(table: Table) -> int:
    """Rows of a table; 0 for one without columns."""
    return len(next(iter(table.values()))) if table else 0


def take(table: Table, index: Column) -> Table:
    """The rows at the positions, or those where a mask is true."""
    return {name: column[index] for name, column in table.items()}


def concat(tables: Iterable[Table]) -> Table:
    """The rows of all tables, which have the same columns; tables without rows are left out."""
    full = [t for t in tables if length(t)]
    if len(full) < 2:
        return full[0] if full else {}
    return {name: np.concatenate([t[name] for t in full]) for name in full[0]}


def spread(starts: Index, counts: Index) -> tuple[Index, Index]:
    """For each i the numbers ``starts[i], starts[i] + 1, …``, ``counts[i]`` of them, all in one array.

    Gives (i of each number, the numbers).
    """
    owner = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    before = np.cumsum(counts) - counts
    return owner, np.arange(len(owner), dtype=np.int64) - before[owner] + starts[owner]


def firsts(*columns: Column) -> Column:
    """True at each row of sorted columns that differs from the row before it."""
    size = len(columns[0])
    new = np.ones(size, dtype=bool)
    if size > 1:
        new[1:] = np.logical_or.reduce([c[1:] != c[:-1] for c in columns])
    return new
