"""By what the rows of a stream are told apart that come again and again: its cycle key, and after how many rows it repeats.

Attributes that repeat are put together where they determine each other; of each such group the narrowest attribute is a
candidate, and of these the key takes those that make the cycle longer (Ahuja 2006, section 3.1.1, Algorithm 1). The length
is the least common multiple of their periods. ``FAITHFUL`` is the algorithm of the thesis: groups by equal periods alone,
and their product for the length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import lcm, prod

import numpy as np

from streamq.dsl.records import dataclass, field, replace
from streamq.stdlib.attributes.columns import (
    Columns,
    Ints,
    codes,
    combined,
    encoded_bytes,
    row_count,
)
from streamq.stdlib.attributes.kinds import MIN_CYCLES, CycleMode
from streamq.stdlib.attributes.periods import first_repeat, period, repeated


class NoCycle(ValueError):
    """No attribute repeats."""

    def __init__(self) -> None:
        super().__init__("no attribute repeats: name the key and the length of the cycle, CYCLE BY (...) LENGTH n")


@dataclass(frozen=True, slots=True)
class Cycle:
    """A cycle of ``length`` rows (L), told apart by ``key``, and by the position in the cycle where ``ordinal``.

    ``checked``: that they are told apart was seen in a cycle; else ``checked_with`` has to see the first one. ``periods``:
    of all attributes, None where there is none. ``groups``: attributes that determine each other, in declaration order.
    """

    key: tuple[str, ...]
    length: int
    ordinal: bool = False
    checked: bool = True
    periods: Mapping[str, int | None] = field(default_factory=dict)
    groups: tuple[tuple[str, ...], ...] = ()

    def key_codes(self, columns: Columns) -> Ints:
        """A number for the key of each row, from 0. ValueError where the key is not there."""
        missing = [name for name in self.key if name not in columns]
        if missing:
            raise ValueError(f"the cycle key {', '.join(missing)} is not among the attributes")
        of = [codes(columns[name]) for name in self.key]
        if self.ordinal:
            of.append(np.arange(row_count(columns), dtype=np.int64) % self.length)
        return combined(of)

    def checked_with(self, columns: Columns) -> Cycle:
        """Told by the first rows that came: the position is added where no ``length`` of them in a row have different keys.

        A row that is missing or comes twice makes no difference where there are rows of two cycles; less than one is no
        check.
        """
        keys = replace(self, ordinal=False).key_codes(columns)
        if len(keys) < self.length:
            return self
        return replace(self, checked=True, ordinal=_longest_distinct(keys) < self.length)

    def repeats(self, columns: Columns) -> float:
        """The share of later whole cycles whose keys are those of the first, in their order; 1 where there is none."""
        of = self.key_codes(columns)
        cycles = of[: len(of) // self.length * self.length].reshape(-1, self.length)
        return float(np.all(cycles[1:] == cycles[:1], axis=1).mean()) if len(cycles) > 1 else 1.0

    @property
    def determined(self) -> Mapping[str, str]:
        """Attributes that an attribute of the key determines, and which: they can be shed and lose nothing."""
        return {a: k for group in self.groups for k in group if k in self.key for a in group if a != k and a not in self.key}


def declared(key: Sequence[str], length: int) -> Cycle:
    """What the user says of a stream. ValueError without attributes, with one twice, or for no rows."""
    if not key or len(set(key)) != len(key) or length < 1:
        raise ValueError("a cycle has a key of different attributes, and at least one row")
    return Cycle(tuple(key), length, checked=False)


def discover(
    columns: Columns, attr_bytes: Mapping[str, float] | None = None, min_cycles: int = MIN_CYCLES,
    tolerance: float = 0.0, mode: CycleMode = "RESOLVED", max_period: int | None = None,
) -> Cycle:
    """The cycle of a stream, from its first rows.

    ``attr_bytes``: widths, measured where they are not given. ``tolerance``, ``max_period``: see ``period``; rows that are
    missing, late, or come twice need a tolerance of about the share of them, for each. ``NoCycle`` where no attribute
    repeats, ValueError for other bad input.
    """
    rows = row_count(columns)
    of = {name: codes(values) for name, values in columns.items()}
    width = {name: encoded_bytes(columns[name]) if attr_bytes is None else attr_bytes[name] for name in columns}
    if mode == "FAITHFUL":
        return _faithful({name: first_repeat(c) for name, c in of.items()}, width, of, rows)
    periods = {name: period(c, min_cycles, tolerance, max_period) for name, c in of.items()}
    groups = _groups(periods, of)
    if not groups:
        raise NoCycle
    found = [_narrowest(group, width) for group in groups]
    start = {name: _start(of, periods, [name], _period(periods, name)) or 0 for name in found}
    injective = {name: _distinct(of, [name], start[name], _period(periods, name)) for name in found}
    key: list[str] = []
    length = 1
    for name in sorted(found, key=lambda a: (not injective[a], -_period(periods, a), width[a])):
        if length % _period(periods, name):
            key.append(name)
            length = lcm(length, _period(periods, name))
    first = 0 if tolerance == 0 else _start(of, periods, key, length)
    seen = first is not None and first + length <= rows
    ordinal = seen and not _distinct(of, key, first or 0, length)
    return Cycle(tuple(key), length, ordinal, seen, periods, groups)


def _faithful(
    periods: Mapping[str, int | None], width: Mapping[str, float], of: Mapping[str, Ints], rows: int
) -> Cycle:
    """One attribute for each period there is, and their product."""
    lengths = sorted({d for d in periods.values() if d is not None})
    if not lengths:
        raise NoCycle
    groups = tuple(tuple(name for name, d in periods.items() if d == length) for length in lengths)
    key = tuple(_narrowest(group, width) for group in groups)
    length = prod(lengths)
    return Cycle(key, length, False, length <= rows and _distinct(of, key, 0, length), periods, groups)


def _groups(periods: Mapping[str, int | None], of: Mapping[str, Ints]) -> tuple[tuple[str, ...], ...]:
    """Attributes of equal periods that determine each other: numbered by first occurrence, they are the same sequence."""
    found: dict[tuple[int, bytes], list[str]] = {}
    for d in dict.fromkeys(d for d in periods.values() if d is not None):
        names = [name for name, p in periods.items() if p == d]
        first = _start(of, periods, names, d) or 0
        for name in names:
            found.setdefault((d, _pattern(of[name][first : first + d])), []).append(name)
    return tuple(tuple(group) for group in found.values())


def _pattern(codes: Ints) -> bytes:
    """The sequence with its values numbered by their first occurrence."""
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[inverse], dtype=np.int64).tobytes()


def _start(
    of: Mapping[str, Ints], periods: Mapping[str, int | None], names: Sequence[str], length: int
) -> int | None:
    """The first row of a cycle in which nothing is missing: as many rows that their successors by a period repeat."""
    end = min(len(of[name]) - _period(periods, name) for name in names)
    good = np.all([repeated(of[name], _period(periods, name))[:end] for name in names], axis=0)
    seen = np.concatenate([[0], np.cumsum(good)])
    starts = np.flatnonzero(seen[length:] - seen[: max(len(seen) - length, 0)] == length)
    return int(starts[0]) if len(starts) else None


def _distinct(of: Mapping[str, Ints], names: Sequence[str], first: int, length: int) -> bool:
    """Whether the attributes tell the rows of a cycle apart."""
    return int(combined(of[name][first : first + length] for name in names).max()) + 1 == length


def _longest_distinct(keys: Ints) -> int:
    """The largest number of rows in a row of which no two have the same key."""
    order = np.argsort(keys, kind="stable")
    before = np.full(len(keys), -1, dtype=np.int64)
    before[order[1:]] = np.where(np.diff(keys[order]) == 0, order[:-1], -1)
    return int((np.arange(len(keys)) - np.maximum.accumulate(before)).max())


def _narrowest(group: Sequence[str], width: Mapping[str, float]) -> str:
    return min(group, key=lambda name: width[name])


def _period(periods: Mapping[str, int | None], name: str) -> int:
    d = periods[name]
    assert d is not None, name
    return d
