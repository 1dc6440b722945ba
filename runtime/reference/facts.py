"""Time-varying bags as facts: a row, and the instants from ``start`` up to but without ``end`` at which it holds.

CQL defines an operator by what it makes of the bag at each instant. A fact says the same of many instants at
once, so an operator over facts is its definition with the instants at which nothing changes left out.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from streamq.runtime.reference.answers import Change
from streamq.runtime.reference.values import Instant, Row

BEGINNING: Instant = -(2**63)
FOREVER: Instant = 2**63


class Frame(NamedTuple):
    """The window that a row is in: what WINDOW_START and WINDOW_END say of it."""

    start: Instant
    end: Instant


class Fact(NamedTuple):
    """A row of a time-varying bag, in it at all instants of [start, end)."""

    row: Row
    start: Instant
    end: Instant
    frame: Frame | None = None


Facts = list[Fact]


def sort_key(value: object) -> tuple[object, ...]:
    """Orders values as Spark does: NULL first, NaN after all numbers, nested values part by part."""
    if value is None:
        return (0,)
    if isinstance(value, tuple):
        return (1, tuple(sort_key(part) for part in value))
    if isinstance(value, float) and value != value:
        return (2,)
    return (1, value)


def in_time_order(facts: Iterable[Fact]) -> Facts:
    """By stamp; rows of one instant by their values, which is the same on every run."""
    return sorted(facts, key=lambda fact: (fact.start, sort_key(fact.row)))


def snapshots(facts: Iterable[Fact]) -> Iterator[tuple[Instant, Instant, Facts]]:
    """The facts that hold in each stretch of time in which nothing changes, stretches without facts left out."""
    ordered = in_time_order(fact for fact in facts if fact.start < fact.end)
    instants = sorted({f.start for f in ordered} | {f.end for f in ordered})
    held: Facts = []
    coming = iter(ordered)
    waiting = next(coming, None)
    for start, end in pairwise(instants):
        held = [fact for fact in held if fact.end > start]
        while waiting is not None and waiting.start <= start:
            held.append(waiting)
            waiting = next(coming, None)
        if held:
            yield start, end, held


def map_snapshots(facts: Iterable[Fact], function: Callable[[Facts], Iterable[Row]]) -> Facts:
    """Applies a function from bags to bags at every instant, to the rows of each window on their own."""
    by_frame: dict[Frame | None, Facts] = defaultdict(list)
    for fact in facts:
        by_frame[fact.frame].append(fact)
    return [
        Fact(row, start, end, frame)
        for frame, group in by_frame.items()
        for start, end, held in snapshots(group)
        for row in function(held)
    ]


def changes_of(facts: Iterable[Fact]) -> list[Change]:
    """What comes and goes at each instant; a row that leaves and comes at one instant does neither."""
    net: Counter[tuple[Instant, Row]] = Counter()
    for fact in facts:
        if fact.start < fact.end:
            net[fact.start, fact.row] += 1
            net[fact.end, fact.row] -= 1
    changed = ((at, row, n) for (at, row), n in net.items() if n and at != FOREVER)
    ordered = sorted(changed, key=lambda change: (change[0], change[2] > 0, sort_key(change[1])))
    return [Change(at, row, count) for at, row, count in ordered]
