"""Which rows of a region go, so that just its threshold of them does.

By counting, without chance: of ``n`` rows ``ceil(threshold * n)`` are dropped, whatever n is (section 4.6 of the paper).
Thresholds are whole numbers of ``HASH_STEPS``, so that nothing drifts by rounding.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamq.stdlib.overload.hash_steps import HASH_STEPS
from streamq.stdlib.sifters.boxes import Floats, Ints


def units(drop: Floats) -> Ints:
    """Thresholds 0 to 1 as whole numbers."""
    return np.rint(np.clip(drop, 0.0, 1.0) * HASH_STEPS).astype(np.int64)


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
    return -(-unit * number // HASH_STEPS) > -(-unit * (number - 1) // HASH_STEPS)
