"""A sifter: regions with thresholds, built from a sample of rows and the queries on their source."""

from __future__ import annotations

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.sifters.boxes import Floats, Ints
from streamq.stdlib.sifters.hits import hits
from streamq.stdlib.sifters.partition import partition
from streamq.stdlib.sifters.plans import Plan
from streamq.stdlib.sifters.queries import Queries, Wanted, consolidated
from streamq.stdlib.sifters.regions import Regions
from streamq.stdlib.sifters.thresholds import thresholds

ROWS_PER_REGION = 62.5
"""Rows of a sample for each region (Table I: 1000 for 16)."""


@dataclass(frozen=True, slots=True)
class Sifter:
    """By region: ``share`` of the rows it had in the sample, what is ``wanted`` of it, ``drop`` thresholds 0 to 1.

    ``keep``: the share of all rows for which these were made.
    """

    plan: Plan
    regions: Regions
    share: Floats
    wanted: Wanted
    drop: Floats
    keep: float

    @property
    def quality(self) -> float:
        """The quality of all queries together that is expected, at most 1."""
        return 1.0 - float(self.wanted.quality @ self.drop)

    @property
    def kept(self) -> float:
        """The share of all rows that is expected to be kept, with those that are kept as a sample."""
        sampled = self.plan.sampled
        return sampled + (1 - sampled) * (1.0 - float(self.share @ self.drop))


def sifter(plan: Plan, sample: Floats, queries: Queries, keep: float, hit: Ints | None = None) -> Sifter:
    """``sample``: rows ``[rows, attributes]`` of the domain 0 to 1; with none of them regions are equal and share rows.

    ``hit``: how many queries each of them matters to, where that is known.
    """
    if hit is None:
        hit = hits(sample, queries.lo, queries.hi)
    regions = partition(plan.method, plan.regions, sample, hit, queries.centres, plan.lines)
    share = regions.shares(sample)
    if not len(sample):
        share = np.prod(regions.hi - regions.lo, axis=1)
    wanted = consolidated(queries, regions, share)
    drop = drop_for(wanted, share, keep, plan.sampled, plan.fairness)
    return Sifter(plan, regions, share, wanted, drop, keep)


def drop_for(wanted: Wanted, share: Floats, keep: float, sampled: float, fairness: float) -> Floats:
    """The thresholds with which the share ``keep`` of all rows is kept, those of the sample included."""
    dropped = 1.0 - keep
    if sampled < 1:
        # Rows of the sample pass, so more of the others has to go.
        dropped = min(1.0, dropped / (1.0 - sampled))
    return thresholds(wanted, share, dropped, fairness)
