"""The synopsis: stored values of shed attributes, by stream, attribute, key and cycle, to look up and to forget.

A lookup gives the value of the largest stored cycle up to the one asked for (Module 2 of Ahuja 2006). Values
are in sorted arrays, runs, of which a new one joins its neighbour where it is not much shorter: a value is moved as often
as the logarithm of how many there are, and a lookup looks into as many runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

import numpy as np

from streamq.dsl.records import dataclass, field
from streamq.stdlib.recovery.columns import Bools, Column, Ints, concat
from streamq.stdlib.recovery.retaining import Entries, Rule
from streamq.stdlib.timelines.table import firsts

CYCLE_BITS = 40
"""Bits of an address that are the number of a cycle; above them is the code of the key, which has 23."""

MOST_CYCLES, MOST_KEYS = 1 << CYCLE_BITS, 1 << (63 - CYCLE_BITS)


@dataclass(frozen=True, slots=True)
class Run:
    """Stored values of one attribute, ``[stored]`` each, by address.

    ``address``: key and cycle; ``at``: when; ``sent``: there is no value, as the attribute is sent from here on.
    """

    address: Ints
    at: Ints
    values: Column
    sent: Bools

    def __len__(self) -> int:
        """The number of entries."""
        return len(self.address)

    @property
    def size_bytes(self) -> int:
        """What the arrays take."""
        return sum(a.nbytes for a in (self.address, self.at, self.values.values, self.values.null, self.sent))

    def take(self, index: Ints | Bools) -> Run:
        """The entries at positions, or where a mask is true."""
        return Run(self.address[index], self.at[index], self.values.take(index), self.sent[index])

    def joined(self, newer: Run) -> Run:
        """Both; where an address is in both the newer entry."""
        address = np.concatenate([self.address, newer.address])
        order = np.argsort(address, kind="stable")
        order = order[np.append(np.diff(address[order]) != 0, True)]
        at, sent = (np.concatenate(c)[order] for c in ((self.at, newer.at), (self.sent, newer.sent)))
        return Run(address[order], at, concat([self.values, newer.values]).take(order), sent)


@dataclass(frozen=True, slots=True)
class Series:
    """The stored values of one attribute of a stream.

    ``runs``: the oldest first, longer ones before shorter ones; per key each is of later cycles than those before it.
    ``rule``: the widest one by which values were left out.
    """

    runs: tuple[Run, ...] = ()
    rule: Rule = field(default_factory=lambda: Rule(0.0))

    def __len__(self) -> int:
        """The number of entries."""
        return sum(map(len, self.runs))

    @property
    def size_bytes(self) -> int:
        """What the arrays take."""
        return sum(run.size_bytes for run in self.runs)

    def after(self, entries: Entries, rule: Rule | None) -> Series:
        """With the entries of a batch, and the rule that they were chosen by; None where the attribute is sent.

        Raises ``ValueError`` for more keys or cycles than an address can tell.
        """
        widest = self.rule
        if rule is not None and (not self.runs or rule.max_rel_error_pct > widest.max_rel_error_pct):
            widest = rule
        if not len(entries):
            return Series(self.runs, widest)
        if entries.keys.max() >= MOST_KEYS or entries.cycle_no.max() >= MOST_CYCLES:
            raise ValueError(f"a synopsis has at most {MOST_KEYS} keys of {MOST_CYCLES} cycles")
        sent = np.full(len(entries), entries.sent)
        run = Run(address(entries.keys, entries.cycle_no), entries.at, entries.values, sent)
        runs = [*self.runs, run]
        while len(runs) > 1 and 2 * len(runs[-1]) >= len(runs[-2]):
            newer = runs.pop()
            runs.append(runs.pop().joined(newer))
        return Series(tuple(runs), widest)

    def since(self, horizon: int) -> Series:
        """Without what no row of ``horizon`` or later is recovered from: of each key what comes before the last older value."""
        if not self.runs:
            return self
        run = reduce(Run.joined, self.runs)
        last = np.append(firsts(run.address >> CYCLE_BITS)[1:], True)
        # The entry after it took over before the horizon.
        passed = np.append(run.at[1:] < horizon, False) & ~last
        return Series((run.take(~passed),), self.rule)


@dataclass(frozen=True, slots=True)
class Synopsis:
    """Stored values of all streams: ``series`` by stream and attribute; ``cycle_no``: by stream, the last one of each key."""

    series: Mapping[tuple[str, str], Series] = field(default_factory=dict)
    cycle_no: Mapping[str, Ints] = field(default_factory=dict)

    def __len__(self) -> int:
        """The number of entries."""
        return sum(map(len, self.series.values()))

    @property
    def size_bytes(self) -> int:
        """What the arrays take."""
        return sum(s.size_bytes for s in self.series.values()) + sum(c.nbytes for c in self.cycle_no.values())

    def after(self, stream: str, entries: Mapping[str, Entries], rules: Mapping[str, Rule], cycle_no: Ints) -> Synopsis:
        """With what ``retain`` stored of a batch of a stream, and the numbers of cycles that it gave, ``[keys]``."""
        series = dict(self.series)
        for attribute, some in entries.items():
            series[stream, attribute] = self.of(stream, attribute).after(some, rules.get(attribute))
        return Synopsis(series, {**self.cycle_no, stream: cycle_no})

    def since(self, horizon: int) -> Synopsis:
        """Without what is older than a time and not needed to recover rows of that time or later (RETAIN)."""
        return Synopsis({name: s.since(horizon) for name, s in self.series.items()}, self.cycle_no)

    def of(self, stream: str, attribute: str) -> Series:
        """The stored values of one attribute; none of what was never shed."""
        return self.series.get((stream, attribute), Series())


def address(keys: Ints, cycle_no: Ints) -> Ints:
    """The key and the cycle as one whole number, by which entries are in order."""
    return (keys << CYCLE_BITS) | cycle_no
