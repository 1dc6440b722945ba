"""Numbers as Spark keeps them: whole numbers of fixed width, 32-bit floats, decimals of fixed digits."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from ctypes import c_float
from decimal import ROUND_HALF_UP, Context

from streamq.dsl.types import (
    BIGINT,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    TINYINT,
    Decimal,
    Type,
    is_integer,
)

BITS: dict[Type, int] = {TINYINT: 8, SMALLINT: 16, INT: 32, BIGINT: 64}
"""Width of each whole number type."""

MANY_DIGITS = Context(prec=1000, rounding=ROUND_HALF_UP, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
"""Digits enough that sums, products and remainders of decimals are exact."""

MAX_SCALE = 38


def wrap(value: int, bits: int) -> int:
    """The whole number of so many bits that is left when the higher ones are cut off, as in Java."""
    half = 1 << (bits - 1)
    return ((value + half) & ((1 << bits) - 1)) - half


def in_range(value: int, bits: int) -> bool:
    half = 1 << (bits - 1)
    return -half <= value < half


def f32(value: float) -> float:
    """The nearest 32-bit float."""
    return c_float(value).value


def rescale(value: decimal.Decimal, t: Decimal) -> decimal.Decimal | None:
    """The value with the digits of the type, halves away from zero; NULL where it does not fit."""
    if not value.is_finite():
        return None
    scaled = value.quantize(decimal.Decimal(1).scaleb(-t.scale), ROUND_HALF_UP, MANY_DIGITS)
    if scaled and scaled.adjusted() + 1 + t.scale > t.precision:
        return None
    return scaled if scaled else scaled.copy_abs()


def decimal_of_double(value: float) -> decimal.Decimal | None:
    """The shortest decimal that reads back as the number; NULL for NaN and infinities."""
    return decimal.Decimal(repr(value)) if math.isfinite(value) else None


def saturate(value: float, bits: int) -> int:
    """A float as a whole number, as Java casts: cut to the range, NaN to 0; small ones by way of INT."""
    if value != value:
        return 0
    wide = max(bits, 32)
    limit = 1 << (wide - 1)
    whole = limit if value >= limit else -limit if value <= -limit else int(value)
    return wrap(min(max(whole, -limit), limit - 1), bits)


def finisher(t: Type) -> Callable[[object], object]:
    """Brings the result of exact arithmetic to a numeric type: wraps, rounds, or gives NULL."""
    match t:
        case Decimal():
            return lambda v: rescale(v, t) if isinstance(v, decimal.Decimal) else None
        case _ if is_integer(t):
            bits = BITS[t]
            half = 1 << (bits - 1)

            def whole(v: object) -> object:
                assert isinstance(v, int)
                return v if -half <= v < half else wrap(v, bits)

            return whole
        case _ if t == FLOAT:
            return lambda v: c_float(v).value  # type: ignore[arg-type]
        case _:
            return lambda v: v


def to_type(source: Type, target: Type) -> Callable[[object], object] | None:
    """How a value of a numeric type stands in arithmetic of another; None where it does already."""
    if source == target or (is_integer(source) and is_integer(target)):
        return None
    if isinstance(target, Decimal):
        return None if isinstance(source, Decimal) else decimal.Decimal  # type: ignore[return-value]
    if target == DOUBLE:
        return None if source == FLOAT else float  # type: ignore[return-value]
    if target == FLOAT:
        return lambda v: f32(float(v))  # type: ignore[arg-type]
    return None
