"""Between which numbers a recovered value lies for sure, by the error that its answer allows.

With the denominator ``sv`` an error E is a percentage of the value v that was shed, ``|r - v| * 100 <= E * |v|`` of the
recovered r, so that v is between r / (1 + E / 100) and r / (1 - E / 100); with ``mv`` it is one of r itself. Bounds are
rounded outwards, and beyond what rounding can have taken from them before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from streamq.dsl.records import dataclass
from streamq.stdlib.recovery.columns import Bools, Floats
from streamq.stdlib.recovery.intervals import EXACT, Denominator

STEPS = 4
"""Floats by which a bound is put outwards: three operations round, each by at most one of them."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and the largest value of each row, ``[rows]``; NaN where ``null``, of which nothing is known."""

    low: Floats
    high: Floats
    null: Bools

    def arrays(self) -> tuple[pa.Array, pa.Array]:
        """Both as columns, with NULL."""
        return pa.array(self.low, pa.float64(), mask=self.null), pa.array(self.high, pa.float64(), mask=self.null)

    def put(self, rows: Any, of: Bounds) -> None:
        """Takes those of some rows from others."""
        self.low[rows], self.high[rows], self.null[rows] = of.low, of.high, of.null


def numeric(type_: pa.DataType) -> bool:
    """Whether values of a type have bounds: numbers and whole numbers."""
    return bool(pa.types.is_integer(type_) or pa.types.is_floating(type_))


def unknown(rows: int) -> Bounds:
    """Of rows of which nothing is known."""
    return Bounds(np.full(rows, np.nan), np.full(rows, np.nan), np.ones(rows, dtype=bool))


def exact(values: pa.Array) -> Bounds:
    """Of values that are what they were: both bounds are the value, or the floats next to a whole number that is none."""
    null = values.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_floating(values.type):
        numbers = values.cast(pa.float64()).fill_null(np.nan).to_numpy(zero_copy_only=False)
        return Bounds(numbers.copy(), numbers.copy(), null)
    whole = values.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    near = whole.astype(np.float64)
    low, high = near.copy(), near.copy()
    wide = np.abs(near) >= EXACT
    # The float of a large whole number may be on either side of it; 2^63 is above all of them.
    back = np.where(near < 2.0**63, near, 0.0).astype(np.int64)
    above = wide & ((near >= 2.0**63) | (back > whole))
    below = wide & (near < 2.0**63) & (back < whole)
    low[above], high[below] = np.nextafter(near[above], -np.inf), np.nextafter(near[below], np.inf)
    low[null] = high[null] = np.nan
    return Bounds(low, high, null)


def within(values: pa.Array, error_pct: Floats, denominator: Denominator) -> Bounds:
    """Of recovered values with an error, ``[rows]``, in percent from 0 to 100.

    An error of 0, NULL, NaN and infinity are exact: such values stand for nothing else. Where a bound is infinite, the
    value itself may still not be.
    """
    found = exact(values)
    with np.errstate(invalid="ignore"):
        rows = np.flatnonzero((error_pct > 0) & np.isfinite(found.low) & np.isfinite(found.high))
    if not len(rows):
        return found
    low, high, pct = found.low[rows], found.high[rows], np.asarray(error_pct, dtype=np.float64)[rows]
    low, high = (_by_value if denominator == "sv" else _by_stored)(low, high, pct)
    with np.errstate(over="ignore", under="ignore"):
        for _ in range(STEPS):
            low, high = np.nextafter(low, -np.inf), np.nextafter(high, np.inf)
    if pa.types.is_integer(values.type):
        low, high = np.ceil(low), np.floor(high)
    found.low[rows], found.high[rows] = low, high
    return found


def _by_value(low: Floats, high: Floats, pct: Floats) -> tuple[Floats, Floats]:
    """The outermost values of which what is recovered is at most E percent away, E of the value.

    With E = 100 anything beyond it is, of its sign; and anything at all is that far away from 0.
    """
    with np.errstate(divide="ignore", over="ignore", under="ignore", invalid="ignore"):
        inner, outer = 100 / (100 + pct), 100 / (100 - pct)
        least = np.where(low >= 0, low * inner, low * outer)
        most = np.where(high > 0, high * outer, high * inner)
    anything = (pct == 100) & (low <= 0) & (high >= 0)
    return np.where(anything, -np.inf, least), np.where(anything, np.inf, most)


def _by_stored(low: Floats, high: Floats, pct: Floats) -> tuple[Floats, Floats]:
    """The same with E of what is recovered."""
    with np.errstate(over="ignore", under="ignore"):
        width = np.maximum(np.abs(low), np.abs(high)) * (pct / 100)
        # What rounding took from the width may be much of what is left after it is taken away.
        for _ in range(STEPS):
            width = np.nextafter(width, np.inf)
        return low - width, high + width
