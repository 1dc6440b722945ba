"""Joins of relations that move: a pair is there while both of its rows are (ADR 0008)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.timelines.facts import advance_facts, due
from streamq.stdlib.timelines.table import (
    FOREVER,
    Column,
    Index,
    State,
    Table,
    concat,
    firsts,
    length,
    spread,
    take,
)
from streamq.stdlib.timelines.timers import next_instant

__all__ = ["Pairs", "next_instant"]

PIECE = 4_000_000
"""Pairs that are found at once, more or less."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """The pairs of a row of side 0 and a row of side 1 that have equal keys.

    ``left``, ``right``: which of the values ``v<i>`` belong to side 0 and to side 1. ``passed``: the sides whose own
    changes are given too, as they come, with ``side`` 1 for the left and 2 for the right; pairs have 0.
    State: ``waiting``, the changes of later instants, and ``facts``, the rows of both sides that hold.
    """

    left: tuple[int, ...]
    right: tuple[int, ...]
    passed: tuple[int, ...] = ()

    def advance(self, state: State, rows: Table, upto: int) -> tuple[State, Table]:
        """The pairs that come and go in (``state.through``, ``upto``], each with a change of its own."""
        now, waiting = due(state.tables.get("waiting", {}), rows, upto)
        facts, held = advance_facts(state.tables.get("facts", {}), now, upto)
        pieces = [
            self._changes(facts, pair, state.through, upto)
            for pair in _moving(facts, state.through, upto)
        ]
        own = [self._passed(rows, side) for side in self.passed if length(rows)]
        return State({"waiting": waiting, "facts": held}, upto), concat((*pieces, *own))

    def _passed(self, rows: Table, side: int) -> Table:
        """The changes of one side as they are, with NULL for the values of the other."""
        table = take(rows, rows["side"] == side)
        others = _bits(self.left if side else self.right)
        return {
            **table, "side": table["side"] + 1, "row": np.zeros_like(table["row"]),
            "nulls": table["nulls"] | others,
        }

    def _changes(self, facts: Table, pair: tuple[Index, Index], through: int, upto: int) -> Table:
        """What comes and goes of pairs, which are given as positions of their facts."""
        left, right = pair
        start = np.maximum(facts["at"][left], facts["at"][right])
        end = np.minimum(facts["end"][left], facts["end"][right])
        comes = np.flatnonzero(start > through)
        goes = np.flatnonzero((end <= upto) & (end < FOREVER))
        which = np.concatenate((comes, goes))
        left, right = left[which], right[which]
        nulls, none = facts["nulls"], np.zeros(len(which), dtype=np.int64)
        sides = dict.fromkeys(self.left, left) | dict.fromkeys(self.right, right)
        return {
            "at": np.concatenate((start[comes], end[goes])),
            "sign": np.repeat(np.array((1, -1), dtype=np.int64), (len(comes), len(goes))),
            "end": none + FOREVER,
            "side": none,
            "key": facts["key"][left],
            "row": none,
            "nulls": nulls[left] & _bits(self.left) | nulls[right] & _bits(self.right),
            **{f"v{i}": facts[f"v{i}"][sides[i]] for i in sorted(sides)},
        }


def _bits(values: tuple[int, ...]) -> np.int64:
    """The bits of these values in ``nulls``."""
    one = np.int64(1)
    return np.int64(np.bitwise_or.reduce(np.left_shift(one, np.array(values, dtype=np.int64))))


def _moving(facts: Table, through: int, upto: int) -> Iterator[tuple[Index, Index]]:
    """The pairs that come or go in the stretch, as positions (left, right) of their facts, in pieces.

    Of two facts that meet, one comes later, at an instant at which the other is there: so the pairs that come
    are, for each fact, the new ones of the other side with an ``at`` in a range. The pairs that were there
    before and go are those of a fact that ends with all facts from before on the other side. No pair is
    found twice, and none that has nothing to tell.
    """
    if not length(facts):
        return
    new, gone = facts["at"] > through, facts["end"] <= upto
    among, group = _touched(facts["key"], new | gone)
    facts, new, gone = take(facts, among), new[among], gone[among]
    instants = np.unique(np.concatenate((facts["at"], facts["end"])))
    first = group * len(instants)
    comes = first + np.searchsorted(instants, facts["at"])
    goes = first + np.searchsorted(instants, facts["end"])
    last = first + len(instants)
    left, right = facts["side"] == 0, facts["side"] == 1
    # Facts of both sides that come at one instant are found from the left.
    for a, b in _within(left, comes, goes, right & new, comes):
        yield among[a], among[b]
    for b, a in _within(right, comes + 1, goes, left & new, comes):
        yield among[a], among[b]
    for a, b in _within(left & ~new & gone, first, last, right & ~new, comes):
        yield among[a], among[b]
    for b, a in _within(right & ~new & gone, first, last, left & ~new & ~gone, comes):
        yield among[a], among[b]


def _touched(key: Index, moved: Column) -> tuple[Index, Index]:
    """The positions of the facts whose key has a fact that moved, and a number for the key of each."""
    keys = np.unique(key[moved])
    group = np.searchsorted(keys, key)
    known = np.append(keys, 0)[group] == key
    among = np.flatnonzero(known & (group < len(keys)))
    return among, group[among]


def _within(
    owner: Column, low: Index, high: Index, member: Column, place: Index
) -> Iterator[tuple[Index, Index]]:
    """For each owner the members with a place in [low, high), as positions (owner, member), in pieces."""
    owners, members = np.flatnonzero(owner), np.flatnonzero(member)
    if not len(owners) or not len(members):
        return
    members = members[np.argsort(place[members], kind="stable")]
    places = place[members]
    starts = np.searchsorted(places, low[owners])
    counts = np.searchsorted(places, high[owners]) - starts
    found = np.flatnonzero(counts)
    owners, starts, counts = owners[found], starts[found], counts[found]
    pieces = np.flatnonzero(firsts((np.cumsum(counts) - 1) // PIECE))
    for some in np.split(np.arange(len(owners)), pieces[1:]):
        which, number = spread(starts[some], counts[some])
        yield owners[some][which], members[number]
