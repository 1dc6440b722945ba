"""The fixed point F: the error threshold from which on a larger one stores no fewer values (Ahuja 2006, section 3.2.4.3).

The thesis stores a training set with every threshold from 0 to 100 percent and takes the smallest one of the last plateau.
That plateau is one stored value per key, and it is reached exactly where no value is further from the first one of its key:
F = max |v[k, 0] - v[k, t]| / |v[k, t]| * 100. How much is stored does not always fall as thresholds grow, so a plateau above
that is an accident. A key that is NULL or NaN between begins anew after it, as what changes to it is always stored.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.recovery.changes import stored_rows
from streamq.stdlib.recovery.columns import Bools, Column, Floats, Ints, nothing
from streamq.stdlib.recovery.grouping import grouped
from streamq.stdlib.recovery.intervals import coded, intervals
from streamq.stdlib.recovery.measures import rel_error_pct
from streamq.stdlib.timelines.table import firsts

GRID = tuple(range(101))
"""The thresholds of the thesis, in percent."""

ROUNDING = 8
"""Steps that rounding can be away from a fixed point."""


@dataclass(frozen=True, slots=True)
class Training:
    """Values of one attribute by key, ``[rows]`` each, in order of time within a key; ``owner``: the key of each, rising.

    ``training`` makes it of rows in order of time.
    """

    owner: Ints
    values: Column

    @property
    def starts(self) -> Bools:
        """Where a key starts, or changes to or from what no number is near to: what is stored with every threshold."""
        return firsts(self.owner, _class(self.values))

    @property
    def floor(self) -> int:
        """The fewest values that can be stored."""
        return int(self.starts.sum())


def training(keys: Ints, values: Column) -> Training:
    """Rows in order of time by the codes of their keys, ``[rows]`` both."""
    if len(keys) != len(values):
        raise ValueError("each value has a key")
    groups = grouped(np.asarray(keys))
    return Training(groups.owner, coded(values.take(groups.order)))


def plateau_error_pct(data: Training) -> float | None:
    """F in percent, rounded up; None where one value per key is not enough for 100 percent. 0 for what is no number."""
    if data.values.kind == "other" or not len(data.owner):
        return 0.0
    first = np.flatnonzero(data.starts)
    first = np.repeat(first, np.diff(np.append(first, len(data.owner))))
    error = float(rel_error_pct(data.values, data.values.take(first)).max())
    # Zero after something else counts as 100, and is not reached by any threshold.
    for _ in range(ROUNDING):
        if error > 100:
            break
        spans = intervals(data.values, error)
        if not np.any(spans.beyond(spans.least[first], spans.most[first])):
            return error
        error = float(np.nextafter(error, np.inf))
    return None


def stored_counts(data: Training, grid: Sequence[float] = GRID) -> Ints:
    """How many values are stored with each threshold of a grid, s(E), ``[grid]``."""
    keys = int(data.owner[-1]) + 1 if len(data.owner) else 0
    last, known = nothing(data.values, keys), np.zeros(keys, dtype=bool)
    return np.array([int(stored_rows(data.values, data.owner, last, known, e).sum()) for e in grid], dtype=np.int64)


def plateau_on_grid(data: Training, grid: Sequence[float] = GRID) -> float | None:
    """The smallest threshold of a grid from which on s(E) stays the same; None where that is no plateau at the floor.

    ``grid``: rising, in percent. It is F rounded up to the grid where there is an F.
    """
    counts = stored_counts(data, grid)
    if data.values.kind != "other" and (not len(counts) or counts[-1] > data.floor):
        return None
    return float(grid[int(np.flatnonzero(np.append(True, counts[1:] != counts[:-1]))[-1])])


def robust_plateau(data: Training, tolerance: float = 0.05, grid: Sequence[float] = GRID) -> float | None:
    """The smallest threshold of a grid with at most ``1 + tolerance`` times the fewest values, so that few keys do not decide."""
    if tolerance < 0:
        raise ValueError("a tolerance is at least 0")
    enough = np.flatnonzero(stored_counts(data, grid) <= (1 + tolerance) * data.floor)
    return float(grid[int(enough[0])]) if len(enough) else None


def mean_plateau(keys: Ints, values: Column, subsets: int = 10) -> float | None:
    """The mean F of parts of a training set, each a stretch of time; None where one of them has none.

    Raises ``ValueError`` for fewer rows than parts.
    """
    if not 1 <= subsets <= len(keys):
        raise ValueError("each part of a training set has a row")
    parts = np.array_split(np.arange(len(keys)), subsets)
    found = [plateau_error_pct(training(keys[part], values.take(part))) for part in parts]
    some = np.array([f for f in found if f is not None], dtype=np.float64)
    return float(some.mean()) if len(some) == len(found) else None


def _class(values: Column) -> Ints:
    """Which values could stand for each other with some threshold: 0 of all numbers, others of NULL, NaN and infinities."""
    found = np.zeros(len(values), dtype=np.int64)
    if values.kind == "other":
        found[:] = values.values
    if values.kind == "number":
        numbers: Floats = values.values
        found[np.isnan(numbers)] = 1
        found[np.isinf(numbers)] = np.where(numbers[np.isinf(numbers)] > 0, 2, 3)
    found[values.null] = -1
    return found
