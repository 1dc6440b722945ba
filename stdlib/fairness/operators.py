"""What operators do to weights: what comes in goes out again, in equal parts for all tuples.

An operator is a black box; only how many tuples it gives out is asked. One that gives out none
sends an empty batch with the weight. Each function takes the input of one firing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from streamq.stdlib.fairness.batches import (
    NOTHING,
    Batches,
    Floats,
    Ints,
    batches,
    joined_up,
    summed,
)


def propagate(content: Batches, n_out: int) -> Batches:
    """One batch of ``n_out`` tuples with the weight of the whole input: the rule behind all others."""
    return batches(n_out, content.weight)


def unchanged(content: Batches) -> Batches:
    """Map, projection, cast, sending, receiving, waiting: every batch stays as it is."""
    return content


def filtered(content: Batches, survivors: ArrayLike) -> Batches:
    """Each batch with the tuples that a filter let through; they share the weight of all."""
    left = _counts(content, survivors)
    if np.any(left > content.n):
        raise ValueError("a filter lets through no more tuples than there are")
    return Batches(left, content.total)


def exploded(content: Batches, n_out: ArrayLike) -> Batches:
    """Each batch with ``n_out`` tuples made of its own."""
    return Batches(_counts(content, n_out), content.total)


def united(*streams: Batches) -> Batches:
    """The batches of all streams; those of different weight stay apart."""
    return joined_up(streams)


def windowed(content: Batches) -> Batches:
    """The content of a window as one batch; nothing for a window without batches."""
    return propagate(content, content.size) if len(content) else NOTHING


def aggregated(content: Batches) -> Batches:
    """One tuple with the weight of the window; an empty batch where only empty ones came."""
    return top(content, 1)


def grouped(content: Batches, groups: int) -> Batches:
    """One tuple for each group, all of one weight."""
    return propagate(content, groups) if len(content) else NOTHING


def grouped_apart(group: Ints, weight: Floats, groups: int) -> Batches:
    """One tuple for each group with the weight of its own tuples: tuple i is in ``group[i]``.

    Groups are numbered from 0; one without tuples is an empty batch.
    """
    sizes = np.bincount(group, minlength=groups)
    return Batches(np.minimum(sizes, 1), summed(group, weight, groups))


def joined(left: Batches, right: Batches, n_out: int) -> Batches:
    """The ``n_out`` pairs of a join with the weight of both sides.

    Raises ValueError for more pairs than there can be.
    """
    if n_out > left.size * right.size:
        raise ValueError(f"{left.size} and {right.size} tuples have no {n_out} pairs")
    return propagate(joined_up((left, right)), n_out)


def top(content: Batches, k: int) -> Batches:
    """The first ``k`` tuples of a window, or as many as there are, with the weight of all."""
    return propagate(content, min(k, content.size)) if len(content) else NOTHING


def distinct(content: Batches, survivors: int) -> Batches:
    """The different tuples of a window with the weight of all."""
    return propagate(content, survivors) if len(content) else NOTHING


def copied(content: Batches, m: int) -> tuple[Batches, ...]:
    """A copy for each of ``m`` readers, which share the weight."""
    return (Batches(content.n, content.total / m),) * m


def routed(content: Batches, parts: Ints) -> tuple[Batches, ...]:
    """Each tuple for one reader only: ``parts[i, j]`` of the tuples of batch j go to reader i.

    A batch without tuples is shared by all. Raises ValueError where the parts are not the whole.
    """
    if not np.array_equal(parts.sum(axis=0), content.n):
        raise ValueError("the parts of a batch are not the whole of it")
    even = np.full(parts.shape, 1 / max(len(parts), 1))
    shares = np.divide(parts, content.n, out=even, where=content.n > 0)
    return tuple(Batches(n, content.total * s) for n, s in zip(parts, shares, strict=True))


def lost(content: Batches, kept: ArrayLike) -> Batches:
    """Each batch with ``kept`` of its tuples; the weight of the others is lost with them."""
    left = filtered(content, kept)
    return Batches(left.n, np.where(content.n > 0, content.per_tuple() * left.n, content.total))


def _counts(content: Batches, n_out: ArrayLike) -> Ints:
    return np.broadcast_to(np.asarray(n_out, dtype=np.int64), content.n.shape)
