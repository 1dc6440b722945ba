"""The fair queries of a run: each tells what it saw, all get the shares that make their coverages level."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from streamq.runtime.control.controller import Controller
from streamq.runtime.control.level import Claim, level_shares
from streamq.runtime.metrics import QuerySample


@dataclass(slots=True)
class _Member:
    controller: Controller
    weight: float
    window_s: float
    recent: deque[QuerySample] = field(default_factory=deque)

    def claim(self, now: float) -> Claim | None:
        """What the query asks for; None before its cost is known."""
        while self.recent and self.recent[0].ended < now - self.window_s:
            self.recent.popleft()
        throttle = self.controller.throttle
        if throttle.model.cost is None or not self.recent:
            return None
        first, last = self.recent[0], self.recent[-1]
        arrived = sum(s.rows_in for s in self.recent)
        ms = (last.ended - first.ended) * 1000 + first.batch_ms
        kept = sum(s.kept for s in self.recent)
        return Claim(
            throttle.model.cost, arrived / max(ms, 1.0), arrived, kept, throttle.latency_ms, self.weight
        )


@dataclass(slots=True)
class Together:
    """All of them are one group, each with a source time window of its own."""

    members: dict[str, _Member] = field(default_factory=dict)

    def join(self, query: str, controller: Controller, weight: float, window_s: float) -> None:
        self.members[query] = _Member(controller, weight, window_s)

    def after(self, sample: QuerySample) -> None:
        """Takes in a micro-batch of one query, and gives each query its share; its controller publishes that."""
        self.members[sample.query].recent.append(sample)
        claims = {
            name: claim for name, member in self.members.items()
            if (claim := member.claim(sample.ended)) is not None
        }
        if not claims:
            return
        for name, share in zip(claims, level_shares(tuple(claims.values())), strict=True):
            self.members[name].controller.give(share)

    def coverage(self, query: str) -> float:
        """The share of the rows of the source time window that was kept; 1 where none arrived."""
        recent = self.members[query].recent
        arrived = sum(s.rows_in for s in recent)
        return sum(s.kept for s in recent) / arrived if arrived else 1.0
