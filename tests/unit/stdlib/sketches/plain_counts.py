"""Sizes from exact counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def self_join(counts: NDArray[np.int64]) -> float:
    """F2 of frequencies, ``[keys]``."""
    return float((counts.astype(float) ** 2).sum())
