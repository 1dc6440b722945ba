"""Buffers of keys as baselines for filters: the least recently used key goes first (Deng 2007, section 3.5: the thesis).

For experiments, on whole streams: a buffer of so many keys reports no new element as a duplicate, and misses those whose
last occurrence it has forgotten.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamq.stdlib.sketches.hashing import Keys, mix64, unsigned
from streamq.stdlib.sketches.membership_measures import last_seen

_TO_UNIT = 2.0**-53


def lru(keys: Keys, capacity: int) -> NDArray[np.bool_]:
    """Whether each element is in a buffer of the ``capacity`` keys used last, ``[n]``; O(n log n)."""
    _check(capacity)
    distance = reuse_distances(keys)
    return (distance >= 0) & (distance < capacity)


def reuse_distances(keys: Keys) -> NDArray[np.int64]:
    """The distinct other keys since an element's last occurrence, ``[n]``; -1 where there was none.

    Those are the s between its last occurrence p and itself, t, that were not before since p: ``last[s] < p``. As that
    holds of all s up to p too, it is what is smaller and earlier in ``last``, less p + 1.
    """
    last = last_seen(keys)
    found = _smaller_before(last) - last - 1
    found[last < 0] = -1
    return found


def _smaller_before(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each number that is there once, how many smaller ones are before it, ``[n]``.

    By the bits of ranks, the highest first: numbers stay in order of time within each block of the same higher bits, and
    block k of 2^b numbers begins at k * 2^b as ranks are all of 0 .. n - 1.
    """
    n = len(numbers)
    by_rank = np.argsort(numbers, kind="stable")
    ranks = np.empty(n, np.int64)
    ranks[by_rank] = np.arange(n)
    smaller = np.zeros(n, np.int64)
    for bit in reversed(range(max(n - 1, 0).bit_length())):
        high = (ranks >> bit) & 1 == 1
        begins = ranks >> (bit + 1) << (bit + 1)
        lows = np.append(0, np.cumsum(~high))
        lows_before = lows[:-1] - lows[begins]
        smaller[ranks[high]] += lows_before[high]
        moved = np.where(high, np.arange(n) - lows_before + (1 << bit), begins + lows_before)
        split = np.empty_like(ranks)
        split[moved] = ranks
        ranks = split
    found = np.empty(n, np.int64)
    found[by_rank] = smaller
    return found


def clock(keys: Keys, capacity: int) -> NDArray[np.bool_]:
    """The same of a buffer that gives each key a second chance in a circle, ``[n]``; one element after the other."""
    _check(capacity)
    slots: list[int] = []
    used: list[bool] = []
    where: dict[int, int] = {}
    hand = 0
    found = np.zeros(len(keys), np.bool_)
    for i, key in enumerate(keys.tolist()):
        at = where.get(key)
        if at is not None:
            used[at] = found[i] = True
        elif len(slots) < capacity:
            where[key] = len(slots)
            slots.append(key)
            used.append(False)
        else:
            while used[hand]:
                used[hand] = False
                hand = (hand + 1) % capacity
            del where[slots[hand]]
            where[key], slots[hand] = hand, key
            hand = (hand + 1) % capacity
    return found


def fp_buffering(keys: Keys, capacity: int, q: float, seed: int) -> NDArray[np.bool_]:
    """``lru``, with a share ``q`` of what is not in the buffer taken for duplicates, ``[n]``: a filter's false positives."""
    if not 0 <= q <= 1:
        raise ValueError(f"a share is from 0 to 1: {q}")
    seen = mix64(np.array([unsigned(seed)], np.uint64))
    drawn = (mix64(np.arange(len(keys), dtype=np.uint64) ^ seen) >> np.uint64(11)).astype(
        np.float64
    ) * _TO_UNIT
    return lru(keys, capacity) | (drawn < q)


def _check(capacity: int) -> None:
    if capacity < 1:
        raise ValueError(f"a buffer holds a key at least: {capacity}")
