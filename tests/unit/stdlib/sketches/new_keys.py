"""Streams in which no key comes twice."""

from __future__ import annotations

import numpy as np

from streamq.stdlib.sketches.hashing import Keys, mix64


def new_keys(n: int, seed: int) -> Keys:
    """Keys, ``[n]``, that streams of other seeds do not have either."""
    return mix64(np.arange(n, dtype=np.uint64) + (np.uint64(seed) << np.uint64(40)))
