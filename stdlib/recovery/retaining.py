"""Synopsis retention: of the attributes that are shed those values are stored from which the others can be recovered.

A value is stored if the one stored last for its key is further from it than the error threshold allows (Module 1, Algorithm 3
of Ahuja 2006; corrected: errors are of magnitudes, a zero is stored after anything else, and a key has one
counter whatever is shed). So every value can be recovered with an error of at most E percent of itself: of zero, NaN,
infinity, NULL and what is no number without error.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from streamq.dsl.records import dataclass, field
from streamq.stdlib.recovery.changes import stored_rows
from streamq.stdlib.recovery.columns import Column, Ints, alike, concat, nothing
from streamq.stdlib.recovery.grouping import Groups, grouped
from streamq.stdlib.recovery.intervals import Denominator, check_error, coded
from streamq.stdlib.recovery.numbering import checked, counted


@dataclass(frozen=True, slots=True)
class Rule:
    """When a value is stored: where it differs by more than ``max_rel_error_pct`` (E), 0 to 100 percent.

    ``denominator``: what the error is relative to: ``sv``, the value itself, or ``mv``, the stored one, as in Example 4 of the
    thesis; with ``mv`` an error is at most E percent of the recovered value.
    """

    max_rel_error_pct: float
    denominator: Denominator = "sv"

    def __post_init__(self) -> None:
        """Checks both."""
        check_error(self.max_rel_error_pct)
        if self.denominator not in ("sv", "mv"):
            raise ValueError(f"an error is relative to sv or mv, and not to {self.denominator}")


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows in the order in which they came.

    ``keys``: ``[rows]``, codes of their keys (``keys.Keys``); ``columns``: by attribute, ``[rows]`` each. ``cycle_no``:
    ``[rows]``, numbers of cycles from 1 where rows bring them, in any order; None: rows of each key are counted. ``at``:
    ``[rows]``, times in any whole unit, by which a synopsis forgets; None: the number of the cycle. Raises ``ValueError``
    for columns of another length, negative codes, and numbers of cycles below 1.
    """

    keys: Ints
    columns: Mapping[str, Column]
    cycle_no: Ints | None = None
    at: Ints | None = None

    def __post_init__(self) -> None:
        """Checks lengths and codes."""
        numbers = [len(x) for x in (self.cycle_no, self.at) if x is not None]
        if {*numbers, *map(len, self.columns.values())} - {len(self.keys)}:
            raise ValueError("the columns of a batch have a value for each row")
        if np.any(self.keys < 0) or (self.cycle_no is not None and np.any(self.cycle_no < 1)):
            raise ValueError("codes of keys are at least 0, numbers of cycles at least 1")


@dataclass(frozen=True, slots=True)
class Memory:
    """What is stored last of one attribute, ``[keys]``: the value, and the number of its cycle, 0 where nothing is stored."""

    last: Column
    cycle_no: Ints

    def widened(self, keys: int) -> Memory:
        """With room for so many keys."""
        more = keys - len(self.cycle_no)
        if not more:
            return self
        return Memory(concat([self.last, nothing(self.last, more)]), _widened(self.cycle_no, keys))


@dataclass(frozen=True, slots=True)
class Retained:
    """What retention has to remember of a stream from one batch to the next.

    ``cycle_no``: ``[keys]``, the number of the cycle that each key was in last; ``clock``: ``[keys]``, the latest time of
    its rows; ``memories``: by attribute that is shed.
    """

    cycle_no: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    clock: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    memories: Mapping[str, Memory] = field(default_factory=dict)

    def widened(self, keys: int) -> Retained:
        """With room for so many keys."""
        memories = {name: memory.widened(keys) for name, memory in self.memories.items()}
        clock = np.full(keys, np.iinfo(np.int64).min)
        clock[: len(self.clock)] = self.clock
        return Retained(_widened(self.cycle_no, keys), clock, memories)


@dataclass(frozen=True, slots=True)
class Entries:
    """What a batch adds to the synopsis of one attribute, ``[stored]`` each, by key and number of the cycle.

    ``at``: times, of which none is before that of an earlier row of its key. ``sent``: from here on the attribute is not
    shed any more, and there is no value.
    """

    keys: Ints
    cycle_no: Ints
    at: Ints
    values: Column
    sent: bool = False

    def __len__(self) -> int:
        """The number of stored values, or of keys of which values are sent again."""
        return len(self.keys)


def retain(state: Retained, batch: Batch, rules: Mapping[str, Rule]) -> tuple[Retained, dict[str, Entries]]:
    """What is remembered after a batch, and what is stored of it for each attribute.

    ``rules``: of the attributes that are shed in all of the batch. An attribute that was shed and is in no rule is sent from
    here on, which is noted once for each of its keys; if it is shed again later, its first values are stored. Both states
    can be used again, so that a batch can be repeated.

    Raises ``ValueError`` for an attribute without a column, or with values of another type than before, for a key that is
    twice in a cycle, and for a cycle that is not after the last one of its key.
    """
    if missing := [name for name in rules if name not in batch.columns]:
        raise ValueError(f"the batch has no {', '.join(missing)}")
    keys = max(len(state.cycle_no), int(batch.keys.max(initial=-1)) + 1)
    state = state.widened(keys)
    groups = grouped(batch.keys, batch.cycle_no)
    if batch.cycle_no is None:
        cycle_no = counted(groups, state.cycle_no)
    else:
        cycle_no = checked(groups, batch.cycle_no[groups.order], state.cycle_no)
    at = _rising(cycle_no if batch.at is None else batch.at[groups.order], groups, state.clock)
    found = {name: _sent(state, memory) for name, memory in state.memories.items() if name not in rules}
    memories = {}
    for name, rule in rules.items():
        memory = state.memories.get(name) or Memory(nothing(batch.columns[name], keys), np.zeros(keys, dtype=np.int64))
        rows = batch.columns[name].take(groups.order)
        memories[name], found[name] = _retained(memory, rows, groups, cycle_no, at, rule)
    last_cycle, clock = state.cycle_no.copy(), state.clock.copy()
    ends = groups.starts + groups.sizes - 1
    last_cycle[groups.keys], clock[groups.keys] = cycle_no[ends], at[ends]
    return Retained(last_cycle, clock, memories), found


def _retained(
    memory: Memory, rows: Column, groups: Groups, cycle_no: Ints, at: Ints, rule: Rule
) -> tuple[Memory, Entries]:
    """The same for one attribute; ``rows``, ``cycle_no``, ``at``: by key."""
    last, rows = alike([memory.last, rows])
    memory = Memory(last, memory.cycle_no)
    before, values = last.take(groups.keys), rows
    if rows.kind == "other":
        both = coded(concat([before, rows]))
        before, values = both.take(slice(len(before))), both.take(slice(len(before), None))
    known = memory.cycle_no[groups.keys] > 0
    owner = groups.owner
    stored = np.flatnonzero(stored_rows(values, owner, before, known, rule.max_rel_error_pct, rule.denominator))
    owner = owner[stored]
    entries = Entries(groups.keys[owner], cycle_no[stored], at[stored], rows.take(stored))
    newest = np.flatnonzero(np.append(owner[1:] != owner[:-1], True)[: len(owner)])
    return _remembered(memory, entries, newest), entries


def _remembered(memory: Memory, entries: Entries, newest: Ints) -> Memory:
    """With the newest of the entries of each key."""
    keys, some = entries.keys[newest], entries.values.take(newest)
    # A text may be longer than all before.
    values = memory.last.values.astype(np.result_type(memory.last.values, some.values))
    null, cycle_no = memory.last.null.copy(), memory.cycle_no.copy()
    values[keys], null[keys], cycle_no[keys] = some.values, some.null, entries.cycle_no[newest]
    return Memory(Column(memory.last.kind, values, null), cycle_no)


def _sent(state: Retained, memory: Memory) -> Entries:
    """Notes that an attribute is sent from the next cycle of each key on."""
    keys = np.flatnonzero(memory.cycle_no > 0)
    return Entries(keys, state.cycle_no[keys] + 1, state.clock[keys], nothing(memory.last, len(keys)), sent=True)


def _rising(at: Ints, groups: Groups, clock: Ints) -> Ints:
    """The latest time up to each row of its key, by key."""
    at = np.maximum(at, np.repeat(clock[groups.keys], groups.sizes))
    owner = groups.owner
    if not np.any((np.diff(at) < 0) & (np.diff(owner) == 0)):
        return at
    times, rank = np.unique(at, return_inverse=True)
    return times[np.maximum.accumulate(rank + owner * len(times)) - owner * len(times)]


def _widened(numbers: Ints, keys: int) -> Ints:
    wide = np.zeros(keys, dtype=np.int64)
    wide[: len(numbers)] = numbers
    return wide
