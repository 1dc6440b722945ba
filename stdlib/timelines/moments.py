"""Rows given at their instant, and not before (ADR 0008)."""

from __future__ import annotations

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.timelines.facts import due
from streamq.stdlib.timelines.table import State, Table, length, take


@dataclass(frozen=True, slots=True)
class AtInstant:
    """Gives each change when the watermark has passed its instant, in order of time. State: those that wait."""

    def advance(self, state: State, rows: Table, upto: int) -> tuple[State, Table]:
        """The changes of (``state.through``, ``upto``]."""
        now, waiting = due(state.tables.get("waiting", {}), rows, upto)
        if length(now):
            now = take(now, np.argsort(now["at"], kind="stable"))
        return State({"waiting": waiting}, upto), now
