"""The share of every micro-batch, written down when it is decided.

A micro-batch that is run again, after a crash for instance, finds its decision and sheds the same rows. The
decision before is what the next one starts from, so nothing else has to survive a restart.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from streamq.dsl.records import dataclass
from streamq.runtime.control.knobs import from_numbers, read_numbers, to_numbers
from streamq.runtime.control.throttle import Decision, Throttle

KEPT_FILES = 100
"""Spark runs none but the last micro-batch again; the others are for whoever wants to look."""

_NAMES = ("keep", "rate", "reachable", "arrived", "decided_ms", "waited_ms", "usual")


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision: for how many rows it was made, when (milliseconds since 1970), and from what.

    ``waited_ms``: how long the oldest of the rows had waited for their micro-batch. ``spared``: as many of the rows are of
    streams of which none goes.
    """

    decision: Decision
    arrived: int
    decided_ms: float
    throttle: Throttle
    waited_ms: float = 0.0
    spared: int = 0


class DecisionLog:
    """A folder with a file for each micro-batch, named by its number."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find(self, batch: int) -> Decided | None:
        """What was decided for a micro-batch; None where nothing was, or the file is broken."""
        found = read_numbers(self.folder / str(batch))
        if found is None or any(name not in found for name in _NAMES):
            return None
        decision = Decision(found["keep"], found["rate"], bool(found["reachable"]), found["usual"], int(found.get("steady", 0)))
        throttle = from_numbers(found)
        if throttle is None or not 0 <= decision.keep <= 1:
            return None
        return Decided(decision, int(found["arrived"]), found["decided_ms"], throttle, found["waited_ms"], int(found.get("spared", 0)))

    def decide(self, batch: int, make: Callable[[Decided | None], Decided]) -> Decided:
        """The decision of a micro-batch: the one that was written, else a new one, from the one before.

        Where the file cannot be written the decision holds all the same: the query goes on, and only a
        repetition of the micro-batch might shed other rows.
        """
        known = self.find(batch)
        if known is not None:
            return known
        found = make(self.find(batch - 1))
        try:
            self._write(batch, found)
        except OSError:
            return found
        # Somebody else may have been first.
        return self.find(batch) or found

    def _write(self, batch: int, decided: Decided) -> None:
        decision = decided.decision
        numbers = {
            "keep": decision.keep, "rate": decision.rate, "reachable": int(decision.reachable), "usual": decision.usual,
            "steady": decision.steady, "spared": decided.spared, "arrived": decided.arrived, "decided_ms": decided.decided_ms, "waited_ms": decided.waited_ms,
            **to_numbers(decided.throttle),
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / str(batch)
        temporary = path.with_name(f".{batch}.{os.getpid()}")
        temporary.write_text(json.dumps(numbers), "utf-8")
        try:
            os.link(temporary, path)
        except FileExistsError:
            if self.find(batch) is None:
                temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        (self.folder / str(batch - KEPT_FILES)).unlink(missing_ok=True)
