"""How long an edge waits before it sends a message again that did not go: longer each time, and not all edges alike."""

from __future__ import annotations

from collections.abc import Callable

from streamq.dsl.records import dataclass, replace

FIRST_S, FACTOR, MOST_S = 0.5, 2.0, 60.0


@dataclass(frozen=True, slots=True)
class Backoff:
    """``failures`` in a row, and until when nothing is sent."""

    failures: int = 0
    until_s: float = 0.0

    def failed(self, now_s: float, chance: Callable[[], float]) -> Backoff:
        """Once more. ``chance``: a number from 0 to 1, of which edges that failed together have different ones."""
        longest = min(FIRST_S * FACTOR**min(self.failures, 30), MOST_S)
        return replace(self, failures=self.failures + 1, until_s=now_s + longest * (0.5 + 0.5 * chance()))

    def wait_s(self, now_s: float) -> float:
        """How long still; after a clock that was put back not longer than the longest time."""
        return max(min(self.until_s - now_s, MOST_S), 0.0)
