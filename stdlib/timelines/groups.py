"""Aggregates over relations that move: one row per group and stretch of time in which it does not change (ADR 0008)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.timelines.facts import advance_facts, due
from streamq.stdlib.timelines.folds import (
    FOLDS,
    Fold,
    combine,
    finish,
    is_null,
    lift,
    needs_members,
)
from streamq.stdlib.timelines.members import different_rows, fold_members
from streamq.stdlib.timelines.spans import Spans, totals
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


@dataclass(frozen=True, slots=True)
class Groups:
    """The operator that groups rows by ``key`` and computes aggregates of each group.

    ``keys``: positions of the value columns that a group's rows have in common; they come first in its row, the
    aggregates follow. ``whole``: all rows are one group, which has a row from the first one on, even when it is empty.
    ``grows``: the promise that rows come and never go; then only what the aggregates need of them is kept: a few
    numbers, or for those of ``members.py`` their arguments, of each row or of each that is different.

    Raises ``ValueError`` for an aggregate that is not known.
    """

    keys: tuple[int, ...]
    folds: tuple[Fold, ...]
    whole: bool
    grows: bool = False

    def __post_init__(self) -> None:
        """Checks the aggregates."""
        for fold in self.folds:
            if fold.name not in FOLDS:
                raise ValueError(f"no such aggregate: {fold.name}")

    def advance(self, state: State, rows: Table, upto: int) -> tuple[State, Table]:
        """The state at ``upto``, and the changes of the groups' rows after ``state.through`` until then.

        ``rows``: changes after ``state.through``, in any order; those after ``upto`` wait. ``upto`` never goes back.
        The changes come in order of time; rows that go stand before those that come. Raises ``ValueError``
        where a row goes although ``grows`` says that none does.
        """
        kept = state.tables
        changes, waiting = due(kept.get("waiting", {}), rows, upto)
        facts: Table = changes
        held: Table = {}
        if not self.grows:
            facts, held = advance_facts(kept.get("facts", {}), changes, upto)
        elif length(facts) and ((facts["sign"] < 0) | (facts["end"] != FOREVER)).any():
            raise ValueError("a row goes from a group that only grows")
        tables = {**kept, "waiting": waiting, "facts": held}
        found: Table = {}
        steps = _steps(facts, state.through, upto) if length(facts) else None
        if steps is not None:
            given, sums, members, there = self._rows(steps, kept)
            tables["sums"], tables["members"] = sums, members
            tables["results"], found = _changes(steps, kept.get("results", {}), given, there)
        full = {name: table for name, table in tables.items() if length(table)}
        return State(full, max(state.through, upto)), found

    def _rows(self, steps: _Steps, kept: Mapping[str, Table]) -> tuple[Table, Table, Table, Column]:
        """The row of each stretch, what is kept of groups that grow, and in which stretches there is a row."""
        size = len(steps.at)
        sums = kept.get("sums", {})
        place = _places(sums["key"], steps.groups) if length(sums) else steps.groups[:0]
        again = np.flatnonzero(place >= 0)
        spans = steps.spans.and_more(steps.starts[again], steps.stops[again])
        row: Table = {"key": steps.key, "nulls": np.zeros(size, dtype=np.int64)}
        ends: Table = {"key": steps.groups}
        for i, k in enumerate(self.keys):
            values = steps.members[f"v{k}"][steps.example][steps.group]
            # All zeros are one value, so they are given as one.
            row[f"v{i}"] = values + 0.0 if values.dtype == np.float64 else values
            _mark(row, i, is_null(steps.members, k)[steps.example][steps.group])
        members, all_spans, left = self._members(steps, kept.get("members", {}))
        for i, fold in enumerate(self.folds):
            if needs_members(fold):
                values, null = fold_members(fold, members, all_spans)
            else:
                parts = lift(fold, steps.members)
                if len(again):
                    parts = concat((parts, {n: sums[f"f{i}_{n}"][place[again]] for n in parts}))
                parts = combine(fold, parts, spans)
                values, null = finish(fold, parts)
                ends |= {f"f{i}_{name}": column[steps.stops - 1] for name, column in parts.items()}
            row[f"v{len(self.keys) + i}"] = values
            _mark(row, len(self.keys) + i, null)
        if self.grows:
            return row, _updated(sums, ends), left, np.ones(size, dtype=bool)
        there = totals(np.ones(len(spans.first), dtype=np.int64), spans) > 0
        return row, {}, {}, there | self.whole

    def _members(self, steps: _Steps, kept: Table) -> tuple[Table, Spans, Table]:
        """All members of the groups that change, their spans, and what is kept of groups that grow."""
        looking = [fold for fold in self.folds if needs_members(fold)]
        if not (self.grows and looking):
            return steps.members, steps.spans, {}
        places = sorted({place for fold in looking for place in fold.args})
        names = ("key", "at", "nulls", *(f"v{place}" for place in places))
        now = {name: steps.members[name] for name in names}
        if not length(kept):
            return now, steps.spans, self._worth_keeping(now, places)
        place = _places(steps.groups, kept["key"])
        ours = place >= 0
        spans = steps.spans.and_more(steps.starts[place[ours]], steps.stops[place[ours]])
        now = concat((now, take(kept, ours)))
        left = concat((take(kept, ~ours), self._worth_keeping(now, places)))
        return now, spans, left

    def _worth_keeping(self, members: Table, places: Sequence[int]) -> Table:
        """One of equal members, where all aggregates that look at them count it once."""
        if all(fold.distinct for fold in self.folds if needs_members(fold)):
            return different_rows(members, places)
        return members


@dataclass(frozen=True, slots=True)
class _Steps:
    """The instants at which groups change, in order of group and time; a stretch follows each.

    ``key``, ``at``, ``group``: of each stretch, ``group`` the position of its group in ``groups``. ``starts``, ``stops``:
    the first stretch of each group, and the one after its last. ``members``: the facts of these groups, which
    hold over ``spans``. ``example``: a member of each group.
    """

    key: Index
    at: Index
    group: Index
    groups: Index
    starts: Index
    stops: Index
    members: Table
    spans: Spans
    example: Index


def _steps(facts: Table, through: int, upto: int) -> _Steps | None:
    """The changes of groups after ``through`` until ``upto``; None without any."""
    comes = np.flatnonzero(facts["at"] > through)
    goes = np.flatnonzero((facts["end"] <= upto) & (facts["end"] != FOREVER))
    if not len(comes) + len(goes):
        return None
    key = facts["key"][np.concatenate((comes, goes))]
    at = np.concatenate((facts["at"][comes], facts["end"][goes]))
    order = np.lexsort((at, key))
    new = firsts(key[order], at[order])
    step = np.empty(len(order), dtype=np.int64)
    step[order] = np.cumsum(new) - 1
    key, at = key[order][new], at[order][new]
    opening = firsts(key)
    starts = np.flatnonzero(opening)
    stops = np.append(starts[1:], len(key))
    place = _places(key[starts], facts["key"])
    first, last = starts[place], stops[place]
    first[comes], last[goes] = step[: len(comes)], step[len(comes) :]
    ours = np.flatnonzero(place >= 0)
    example = np.empty(len(starts), dtype=np.int64)
    example[place[ours]] = np.arange(len(ours))
    spans = Spans(first[ours], last[ours], len(key))
    group = np.cumsum(opening) - 1
    return _Steps(key, at, group, key[starts], starts, stops, take(facts, ours), spans, example)


def _changes(steps: _Steps, results: Table, given: Table, there: Column) -> tuple[Table, Table]:
    """The last row of each group, and the changes from row to row.

    ``results``: the last rows so far. ``given``: the row of each stretch, where it is ``there``.
    """
    size, old = len(steps.at), length(results)
    rows = concat((results, given))
    after = np.arange(old, old + size)
    before = after - 1
    before[steps.starts] = _places(results["key"], steps.groups) if old else -1
    gone = np.append(False, there[:-1])
    gone[steps.starts] = before[steps.starts] >= 0
    both = np.flatnonzero(gone & there)
    same = both[_equal(rows, before[both], after[both])]
    moved = np.ones(size, dtype=bool)
    moved[same] = False
    goes, comes = np.flatnonzero(gone & moved), np.flatnonzero(there & moved)
    sign = np.repeat(np.array((-1, 1)), (len(goes), len(comes)))
    at = steps.at[np.concatenate((goes, comes))]
    found = take(rows, np.concatenate((before[goes], after[comes])))
    order = np.lexsort((sign, found["key"], at))
    zero = np.zeros(len(order), dtype=np.int64)
    change = {"at": at, "sign": sign, "end": zero + FOREVER, "side": zero, "row": zero, **found}
    ends = take(given, steps.stops - 1)
    left = take(results, ~_among(results["key"], steps.groups)) if old else {}
    last = _by_key(concat((left, take(ends, there[steps.stops - 1]))))
    return last, take(change, order) if len(order) else {}


def _equal(rows: Table, one: Index, other: Index) -> Column:
    """Where two rows have the same values; NaN equals NaN."""
    same = np.ones(len(one), dtype=bool)
    for column in rows.values():
        a, b = column[one], column[other]
        equal = a == b
        if column.dtype == np.float64:
            equal |= np.isnan(a) & np.isnan(b)
        same &= equal
    return same


def _updated(table: Table, newer: Table) -> Table:
    """The rows of a table, with newer ones instead of those of the same key."""
    if length(table):
        table = take(table, ~_among(table["key"], newer["key"]))
    return _by_key(concat((table, newer)))


def _by_key(table: Table) -> Table:
    return take(table, np.argsort(table["key"])) if length(table) else table


def _places(known: Index, wanted: Index) -> Index:
    """The position of each wanted key among sorted ones, at least one; -1 where it is not there."""
    place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.where(known[place] == wanted, place, -1)


def _among(keys: Index, known: Index) -> Column:
    """Which of the keys are among sorted ones."""
    return _places(known, keys) >= 0


def _mark(row: Table, place: int, null: Column) -> None:
    """Sets the bit of a value in ``nulls`` where it is NULL."""
    row["nulls"] |= null.astype(np.int64) << np.int64(place)
