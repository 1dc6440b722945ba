"""Moving averages of the attributes of a window, so that single outliers do not decide what is informative.

Only the ranking sees them; rows are sent and retained as they are. A NULL leaves an average as it was. Of the two, the
exponential one follows the values more closely (Ahuja 2006, section 3.1.2, formulas 3.1 and 3.2, and Appendix B; the thesis
leaves out the division in 3.1, and starts its examples at the first value, at 0, and at a simple average).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from streamq.stdlib.attributes.columns import Floats
from streamq.stdlib.attributes.kinds import ALPHA, Seed

_BLOCK = 64
"""Rows that are averaged at once; more would be less exact where the first value is far from the others."""


def alpha_of(periods: int) -> float:
    """The weight of the newest value in an average of about so many rows: 2 / (N + 1). ValueError for none."""
    if periods < 1:
        raise ValueError("an average is over at least one row")
    return 2 / (periods + 1)


def sma(values: Floats, periods: int) -> Floats:
    """The mean of the last ``periods`` values, of the shape given; NaN until there are as many.

    ``values``: ``[rows]``, ``[rows, attributes]`` or ``[windows, rows, attributes]``, where every window starts anew; what is
    not finite is NULL. ValueError for fewer than one.
    """
    if periods < 1:
        raise ValueError("an average is over at least one row")
    return _on_series(values, lambda x: _sma(x, periods))


def ema(values: Floats, alpha: float = ALPHA, seed: Seed | float = "FIRST", periods: int | None = None) -> Floats:
    """The average that a new value moves by ``alpha`` of its distance, of the shape given: see ``sma``.

    ``seed``: it is the first value in the first row (FIRST); or it was 0, or a number, before the first row (ZERO); or it
    begins in row ``periods`` with the simple average up to there, and is NaN before (SMA). ValueError for ``alpha`` not
    above 0 and up to 1, or SMA without ``periods``.
    """
    if not 0 < alpha <= 1:
        raise ValueError(f"the weight of a value is above 0 and at most 1: {alpha}")
    if seed == "FIRST":
        return _on_series(values, lambda x: _ema(x, alpha, x[:1]))
    if seed == "SMA":
        if periods is None or periods < 1:
            raise ValueError("a simple average to start from is over at least one row")
        first = periods
        return _on_series(values, lambda x: _from_sma(x, alpha, first))
    start = 0.0 if seed == "ZERO" else float(seed)
    return _on_series(values, lambda x: _ema(x, alpha, np.full((1, x.shape[1]), start)), start)


def _on_series(values: Floats, average: Callable[[Floats], Floats], before: float = np.nan) -> Floats:
    """An average of ``[rows, series]`` without NULL, on all series of all windows: at a NULL it is that of the row before.

    Values are moved to the front of each series, and each row gets the average of as many values as came up to it.
    """
    x = np.asarray(values, dtype=np.float64)
    if x.ndim not in (1, 2, 3):
        raise ValueError("values are of rows, of rows and attributes, or of windows of these")
    if x.size == 0:
        return x.copy()
    rows_first = x.reshape(-1, 1) if x.ndim == 1 else np.moveaxis(x, -2, 0)
    series = rows_first.reshape(len(rows_first), -1)
    none = ~np.isfinite(series)
    dense = np.take_along_axis(series, np.argsort(none, axis=0, kind="stable"), axis=0)
    seen = np.cumsum(~none, axis=0)
    found = np.take_along_axis(average(np.where(np.isfinite(dense), dense, 0.0)), np.maximum(seen - 1, 0), axis=0)
    back = np.where(seen > 0, found, before).reshape(rows_first.shape)
    return back.reshape(-1) if x.ndim == 1 else np.moveaxis(back, 0, -2)


def _sma(x: Floats, periods: int) -> Floats:
    found = np.full(x.shape, np.nan)
    if len(x) >= periods:
        found[periods - 1 :] = np.lib.stride_tricks.sliding_window_view(x, periods, axis=0).mean(axis=-1)
    return found


def _from_sma(x: Floats, alpha: float, periods: int) -> Floats:
    found = np.full(x.shape, np.nan)
    if len(x) >= periods:
        first = x[:periods].mean(axis=0, keepdims=True)
        found[periods - 1] = first
        found[periods:] = _ema(x[periods:], alpha, first)
    return found


def _ema(x: Floats, alpha: float, start: Floats) -> Floats:
    """From ``start``, ``[1, series]``, before the first row; E_i - E = α Σ_j≤i (1-α)^(i-j) (x_j - E) some rows at a time.

    These sums are of one row at first, then of two, four and so on. A product with a matrix of weights would be rounded by
    how many series there are, and equal attributes would differ.
    """
    found = np.empty(x.shape)
    for first in range(0, len(x), _BLOCK):
        sums = alpha * (x[first : first + _BLOCK] - start)
        n, lag = len(sums), 1
        while lag < n:
            sums[lag:] = sums[lag:] + (1 - alpha) ** lag * sums[:-lag]
            lag *= 2
        found[first : first + n] = start + sums
        start = found[first + n - 1 : first + n]
    return found
