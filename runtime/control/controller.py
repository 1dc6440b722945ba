"""What is learned from each micro-batch that is done, published for those to come."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from streamq.runtime.control.decisions import Decided, DecisionLog
from streamq.runtime.control.forward import DECISIONS, KNOBS
from streamq.runtime.control.knobs import publish, published
from streamq.runtime.control.looked import NOTHING, Looked
from streamq.runtime.control.throttle import (
    LEAST_KEEP,
    PROBE_ROWS,
    STEADY,
    Decision,
    Throttle,
)
from streamq.runtime.metrics import QuerySample
from streamq.stdlib.estimate.needed import share_for
from streamq.stdlib.overload.batch_time import LEAST_MS, BatchTime
from streamq.stdlib.overload.in_vain import InVain
from streamq.stdlib.overload.ranks import levels

LEARNING = 0.3
"""What of the difference between counted and expected rows each micro-batch takes up."""

COVERAGE_S = 10.0
"""The source time window over which coverage is told, where SHED FAIR says no other."""

PATIENCE = 3
"""Micro-batches in a row whose goal is out of reach until that is told."""


LOOKED_BACK = 8
"""Micro-batches whose rows are taken for those to come."""


@dataclass(slots=True)
class Controller:
    """The controller of one query. ``checkpoint``: the query's folder.

    ``window_s``: the source time window, over which coverage is told; ``recent``: the micro-batches in it. ``seen``: the
    ranks of some rows of the latest micro-batches. ``error``: the largest that estimates may have; the share that it
    takes is kept, and at least ``least``. ``selects``: the share is not that of rows, which are all kept, but of what each of them
    is compared with. ``written``: there was a file of knobs, by this run or the one before. ``beyond``:
    micro-batches in a row whose goal was out of reach; ``vain``: what is kept then; ``decided``: what was of the latest.
    """

    checkpoint: Path
    throttle: Throttle
    window_s: float = COVERAGE_S
    least: float = LEAST_KEEP
    error: float | None = None
    recent: deque[QuerySample] = field(default_factory=deque)
    seen: deque[NDArray[np.float64]] = field(default_factory=lambda: deque(maxlen=LOOKED_BACK))
    _began: bool = False
    beyond: int = 0
    decided: Decided | None = None
    vain: InVain = field(default_factory=InVain)
    _before: float | None = None
    written: bool = False
    selects: bool = False
    _told: set[str] = field(default_factory=set)

    def give(self, share: float) -> None:
        """The share that a query of a group keeps, from its next micro-batch on; a folder that cannot be written keeps the last."""
        share = min(1.0, max(0.0, share))
        if self.throttle.share == share:
            return
        self.throttle = replace(self.throttle, share=share)
        with suppress(OSError):  # ``after`` tells
            publish(self.checkpoint / KNOBS, self.throttle)

    def sift_by(self, version: int) -> None:
        """The sifter that rows go by from the next micro-batch on. Raises OSError where that cannot be written."""
        publish(self.checkpoint / KNOBS, replace(self.throttle, sifter=version))
        self.throttle = replace(self.throttle, sifter=version)

    def after(self, sample: QuerySample, looked: Looked = NOTHING) -> tuple[str, ...]:
        """Learns from a micro-batch and publishes; gives what its user should know of, each once."""
        self.decided = decided = DecisionLog(self.checkpoint / DECISIONS).find(sample.batch)
        learned = self._learned(sample, decided, looked)
        self.recent.append(sample)
        while self.recent[0].ended < sample.ended - self.window_s:
            self._before = self.recent.popleft().ended
        held, holding = self._state_after(sample, learned)
        self.throttle = replace(
            learned, late=learned.late + sample.late, coverage=self._coverage(), seen=sample.batch, held=held, holding=holding,
        )
        if decided is not None and sample.rows_in > 0:
            # Where the query was idle before, the age of a result counts that in.
            age_ms = min(sample.result_age_ms, decided.waited_ms + sample.batch_ms)
            if not self.selects:
                missed = not decided.decision.reachable and age_ms > self.throttle.latency_ms
                self.vain = self.vain.after(sample.batch_ms, missed)
                self.throttle = replace(self.throttle, vain=self.vain.share)
            if self._at_one_rate(decided.decision):
                self.throttle = self.throttle.aged(age_ms, decided.decision)
        if looked.read_until is not None:
            self.throttle = replace(self.throttle, read_until=looked.read_until, unread=sample.backlog_rows or 0)
        if looked.ranks:
            self.seen.append(np.array(looked.ranks))
            self.throttle = replace(self.throttle, ranks=levels(self.seen))
        if looked.newest is not None:
            before = looked.newest if self.throttle.newest is None else self.throttle.newest
            self.throttle = replace(self.throttle, newest=float(max(looked.newest, before)))
        if looked.error is not None and self.error is not None and 0 < self.throttle.coverage < 1:
            needed = share_for(self.error, looked.error, self.throttle.coverage)
            step = LEARNING * (needed - self.throttle.least)
            self.throttle = replace(self.throttle, least=max(self.least, self.throttle.least + step))
        found: list[str] = []
        lost = self.written and published(self.checkpoint / KNOBS) is None
        try:
            publish(self.checkpoint / KNOBS, self.throttle)
            self.written = True
            if lost:
                found.append(
                    f"{KNOBS} beside the checkpoint, with the numbers that steer it, was lost or broken: the last good "
                    "ones stayed in force, and it is written again"
                )
        except OSError as error:
            found.append(
                f"what is learned cannot be written beside the checkpoint ({error.strerror}): "
                "what was written last stays in force"
            )
        if decided is not None:
            self.beyond = 0 if decided.decision.reachable else self.beyond + 1
        if self.beyond >= PATIENCE:
            spared = decided is not None and decided.spared > 0
            found.append(_out_of_reach(self.throttle, self.error, spared, self.selects))
        new = tuple(text for text in found if text not in self._told)
        self._told.update(new)
        return new

    @property
    def recent_ms(self) -> float:
        """The time in which the rows of the recent micro-batches came."""
        first, last = self.recent[0], self.recent[-1]
        began = first.ended - first.batch_ms / 1000 if self._before is None else self._before
        return max(1.0, (last.ended - began) * 1000)

    @property
    def row_ms(self) -> float | None:
        """Milliseconds that a row takes which is kept, with its part of the state; None where nothing is known.

        At least a tenth of what one takes that is read: where as much is kept all the time, the two are not told apart.
        """
        cost = self.throttle.model.cost
        if cost is None or not self.recent:
            return None
        return max(cost.each(self.throttle.holding * len(self.recent) / self.recent_ms), cost.read / 10, LEAST_MS)

    def _state_after(self, sample: QuerySample, learned: Throttle) -> tuple[int, float]:
        """The rows of state now, and as many as there will be for each that is kept; 0 where the share changes nothing of it."""
        if self.selects:
            return 0, 0.0
        kept = sum(s.kept for s in self.recent)
        return sample.state_rows, held_by(learned.holding, sample.state_rows, kept, self.recent_ms)

    def _learned(self, sample: QuerySample, decided: Decided | None, looked: Looked) -> Throttle:
        """The throttle after a micro-batch; the first one of a run takes its time for compiling.

        So it counts only where nothing is known yet and it has rows enough.
        """
        throttle, first = self.throttle, not self._began
        self._began = True
        cost = throttle.model.cost
        known = not first or (cost is None and sample.rows_in >= PROBE_ROWS)
        kept = sample.kept
        if self.selects and decided is not None:
            kept = round(kept * decided.decision.keep)
        batch = BatchTime(sample.rows_in, kept, float(sample.batch_ms), throttle.held)
        after = replace(throttle, model=throttle.model.after(batch)) if known else throttle
        if decided is None or decided.arrived <= 0 or sample.rows_in <= 0:
            return after
        step = 1.0 if sample.batch == 0 or cost is None else LEARNING
        after = replace(after, counted=after.counted + step * (sample.rows_in / decided.arrived - after.counted))
        if decided.spared <= 0:
            return after
        ratio = looked.spared / decided.spared
        return replace(after, counted_spared=after.counted_spared + step * (ratio - after.counted_spared))

    def _at_one_rate(self, decision: Decision) -> bool:
        """True where the goal is one for the age, and rows came evenly for some micro-batches."""
        steered = self.throttle.latency_ms > 0 and self.throttle.fixed_share is None
        return steered and decision.steady >= STEADY

    def _coverage(self) -> float:
        arrived = sum(s.kept + s.shed for s in self.recent)
        return sum(s.kept for s in self.recent) / arrived if arrived else 1.0


def held_by(before: float, held: int, kept: int, ms: float) -> float:
    """Rows of state for each row kept in a millisecond, as far as the last ``ms`` tell, noise taken out."""
    if kept == 0:
        return before
    now = held * ms / kept
    return before + LEARNING * (now - before) if before > 0 else now


def _out_of_reach(throttle: Throttle, error: float | None, spared: bool, selects: bool) -> str:
    goal = f"results no older than {throttle.latency_ms / 1000:g} s"
    if error is not None:
        return f"{goal} are out of reach with estimates right to {100 * error:g} %: those are kept up"
    needed = max(throttle.needed, throttle.least)
    if needed > LEAST_KEEP:
        return f"{goal} are out of reach with a completeness of {needed:g}, which is kept up"
    if spared:
        return f"{goal} are out of reach: a stream of the query of which no row may go takes longer"
    if selects:
        return f"{goal} are out of reach: reading and keeping the rows takes longer, however little they are compared with"
    return (
        f"{goal} are out of reach: a micro-batch takes longer whatever is shed of its rows, so those are kept that make it hardly "
        "longer; give a longer goal, or say with COMPLETENESS what to keep"
    )
