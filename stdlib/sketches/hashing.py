"""Hashes of sketches: a key is a number of 64 bits already, and each row of a sketch sees it through a seed of its own.

The mixer is the finaliser of splitmix64 (Steele, Lea, Flood 2014, "Fast Splittable Pseudorandom Number Generators"). All
of it is a pure function of key and seed: a sketch that is built again, or elsewhere, has the same cells.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]
"""Fingerprints of 64 bits, ``[n]``."""

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_TOP = np.uint64(32)


def unsigned(number: int) -> int:
    """The low 64 bits of a number: of a seed, what hashes see."""
    return number & 0xFFFFFFFFFFFFFFFF


def keys_of(numbers: NDArray[np.integer]) -> Keys:
    """Whole numbers as keys, ``[n]``: two's complement where they are negative."""
    if numbers.dtype.kind == "i":
        return np.ascontiguousarray(numbers, np.int64).view(np.uint64)
    return numbers.astype(np.uint64, copy=False)


def mix64(keys: Keys) -> Keys:
    """A bijection of 64 bits in which each bit of the key moves half of the result's, ``[n]``."""
    with np.errstate(over="ignore"):
        x = keys + _GAMMA
        x ^= x >> np.uint64(30)
        x *= _FIRST
        x ^= x >> np.uint64(27)
        x *= _SECOND
        x ^= x >> np.uint64(31)
    return x


def row_seed(seed: int, row: int) -> np.uint64:
    """The seed by which one row of a sketch sees keys."""
    both = np.array([unsigned(seed), row], np.uint64)
    return np.uint64(mix64(mix64(both[:1]) ^ both[1:])[0])


def buckets(keys: Keys, width: int, seed: np.uint64) -> NDArray[np.int64]:
    """A cell of ``0 .. width - 1`` for each key, ``[n]``; ``width`` is at most 2^32."""
    return ((mix64(keys ^ seed) >> _TOP) * np.uint64(width) >> _TOP).astype(np.int64)


def signs(keys: Keys, seed: np.uint64) -> NDArray[np.int64]:
    """-1 or 1 for each key, ``[n]``; the seed must be another one than the cells'."""
    return 1 - 2 * (mix64(keys ^ seed) & np.uint64(1)).astype(np.int64)
