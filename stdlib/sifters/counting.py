"""Which rows of a region go, so that just its threshold of them does.

By counting, without chance: of ``n`` rows ``ceil(threshold * n)`` are dropped, whatever n is (section 4.6 of the paper).
Thresholds are whole numbers of ``UNITS``, so that nothing drifts by rounding.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamq.stdlib.sifters.boxes import Floats, Ints

UNITS = 1 << 20
"""A threshold of 1."""


def units(drop: Floats) -> Ints:
    """Thresholds 0 to 1 as whole numbers."""
    return np.rint(np.clip(drop, 0.0, 1.0) * UNITS).astype(np.int64)


def numbers(region: Ints, before: Ints) -> Ints:
    """The number of each row in its region, from 1; ``before``: rows that each region has had, ``[regions]``."""
    order = np.argsort(region, kind="stable")
    in_order = region[order]
    starts = np.searchsorted(in_order, np.arange(len(before)), side="left")
    found = np.empty(len(region), dtype=np.int64)
    found[order] = np.arange(len(region)) - starts[in_order] + 1
    return found + before[region]


def dropped(region: Ints, drop: Ints, before: Ints) -> NDArray[np.bool_]:
    """Which rows are dropped: ``region`` of each, ``drop`` thresholds as ``units`` gives them, ``before`` as above."""
    number = numbers(region, before)
    unit = drop[region]
    # ceil(drop * number) goes up with this row.
    return -(-unit * number // UNITS) > -(-unit * (number - 1) // UNITS)
