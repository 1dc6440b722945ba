"""Row windows: which rows of a stream are in ``[ROWS n SLIDE m RANGE t]``, and when (ADR 0008)."""

from __future__ import annotations

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.timelines.facts import due
from streamq.stdlib.timelines.table import (
    FOREVER,
    NEVER,
    Column,
    Index,
    State,
    Table,
    concat,
    firsts,
    length,
    take,
)
from streamq.stdlib.timelines.timers import next_instant

__all__ = ["LastRows", "next_instant"]


@dataclass(frozen=True, slots=True)
class LastRows:
    """The last rows of each key of a stream, whose rows all have sign 1.

    Rows of a key are counted from 1 in order of time. Row i comes into the window at the instant of the first
    row whose number is a multiple of ``slide`` and at least i; it goes at that of the first such number that is
    at least i + ``rows``, or when it is ``range_us`` microseconds old. ``ties``: the values ``v<i>`` that put
    rows of one instant in order, NULL first, NaN last, texts by code point. ``nets``: where equal rows of a key
    come and go at one instant, neither is told.

    State: ``waiting``, the rows of later instants; ``held``, about ``rows + slide`` rows per key at most, each
    with its ``number`` and the instant at which it ``expires``; ``counts``, the rows so far per key.
    """

    rows: int
    slide: int = 1
    range_us: int | None = None
    ties: tuple[int, ...] = ()
    nets: bool = False

    def advance(self, state: State, rows: Table, upto: int) -> tuple[State, Table]:
        """What comes into the windows and what goes in (``state.through``, ``upto``]."""
        now, waiting = due(state.tables.get("waiting", {}), rows, upto)
        new = take(now, _in_order(now, self.ties)) if length(now) else {}
        counts = _counted(state.tables.get("counts", {}), new)
        table = concat((state.tables.get("held", {}), self._numbered(new, counts)))
        if not length(table):
            return State({"waiting": waiting, "held": {}, "counts": _kept(counts)}, upto), {}
        group = np.searchsorted(counts["key"], table["key"])
        enters, leaves = self._slid(table["number"]), self._slid(table["number"] + self.rows)
        start = _instants(enters, group, counts, new)
        end = np.minimum(_instants(leaves, group, counts, new), table["expires"])
        inside = start < end
        changes = concat((
            _changes(table, inside & (start > state.through), start, 1),
            _changes(table, inside & (end <= upto) & (end < FOREVER), end, -1),
        ))
        may_come = (start == FOREVER) & (enters < leaves)
        keep = (end > upto) & (inside | may_come)
        if self.nets:
            changes = _netted(changes)
        # Numbers matter only up to whole slides, so a key without rows at the end of one is as good as new.
        needed = counts["count"] % self.slide != 0
        needed[group[keep]] = True
        tables = {
            "waiting": waiting,
            "held": take(table, keep),
            "counts": _kept(take(counts, needed)),
        }
        return State(tables, upto), changes

    def _slid(self, number: Index) -> Index:
        """The first slide at or after each number."""
        return -(-number // self.slide) * self.slide

    def _numbered(self, new: Table, counts: Table) -> Table:
        """New rows in order, with their numbers and the instants at which they expire."""
        if not length(new):
            return {}
        group = np.searchsorted(counts["key"], new["key"])
        place = np.arange(len(group), dtype=np.int64)
        number = counts["before"][group] + place - counts["first"][group] + 1
        if self.range_us is None:
            expires = np.full(len(number), FOREVER)
        else:
            expires = np.minimum(new["at"], FOREVER - self.range_us) + self.range_us
        return {**new, "number": number, "expires": expires}


def _in_order(rows: Table, ties: tuple[int, ...]) -> Index:
    """The order of the rows by key and time; those of one instant by their values."""
    order = np.lexsort((rows["at"], rows["key"]))
    new = firsts(rows["key"][order], rows["at"][order])
    alone = new & np.append(new[1:], True)
    tied = np.flatnonzero(~alone)
    if len(tied):
        some = take(rows, order[tied])
        # Rows that are equal in all of these may still differ; by their hash they are ordered alike in every run.
        parts = [some["row"]]
        for i in reversed(ties):
            parts += _ranks(some[f"v{i}"], (some["nulls"] >> i) & 1)
        order[tied] = order[tied][np.lexsort((*parts, some["at"], some["key"]))]
    return order


def _ranks(values: Column, null: Column) -> tuple[Column, Column]:
    """A column to sort by, and one that goes before it: 0 where NULL, 1 elsewhere."""
    if values.dtype == object:
        # Texts are compared once, here; sorts of several columns then compare numbers.
        texts = np.where(null == 1, "", values)
        return np.unique(texts, return_inverse=True)[1], 1 - null
    return np.where(null == 1, 0, values), 1 - null


def _counted(old: Table, new: Table) -> Table:
    """Per key, in order: how many rows there were ``before``, the ``count`` now, the place of the ``first`` new one."""
    if not length(new):
        none = np.zeros(length(old), dtype=np.int64)
        return {**old, "before": old["count"], "first": none} if old else {}
    starts = np.flatnonzero(firsts(new["key"]))
    sizes = np.diff(np.append(starts, len(new["key"])))
    if not length(old):
        old = {"key": starts[:0], "count": starts[:0]}
    keys = np.unique(np.concatenate((old["key"], new["key"][starts])))
    before, more, first = (np.zeros(len(keys), dtype=np.int64) for _ in range(3))
    before[np.searchsorted(keys, old["key"])] = old["count"]
    group = np.searchsorted(keys, new["key"][starts])
    more[group], first[group] = sizes, starts
    return {"key": keys, "count": before + more, "before": before, "first": first}


def _kept(counts: Table) -> Table:
    """What the state keeps of the counts."""
    return {name: counts[name] for name in ("key", "count")} if counts else {}


def _instants(numbers: Index, group: Index, counts: Table, new: Table) -> Index:
    """The instants of rows by their numbers: NEVER for those from before, FOREVER for those still to come."""
    before, count = counts["before"][group], counts["count"][group]
    instants = np.where(numbers <= before, NEVER, FOREVER)
    known = np.flatnonzero((numbers > before) & (numbers <= count))
    if len(known):
        place = counts["first"][group[known]] + numbers[known] - before[known] - 1
        instants[known] = new["at"][place]
    return instants


def _changes(table: Table, which: Column, at: Index, sign: int) -> Table:
    """Rows of the table as changes of one sign at the given instants."""
    some = take({n: c for n, c in table.items() if n not in ("number", "expires")}, which)
    none = np.zeros(length(some), dtype=np.int64)
    return {**some, "at": at[which], "sign": none + sign, "end": none + FOREVER, "side": none}


def _netted(changes: Table) -> Table:
    """The changes without those that cancel each other: equal rows of a key that come and go at one instant."""
    if not length(changes):
        return changes
    comes = changes["sign"] > 0
    # Most rows have no counterpart, which one comparison of numbers tells.
    mixed = changes["row"] * 31 + changes["at"] + changes["key"] * 17
    both = np.flatnonzero(np.isin(mixed, np.intersect1d(mixed[comes], mixed[~comes])))
    if not len(both):
        return changes
    order = both[np.lexsort((changes["sign"][both], *(changes[n][both] for n in ("at", "row", "key"))))]
    same = np.cumsum(firsts(*(changes[n][order] for n in ("key", "row", "at")))) - 1
    sign = changes["sign"][order]
    gone = np.bincount(same, sign < 0).astype(np.int64)
    come = np.bincount(same, sign > 0).astype(np.int64)
    start = np.flatnonzero(firsts(same))
    place = np.arange(len(order)) - start[same]
    # Of each set the rows that go stand first.
    place[sign > 0] -= gone[same[sign > 0]]
    keep = np.ones(length(changes), dtype=bool)
    keep[order] = place >= np.minimum(gone, come)[same]
    return take(changes, keep)
