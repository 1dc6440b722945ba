"""The decision on the micro-batch that is about to run, from the files beside its checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import sleep

from streamq.dsl.records import dataclass, replace
from streamq.runtime.control.decisions import Decided, DecisionLog
from streamq.runtime.control.knobs import published
from streamq.runtime.control.offsets import latest_batch, units_of
from streamq.runtime.control.throttle import Decision, Throttle, decide
from streamq.stdlib.overload.steps import Step, stepped

KNOBS = "knobs.json"
DECISIONS = "decisions"

IDLE_MS = 250.0
"""A query that takes nothing for so long after a micro-batch had nothing to read; what it then takes has just come, or waited for
its trigger.

Unless that is less than half of the time since it last took something: looking for new files may take as long.
"""

PAUSE_S, MOST_PAUSES = 0.02, 30
"""How long, and how often, it is waited for what the micro-batch before held, where whole windows go."""

MOST_BEHIND = 3
"""What a micro-batch left unread counts for the next ones: it is known when one or two of those are planned already."""

FIRST_MS = 1000.0
"""A rate of rows is taken for a second of them in the first micro-batch, of which nobody knows since when it waits."""


@dataclass(frozen=True, slots=True)
class Forward:
    """``checkpoint``: the folder of the query. ``rows_per_unit``: of each of its sources, a first guess. ``spared``: which
    of them keep all rows.

    ``first``: what holds as long as the controller has published nothing. ``now``: milliseconds since 1970.
    ``trigger_ms``: the least time between two micro-batches, which says nothing of what there is to read. ``started_ms``:
    when the run began. ``pause``: waits so many seconds.
    """

    checkpoint: Path
    first: Throttle
    rows_per_unit: tuple[float, ...]
    now: Callable[[], float]
    trigger_ms: float = 0.0
    started_ms: float = 0.0
    spared: tuple[bool, ...] = ()
    pause: Callable[[float], None] = sleep

    def decided(self) -> Decided:
        """What holds for the planned micro-batch: the share of its rows that is kept, and what is told of the query."""
        batch = latest_batch(self.checkpoint)
        if batch is None:
            return Decided(Decision(), 0, self.now(), self.first)
        log = DecisionLog(self.checkpoint / DECISIONS)
        return log.decide(batch, lambda before: self._decided(batch, before))

    def _decided(self, batch: int, before: Decided | None) -> Decided:
        throttle = self._published(batch, before)
        units = units_of(self.checkpoint, batch)
        rates = self.rows_per_unit if len(self.rows_per_unit) == len(units) else (1.0,) * len(units)
        parts = [count * rate for count, rate in zip(units, rates, strict=True)]
        expected = sum(parts)
        spared = sum(p for p, keeps in zip(parts, self.spared, strict=True) if keeps) if len(self.spared) == len(parts) else 0.0
        now = self.now()
        waited = self._waited(batch, before, now)
        left, missed = self._behind(batch, throttle, now)
        waited = max(waited, missed)
        if throttle.rows_per_s > 0:
            waited = FIRST_MS if before is None else now - before.decided_ms
        decision = decide(
            throttle, round(expected * throttle.counted), waited,
            Decision() if before is None else before.decision, round(spared * throttle.counted_spared), left,
        )
        if throttle.window_ms:
            throttle = replace(throttle, steps=_steps(throttle, batch, before, decision))
        return Decided(decision, round(expected), now, throttle, max(waited, left), round(spared))

    def _published(self, batch: int, before: Decided | None) -> Throttle:
        """What the controller knows. Whole windows go by what the micro-batch before held, which is known in a moment."""
        for _ in range(MOST_PAUSES):
            throttle = published(self.checkpoint / KNOBS)
            if throttle is None or before is None or not throttle.window_ms or throttle.seen >= batch - 1:
                break
            self.pause(PAUSE_S)
        # The last good numbers stay in force where the file is gone or broken.
        if throttle is None:
            return self.first if before is None else before.throttle
        return throttle

    def _waited(self, batch: int, before: Decided | None, now: float) -> float:
        """How long the oldest rows of the micro-batch waited for it, in milliseconds.

        They came since the micro-batch before took its input. Spark writes that down when it does, and when it is done.
        """
        if before is None:
            return 0.0
        taken, taken_before, ended = (
            _written(self.checkpoint / folder / str(number))
            for folder, number in (("offsets", batch), ("offsets", batch - 1), ("commits", batch - 1))
        )
        if taken is None or taken_before is None or ended is None:
            return now - before.decided_ms
        idle = taken - ended > max(IDLE_MS + self.trigger_ms, (taken - taken_before) / 2)
        return IDLE_MS + self.trigger_ms if idle else max(0.0, taken - taken_before)


    def _behind(self, batch: int, throttle: Throttle, now: float) -> tuple[float, float]:
        """How old, in milliseconds, records are that micro-batches before left unread, and those that came while nobody read.

        They are newer than all that were read. 0 where there are none, or records do not say when they came.
        """
        if throttle.read_until is None:
            return 0.0, 0.0
        age = max(0.0, now - throttle.read_until)
        ended = _written(self.checkpoint / "commits" / str(batch - 1))
        missed = ended is not None and ended < self.started_ms
        left = throttle.unread > 0 and throttle.seen >= batch - MOST_BEHIND
        return (age if left else 0.0), (age if missed else 0.0)


def _steps(throttle: Throttle, batch: int, before: Decided | None, decision: Decision) -> tuple[Step, ...]:
    """Which windows are kept. As long as it is not known what the micro-batch before held, the same as then."""
    steps = () if before is None else before.throttle.steps
    if steps and throttle.seen < batch - 1:
        return steps
    return stepped(steps, throttle.newest, throttle.window_ms, throttle.late_ms, decision.keep)


def _written(file: Path) -> float | None:
    """When a file was written, in milliseconds since 1970; None where it cannot be told."""
    try:
        return file.stat().st_mtime * 1000
    except OSError:
        return None
