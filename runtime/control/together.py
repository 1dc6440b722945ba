"""Queries of a run that shed together: how much all may keep, and the shares that make coverages of fair ones level.

They share a machine, so how long a micro-batch of one takes depends on what all the others do, and no query's own cost
tells how much all of them may keep. That is found by trying: more as long as results are young enough, less where they
are not.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from streamq.runtime.control.controller import Controller
from streamq.runtime.control.level import Claim, level_shares
from streamq.runtime.control.throttle import LEAST_KEEP
from streamq.runtime.metrics import QuerySample

YOUNG, LEAST_YOUNG = 0.8, 0.6
"""The part of the goal that the oldest result may have, of the query that is hardest to keep young: at first and at most, and at least."""

LONGER, SHORTER = 0.002, 0.05
"""What is added to it after a round on time, and taken off after one in which all were late: in balance where one micro-batch in 26 is.

How far ages scatter about what is aimed at is the machine's, so a part of the goal that does on one is too large on another.
"""

LESS, GAIN = 0.4, 0.2
"""The power of that over its age by which what is kept is changed in a round, in which each query has a micro-batch: where
results are too old, and else.

A micro-batch that runs was decided a round or two ago, and the state follows what is kept by the length of windows, some rounds more. With
steps that put it right at once what is kept swings between all and next to nothing (seen on a cluster with twice these).
"""

FAR, LARGE_GAIN = 0.6, 0.5
"""Where the hardest query is younger than so much of that, steps are larger."""

MOST_STEP = 2.0
"""At most so many times more, or less, in a round; and of more than so many times what was really kept in it, only half stays."""


@dataclass(slots=True)
class Together:
    """All of them are one group. ``weights``: of the queries' coverages against each other; ``same``: all keep one share.

    ``part``: of the rows that come to all of them, what may be kept; None: nothing is known yet. ``young``: the part of the goal that
    the oldest result may have now.
    """

    controllers: dict[str, Controller] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)
    part: float | None = None
    same: bool = False
    young: float = YOUNG
    _round: dict[str, QuerySample] = field(default_factory=dict)

    def join(self, query: str, controller: Controller, weight: float) -> None:
        self.controllers[query], self.weights[query] = controller, weight

    def after(self, sample: QuerySample) -> None:
        """Takes in a micro-batch of one of them, and gives each its share, which its controller publishes."""
        if sample.rows_in <= 0:
            return
        if sample.query in self._round:
            self.part = self._next_part()
            self._round.clear()
        self._round[sample.query] = sample
        if self.same and self.part is not None:
            for controller in self.controllers.values():
                controller.give(self.part)
        if self.same:
            return
        claims = {
            query: claim for query, controller in self.controllers.items()
            if (claim := _claim(controller, self.weights[query])) is not None
        }
        if self.part is None or not claims:
            return
        for query, share in zip(claims, level_shares(tuple(claims.values()), self.part), strict=True):
            self.controllers[query].give(share)

    def _next_part(self) -> float:
        samples = self._round.values()
        kept = sum(s.kept for s in samples) / sum(s.rows_in for s in samples)
        if self.part is None:
            return max(LEAST_KEEP, kept)
        goals = (self.controllers[query].throttle.latency_ms for query in self._round)
        # The query that is hardest to keep young says how much all may keep, or it would fall behind the others.
        ages = [s.result_age_ms / goal for s, goal in zip(samples, goals, strict=True)]
        age = max(*ages, 1e-3) / self.young
        if LEAST_KEEP < self.part < 1:
            late = sum(one > 1 for one in ages) / len(ages)
            self.young = min(YOUNG, max(LEAST_YOUNG, self.young + (1 - late) * LONGER - late * SHORTER))
        # It falls at most so far: one that comes after a pause is cut, and is no reason to keep as little of those to come.
        used = max(MOST_STEP * max(kept, LEAST_KEEP), self.part / MOST_STEP)
        return min(1.0, max(LEAST_KEEP, min(self.part * step_of(age), used)))


def step_of(age: float) -> float:
    """How many times more may be kept in the next round, after one in which results were so old for what they should be."""
    power = LESS if age > 1 else GAIN if age > FAR else LARGE_GAIN
    return min(MOST_STEP, max(1 / MOST_STEP, float(max(age, 1e-3) ** -power)))


def _claim(controller: Controller, weight: float) -> Claim | None:
    recent = controller.recent
    if not recent:
        return None
    arrived = sum(s.rows_in for s in recent)
    return Claim(
        arrived / controller.recent_ms, arrived, sum(s.kept for s in recent), controller.throttle.latency_ms, weight
    )
