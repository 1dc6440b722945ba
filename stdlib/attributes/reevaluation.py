"""When a plan is evaluated again: seldom while it stays the same, at once where it changed (Ahuja 2006, Algorithm 2).

After an evaluation that changes nothing the interval grows by a factor, after one that changes the plan it is the least one
again. Times are given, in seconds of any clock. The thesis has factor 2 and no largest interval; its text asks for an
evaluation where rate or capacity change, which its algorithm lacks: that is ``forced`` here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from streamq.dsl.records import dataclass, replace
from streamq.stdlib.attributes.kinds import BASE_S, FACTOR, MAX_INTERVAL_S


@dataclass(frozen=True, slots=True)
class Schedule:
    """``base_s``: the least interval. ``factor``: from 1, by which it grows. ``max_s``: the largest one, or infinite.

    Raises ``ValueError`` for others.
    """

    base_s: float = BASE_S
    factor: float = FACTOR
    max_s: float = MAX_INTERVAL_S

    def __post_init__(self) -> None:
        """Checks the numbers."""
        if not (0 < self.base_s < math.inf and 1 <= self.factor < math.inf and self.max_s >= self.base_s):
            raise ValueError("intervals are positive, grow by a factor from 1, and the largest is not below the least")


def fixed(every_s: float) -> Schedule:
    """What adapting is compared with: evaluations at the same distance."""
    return Schedule(every_s, 1.0, every_s)


@dataclass(frozen=True, slots=True)
class Reevaluation:
    """``attrs``: what is shed. ``interval_s``: from the last evaluation, at ``last_s``, to the next."""

    schedule: Schedule
    attrs: frozenset[str]
    interval_s: float
    last_s: float

    def due(self, now_s: float) -> bool:
        """Whether it is time. A clock that was put back before the last evaluation is no reason to wait for long."""
        return now_s >= self.last_s + self.interval_s or now_s < self.last_s

    def after(self, attrs: Iterable[str], now_s: float) -> Reevaluation:
        """An evaluation was made, and gave this plan."""
        new = frozenset(attrs)
        if new == self.attrs:
            grown = min(self.interval_s * self.schedule.factor, self.schedule.max_s)
            return replace(self, interval_s=grown, last_s=now_s)
        return Reevaluation(self.schedule, new, self.schedule.base_s, now_s)

    def tick(self, now_s: float, evaluate: Callable[[], Iterable[str]], forced: bool = False) -> Reevaluation:
        """The next state. ``evaluate`` gives the plan of now, and is called only if due, or ``forced``."""
        return self.after(evaluate(), now_s) if forced or self.due(now_s) else self


def started(schedule: Schedule, attrs: Iterable[str], now_s: float) -> Reevaluation:
    """The first plan was made now."""
    return Reevaluation(schedule, frozenset(attrs), schedule.base_s, now_s)
