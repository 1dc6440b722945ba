"""Frequencies that follow Zipf's law."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def zipf_counts(rows: int, domain: int, z: float, seed: int) -> NDArray[np.int64]:
    """So many rows by key, ``[domain]``, the likeliest key first."""
    shares = np.arange(1, domain + 1.0) ** -z
    return np.random.default_rng(seed).multinomial(rows, shares / shares.sum())


def self_join(counts: NDArray[np.int64]) -> float:
    return float((counts.astype(float) ** 2).sum())
