"""What sketches of counters have in common: sums by cell, sketches that fit together, and their bytes."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamq.stdlib.sketches.hashing import Keys, row_seed, unsigned

Numbers = NDArray[Any]
"""int64 or float64."""
Floats = NDArray[np.float64]
Cells = NDArray[np.int64]

AT_ONCE = 16_384
"""Keys that are hashed at once: what is between key and cell stays in the cache."""

WIDEST = 2**32 - 1

MOST = 2**63 - 1
"""What a counter holds at most."""

FLOATS = "give weights as floats, of which sums go on"

_EXACT = 2.0**53
_VERSION = 1
_HEAD = struct.Struct("<4ssBxxIIQ")
"""Kind of sketch, kind of counters, version, depth, width, seed; then the total and the counters, of 8 bytes each."""


def empty_counts(width: int, depth: int) -> NDArray[np.int64]:
    """Zeros, ``[d, w]``. ValueError for fewer than 2 columns, and for no row."""
    if not (2 <= width <= WIDEST and depth >= 1):
        raise ValueError(
            f"a sketch has 2 to 2^32 - 1 columns and a row at least, not {depth} rows of {width}"
        )
    return np.zeros((depth, width), np.int64)


@lru_cache(maxsize=256)
def row_seeds(seed: int, depth: int) -> tuple[np.uint64, ...]:
    """The seeds by which ``depth`` rows see the cells of keys."""
    return tuple(row_seed(seed, row) for row in range(depth))


def sign_seeds(seed: int, depth: int) -> tuple[np.uint64, ...]:
    """The seeds by which ``depth`` rows see the signs of keys."""
    return row_seeds(unsigned(~seed), depth)


def checked(keys: Keys, weights: Numbers | None) -> Numbers | None:
    """The weights, ``[n]``, as int64 or float64. ValueError for keys that are none, and weights that do not fit them."""
    if keys.dtype != np.uint64 or keys.ndim != 1:
        raise ValueError(
            f"keys are 64 bits without sign in one dimension, not {keys.dtype} in {keys.ndim}: see keys_of"
        )
    if weights is None:
        return None
    if weights.shape != keys.shape:
        raise ValueError(
            f"each key has a weight: {len(keys)} keys, weights of shape {weights.shape}"
        )
    if weights.dtype.kind not in "iuf":
        raise ValueError(f"weights are numbers, not {weights.dtype}")
    if weights.dtype.kind in "iu":
        if weights.dtype.kind == "u" and len(weights) and weights.max() > MOST:
            raise ValueError(f"a whole weight is 2^63 - 1 at most, not {weights.max()}: {FLOATS}")
        return weights.astype(np.int64, copy=False)
    if not np.isfinite(weights).all():
        raise ValueError("a weight is a finite number")
    return weights.astype(np.float64, copy=False)


def raised(counts: Numbers, weights: Numbers | None) -> Numbers:
    """A copy of counters that such weights can be added to."""
    if weights is None or weights.dtype.kind == "i":
        return counts.copy()
    return counts.astype(np.float64)


def total_of(keys: Keys, weights: Numbers | None) -> int | float:
    """The sum of the weights: a whole number where they are. ValueError where it may not go into a counter."""
    if weights is None:
        return len(keys)
    # Without signs: a cell may have the weights of one sign only.
    if weights.dtype.kind == "i" and np.abs(weights.astype(np.float64)).sum() >= 2.0**63:
        raise ValueError(f"whole weights sum up to less than 2^63: {FLOATS}")
    found: int | float = weights.sum().item()
    return found


def fitting(total: int | float) -> int | float:
    """A sum of weights. ValueError where it is whole and counters may not hold it."""
    if isinstance(total, int) and abs(total) > MOST:
        raise ValueError(f"whole weights sum up to less than 2^63, not to {total}: {FLOATS}")
    return total


def parts(length: int) -> Iterator[slice]:
    """So many keys in pieces of ``AT_ONCE``."""
    return (slice(start, start + AT_ONCE) for start in range(0, length, AT_ONCE))


def cell_sums(cells: Cells, width: int, weights: Numbers | None) -> Numbers:
    """The sum of weights by cell, ``[width]``: exact where weights are whole."""
    if weights is None:
        return np.bincount(cells, minlength=width)
    sums = np.bincount(cells, weights=weights, minlength=width)
    if weights.dtype.kind == "f":
        return sums
    if np.abs(weights.astype(np.float64)).sum() < _EXACT:
        return sums.astype(np.int64)
    exact = np.zeros(width, np.int64)
    np.add.at(exact, cells, weights)
    return exact


def check_alike(counts: Numbers, seed: int, other_counts: Numbers, other_seed: int) -> None:
    """ValueError where two sketches do not see keys by the same cells."""
    if counts.shape != other_counts.shape or seed != other_seed:
        of = [
            f"{c.shape[-2]} rows of {c.shape[-1]}, seed {s}"
            for c, s in ((counts, seed), (other_counts, other_seed))
        ]
        raise ValueError(
            f"only sketches of one depth, width and seed go together: {of[0]}, and {of[1]}"
        )


def packed(kind: bytes, counts: Numbers, total: float, seed: int) -> bytes:
    """A sketch as bytes."""
    of = "q" if counts.dtype.kind == "i" else "d"
    head = _HEAD.pack(kind, of.encode(), _VERSION, *counts.shape, seed)
    return head + struct.pack(f"<{of}", total) + counts.astype(f"<{counts.dtype.kind}8").tobytes()


def unpacked(kind: bytes, data: bytes) -> tuple[Numbers, int | float, int]:
    """``(counts, total, seed)`` of what ``packed`` gave. ValueError for anything else."""
    if len(data) < _HEAD.size + 8:
        raise ValueError(f"{len(data)} bytes are no sketch")
    found, of, version, depth, width, seed = _HEAD.unpack_from(data)
    if found != kind or of not in (b"q", b"d"):
        raise ValueError(f"not a sketch of kind {kind.decode()}: it begins with {data[:5]!r}")
    if version != _VERSION:
        raise ValueError(f"bytes of version {_VERSION} are read, not of {version}")
    if depth < 1 or width < 2 or len(data) != _HEAD.size + 8 + 8 * depth * width:
        raise ValueError(f"{depth} rows of {width} counters are not in {len(data)} bytes")
    (total,) = struct.unpack_from(f"<{of.decode()}", data, _HEAD.size)
    counts = np.frombuffer(data, "<i8" if of == b"q" else "<f8", offset=_HEAD.size + 8)
    native = counts.astype(np.int64 if of == b"q" else np.float64)
    return native.reshape(depth, width), total, seed
