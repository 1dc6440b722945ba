"""Sums of more than 64 bits: those that fit in 64 after all, and sums and means of decimals as texts."""

from __future__ import annotations

import numpy as np

from streamq.stdlib.timelines.table import Column, Index, Table

_BITS = 32
_MASK = (1 << _BITS) - 1


def halves(values: Index) -> Table:
    """Whole numbers in two parts, so that the sums of up to 2**31 of them stay within 64 bits."""
    return {"high": values >> _BITS, "low": values & _MASK}


def total_that_fits(parts: Table) -> tuple[Index, Column]:
    """The sum of whole numbers, and where it does not fit in 64 bits."""
    high = parts["high"] + (parts["low"] >> _BITS)
    beyond: Column = (high < -(1 << (_BITS - 1))) | (high >= 1 << (_BITS - 1))
    return (np.where(beyond, 0, high) << _BITS) | (parts["low"] & _MASK), beyond


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
