"""How often each row is there, on each of two sides, and what follows from that."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.timelines.facts import due
from streamq.stdlib.timelines.table import (
    FOREVER,
    Column,
    Index,
    State,
    Table,
    concat,
    firsts,
    length,
    take,
)

Rule = Callable[[Index, Index], Index]

RULES: dict[str, Rule] = {
    "keep": lambda left, _: left,
    "once": lambda left, _: np.minimum(left, 1),
    "alone": lambda left, right: np.where(right == 0, left, 0),
    "except": lambda left, right: ((left > 0) & (right == 0)).astype(np.int64),
    "except_all": lambda left, right: np.maximum(left - right, 0),
    "intersect": lambda left, right: ((left > 0) & (right > 0)).astype(np.int64),
    "intersect_all": np.minimum,
}
"""How often a row is in the result, from how often it is in the left and in the right relation."""

COUNTS = ("left", "right")


@dataclass(frozen=True, slots=True)
class Counts:
    """Compares two bags row by row, by the hash in ``row``. ``rule``: one of ``RULES``.

    What comes and goes of one row at one instant is netted: with the rule ``keep`` the result is the input's
    own changes, in order of time, without those that cancel each other.
    """

    rule: str

    def advance(self, state: State, rows: Table, upto: int) -> tuple[State, Table]:
        """The changes of the result in (``state.through``, ``upto``]."""
        now, waiting = due(state.tables.get("waiting", {}), _signed(rows), upto)
        held = state.tables.get("held", {})
        if not length(now):
            return State({"waiting": waiting, "held": held}, upto), {}
        changed, held = _counted(held, now)
        return State({"waiting": waiting, "held": held}, upto), self._result(changed)

    def _result(self, changed: Table) -> Table:
        rule = RULES[self.rule]
        more = rule(changed["left"], changed["right"]) - rule(changed["left_before"], changed["right_before"])
        index = np.repeat(np.arange(len(more)), np.abs(more))
        out = take({n: c for n, c in changed.items() if not n.startswith(COUNTS)}, index)
        size = len(index)
        return {
            **out, "sign": np.sign(more)[index], "side": np.zeros(size, dtype=np.int64),
            "end": np.full(size, FOREVER, dtype=np.int64),
        }


def _signed(rows: Table) -> Table:
    """The changes with one of sign -1 for each end that is known."""
    if not length(rows):
        return rows
    rows = take(rows, rows["end"] > rows["at"])
    known = take(rows, rows["end"] < FOREVER)
    size = length(known)
    ends = {**known, "at": known["end"], "sign": np.full(size, -1, dtype=np.int64)}
    both = concat((rows, ends))
    return {**both, "end": np.full(length(both), FOREVER, dtype=np.int64)} if both else rows


def _counted(held: Table, now: Table) -> tuple[Table, Table]:
    """Each row at each instant at which it changes, with its counts then and before; and the counts at the end."""
    size = length(now)
    zero = np.zeros(size, dtype=np.int64)
    left = np.where(now["side"] == 0, now["sign"], zero)
    table = {**now, "left": left, "right": now["sign"] - left, "known": zero}
    if length(held):
        table = concat(({**held, "known": np.ones(length(held), dtype=np.int64)}, table))
    table = take(table, np.lexsort((table["at"], -table["known"], table["row"])))
    new_row = firsts(table["row"])
    row_of = np.cumsum(new_row) - 1
    for name in COUNTS:
        total = np.cumsum(table[name])
        before = (total - table[name])[new_row]
        table[name] = total - before[row_of]
    new_instant = firsts(table["row"], table["at"], table["known"])
    last = np.append(np.flatnonzero(new_instant)[1:], len(new_instant)) - 1
    table = take(table, last)
    new_row = firsts(table["row"])
    for name in COUNTS:
        table[f"{name}_before"] = np.where(new_row, 0, np.concatenate(([0], table[name][:-1])))
    ends = np.append(np.flatnonzero(new_row)[1:], len(new_row)) - 1
    final = take(table, ends)
    kept = take(final, (final["left"] != 0) | (final["right"] != 0))
    inner = ("known", "left_before", "right_before")
    changed = take(table, table["known"] == 0)
    return _in_order(_without(changed, ("known",))), _without(kept, inner)


def _in_order(table: Table) -> Table:
    return take(table, np.argsort(table["at"], kind="stable"))


def _without(table: Table, names: tuple[str, ...]) -> dict[str, Column]:
    return {n: c for n, c in table.items() if n not in names}
