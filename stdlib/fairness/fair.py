"""Fair shedding: tuples go where the coverage of a query is lowest, until the budget is used.

All that waits counts as dropped at first; then the query with the lowest coverage takes its best
batch, again and again. So the smallest coverage of all queries becomes as large as it can be.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.fairness.batches import Floats, Headers, Ints, summed
from streamq.stdlib.fairness.coverage import Log

Order = Literal["density", "total"]

DECIMALS = 12
"""Coverages that differ only after so many decimals are equal: sums of floats are not exact."""


@dataclass(frozen=True, slots=True)
class Admissions:
    """Batches in the order in which they were let in. ``positions``: in the headers.

    ``level``: coverage of the batch's query after it, divided by the query's weight.
    """

    positions: Ints
    level: Floats


def fair(
    headers: Headers,
    budget: float,
    coverage: Floats,
    weights: Floats | None = None,
    order: Order = "density",
    strict: bool = False,
) -> Ints:
    """The positions of the batches to keep, in the order of arrival.

    ``budget``: tuples that can be processed. ``coverage``: of each query hosted here, over all its
    nodes; NaN where not yet known, which counts as the mean of the others. ``weights``: a query of
    weight 2 gets twice the coverage; one of weight 0 gets what the others leave.
    ``order``: which batch of a query is best, by weight per tuple or by weight. Batches without
    tuples cost nothing and are kept. The last batch may go over the budget, never if ``strict``.
    """
    chosen = fair_admissions(headers, budget, coverage, weights, order, strict)
    return in_arrival_order(headers, np.append(np.flatnonzero(headers.n == 0), chosen.positions))


def fair_admissions(
    headers: Headers,
    budget: float,
    coverage: Floats,
    weights: Floats | None = None,
    order: Order = "density",
    strict: bool = False,
) -> Admissions:
    """As ``fair``, in the order of admission, without the batches that have no tuples."""
    known = filled(coverage)
    pool = np.flatnonzero(headers.n > 0)
    pending = summed(headers.query[pool], headers.total[pool], len(known))
    pool = pool[best_first(headers.take(pool), order)]
    claims = np.ones(len(known)) if weights is None else np.asarray(weights, dtype=np.float64)
    if not strict:
        found, level = _by_level(headers, pool, known - pending, claims)
        sizes = headers.n[found]
        reached = np.cumsum(sizes) - sizes < budget
        return Admissions(found[reached], level[reached])
    return _strictly(headers, pool, budget, known - pending, claims)


def best_first(headers: Headers, order: Order = "density") -> Ints:
    """The batches query by query, the best of each first; of equals the earlier. All have tuples."""
    density = headers.total / headers.n
    first, second = (density, headers.total) if order == "density" else (headers.total, density)
    return np.lexsort((headers.seq, -second, -first, headers.query))


def in_arrival_order(headers: Headers, positions: Ints) -> Ints:
    """The same positions as their batches arrived."""
    return positions[np.argsort(headers.seq[positions], kind="stable")]


def filled(coverage: Floats) -> Floats:
    """The coverages with the mean of those known for each that is not; 0 where none is known."""
    given = np.asarray(coverage, dtype=np.float64)
    unknown = np.isnan(given)
    if not unknown.any():
        return given
    mean = 0.0 if unknown.all() else float(given[~unknown].mean())
    return np.where(unknown, mean, given)


def compensated(coverage: Floats, admitted: Log, now: float, lag: float, window: float) -> Floats:
    """The coverages brought up to date by what this node did since they were measured.

    ``lag``: how long an admitted batch takes until it shows in them, about the window of the query
    and half the time between two reports. The log must go back ``window + lag``.
    """
    queries = len(coverage)
    since = admitted.between(now - lag, now, queries)
    gone = admitted.between(now - window - lag, now - window, queries)
    return coverage + since - gone


def _by_level(headers: Headers, pool: Ints, base: Floats, claims: Floats) -> tuple[Ints, Floats]:
    """The pool in the order of admission, and the level of the query after each batch.

    The pool is sorted by query, the best first. The level before a batch never falls within one
    query, so taking from the lowest query again and again is one sort by it.
    """
    query, total = headers.query[pool], headers.total[pool]
    sums = np.cumsum(total)
    begins = np.searchsorted(query, query)
    inside = sums - (sums[begins] - total[begins])
    last = claims[query] == 0
    claim = np.where(last, 1.0, claims[query])
    before = (base[query] + inside - total) / claim
    found = np.lexsort((np.arange(len(pool)), query, np.round(before, DECIMALS), last))
    return pool[found], ((base[query] + inside) / claim)[found]


def _strictly(
    headers: Headers, pool: Ints, budget: float, base: Floats, claims: Floats
) -> Admissions:
    """Admission that passes over what does not fit any more; a round for each size at most."""
    taken: list[Ints] = []
    levels: list[Floats] = []
    left = budget
    pool = pool[headers.n[pool] <= left]
    while pool.size:
        found, level = _by_level(headers, pool, base, claims)
        fitting = np.cumsum(headers.n[found]) <= left
        chosen = found[fitting]
        taken.append(chosen)
        levels.append(level[fitting])
        left -= int(headers.n[chosen].sum())
        base = base + summed(headers.query[chosen], headers.total[chosen], len(base))
        pool = pool[(headers.n[pool] <= left) & ~np.isin(pool, chosen)]
    if not taken:
        return Admissions(np.zeros(0, dtype=np.int64), np.zeros(0))
    return Admissions(np.concatenate(taken), np.concatenate(levels))
