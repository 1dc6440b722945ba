"""Sketches that Spark's ``count_min_sketch`` made: its bytes as counters, and the cells by which it sees whole numbers.

Deng 2007, section 4.1 for what they are; the bytes are those of Spark 4: numbers with the highest byte first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from streamq.dsl.records import dataclass

VERSION = 1
HEAD_BYTES = 20
"""Version, 4; total, 8; depth, 4; width, 4."""

_LOW = np.int64(0x7FFFFFFF)


@dataclass(frozen=True, slots=True)
class SparkSketches:
    """n sketches of one shape: ``counts`` ``[n, d, w]``, ``totals`` ``[n]``, and ``hash_a``, the factors of the rows, ``[d]``."""

    counts: NDArray[np.int64]
    totals: NDArray[np.int64]
    hash_a: NDArray[np.int64]


def read_sketches(data: Sequence[bytes] | NDArray[np.object_]) -> SparkSketches:
    """Sketches from their bytes, n of them, at least one.

    ValueError for another version, bytes that are too short or too long, and sketches of other shapes or factors among them.
    """
    if not len(data):
        raise ValueError("no sketch: its shape is not known")
    length = len(data[0])
    if length < HEAD_BYTES or any(len(one) != length for one in data):
        raise ValueError("sketches of one shape have one length, and a head of 20 bytes")
    raw = np.frombuffer(b"".join(data), np.uint8).reshape(len(data), length)
    version, depth, width = (_numbers(raw, at, 1, 4)[:, 0] for at in (0, 12, 16))
    if (version != VERSION).any():
        raise ValueError(
            f"sketches of version {VERSION} are read, not of {version[version != VERSION][0]}"
        )
    d, w = int(depth[0]), int(width[0])
    if (depth != d).any() or (width != w).any():
        raise ValueError(
            "sketches of several shapes: read those of one eps and confidence together"
        )
    if d < 1 or w < 1 or length != HEAD_BYTES + 8 * d + 8 * d * w:
        raise ValueError(f"{d} rows of {w} counters are not in {length} bytes")
    factors = _numbers(raw, HEAD_BYTES, d, 8)
    if (factors != factors[0]).any():
        raise ValueError("sketches of several seeds do not see keys by the same cells")
    counts = _numbers(raw, HEAD_BYTES + 8 * d, d * w, 8).reshape(len(data), d, w)
    return SparkSketches(counts, _numbers(raw, 4, 1, 8)[:, 0], factors[0])


def spark_columns(
    keys: NDArray[np.int64], hash_a: NDArray[np.int64], width: int
) -> NDArray[np.int64]:
    """The cells of whole numbers, ``[n, d]``, of ``0 .. width - 1``, as Spark has them. ``hash_a``: ``[d]``."""
    with np.errstate(over="ignore"):
        v = keys.astype(np.int64, copy=False)[:, None] * hash_a
        v += v >> np.int64(32)
    v &= _LOW
    v %= np.int64(width)
    return v


def _numbers(raw: NDArray[np.uint8], at: int, count: int, size: int) -> NDArray[np.int64]:
    """Whole numbers of ``size`` bytes from one place in each sketch, ``[n, count]``."""
    piece = np.ascontiguousarray(raw[:, at : at + count * size])
    return piece.view(f">i{size}").astype(np.int64)
