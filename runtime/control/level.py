"""SHED FAIR: the share that each fair query of a program keeps, so that their source coverages are level.

The coverage of a query is the share of its sources' information in the source time window that stands behind its
results (SCR; Fiscato 2012, section 4.3). All rows of a query weigh the same here, so it is the rows kept over the
rows that arrived. The time that the queries' micro-batches may take together is given out so that coverages, divided
by the queries' weights, are level (``stdlib/fairness/levels.py``). Pure: no clock, no files.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from streamq.dsl.records import dataclass
from streamq.runtime.control.throttle import HEADROOM
from streamq.stdlib.fairness.levels import fair_shares
from streamq.stdlib.overload.batch_time import Cost


@dataclass(frozen=True, slots=True)
class Claim:
    """A fair query. ``arrived``, ``kept``: rows of the source time window so far; ``rate``: rows per millisecond.

    ``latency_ms``: how old its results may be; ``weight``: its coverage against that of the others.
    """

    cost: Cost
    rate: float
    arrived: float
    kept: float
    latency_ms: float
    weight: float = 1.0


def level_shares(claims: Sequence[Claim]) -> tuple[float, ...]:
    """The share of its next rows that each query keeps, 0 to 1."""
    planned = np.array([HEADROOM * c.latency_ms / 2 for c in claims])
    coming = np.array([c.rate for c in claims]) * planned
    fixed = np.array([c.cost.fixed for c in claims]) + np.array([c.cost.read for c in claims]) * coming
    work = np.array([c.cost.work for c in claims]) * coming
    arrived = np.array([c.arrived for c in claims]) + coming
    some = arrived > 0
    pending = np.divide(coming, arrived, out=np.zeros_like(coming), where=some)
    kept = np.array([c.kept for c in claims]) + coming
    coverage = np.divide(kept, arrived, out=np.ones_like(coming), where=some)
    weights = np.array([c.weight for c in claims])
    # What one query saves of its time the others may take: they share the machine.
    budget = max(0.0, float((planned - fixed).sum()))
    return tuple(fair_shares(work, pending, coverage, budget, weights).keep.tolist())
