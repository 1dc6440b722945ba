"""How well duplicates of a stream were found: rates of errors, and gaps (Deng 2007, section 3.1: the thesis)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamq.dsl.records import dataclass
from streamq.stdlib.sketches.hashing import Keys

EXACT_GAPS = 4096
"""Longer gaps are counted by classes."""

CLASSES = 64
"""Of gaps, in each doubling: none is off by more than 1 %."""


@dataclass(frozen=True, slots=True)
class GapCounts:
    """``gaps``: in elements strictly between, ``[k]``, rising; ``counts``: the duplicates that have each, ``[k]``."""

    gaps: NDArray[np.int64]
    counts: NDArray[np.int64]


def first_occurrences(keys: Keys) -> NDArray[np.bool_]:
    """Whether an element is the first of its key, ``[n]``: the truth that flags are held against is the opposite."""
    return last_seen(keys) < 0


def last_seen(keys: NDArray[np.generic]) -> NDArray[np.int64]:
    """Where the key was before, ``[n]``; -1 where it was not."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    before = np.full(len(keys), -1, np.int64)
    again = np.flatnonzero(ordered[1:] == ordered[:-1]) + 1
    before[order[again]] = order[again - 1]
    return before


def gaps(keys: Keys) -> NDArray[np.int64]:
    """The elements strictly between each duplicate and the one before of its key, ``[duplicates]``, as they come."""
    before = last_seen(keys)
    again = np.flatnonzero(before >= 0)
    return again - before[again] - 1


def gap_counts(of: NDArray[np.int64]) -> GapCounts:
    """How often each gap is: exactly up to ``EXACT_GAPS``, above that by classes, each told by its middle."""
    exponent = np.frexp(np.maximum(of, 1).astype(np.float64))[1].astype(np.int64)
    width = np.left_shift(1, np.maximum(exponent - CLASSES.bit_length(), 0))
    middle = of // width * width + width // 2
    found, counts = np.unique(np.where(of < EXACT_GAPS, of, middle), return_counts=True)
    return GapCounts(found, counts)


def fp_rate(flags: NDArray[np.bool_], duplicate: NDArray[np.bool_]) -> float:
    """New elements that were flagged, as a share of the new ones; 0 where there are none. Both ``[n]``."""
    return _share(flags, ~duplicate)


def fn_rate(flags: NDArray[np.bool_], duplicate: NDArray[np.bool_]) -> float:
    """Duplicates that were not flagged, as a share of duplicates; 0 where there are none. Both ``[n]``."""
    return _share(~flags, duplicate)


def _share(wrong: NDArray[np.bool_], of: NDArray[np.bool_]) -> float:
    return int(np.count_nonzero(wrong & of)) / max(int(np.count_nonzero(of)), 1)
