"""The cells of a filter that an element looks at, and where an element's run of decrements begins.

Pure functions of keys, seed and the number of the element (Deng 2007, chapter 3: the thesis asks for independent uniform
cells): what was done once more after a failure comes out the same. The cells of a key step by a hash of their own
(Kirsch, Mitzenmacher 2006, "Less Hashing, Same Performance") and are mixed again, so that they do not follow each other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamq.stdlib.sketches.hashing import Keys, mix64, unsigned

Cells = NDArray[np.int64]

_STEP = np.uint64(0xABCDEF12345)


def probe_cells(keys: Keys, hashes: int, cells: int, seed: int) -> Cells:
    """The cells of each key, ``[hashes, n]`` of ``0 .. cells - 1``; some of a key's may be the same."""
    first = mix64(keys ^ np.uint64(unsigned(seed)))
    step = mix64(first ^ _STEP) | np.uint64(1)
    found = np.empty((hashes, len(keys)), np.uint64)
    for row in found:
        np.remainder(mix64(first), np.uint64(cells), out=row)
        first += step
    return found.view(np.int64)


def run_starts(first: int, n: int, cells: int, seed: int) -> Cells:
    """The first cell that each of ``n`` elements lowers, ``[n]``, from the element of number ``first`` on."""
    other = mix64(np.array([unsigned(seed + 1)], np.uint64))
    numbers = np.arange(first, first + n, dtype=np.uint64)
    return (mix64(numbers ^ other) % np.uint64(cells)).view(np.int64)
