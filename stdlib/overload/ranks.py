"""Rows of least rank first: which rank a row must have so that a given share of all rows is kept.

A rank is any number that says what a row is worth (QOS UTILITY), or how fresh it is (OLDER THAN). The distribution of
ranks is known from a sample. Of the rows that have just the rank at the cut as many are kept as are needed to make up
the share: with few different ranks that is most of the decision, with many it is next to nothing. Between two ranks of
a sample of n the share is unknown by 1/n.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from streamq.dsl.records import dataclass

LEVELS = 256
"""Numbers that a distribution is kept as."""

SAMPLE_ROWS = 512
"""Rows of a micro-batch whose ranks are looked at."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Rows of a rank above ``rank`` are kept, of those that have it the share ``at``, 0 to 1."""

    rank: float
    at: float


def levels(samples: Sequence[NDArray[np.float64]]) -> tuple[float, ...]:
    """At most ``LEVELS`` ranks, rising, that stand for equal shares of all samples taken together."""
    if not sum(len(sample) for sample in samples):
        return ()
    ranks = np.sort(np.concatenate(samples))
    if len(ranks) > LEVELS:
        # The middle of each of as many equal parts.
        places = ((np.arange(LEVELS) + 0.5) * len(ranks) / LEVELS).astype(np.int64)
        ranks = ranks[places]
    return tuple(ranks.tolist())


def cut_of(ranks: Sequence[float], keep: float) -> Cut | None:
    """Where to cut so that a share ``keep`` of rows is kept; None where all are, or nothing is known of ranks.

    ``ranks``: what ``levels`` gives.
    """
    if keep >= 1 or not ranks:
        return None
    known = np.asarray(ranks)
    place = min(len(known) - 1, int((1 - max(keep, 0.0)) * len(known)))
    rank = known[place]
    above = float(np.mean(known > rank))
    same = float(np.mean(known == rank))
    return Cut(float(rank), min(1.0, max(0.0, (keep - above) / same)))
