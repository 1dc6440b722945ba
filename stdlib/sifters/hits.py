"""How many queries each sampled row matters to: the boxes of all queries, looked up at once.

In one attribute a row lies between two neighbouring bounds of boxes, and the set of boxes open there is known for each
such place, as bits. The boxes that hold the row are those in the sets of all its attributes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamq.stdlib.sifters.boxes import Floats, Ints

BLOCK = 4096
"""Rows, and boxes, that are looked up at once, to bound the memory."""


def hits(rows: Floats, lo: Floats, hi: Floats) -> Ints:
    """Of how many boxes each row is in: ``rows [m, n]``, boxes ``[M, n]``. Those of one query do not meet."""
    found = np.zeros(len(rows), dtype=np.int64)
    for first in range(0, len(lo), BLOCK):
        found += _hits(rows, lo[first : first + BLOCK], hi[first : first + BLOCK])
    return found


def _hits(rows: Floats, lo: Floats, hi: Floats) -> Ints:
    open_at = [_open(lo[:, d], hi[:, d]) for d in range(lo.shape[1])]
    found = np.empty(len(rows), dtype=np.int64)
    for start in range(0, len(rows), BLOCK):
        some = rows[start : start + BLOCK]
        both: NDArray[np.uint64] | None = None
        for d, (bounds, sets) in enumerate(open_at):
            here = sets[np.searchsorted(bounds, some[:, d], side="right")]
            both = here if both is None else both & here
        assert both is not None
        found[start : start + BLOCK] = np.bitwise_count(both).sum(axis=1, dtype=np.int64)
    return found


def _open(lo: Floats, hi: Floats) -> tuple[Floats, NDArray[np.uint64]]:
    """All bounds, rising, and the set of boxes that are open before the first and after each of them."""
    bounds = np.concatenate([lo, hi])
    order = np.argsort(bounds, kind="stable")
    box = np.arange(len(lo), dtype=np.uint64)
    words = (len(lo) + 63) // 64
    toggles = np.zeros((len(bounds) + 1, words), dtype=np.uint64)
    boxes = np.concatenate([box, box])[order]
    toggles[np.arange(1, len(bounds) + 1), boxes // np.uint64(64)] = np.uint64(1) << (boxes % np.uint64(64))
    return bounds[order], np.bitwise_xor.accumulate(toggles, axis=0)
