"""The fair queries of a run: what each saw, and the shares that make their coverages level."""

from __future__ import annotations

from dataclasses import dataclass, field

from streamq.runtime.control.controller import Controller
from streamq.runtime.control.level import Claim, level_shares


@dataclass(slots=True)
class Together:
    """All of them are one group. ``weights``: of the queries' coverages against each other."""

    controllers: dict[str, Controller] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)

    def join(self, query: str, controller: Controller, weight: float) -> None:
        self.controllers[query], self.weights[query] = controller, weight

    def level(self) -> None:
        """Gives each query its share, which its controller publishes; one whose cost is not known yet waits."""
        claims = {
            query: claim for query, controller in self.controllers.items()
            if (claim := _claim(controller, self.weights[query])) is not None
        }
        if not claims:
            return
        for query, share in zip(claims, level_shares(tuple(claims.values())), strict=True):
            self.controllers[query].give(share)


def _claim(controller: Controller, weight: float) -> Claim | None:
    throttle, recent = controller.throttle, controller.recent
    if throttle.model.cost is None or not recent:
        return None
    arrived = sum(s.rows_in for s in recent)
    ms = (recent[-1].ended - recent[0].ended) * 1000 + recent[0].batch_ms
    return Claim(
        throttle.model.cost, arrived / max(ms, 1.0), arrived, sum(s.kept for s in recent), throttle.latency_ms, weight
    )
