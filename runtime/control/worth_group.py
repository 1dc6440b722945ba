"""Queries of a run that leave to the planner what goes: first where rows are worth least for the work that they make.

They share a machine, so how long a micro-batch of one takes depends on what all the others do, and no query's own cost
tells how much work all of them may do. That is found by trying: more as long as micro-batches are short enough, less where
they are not. Who keeps how much of it follows from worth for work (``stdlib/overload/worth.py``), of which the work is
measured. Pure: no clock, no files.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from streamq.runtime.control.controller import PATIENCE, Controller
from streamq.runtime.metrics import QuerySample
from streamq.stdlib.overload.in_vain import InVain
from streamq.stdlib.overload.isolated import isolated_times
from streamq.stdlib.overload.worth import worth_shares

PACE = 0.4
"""The trigger interval, as a part of the goal, where the program names none: a query of which little is kept would begin
another micro-batch at once, and each costs something whatever is kept.
"""

BEFORE_NEXT = 0.75
"""The part of its trigger interval in which a micro-batch is to be done. Where one takes longer the next has more rows and takes
longer still, and runs beside those of other queries: then all of them vary by a third instead of a twentieth.
"""

YOUNG = 0.8
"""The part of the goal that the oldest result may have, of the query that is hardest to keep young."""

UNPACED = 0.3
"""The part of the goal that a micro-batch may take where trigger intervals are too short for them to be done within."""

GAIN, NEAR = 0.2, 1.2
"""The power of the stress by which the budget changes, where the stress is less than so many times off."""

LARGE_GAIN = 0.5
"""That power elsewhere."""

MOST_STEP = 2.0
"""The budget changes at most so many times, and grows to at most so many times what was done."""

LEAST_ALLOWED = 0.1
"""The part of the goal that a micro-batch may take in any case, however long rows wait for it to begin."""

SMOOTH = 0.3
"""What is taken up of what the latest micro-batch says of the work for a row, on a scale of ratios; of the first ones, that all
count the same, more.
"""

MOST_CHANGE = 4.0
"""It is then taken for at most so many times more or less than before."""

TRIED = 0.05
"""Each query keeps at least so much of the share of rows that all of them keep together."""

TRIALS, TRIAL_EVERY, TRIAL_LATER = 3, 6, 25
"""A query that keeps less than the others keeps what all do for one micro-batch in so many: the first ones, and later. What its
rows cost is told by micro-batches of which more and less is kept; of one that never keeps much it is not learned that they are
less work than they once seemed, as they do while code is being compiled.
"""

IDLE = 3.0
"""A query of which nothing is heard for so many times its goal, or the time between its last micro-batches, has nothing to do."""

HOPELESS = 2.0
"""For a query that is late whatever it keeps the others give so much: until their micro-batches take that much less time than
they may. More would leave nothing of them, and may not help it.
"""

HARDLY_MORE = 4.0
"""A budget that is so many times the least tells that next to nothing can be done: a short micro-batch moves it that far."""

LEAST_STRESS = 1e-3
"""Less is taken for so much."""

SPANS = 200
"""Micro-batches of which it is known when they ran."""


@dataclass(frozen=True, slots=True)
class Latest:
    """The latest micro-batch of a query: when it ``began`` and ``ended``, in seconds, and its ``stress``: the time that it
    took, by the time that it may take. ``pause``: from the begin of the one before, in seconds.
    """

    began: float
    ended: float
    stress: float
    pause: float


@dataclass(slots=True)
class WorthGroup:
    """All of them are one group. ``worth``: of their whole answers against each other; ``interval_ms``: of their triggers.

    ``budget``: the work that all of them may do in a second, in seconds of the whole machine; None: it is not known yet.
    ``work``: milliseconds of a row of each that is kept, if it had the machine for itself, noise taken out. ``vain``: what all of
    them keep where their micro-batches are too long though next to nothing is.
    """

    controllers: dict[str, Controller] = field(default_factory=dict)
    worth: dict[str, float] = field(default_factory=dict)
    interval_ms: dict[str, float] = field(default_factory=dict)
    budget: float | None = None
    work: dict[str, float] = field(default_factory=dict)
    vain: InVain = field(default_factory=InVain)
    _measured: dict[str, int] = field(default_factory=dict)
    _latest: dict[str, Latest] = field(default_factory=dict)
    _spans: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=SPANS))
    _began: float | None = None
    _changed: float = 0.0

    def join(self, query: str, controller: Controller, worth: float, interval_ms: float) -> None:
        self.controllers[query], self.worth[query], self.interval_ms[query] = controller, worth, interval_ms

    def after(self, sample: QuerySample) -> None:
        """Takes in a micro-batch of one of them, and gives each its share, which its controller publishes."""
        query, controller = sample.query, self.controllers[sample.query]
        if sample.rows_in <= 0 or sample.batch_ms <= 0 or controller.decided is None:
            return
        now = sample.ended
        self._began = now if self._began is None else self._began
        began, before = now - sample.batch_ms / 1000, self._latest.get(query)
        self._measure(query, began, now)
        pause = 0.0 if before is None else began - before.began
        self._latest[query] = Latest(began, now, sample.batch_ms / self._allowed_ms(query), pause)
        active = [name for name in self.controllers if not self._idle(name, now)]
        if any(name not in self.work for name in active):
            return
        if self.budget is not None:
            stress, goal_ms = self._latest[query].stress, controller.throttle.latency_ms
            at_least = self.budget <= HARDLY_MORE * self._least(active)
            self.vain = self.vain.after(1000 * stress, at_least, sample.result_age_ms > goal_ms)
        if query == self._hardest(active) and self._latest[query].began >= self._changed:
            self.budget, self._changed = self._next_budget(active, self._stress(query, active)), now
        if self.budget is not None:
            self._give_out(active, self.budget)

    def _idle(self, query: str, now: float) -> bool:
        latest, goal_s = self._latest.get(query), self.controllers[query].throttle.latency_ms / 1000
        if latest is None:
            return self._began is not None and now - self._began > IDLE * goal_s
        return now - latest.ended > IDLE * max(goal_s, latest.pause)

    def _allowed_ms(self, query: str) -> float:
        """Rows wait for one trigger interval before their micro-batch, or for the micro-batch before it."""
        goal, interval = self.controllers[query].throttle.latency_ms, self.interval_ms[query]
        if BEFORE_NEXT * interval < UNPACED * goal:
            return UNPACED * goal
        return max(min(BEFORE_NEXT * interval, YOUNG * goal - interval), LEAST_ALLOWED * goal)

    def _measure(self, query: str, began: float, ended: float) -> None:
        """What a row of the query takes by itself.

        When the others ran is known of what they have done; of those that are not idle each is taken to have begun again
        since then, as soon as its trigger let it.
        """
        row_ms = self.controllers[query].row_ms
        begun = [
            (max(one.ended, one.began + self.interval_ms[name] / 1000), ended)
            for name, one in self._latest.items() if name != query and not self._idle(name, ended)
        ]
        others = [(begin, end) for begin, end in begun if begin < end]
        begins, ends = np.array([(began, ended), *self._spans, *others]).T
        self._spans.append((began, ended))
        if row_ms is None:
            return
        now = row_ms * float(isolated_times(begins, ends)[0]) / (ended - began)
        times = self._measured[query] = self._measured.get(query, 0) + 1
        before = self.work.get(query, now)
        ratio = now / before
        if times * SMOOTH > 1:
            ratio = min(MOST_CHANGE, max(1 / MOST_CHANGE, ratio))
        self.work[query] = before * ratio ** max(SMOOTH, 1 / times)

    def _hardest(self, active: list[str]) -> str:
        """The query that says how much all may do, or it would fall behind the others."""
        return max((name for name in active if name in self._latest), key=lambda name: self._stress(name, active))

    def _stress(self, query: str, active: list[str]) -> float:
        """That of its latest micro-batch; where its goal is out of reach it counts only so far."""
        stress = self._latest[query].stress
        hopeful = [self._latest[name].stress for name in active if name in self._latest and not self._hopeless(name)]
        return min(stress, HOPELESS * max(hopeful)) if self._hopeless(query) and hopeful else stress

    def _hopeless(self, query: str) -> bool:
        return self.controllers[query].beyond >= PATIENCE

    def _next_budget(self, active: list[str], stress: float) -> float:
        done = sum(self._load(name) * self._share(name) for name in active)
        least = self._least(active)
        if self.budget is None:
            return done
        step = _step(stress)
        # It only grows where it was made use of.
        return max(least, self.budget * step if step < 1 else max(self.budget, min(self.budget * step, MOST_STEP * done)))

    def _least(self, active: list[str]) -> float:
        """The work that is done whatever comes of it."""
        return sum(self._load(name) * max(self.controllers[name].throttle.least, self.vain.share) for name in active)

    def _give_out(self, active: list[str], budget: float) -> None:
        work = np.array([self._load(name) for name in active])
        worth = np.array([self.worth[name] for name in active])
        common = self._kept(active)
        least = np.array([max(TRIED * common, self.controllers[name].throttle.least) for name in active])
        for name, share in zip(active, worth_shares(work, worth, least, budget).tolist(), strict=True):
            self.controllers[name].give(max(share, common) if self._is_tried(name) else share)

    def _is_tried(self, query: str) -> bool:
        """Whether its next micro-batch tells what its rows cost."""
        first = TRIALS * TRIAL_EVERY
        times = self._measured.get(query, 0)
        return times % TRIAL_EVERY == 0 if times <= first else (times - first) % TRIAL_LATER == 0

    def _kept(self, active: list[str]) -> float:
        """The share of the rows of all of them that was kept of late."""
        recent = [sample for name in active for sample in self.controllers[name].recent]
        return sum(s.kept for s in recent) / max(1, sum(s.rows_in for s in recent))

    def _load(self, query: str) -> float:
        """The work that all rows of it are which may go."""
        decided = self.controllers[query].decided
        if decided is None or query not in self.work:
            return 0.0
        stays = decided.spared / decided.arrived if decided.arrived > 0 else 0.0
        return self.work[query] * decided.decision.rate * max(0.0, 1 - stays)

    def _share(self, query: str) -> float:
        decided = self.controllers[query].decided
        return 1.0 if decided is None else decided.decision.keep


def _step(stress: float) -> float:
    """How many times more may be done, after a micro-batch of the hardest query of such a stress."""
    power = GAIN if 1 / NEAR < stress < NEAR else LARGE_GAIN
    return float(min(MOST_STEP, max(1 / MOST_STEP, max(stress, LEAST_STRESS) ** -power)))
