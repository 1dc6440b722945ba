"""Which stored values stand for a value within the error that is allowed: an interval, exact to the last bit.

The test of Algorithm 3 (Ahuja 2006), ``|mv - v| * 100 <= E * |v|`` of the stored value ``mv`` and the value ``v``, depends on
``v`` only through an interval for ``mv``. Numbers are mapped to whole numbers in the same order, so that an interval is two
of them and the test two comparisons, which neither rounding nor overflow nor NaN can spoil. Its bounds are the outermost
numbers for which the test holds in real arithmetic: products are computed without error (Dekker 1971, "A floating-point
technique for extending the available precision"). With the denominator ``mv`` instead (Example 4 of the thesis) the
interval is that of the stored value, and the value has to lie in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.recovery.columns import Bools, Column, Floats, Ints

Denominator = Literal["sv", "mv"]
"""What an error is relative to: the value being shed, or the most recent stored value."""

EXACT = 2**53
"""Up to here each whole number is a float64."""

MOST, LEAST = 2**63 - 1, -(2**63)

Exact = tuple[Floats, Floats]
"""A product, and what rounding took from it."""

_INFINITY = 0x7FF0 << 48
_NAN = 0x7FF8 << 48
_PLAIN = 2.0**900
"""Between its inverse and this nothing of ``_relative`` overflows or loses bits."""


@dataclass(frozen=True, slots=True)
class Intervals:
    """Values as whole numbers, ``[rows]`` each: a stored row stands for another where the interval of one meets the other's.

    ``low``, ``high``: of a row as it comes; ``least``, ``most``: of a row that is stored. Of each pair one is a point.
    """

    low: Ints
    high: Ints
    least: Ints
    most: Ints

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.low)

    def take(self, index: Any) -> Intervals:
        """The rows at positions, of a slice, or where a mask is true."""
        return Intervals(self.low[index], self.high[index], self.least[index], self.most[index])

    def beyond(self, least: Ints, most: Ints) -> Bools:
        """For each row whether a stored value of such an interval, ``[rows]``, does not stand for it."""
        return (self.low > most) | (self.high < least)


def check_error(max_rel_error_pct: float) -> None:
    """Raises ``ValueError`` for what is no error threshold E: a percentage from 0 to 100."""
    if not 0 <= max_rel_error_pct <= 100:
        raise ValueError(f"an error is from 0 to 100 percent, and not {max_rel_error_pct}")


def intervals(column: Column, max_rel_error_pct: float, denominator: Denominator = "sv") -> Intervals:
    """Of each value of a column, for an error threshold E in percent, 0 to 100.

    NULL, NaN, infinities and all that is no number stand for themselves alone; the interval of a whole number beyond 2^53 is
    itself.
    Intervals of two columns are compared only if they are of numbers, of whole numbers, or ``coded`` together. Raises
    ``ValueError`` for other thresholds and denominators.
    """
    check_error(max_rel_error_pct)
    if denominator not in ("sv", "mv"):
        raise ValueError(f"an error is relative to sv or mv, and not to {denominator}")
    match column.kind:
        case "number":
            low, high, point = _numbers(column.values, max_rel_error_pct)
            null = MOST
        case "integer":
            low, high, point = _integers(column.values, max_rel_error_pct)
            null = LEAST
        case _:
            low = high = point = coded(column).values
            null = MOST
    low, high, point = (np.where(column.null, null, p) if column.null.any() else p for p in (low, high, point))
    return Intervals(low, high, point, point) if denominator == "sv" else Intervals(point, point, low, high)


def coded(column: Column) -> Column:
    """Values that are only equal or not as whole numbers; other columns as they are."""
    if column.kind != "other" or column.values.dtype == np.int64:
        return column
    codes = np.unique(column.values, return_inverse=True)[1].astype(np.int64, copy=False)
    return Column("other", codes, column.null)


def _numbers(values: Floats, pct: float) -> tuple[Ints, Ints, Ints]:
    """The interval of each number and the number itself, by the bits of their magnitudes with the sign before."""
    size = np.abs(values)
    finite = size < np.inf
    low, high = _relative(size if finite.all() else np.where(finite, size, 0.0), pct)
    point = size.view(np.int64)
    if not finite.all():
        point = np.where(finite, point, np.where(np.isnan(size), _NAN, _INFINITY))
        low, high = (np.where(finite, p, point) for p in (low, high))
    below = values < 0
    return np.where(below, -high, low), np.where(below, -low, high), np.where(below, -point, point)


def _integers(values: Ints, pct: float) -> tuple[Ints, Ints, Ints]:
    """The same of whole numbers, which stand for themselves."""
    inner = (values >= -EXACT) & (values <= EXACT)
    size = np.abs(np.where(inner, values, 0)).astype(np.float64)
    low, high = (bits.view(np.float64) for bits in _relative(size, pct))
    low, high = np.ceil(low).astype(np.int64), np.floor(high).astype(np.int64)
    below = values < 0
    low, high = np.where(below, -high, low), np.where(below, -low, high)
    return np.where(inner, low, values), np.where(inner, high, values), values


def _relative(size: Floats, pct: float) -> tuple[Ints, Ints]:
    """The bits of the least and the largest number y with 100 |y - x| <= E x, for each x, finite and at least 0."""
    odd = np.flatnonzero((size > _PLAIN) | ((size < 1 / _PLAIN) & (size > 0)))
    if not len(odd):
        return _plain(size, pct)
    plain = size.copy()
    plain[odd] = 0.0
    low, high = _plain(plain, pct)
    low[odd], high[odd] = _scaled(size[odd], pct)
    return low, high


def _scaled(size: Floats, pct: float) -> tuple[Ints, Ints]:
    """The same of numbers so large or small that their products are not: computed from mantissas, and scaled inwards."""
    mantissa, exponent = np.frexp(size)
    inner, outer = (bits.view(np.float64) for bits in _plain(mantissa, pct))
    with np.errstate(over="ignore", under="ignore"):
        low, high = np.ldexp(inner, exponent), np.minimum(np.ldexp(outer, exponent), np.finfo(np.float64).max)
        return (
            low.view(np.int64) + (np.ldexp(low, -exponent) < inner),
            high.view(np.int64) - (np.ldexp(high, -exponent) > outer),
        )


def _plain(size: Floats, pct: float) -> tuple[Ints, Ints]:
    """The same where nothing overflows: candidates one step outside of where rounding can be, which go inwards."""
    allowed = _product(pct, size)
    width = allowed[0] / 100

    # Differences here are of numbers within a factor of 2, and so without error (Sterbenz).
    def above(y: Floats, rows: Any) -> Bools:
        return _above(_product(100.0, y - size[rows]), _rows_of(allowed, rows))

    def below(y: Floats, rows: Any) -> Bools:
        return _above(_product(100.0, size[rows] - y), _rows_of(allowed, rows))

    def below_rest(y: Floats, rows: Any) -> Bools:
        return _above(_rows_of(rest, rows), _product(100.0, y))

    high = _inward((size + width).view(np.int64) + 1, -1, above)
    if pct < 50:
        low = _inward((size - width).view(np.int64) - 1, 1, below)
    else:
        rest = _product(100 - pct, size)
        low = _inward(np.maximum((rest[0] / 100).view(np.int64) - 1, 0), 1, below_rest)
    nought = size == 0
    if nought.any():
        low[nought] = high[nought] = 0
    return low, high


def _inward(bits: Ints, step: int, outside: Callable[[Floats, Any], Bools]) -> Ints:
    """Candidates after as many steps as bring them inside. ``outside`` is of numbers and their positions."""
    rows = np.flatnonzero(outside(bits.view(np.float64), slice(None)))
    while len(rows):
        bits[rows] += step
        rows = rows[outside(bits[rows].view(np.float64), rows)]
    return bits


def _product(factor: float, x: Floats) -> Exact:
    """The product, without error."""
    product = factor * x
    head, tail = _halves(x)
    high, low = _halves(np.float64(factor))
    return product, tail * low - (((product - head * high) - tail * high) - head * low)


def _halves(x: Any) -> tuple[Any, Any]:
    """The upper and the lower half of the digits."""
    scaled = x * 134217729.0
    head = scaled - (scaled - x)
    return head, x - head


def _above(a: Exact, b: Exact) -> Bools:
    """Whether one product is above the other: rounding keeps the order, and what it took decides between equals."""
    above: Bools = (a[0] > b[0]) | ((a[0] == b[0]) & (a[1] > b[1]))
    return above


def _rows_of(product: Exact, rows: Any) -> Exact:
    return product[0][rows], product[1][rows]
