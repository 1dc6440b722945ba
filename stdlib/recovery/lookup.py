"""Recovery of shed values: the one stored last up to the cycle that is asked for (Module 2 of Ahuja 2006)."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamq.dsl.records import dataclass
from streamq.stdlib.recovery.columns import Bools, Column, Floats, Ints, column, concat, nothing
from streamq.stdlib.recovery.synopsis import CYCLE_BITS, MOST_CYCLES, MOST_KEYS, Synopsis, address


class Status(IntEnum):
    """How a value was recovered: its own; one stored before; not at all, as it was sent; not at all, as it was not retained."""

    EXACT = 0
    APPROXIMATE = 1
    SENT = 2
    NOT_RETAINED = 3


class NotRetained(LookupError):
    """A value was never stored, or is forgotten, or was sent instead of being shed."""


@dataclass(frozen=True, slots=True)
class Recovered:
    """Recovered values, ``[asked]`` each.

    ``values``: NULL where NULL was shed, and where nothing is recovered; ``status``: one of ``Status``; ``cycle_no``: the
    cycle that each value was stored in, 0 where nothing is recovered. ``max_rel_error_pct``: how far the shed value can be
    from it, NaN where nothing is recovered.
    """

    values: Column
    status: NDArray[np.int8]
    cycle_no: Ints
    max_rel_error_pct: Floats

    def __len__(self) -> int:
        """How many were asked for."""
        return len(self.status)

    @property
    def found(self) -> Bools:
        """Where a value is recovered."""
        return self.status <= Status.APPROXIMATE

    def item(self, row: int) -> Any:
        """One value, None for NULL. Raises ``NotRetained``."""
        if not self.found[row]:
            raise NotRetained(
                "the value was sent" if self.status[row] == Status.SENT else "the value is not in the synopsis"
            )
        return self.values.item(row)


def recover(synopsis: Synopsis, stream: str, attribute: str, keys: Ints, cycle_no: Ints) -> Recovered:
    """The shed values of keys in cycles, ``[asked]`` each: O(log stored) for one.

    ``keys``: codes, of which unknown ones are ``NOT_RETAINED``, as are cycles that did not come yet. Raises ``ValueError``
    where there is not one cycle for each key.
    """
    keys, cycle_no = np.asarray(keys, dtype=np.int64), np.asarray(cycle_no, dtype=np.int64)
    if keys.ndim != 1 or keys.shape != cycle_no.shape:
        raise ValueError("each key is asked for in one cycle")
    series = synopsis.of(stream, attribute)
    until = synopsis.cycle_no.get(stream, np.empty(0, dtype=np.int64))
    known = (keys >= 0) & (keys < min(len(until), MOST_KEYS)) & (cycle_no >= 1) & (cycle_no < MOST_CYCLES)
    known[known] = cycle_no[known] <= until[keys[known]]
    left = np.flatnonzero(known)
    status = np.full(len(keys), Status.NOT_RETAINED, dtype=np.int8)
    stored_in = np.zeros(len(keys), dtype=np.int64)
    asked, found = [np.empty(0, dtype=np.int64)], [series.runs[0].values.take(slice(0)) if series.runs else column([])]
    for run in reversed(series.runs):
        place = np.searchsorted(run.address, address(keys[left], cycle_no[left]), side="right") - 1
        there = (place >= 0) & (run.address[place] >> CYCLE_BITS == keys[left])
        rows, place, left = left[there], place[there], left[~there]
        stored_in[rows] = run.address[place] & (MOST_CYCLES - 1)
        status[rows] = np.where(stored_in[rows] == cycle_no[rows], Status.EXACT, Status.APPROXIMATE)
        status[rows[run.sent[place]]] = Status.SENT
        asked.append(rows)
        found.append(run.values.take(place))
    rows, values = np.concatenate(asked), concat(found)
    bound = np.where(status == Status.APPROXIMATE, _bound(series.rule.max_rel_error_pct, values), 0.0)
    nowhere = status > Status.APPROXIMATE
    return Recovered(
        _placed(values, rows, len(keys)), status, np.where(nowhere, 0, stored_in), np.where(nowhere, np.nan, bound)
    )


def _bound(max_rel_error_pct: float, values: Column) -> float:
    """The error of values that were not stored themselves: what is no number was stored whenever it changed."""
    return 0.0 if values.kind == "other" else max_rel_error_pct


def _placed(values: Column, rows: Ints, size: int) -> Column:
    """Values at their rows, NULL elsewhere."""
    wide = nothing(values, size)
    wide.values[rows], wide.null[rows] = values.values, values.null
    return wide
