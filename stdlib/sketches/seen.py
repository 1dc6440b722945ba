"""Rows that did not come before, as far as is remembered: one bucket of SELECT APPROX DISTINCT (ADR 0017).

State: a filter, which does not grow. Rows of a micro-batch are looked at in order of time, those of one time by their hash,
so that a micro-batch that is run again gives the same. Of equal rows in one the filter sees the first only. Rows that go, of
a relation, are not looked at.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamq.dsl.records import dataclass, field
from streamq.stdlib.sketches.hashing import mix64
from streamq.stdlib.sketches.membership_measures import first_occurrences
from streamq.stdlib.sketches.membership_plan import RotatingPlan, stable_plan
from streamq.stdlib.sketches.rotating_bloom import RotatingBloom
from streamq.stdlib.sketches.stable_bloom import StableBloom
from streamq.stdlib.timelines.table import FOREVER, State, Table, length, take

FILTER = "filter"


@dataclass(frozen=True, slots=True)
class Seen:
    """``stable``: cells, hashes, decrements and largest value of a Stable Bloom filter; or ``rotating``: bits, generations,
    hashes and capacity of Bloom filters in turn, each for a pane of ``pane_us`` microseconds, or where that is 0 until it
    is full. ``seed``: of the hashes."""

    seed: int
    stable: tuple[int, int, int, int] = field(default=(0, 0, 0, 0))
    rotating: tuple[int, int, int, int] = field(default=(0, 0, 0, 0))
    pane_us: int = 0

    def advance(self, state: State, rows: Table, upto: int) -> tuple[State, Table]:
        """The filter after the rows, and those of them that are new, in order of time."""
        del upto
        if length(rows):
            rows = take(rows, rows["sign"] > 0)
        if not length(rows):
            return state, {}
        rows = take(rows, np.lexsort((rows["row"], rows["at"])))
        rows = take(rows, self._firsts(rows))
        keys = rows["row"].view(np.uint64)
        filter_ = self._filter(state.tables.get(FILTER))
        if isinstance(filter_, StableBloom):
            came = filter_.observe(keys)
        else:
            came = filter_.observe(keys, rows["at"] // self.pane_us if self.pane_us else None)
        kept: Table = {"bytes": np.frombuffer(filter_.to_bytes(), np.uint8)}
        new = take(rows, ~came)
        new["end"] = np.full(length(new), FOREVER, np.int64)
        return State({FILTER: kept}, state.through), new

    def _firsts(self, rows: Table) -> NDArray[np.bool_]:
        """The first of equal rows, ``[n]``; under a window of time that of each pane, which remembers its own."""
        keys = rows["row"].view(np.uint64)
        if self.pane_us:
            keys = keys ^ mix64((rows["at"] // self.pane_us).view(np.uint64))
        return first_occurrences(keys)

    def _filter(self, table: Table | None) -> StableBloom | RotatingBloom:
        stored = None if table is None else table["bytes"].tobytes()
        if self.stable[0]:
            plan = stable_plan(*self.stable)
            return StableBloom(plan, self.seed) if stored is None else StableBloom.from_bytes(stored, plan, self.seed)
        turn = RotatingPlan(*self.rotating, fp_bound=0.0)
        return RotatingBloom(turn, self.seed) if stored is None else RotatingBloom.from_bytes(stored, turn, self.seed)
