"""Numbers of similar pairs by comparing records with one another: all of them, or those of a random sample.

All pairs of n records cost n²·d comparisons (Deng 2007, section 5.1: the thesis). ``pair_count`` at rate 1 gives the same numbers
in far less, unless records have many attributes.
"""

from __future__ import annotations

import numpy as np

from streamq.stdlib.sketches.pair_count import PairCounts
from streamq.stdlib.sketches.super_values import Ints, Records

CELLS = 1 << 22
"""Pairs that are compared at once."""


def compared_pairs(of: Records) -> Ints:
    """``[d + 1]``: ordered pairs of records with exactly k attributes in common, at the same places."""
    codes, n = _codes(of), len(of)
    found = np.zeros(codes.shape[0] + 1, np.int64)
    rows = max(1, CELLS // max(1, n))
    for start in range(0, n, rows):
        stop = min(n, start + rows)
        # What comes later is compared once and counted for both.
        found += _compared(codes[:, start:stop], codes[:, start:stop])
        found += 2 * _compared(codes[:, start:stop], codes[:, stop:])
    found[-1] -= n
    return found


def compared_join(a: Records, b: Records) -> Ints:
    """``[d + 1]``: pairs of a record of each relation with exactly k attributes in common."""
    # Ids only tell NULLs apart, and those of b are not those of a.
    n, values = len(a), np.concatenate([a.values, b.values])
    nulls = None
    if a.nulls is not None or b.nulls is not None:
        nulls = np.concatenate(
            [np.zeros(r.values.shape, np.bool_) if r.nulls is None else r.nulls for r in (a, b)]
        )
    codes = _codes(Records(values, np.arange(len(values), dtype=np.uint64), nulls))
    found = np.zeros(codes.shape[0] + 1, np.int64)
    rows = max(1, CELLS // max(1, len(b)))
    for start in range(0, n, rows):
        found += _compared(codes[:, start : min(n, start + rows)], codes[:, n:])
    return found


def sampled_pairs(of: Records, min_common: int, sample: int, seed: int = 0) -> PairCounts:
    """Ordered pairs from those of ``sample`` records, drawn without replacement: times n(n - 1) by sample(sample - 1).

    ValueError for a sample of fewer than two records, or more than there are.
    """
    n, n_attrs = of.values.shape
    if not 2 <= sample <= n:
        raise ValueError(f"a sample has 2 to {n} records, not {sample}")
    if not 1 <= min_common <= n_attrs:
        raise ValueError(f"records have 1 to {n_attrs} attributes in common, not {min_common}")
    chosen = np.random.default_rng(seed).choice(n, sample, replace=False)
    pairs = compared_pairs(of.take(chosen)) * (n * (n - 1) / (sample * (sample - 1)))
    pairs[:min_common] = np.nan
    return PairCounts(n_attrs, min_common, pairs, float(pairs[min_common:].sum()), n * (n - 1), 2)


def _codes(of: Records) -> Ints:
    """``[d, n]``: small numbers that are equal where attributes are, and a number of its own for each NULL."""
    codes = np.empty(of.values.shape[::-1], np.int64)
    for i in range(of.values.shape[1]):
        codes[i] = np.unique(of.values[:, i], return_inverse=True)[1].ravel()
    if of.nulls is not None:
        codes = np.where(of.nulls.T, len(of) + np.arange(len(of)), codes)
    return codes


def _compared(first: Ints, second: Ints) -> Ints:
    """``[d + 1]``: pairs by the number of equal codes, of columns of ``[d, ...]``."""
    common = np.zeros((first.shape[1], second.shape[1]), np.uint8)
    for mine, other in zip(first.astype(np.int32), second.astype(np.int32), strict=True):
        common += mine[:, np.newaxis] == other
    alike = np.bincount(common[common > 0], minlength=first.shape[0] + 1)
    alike[0] = common.size - alike.sum()
    return alike
