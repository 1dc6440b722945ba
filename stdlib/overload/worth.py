"""Shares of rows by what they are worth: how much each query keeps where all of them together may do so much work.

An answer loses worth with its completeness in a line, by its weight and slope: ``V = a C + (1 - a)`` (Gedik, Wu, Yu,
nrSifters). Then it is best to keep all of the queries whose rows are worth most for their work and nothing of the others.
Of two queries that are alike one would get all and one nothing, by chance, and of one that keeps nothing it is never learned
what its rows cost. So the last rows of an answer count more: the worth of a share ``k`` is that of ``2 sqrt(k) - 1``, which
loses at most twice what the line does, and is best where shares are as the squares of worth for work.
"""

from __future__ import annotations

import numpy as np

from streamq.stdlib.sifters.boxes import Floats

LEAST_WORTH = 1e-12
"""Of the largest worth for the same work: what an answer counts that is worth less, so that it still comes before none."""


def worth_shares(work: Floats, worth: Floats, least: Floats, budget: float) -> Floats:
    """The share that each query keeps, from its ``least`` to 1, so that as much work is done as the ``budget`` allows.

    ``work``: what a query needs for all of its rows, in the unit of the budget; ``worth``: of its whole answer. Neither is
    negative. Where the least shares are more work than the budget, each query keeps its least; one that needs no work
    keeps all.
    """
    some = work > 0
    shares = np.ones_like(work)
    if not some.any():
        return shares
    load, floor = work[some], least[some]
    dear = worth[some] / load
    squares = np.maximum(dear / dear.max(), LEAST_WORTH) ** 2 if dear.any() else np.ones_like(dear)

    def kept(heights: Floats) -> Floats:
        """By height, up to which shares would be filled, and query."""
        return np.clip(heights[:, None] * squares, floor, 1.0)

    heights = np.unique(np.concatenate((floor / squares, 1 / squares)))
    # In between all shares, and so the work, grow in straight lines.
    height = np.interp(budget, kept(heights) @ load, heights)
    shares[some] = kept(np.array([height]))[0]
    return shares
