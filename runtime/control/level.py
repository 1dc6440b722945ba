"""SHED FAIR: the share that each fair query of a program keeps, so that their source coverages are level.

The coverage of a query is the share of its sources' information in the source time window that stands behind its
results (SCR; Fiscato 2012, section 4.3). All rows of a query weigh the same here, so it is the rows kept over the
rows that arrived. What may be kept together is given out so that coverages, divided by the queries' weights, are level
(``stdlib/fairness/levels.py``). Pure: no clock, no files.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from streamq.dsl.records import dataclass
from streamq.runtime.control.throttle import HEADROOM
from streamq.stdlib.fairness.levels import fair_shares

CATCHING_UP = 0.5
"""How much of what a query is behind, or ahead, its next rows make up for.

All of it at once would make the share jump up and down where the source time window holds one micro-batch or two.
"""


@dataclass(frozen=True, slots=True)
class Claim:
    """A fair query. ``arrived``, ``kept``: rows of the source time window so far; ``rate``: rows per millisecond.

    ``latency_ms``: how old its results may be; ``weight``: its coverage against that of the others.
    """

    rate: float
    arrived: float
    kept: float
    latency_ms: float
    weight: float = 1.0


def level_shares(claims: Sequence[Claim], part: float) -> tuple[float, ...]:
    """The share of its next rows that each query keeps, 0 to 1, of whose rows the ``part`` is kept together."""
    coming = np.array([c.rate * HEADROOM * c.latency_ms / 2 for c in claims])
    arrived = CATCHING_UP * np.array([c.arrived for c in claims]) + coming
    some = arrived > 0
    pending = np.divide(coming, arrived, out=np.zeros_like(coming), where=some)
    kept = CATCHING_UP * np.array([c.kept for c in claims]) + coming
    coverage = np.divide(kept, arrived, out=np.ones_like(coming), where=some)
    weights = np.array([c.weight for c in claims])
    return tuple(fair_shares(coming, pending, coverage, part * float(coming.sum()), weights).keep.tolist())
