"""Sums and means of decimals as texts, exact however many digits they have."""

from __future__ import annotations

import numpy as np

from streamq.stdlib.timelines.table import Column, Index, Table

_BITS = 32
_MASK = (1 << _BITS) - 1


def halves(values: Index) -> Table:
    """Whole numbers in two parts, so that the sums of up to 2**31 of them stay within 64 bits."""
    return {"high": values >> _BITS, "low": values & _MASK}


def total_text(parts: Table, scale: int) -> Column:
    """The sum of decimals that were given without their point, ``scale`` digits from the right."""
    return _with_point(_total(parts), scale)


def mean_text(parts: Table, scale: int, result_scale: int) -> Column:
    """The mean with ``result_scale`` digits after the point, which are no fewer; halves go away from zero."""
    count = np.maximum(parts["n"], 1).astype(object)
    total = _total(parts) * 10 ** (result_scale - scale)
    nearest = (2 * np.abs(total) + count) // (2 * count)
    return _with_point(np.where(total < 0, -nearest, nearest), result_scale)


def _total(parts: Table) -> Column:
    whole: Column = parts["high"].astype(object) * (1 << _BITS) + parts["low"].astype(object)
    return whole


def _with_point(digits: Column, scale: int) -> Column:
    text: Column = digits.astype(str).astype(object)
    return text + f"e-{scale}" if len(text) else text
