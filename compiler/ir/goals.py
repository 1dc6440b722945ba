"""How much a shedder lets through."""

from __future__ import annotations

from streamq.compiler.ir.durations import show_ms
from streamq.dsl.records import dataclass


def control_view(query: str) -> str:
    """The name of the relation of one row with the numbers that steer a query."""
    return f"streamq_control_{query}"


@dataclass(frozen=True, slots=True)
class Goal:
    """One of: all rows but ``percent``; as many as results no older than ``latency_ms`` allow; ``rows_per_s``.

    ``least``: the share that is kept whatever that means for the goal, 0 to 1. ``fair_ms``: the source time window
    over which the coverages of all queries that have one are made level, in proportion to their ``weight``.
    """

    percent: float | None = None
    latency_ms: int | None = None
    rows_per_s: float | None = None
    least: float = 0.0
    fair_ms: int | None = None
    weight: float = 1.0

    @property
    def words(self) -> str:
        """Which rows go, as the end of a sentence."""
        if self.percent is not None:
            return f"{self.percent:g} % of the rows"
        if self.rows_per_s is not None:
            return f"the rows above {self.rows_per_s:,.0f} per second"
        assert self.latency_ms is not None
        least = f", at most {1 - self.least:.0%}" if self.least else ""
        fair = "" if self.fair_ms is None else ", and as fair queries give each other"
        return f"as many rows as results no older than {show_ms(self.latency_ms)} need{least}{fair}"
