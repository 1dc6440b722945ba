"""What follows a failure of a query: a restart after a while, its micro-batch put aside, or an end.

A pure function of the failures since the query last finished a micro-batch. Times are seconds of any one clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from random import Random

FIRST_DELAY_S, LONGEST_DELAY_S = 1.0, 60.0
JITTER = 0.2
"""Queries that lost the same server do not come back in the same moment: delays differ by up to this share."""

TRIES = 3


class Kind(Enum):
    """What a failure says of the next try."""

    AWAY = "away"
    """Something outside is not there: a server, a worker, room on a disk. The rows are good, so waiting helps."""
    UNKNOWN = "unknown"
    """Nobody can tell; the same micro-batch may pass the next time."""
    DATA = "data"
    """Rows that the query, a function or its sink cannot take."""
    FINAL = "final"
    """Program, checkpoint or set-up; the next try ends the same way."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One failure. ``batch``: the micro-batch that was planned and not done; None where none was.

    ``emptied``: it ran with no rows, as they were put aside before. ``refused``: its sink would not take rows of its result.
    """

    at: float
    kind: Kind
    batch: int | None = None
    emptied: bool = False
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Rules:
    """``tries``: failures of one micro-batch until it is put aside, or the query given up.

    ``patient``: what is away is waited for without end. ``letters``: there is a folder for rows that are put aside.
    ``seed``: of the jitter, such as the query's name.
    """

    tries: int = TRIES
    patient: bool = True
    letters: bool = False
    first_delay_s: float = FIRST_DELAY_S
    longest_delay_s: float = LONGEST_DELAY_S
    seed: str = ""


@dataclass(frozen=True, slots=True)
class Restart:
    """Start it again after so many seconds."""

    after_s: float


@dataclass(frozen=True, slots=True)
class Quarantine:
    """Put the micro-batch aside: its input, or, where the sink ``refused`` rows, what it was to write."""

    batch: int
    refused: bool = False


@dataclass(frozen=True, slots=True)
class GiveUp:
    """End the query; ``failures``: how often it failed at the same place."""

    failures: int


Decision = Restart | Quarantine | GiveUp


def decide(failures: tuple[Failure, ...], rules: Rules, now: float) -> Decision:
    """What follows the last of the failures, which are all since a micro-batch was done; there is at least one."""
    last = failures[-1]
    same = [f for f in failures if f.batch == last.batch and f.emptied == last.emptied]
    if last.kind is Kind.FINAL:
        return GiveUp(len(same))
    if last.kind is Kind.AWAY and rules.patient:
        return Restart(_left(failures, rules, now))
    # A server that was away says nothing of the rows.
    counted = len([f for f in same if f.kind is not Kind.AWAY or not rules.patient])
    if counted < rules.tries and not last.emptied:
        return Restart(_left(failures, rules, now))
    if last.emptied or not rules.letters or last.batch is None or last.kind is Kind.AWAY:
        return GiveUp(len(same))
    return Quarantine(last.batch, last.refused)


def _left(failures: tuple[Failure, ...], rules: Rules, now: float) -> float:
    """Seconds from now until the next start: doubled with each failure, up to a bound."""
    doublings = min(len(failures) - 1, 30)
    delay = min(rules.longest_delay_s, rules.first_delay_s * 2.0**doublings)
    shaken = delay * Random(f"{rules.seed} {len(failures)}").uniform(1 - JITTER, 1 + JITTER)
    return max(0.0, failures[-1].at + shaken - now)
