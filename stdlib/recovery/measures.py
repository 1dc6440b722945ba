"""How well shed values are recovered, and what that costs (tables 4.3, 4.4 and 4.10 of Ahuja 2006).

The thesis does not define its accuracy. Here the error of a value is relative to itself, that of many their mean, in which
stored values count as 0, and accuracy is what is left of 100 percent.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.recovery.columns import Column, Floats, alike

LARGE = 2.0**1000
"""Magnitudes above which differences could overflow."""


def rel_error_pct(original: Column, recovered: Column) -> Floats:
    """The error of each recovered value in percent of the original, ``[rows]``, 0 or more.

    Where the original is 0, NULL, NaN, infinite or no number, 0 if both are equal and 100 if not. Raises ``ValueError`` for
    columns of other lengths or types.
    """
    if len(original) != len(recovered):
        raise ValueError("there is a recovered value for each original one")
    original, recovered = alike([original, recovered])
    a, b = original.values, recovered.values
    equal = (original.null & recovered.null) | (~original.null & ~recovered.null & (a == b))
    if original.kind == "number":
        equal |= ~original.null & ~recovered.null & np.isnan(a) & np.isnan(b)
    error = np.where(equal, 0.0, 100.0)
    if original.kind == "other":
        return error
    with np.errstate(invalid="ignore"):
        rows = ~equal & ~original.null & ~recovered.null & np.isfinite(a) & (a != 0) & ~np.isnan(b)
    error[rows] = _relative(a[rows].astype(np.float64), b[rows].astype(np.float64))
    return error


def recovery_accuracy(original: Column, recovered: Column) -> float:
    """What is left of 100 percent after the mean error of all shed values. Raises ``ValueError`` if there are none."""
    errors = rel_error_pct(original, recovered)
    if not len(errors):
        raise ValueError("an accuracy is of some values")
    return 100.0 - float(errors.mean())


def stored_pct(stored: int, shed: int) -> float:
    """The share of shed values that was stored, in percent. Raises ``ValueError`` for no share."""
    if not 0 <= stored <= shed or not shed:
        raise ValueError("of the values that were shed some are stored")
    return 100.0 * stored / shed


def deviation_pct(train: float, test: float) -> float:
    """How far a fixed point of training data is from that of test data, in percent of the latter."""
    if test <= 0:
        raise ValueError("a deviation is from a fixed point above 0")
    return 100.0 * abs(test - train) / test


def hit_rate(active: Sequence[Collection[str]], recomputed: Sequence[Collection[str]]) -> float:
    """The share of windows whose plan is the one that is computed from the window itself, as sets of attributes."""
    if len(active) != len(recomputed) or not active:
        raise ValueError("each window has a plan, and one that was computed from it")
    return sum(set(a) == set(b) for a, b in zip(active, recomputed, strict=True)) / len(active)


@dataclass(frozen=True, slots=True)
class Overhead:
    """What recovery costs the source: bytes of the synopsis, and processor time in seconds for so many windows."""

    synopsis_bytes: int
    cpu_s: float
    windows: int

    @property
    def cpu_s_per_window(self) -> float:
        """Processor time of a window in seconds, 0 without one."""
        return self.cpu_s / self.windows if self.windows else 0.0


def _relative(original: Floats, recovered: Floats) -> Floats:
    """Of numbers that are not 0: without overflow of the difference, infinite where the recovered value is."""
    large = (np.abs(original) > LARGE) | (np.abs(recovered) > LARGE)
    scale = np.where(large, 0.25, 1.0)
    with np.errstate(over="ignore"):
        error: Floats = np.abs(original * scale - recovered * scale) / np.abs(original * scale) * 100
    return error
