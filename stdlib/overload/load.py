"""Whether the operators of queries can keep up with given rates, known before anything runs (Aurora)."""

from __future__ import annotations

import numpy as np

from streamq.stdlib.fairness.batches import Floats


def load_per_row(costs: Floats, selectivities: Floats) -> float:
    """What one input row costs in a chain of operators, in the unit of ``costs``.

    ``costs``: of a row at each operator. ``selectivities``: rows out per row in, of each operator;
    that of the last one does not matter.
    """
    reaching = np.concatenate(([1.0], np.cumprod(selectivities)))[: len(costs)]
    return float(reaching @ costs)


def load(rates: Floats, per_row: Floats) -> float:
    """The load of all inputs: rows per second of each, times what its row costs."""
    return float(np.asarray(rates) @ np.asarray(per_row))


def overloaded(load: float, capacity: float, headroom: float = 1.0) -> bool:
    """Whether the load is more than the share ``headroom`` of the capacity that may be used."""
    return load > headroom * capacity
