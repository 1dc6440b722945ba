"""Sums of doubles that do not depend on the order of the members, nor on members that are gone.

A double is a whole number times a power of two, so doubles are summed as whole numbers, cut in digits of 32 bits
(a fixed-point accumulator, as in Kulisch, Computer Arithmetic and Validity, 2008). A sum comes as two doubles, the
sum rounded to a double and the rest that this leaves out (Dekker, A floating-point technique for extending the
available precision, 1971): together about 106 bits.
"""

from __future__ import annotations

import numpy as np

from streamq.stdlib.timelines.spans import Spans, totals
from streamq.stdlib.timelines.table import Column, Index

_BITS = 32
_MASK = (1 << _BITS) - 1
_NOISE = 2.0**-98
"""Below this share of the products, a difference of products is what rounding left."""


def sums(values: Column, spans: Spans) -> tuple[Column, Column]:
    """The sum of the members' doubles in each stretch, and the rest; 0 where there are no members.

    As with single additions, a sum with NaN or with both infinities is NaN, and one beyond all doubles infinite.
    """
    finite = np.isfinite(values)
    counted = np.flatnonzero(finite & (values != 0))
    with np.errstate(over="ignore", invalid="ignore"):
        total, rest = _finite_sums(values[counted], spans.take(counted))
        rest = np.where(np.isfinite(total), rest, 0.0)
    if finite.all():
        return total, rest
    rising, falling, unknown = (
        totals(mask.astype(np.int64), spans) > 0
        for mask in (values == np.inf, values == -np.inf, np.isnan(values))
    )
    total = np.where(rising, np.inf, np.where(falling, -np.inf, total))
    total[unknown | (rising & falling)] = np.nan
    return total, np.where(np.isfinite(total), rest, 0.0)


def product(a: Column, b: Column) -> tuple[Column, Column]:
    """The products, and the rests that rounding leaves out."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        rounded, rest = _product(a, b)
    return rounded, np.where(np.isfinite(rounded), rest, 0.0)


def about_means(
    count: Index,
    one: tuple[Column, Column],
    other: tuple[Column, Column],
    products: tuple[Column, Column],
) -> Column:
    """The sum of the products of two numbers' distances from their means.

    From the count, the sums of both numbers and the sum of their products, each with its rest. NaN where one of
    them is not finite. With the same number twice it is the sum of the squared distances.
    """
    n = np.maximum(count, 1).astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        rounded, rest = _product(one[0], other[0])
        rest = rest + one[0] * other[1] + other[0] * one[1]
        share = rounded / n
        back, lost = _product(share, n)
        share_rest = (rounded - back - lost + rest) / n
        high, low = _sum(products[0], -share)
        distances = high + (low + (products[1] - share_rest))
        return np.where(np.abs(distances) <= _NOISE * np.abs(products[0]), 0.0, distances)


def _finite_sums(values: Column, spans: Spans) -> tuple[Column, Column]:
    """``sums`` of doubles that are finite and not 0."""
    total, rest = np.zeros(spans.size), np.zeros(spans.size)
    if not len(values):
        return total, rest
    place, digits = _digits(values)
    carry = np.zeros(spans.size, dtype=np.int64)
    # Digits lie between -2**31 and 2**31, so what is below a digit never outweighs it.
    for k in range(int(place.min()), int(place.max()) + len(digits) + 2):
        found = carry
        for i, column in enumerate(digits):
            here = np.flatnonzero((place == k - i) & (column != 0))
            if len(here):
                found = found + totals(column[here], spans.take(here))
        if not found.any():
            carry = found
            continue
        carry = (found + (1 << (_BITS - 1))) >> _BITS
        digit = (found - (carry << _BITS)).astype(np.float64)
        total, lost = _sum(np.ldexp(digit, k * _BITS), total)
        rest = rest + lost
    return _sum(total, rest)


def _digits(values: Column) -> tuple[Index, tuple[Index, Index, Index]]:
    """The place of each double's lowest digit (it counts 2**(32 * place)), and three digits from there."""
    mantissa, exponent = np.frexp(values)
    sign = np.sign(mantissa).astype(np.int64)
    whole = np.ldexp(np.abs(mantissa), 53).astype(np.int64)
    shift = exponent.astype(np.int64) - 53
    place, within = shift >> 5, shift & (_BITS - 1)
    low = (whole & _MASK) << within
    high = ((whole >> _BITS) << within) + (low >> _BITS)
    return place, (sign * (low & _MASK), sign * (high & _MASK), sign * (high >> _BITS))


def _sum(a: Column, b: Column) -> tuple[Column, Column]:
    """The sums rounded, and the rests (Knuth's two-sum)."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


def _product(a: Column, b: Column) -> tuple[Column, Column]:
    """The products rounded, and the rests (Dekker's product)."""
    product = a * b
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    rest = a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)
    return product, rest


def _halves(values: Column) -> tuple[Column, Column]:
    """Two doubles of 26 bits that add up to each value."""
    scaled = values * float(2**27 + 1)
    high = scaled - (scaled - values)
    return high, values - high
