"""Recovery by the nearest neighbour: a shed value is that of the row of another window that is most alike in the rest.

The first method of Ahuja 2006 (equation 3.6), for which nothing is kept at the source, but both windows have to be at one
place. Attributes compare in their own units unless they are scaled.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.recovery.columns import Floats, Ints

Scaling = Literal["none", "zscore"]
"""Whether attributes are divided by their standard deviation in the current window (population), less their mean."""

CELLS = 1 << 18
"""Distances that are computed at once."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The nearest row of the current window for each asked one, ``[asked]``: -1 and NaN where there is none."""

    rows: Ints
    distance: Floats
    values: Floats


def nearest(asked: Floats, window: Floats, values: Floats, scaling: Scaling = "none") -> Neighbours:
    """Recovers an attribute that was shed from some rows, from a window in which it was not: O(asked * rows * attributes).

    ``asked``: ``[asked, attributes]``, the numeric attributes that both have, without the cycle key and the shed one;
    ``window``: ``[rows, attributes]``, the same of the current window; ``values``: ``[rows]``, the shed attribute in it. Of
    equally near rows it is the first one.

    NaN is a NULL, and infinity counts as one: a distance is of the attributes that both rows have, scaled up to all of
    them, and a row without a value is nobody's neighbour. Without attributes in common nothing is recovered. Raises
    ``ValueError`` for arrays of other shapes.
    """
    asked, window, values = (np.asarray(a, dtype=np.float64) for a in (asked, window, values))
    if asked.ndim != 2 or window.ndim != 2 or asked.shape[1] != window.shape[1] or values.shape != window.shape[:1]:
        raise ValueError("asked rows and the window have the same attributes, and the window a value in each row")
    if scaling not in ("none", "zscore"):
        raise ValueError(f"scaling is none or zscore, and not {scaling}")
    having = np.flatnonzero(~np.isnan(values))
    rows, distance = np.full(len(asked), -1), np.full(len(asked), np.nan)
    if asked.shape[1] and len(having):
        asked, window, unit = _scaled(asked, window, scaling)
        window = window[having]
        step = max(1, CELLS // len(having))
        for start in range(0, len(asked), step):
            some = slice(start, start + step)
            squares = _squares(asked[some], window)
            place = squares.argmin(axis=1)
            least = squares[np.arange(len(place)), place]
            there = np.isfinite(least)
            rows[some] = np.where(there, having[place], -1)
            distance[some] = np.where(there, np.sqrt(least) * unit, np.nan)
    found = np.full(len(asked), np.nan)
    found[rows >= 0] = values[rows[rows >= 0]]
    return Neighbours(rows, distance, found)


def _scaled(asked: Floats, window: Floats, scaling: Scaling) -> tuple[Floats, Floats, float]:
    """Both with NaN for what is not finite, in a unit in which no square overflows."""
    asked, window = (np.where(np.isfinite(a), a, np.nan) for a in (asked, window))
    with np.errstate(over="ignore"):
        largest = float(max(np.nanmax(np.abs(a), initial=0.0) for a in (asked, window)))
    unit = largest if largest > 1e100 or 0 < largest < 1e-100 else 1.0
    asked, window = asked / unit, window / unit
    if scaling == "none":
        return asked, window, unit
    some = ~np.isnan(window)
    count = np.maximum(some.sum(axis=0), 1)
    mean = np.where(some, window, 0.0).sum(axis=0) / count
    deviation = np.sqrt((np.where(some, window - mean, 0.0) ** 2).sum(axis=0) / count)
    # What is constant in the window tells none of its rows from another.
    deviation[deviation == 0] = 1.0
    return (asked - mean) / deviation, (window - mean) / deviation, 1.0


def _squares(asked: Floats, window: Floats) -> Floats:
    """Squared distances of all pairs, ``[asked, rows]``, infinite for rows without an attribute in common."""
    total = np.zeros((len(asked), len(window)))
    missing = bool(np.isnan(asked).any() or np.isnan(window).any())
    common = np.zeros(total.shape)
    for a, b in zip(asked.T, window.T, strict=True):
        square = (a[:, None] - b[None, :]) ** 2
        if missing:
            there = ~np.isnan(square)
            common += there
            square[~there] = 0.0
        total += square
    if not missing:
        return total
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(common > 0, total * asked.shape[1] / common, np.inf)
