"""How much each probe compares, and what the full probes among them learn (Algorithm 3 of Gedik, Wu, Yu, Liu 2007).

A probe has a budget of rows, a fraction of what is live, which it spends on basic windows in their order, and in the last of
them on the newest rows; newest first is partial processing, the learned order is selective. A few probes, drawn by a hash of
their ids, so that a replay draws the same ones, compare all and count what they find.
"""

from __future__ import annotations

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.joins.columns import Bools
from streamq.stdlib.joins.selection import Floats, Ints
from streamq.stdlib.nexmark.draws import bits, unit

ROUNDING = 1e-9
"""By how much a budget may lie below a whole number that it would be without rounding."""


@dataclass(frozen=True, slots=True)
class Counters:
    """What full probes of one window found.

    ``matches``, ``compared``: pairs and comparisons by basic window, ``[n_bw]``; ``utility``, ``utility_compared``: sum of
    the utility of pairs, and comparisons, by type of the probe, ``[types]``.
    """

    matches: Floats
    compared: Floats
    utility: Floats
    utility_compared: Floats

    def plus(self, other: Counters) -> Counters:
        """Both together."""
        return Counters(
            self.matches + other.matches, self.compared + other.compared,
            self.utility + other.utility, self.utility_compared + other.utility_compared,
        )


def no_counts(n_bw: int, types: int) -> Counters:
    """Nothing was found."""
    return Counters(np.zeros(n_bw), np.zeros(n_bw), np.zeros(types), np.zeros(types))


def counted(
    full: Bools, types: Ints, counts: Ints, probe: Ints, position: Ints, utility: Floats, n_types: int
) -> Counters:
    """What the ``full`` ones of these probes found.

    ``types``: ``[probes]``; ``counts``: rows that each compares if it is full, ``[probes, n_bw]``. Of each match, full or
    not: the ``probe``, the ``position`` of the basic window and the ``utility``, ``[matches]``.
    """
    found = full[probe]
    compared = counts[full]
    by = (
        np.bincount(position[found], minlength=counts.shape[1]),
        compared.sum(axis=0),
        np.bincount(types[probe[found]], utility[found], minlength=n_types),
        np.bincount(types[full], compared.sum(axis=1), minlength=n_types),
    )
    matches, by_position, of_type, by_type = (np.asarray(b, dtype=np.float64) for b in by)
    return Counters(matches, by_position, of_type, by_type)


def sampled(ids: Ints, window: int, share: float) -> Bools:
    """Which probes of a window are full, by their ids: the given share of all, and each also at every larger share."""
    return unit(bits(0, window, ids)) < share


def budgets(wanted: Floats, types: Ints, carry: Floats) -> tuple[Ints, Floats]:
    """Whole rows for each of these probes in order, and what is left over for the next, by type ``[types]``.

    ``wanted``: rows, ``[probes]``, the fraction times what is live. The part of a row that a probe cannot have goes to the
    next of its type, so that fractions of less than a row are honoured on average.
    """
    budget = np.zeros(len(wanted), dtype=np.int64)
    left = carry.copy()
    for z in np.unique(types).tolist():
        of = np.flatnonzero(types == z)
        total = carry[z] + np.cumsum(wanted[of])
        whole = np.floor(total + ROUNDING)
        budget[of] = np.diff(whole, prepend=0.0)
        left[z] = total[-1] - whole[-1]
    return budget, left


def whole_budgets(wanted: Floats) -> Ints:
    """Whole rows for each probe, at most what it wants: the part of a row is lost."""
    return np.floor(wanted + ROUNDING).astype(np.int64)


def takes(counts: Ints, order: Ints, budget: Ints) -> Ints:
    """How many rows of each basic window a probe compares, ``[probes, n_bw]``, the newest in it.

    ``counts``: live rows, ``[probes, n_bw]``; ``order``: positions of basic windows, ``[n_bw]``; ``budget``: ``[probes]``.
    """
    there = counts[:, order]
    before = np.cumsum(there, axis=1) - there
    take = np.empty_like(counts)
    take[:, order] = np.clip(budget[:, None] - before, 0, there)
    return take
