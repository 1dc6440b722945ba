"""The other ways to choose what a node keeps: at random, by weight alone, and whole windows."""

from __future__ import annotations

import numpy as np

from streamq.stdlib.fairness.batches import Flags, Headers, Ints
from streamq.stdlib.fairness.fair import Order, best_first, in_arrival_order


def random_batches(headers: Headers, budget: float, random: np.random.Generator) -> Ints:
    """The positions of the batches to keep, chosen by lot until the budget (in tuples) is used.

    The last one may go over the budget. Batches without tuples cost nothing and are kept.
    """
    drawn = random.permutation(np.flatnonzero(headers.n > 0))
    return in_arrival_order(headers, _up_to(headers, drawn, budget))


def random_tuples(headers: Headers, budget: float, random: np.random.Generator) -> Ints:
    """How many tuples of each batch to keep, where each tuple is as likely to be kept as any other."""
    size = headers.size
    kept = int(min(max(budget, 0), size))
    if kept == size:
        return headers.n
    return random.multivariate_hypergeometric(headers.n, kept, method="marginals")


def thinned(headers: Headers, kept: Ints) -> Headers:
    """The batches with so many of their tuples, and the weight of those; empty ones stay as they are.

    A batch that keeps nothing is gone.
    """
    share = np.divide(kept, headers.n, out=np.ones(len(headers)), where=headers.n > 0)
    made = Headers(headers.query, kept, headers.total * share, headers.seq)
    return made.take(np.flatnonzero((kept > 0) | (headers.n == 0)))


def heaviest(headers: Headers, budget: float, order: Order = "density") -> Ints:
    """The positions of the batches to keep: those of most weight, whatever their query.

    For one query this is right. Of several, those with many sources may get nothing.
    Batches without tuples are kept; the last one may go over the budget.
    """
    some = np.flatnonzero(headers.n > 0)
    waiting = headers.take(some)
    together = Headers(np.zeros_like(waiting.query), waiting.n, waiting.total, waiting.seq)
    return in_arrival_order(headers, _up_to(headers, some[best_first(together, order)], budget))


def keeps_windows(starts: Ints, groups: Ints, drop: float, seed: int) -> Flags:
    """Which windows to keep whole, where a share ``drop`` of them is to be dropped.

    ``starts`` and ``groups``: the start of each window and a number for its group. The same window
    is always decided alike, so all its tuples stay or go together, after a restart too.
    Raises ValueError for a share outside 0 to 1.
    """
    if not 0 <= drop <= 1:
        raise ValueError(f"a share lies between 0 and 1, {drop} does not")
    mixed = _mixed(np.asarray(starts, dtype=np.int64).view(np.uint64), seed)
    mixed = _mixed(mixed ^ np.asarray(groups, dtype=np.int64).view(np.uint64), seed + 1)
    return (mixed >> np.uint64(11)) * 2.0**-53 < 1 - drop


def _up_to(headers: Headers, candidates: Ints, budget: float) -> Ints:
    """The first candidates until the budget is used, and all batches without tuples."""
    sizes = headers.n[candidates]
    chosen = candidates[np.cumsum(sizes) - sizes < budget]
    return np.append(np.flatnonzero(headers.n == 0), chosen)


def _mixed(
    values: np.ndarray[tuple[int, ...], np.dtype[np.uint64]], seed: int
) -> np.ndarray[tuple[int, ...], np.dtype[np.uint64]]:
    """Numbers without any pattern, always the same for the same input (the finalizer of SplitMix64)."""
    mixed = values + np.uint64((seed + 1) * 0x9E3779B97F4A7C15 % 2**64)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
