"""Other likenesses as numbers of equal attributes (Deng 2007, section 5.6: the thesis).

Sets whose Jaccard similarity is high have many min-hashes in common; vectors at a small angle fall on the same side of many
random planes; and sets of up to d items are records whose attributes have no places (a plan with ``untagged``). Sets are
given as the places at which each starts, ``[n + 1]``, and the items of all, as keys.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamq.stdlib.sketches.hashing import Keys, mix64, row_seed
from streamq.stdlib.sketches.super_values import Ints, Records, records

MOST_BITS = 64


def min_hashes(
    offsets: Ints, items: Keys, n_attrs: int, seed: int = 0, ids: NDArray[np.uint64] | None = None
) -> Records:
    """``n_attrs`` min-hashes of each set: two sets have one in common with the probability that is their Jaccard similarity.

    An empty set is like no other. Items that come twice in a set are one. ValueError where offsets are none.
    """
    starts, filled = _starts(offsets, items)
    values = np.zeros((len(filled), n_attrs), np.uint64)
    for i in range(n_attrs):
        values[filled, i] = _least(mix64(items ^ row_seed(seed, i)), starts)
    return records(values, ids, np.repeat(~filled[:, np.newaxis], n_attrs, axis=1))


def sign_projections(
    vectors: NDArray[np.float64],
    n_attrs: int,
    bits: int = 1,
    seed: int = 0,
    ids: NDArray[np.uint64] | None = None,
) -> Records:
    """``n_attrs`` attributes of ``bits`` signs of random projections of vectors ``[n, m]``.

    Two vectors have one in common with probability (1 - angle/π)^bits. One bit is equal by chance for half of all
    vectors, so 4 to 8 are usual. A vector of zeros, or with NaN, is like no other. ValueError for bits not in 1..64.
    """
    if not 1 <= bits <= MOST_BITS:
        raise ValueError(f"an attribute has 1 to {MOST_BITS} bits, not {bits}")
    without = ~(np.isfinite(vectors).all(axis=1) & (vectors != 0).any(axis=1))
    planes = np.random.default_rng(seed).standard_normal((vectors.shape[1], n_attrs * bits))
    above = (np.where(without[:, np.newaxis], 0.0, vectors) @ planes > 0).reshape(-1, n_attrs, bits)
    values = (above.astype(np.uint64) << np.arange(bits, dtype=np.uint64)).sum(
        axis=2, dtype=np.uint64
    )
    return records(values, ids, np.repeat(without[:, np.newaxis], n_attrs, axis=1))


def padded_items(
    offsets: Ints, items: Keys, n_attrs: int, ids: NDArray[np.uint64] | None = None
) -> Records:
    """The different items of each set, and NULLs up to ``n_attrs``: for plans with ``untagged``, which count common items.

    ValueError where offsets are none, and for a set with more items than that.
    """
    _, filled = _starts(offsets, items)
    owner = np.repeat(np.arange(len(filled)), np.diff(offsets))
    order = np.lexsort((items, owner))
    owner, ordered = owner[order], items[order]
    new = np.append(True, (owner[1:] != owner[:-1]) | (ordered[1:] != ordered[:-1]))[: len(ordered)]
    owner, ordered = owner[new], ordered[new]
    sizes = np.bincount(owner, minlength=len(filled))
    if sizes.max(initial=0) > n_attrs:
        raise ValueError(
            f"a set has {sizes.max()} items, and a record {n_attrs}: take more attributes, or min_hashes of the sets"
        )
    place = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    values, nulls = (
        np.zeros((len(filled), n_attrs), np.uint64),
        np.ones((len(filled), n_attrs), np.bool_),
    )
    values[owner, place], nulls[owner, place] = ordered, False
    return records(values, ids, nulls)


def _starts(offsets: Ints, items: Keys) -> tuple[Ints, NDArray[np.bool_]]:
    """Where the sets that have items start, and which of all ``[n]`` these are."""
    sizes = np.diff(offsets)
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(items) or (sizes < 0).any():
        raise ValueError(
            f"offsets rise from 0 to the number of items, {len(items)}, with one more than there are sets"
        )
    return offsets[:-1][sizes > 0], sizes > 0


def _least(keys: Keys, starts: Ints) -> Keys:
    # Sets without items are not in starts, so that each part goes up to the next set's.
    return np.minimum.reduceat(keys, starts) if len(starts) else keys[:0]
