"""The controllers of a run: which query has one, and who hears of a micro-batch."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from streamq.compiler.ir.goals import Goal, Sift
from streamq.runtime.control.controller import COVERAGE_S, Controller
from streamq.runtime.control.forward import DECISIONS, KNOBS
from streamq.runtime.control.joining import Joins
from streamq.runtime.control.knobs import published
from streamq.runtime.control.looked import NOTHING, Looked
from streamq.runtime.control.sifting import Sifters
from streamq.runtime.control.throttle import LEAST_KEEP, first_throttle
from streamq.runtime.control.together import Together
from streamq.runtime.control.worth_group import WorthGroup
from streamq.runtime.metrics import QuerySample, Sifted


@dataclass(slots=True)
class Steering:
    """Queries without a goal are not steered."""

    _controllers: dict[str, Controller] = field(default_factory=dict)
    _fair: Together = field(default_factory=Together)
    _worth: WorthGroup = field(default_factory=WorthGroup)
    _sifters: Sifters = field(default_factory=Sifters)
    joins: Joins = field(default_factory=Joins)

    def add(self, query: str, goal: Goal, checkpoint: Path, sift: Sift | None = None, interval_ms: float = 0.0) -> None:
        """Steers a query, which goes on from what was published beside its checkpoint. ``interval_ms``: of its trigger."""
        throttle, before = first_throttle(goal), published(checkpoint / KNOBS)
        if before is not None:
            throttle = replace(
                throttle, model=before.model, counted=before.counted, late=before.late, ranks=before.ranks,
                headroom=before.headroom, seen=before.seen, sifter=before.sifter, held=before.held, holding=before.holding,
                counted_spared=before.counted_spared, read_until=before.read_until, unread=before.unread,
                newest=before.newest, least=throttle.least if goal.error is None else max(goal.least, LEAST_KEEP, before.least),
            )
        window_s = COVERAGE_S if goal.fair_ms is None else goal.fair_ms / 1000
        controller = self._controllers[query] = Controller(
            checkpoint, throttle, window_s, max(goal.least, LEAST_KEEP), goal.error,
            # A run that decided has published too: where that is gone it is told after the first micro-batch.
            written=(checkpoint / DECISIONS).is_dir(), selects=goal.selects,
        )
        if sift is not None:
            self._sifters.join(query, controller, sift)
        if goal.fair_ms is not None:
            self._fair.join(query, controller, goal.weight)
        if goal.worth is not None:
            self._worth.join(query, controller, goal.worth, interval_ms)

    def sifted(self) -> tuple[Sifted, ...]:
        """What was expected of each sifter, and what it did."""
        return self._sifters.told()

    def after(self, sample: QuerySample, looked: Looked = NOTHING) -> tuple[str, ...]:
        """Takes in a micro-batch; gives what the user should know of, each once."""
        self.joins.after(sample.query, looked.joined)
        controller = self._controllers.get(sample.query)
        if controller is None:
            return ()
        told = controller.after(sample, looked)
        self._sifters.after(sample, looked.rows)
        if sample.query in self._fair.controllers:
            self._fair.after(sample)
        if sample.query in self._worth.controllers:
            self._worth.after(sample)
        return told
