"""Variances, covariances and lines of least squares, from counts, sums and sums of products."""

from __future__ import annotations

import numpy as np

from streamq.stdlib.timelines.exact import about_means, product
from streamq.stdlib.timelines.table import Column, Table

OF_ONE = frozenset({"VAR_SAMP", "VAR_POP", "STDDEV_SAMP", "STDDEV_POP"})
OF_TWO = frozenset({
    "COVAR_SAMP", "COVAR_POP", "CORR", "REGR_SLOPE", "REGR_INTERCEPT", "REGR_R2", "REGR_AVGX",
    "REGR_AVGY", "REGR_SXX", "REGR_SYY", "REGR_SXY",
})
"""Of pairs (y, x), which for COVAR and CORR may change places."""

_SINGLE = frozenset({"COVAR_SAMP", "CORR", "REGR_SLOPE", "REGR_INTERCEPT"})
"""NULL for a single pair."""


def lift_squares(values: Column, others: Column | None = None) -> Table:
    """What each row adds: its numbers, their squares and their product, each with the rest of its rounding."""
    y = values.astype(np.float64)
    zero = np.zeros(len(y))
    squares, rest = product(y, y)
    found = {"sum": y, "sum_rest": zero, "squares": squares, "squares_rest": rest}
    if others is None:
        return found
    x = others.astype(np.float64)
    found |= {"sum_x": x, "sum_x_rest": zero}
    for name, one, other in (("squares_x", x, x), ("products", y, x)):
        found[name], found[f"{name}_rest"] = product(one, other)
    return found


def finish_squares(name: str, parts: Table) -> tuple[Column, Column]:
    """The values of one of ``OF_ONE`` or ``OF_TWO``, and where it is NULL."""
    count = parts["n"]
    if name in OF_ONE:
        divisor = count - name.endswith("_SAMP")
        values = _together(parts, "sum", "sum", "squares") / np.maximum(divisor, 1)
        return np.sqrt(values) if name.startswith("STD") else values, divisor < 1
    some = np.maximum(count, 1)
    y_mean, x_mean = parts["sum"] / some, parts["sum_x"] / some
    yy = _together(parts, "sum", "sum", "squares")
    xx = _together(parts, "sum_x", "sum_x", "squares_x")
    xy = _together(parts, "sum", "sum_x", "products")
    null = count < (2 if name in _SINGLE else 1)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        slope = xy / xx
        match name:
            case "COVAR_SAMP" | "COVAR_POP":
                return xy / np.maximum(count - name.endswith("_SAMP"), 1), null
            case "CORR":
                spread = np.sqrt(yy * xx)
                return xy / spread, null | (spread == 0)
            case "REGR_SLOPE":
                return slope, null | (xx == 0)
            case "REGR_INTERCEPT":
                return y_mean - slope * x_mean, null | (xx == 0)
            case "REGR_R2":
                return np.where(yy == 0, 1.0, xy**2 / xx / yy), null | (xx == 0)
            case _:
                plain = {"AVGX": x_mean, "AVGY": y_mean, "SXX": xx, "SYY": yy, "SXY": xy}
                return plain[name.removeprefix("REGR_")], null


def _together(parts: Table, one: str, other: str, products: str) -> Column:
    """The sum of the products of the distances from the means."""
    first, second, both = ((parts[n], parts[f"{n}_rest"]) for n in (one, other, products))
    return about_means(parts["n"], first, second, both)
