"""``CAST``: a value that does not fit becomes NULL."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from datetime import date, datetime, time
from typing import Any

from streamq.dsl.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    NULL,
    SMALLINT,
    TIMESTAMP,
    TINYINT,
    Array,
    Chars,
    Decimal,
    Map,
    Struct,
    Type,
    is_integer,
    is_numeric,
    is_string,
)
from streamq.runtime.reference.numbers import (
    BITS,
    MANY_DIGITS,
    decimal_of_double,
    f32,
    in_range,
    rescale,
    saturate,
    wrap,
)
from streamq.runtime.reference.texts import (
    read_boolean,
    read_date,
    read_decimal,
    read_float,
    read_timestamp,
    read_whole,
    to_text,
)
from streamq.runtime.reference.values import to_datetime, to_instant

Convert = Callable[[Any], Any]
"""From a value that is not NULL to one that may be."""

_MICROS = 1_000_000


class NoSuchCast(TypeError):
    """A cast that the binder lets nobody write."""


def cast(value: object, source: Type, target: Type) -> object:
    """The value of type ``source`` as one of type ``target``; NULL where there is none.

    Raises ``NoSuchCast`` where the types do not convert at all.
    """
    return None if value is None else converter(source, target)(value)


def converter(source: Type, target: Type) -> Convert:
    """The cast of values that are not NULL, ready to be called often."""
    if isinstance(target, Chars) and source != target:
        inner, length, pads = _plain(source, target, nested=False), target.length, target.name == "CHAR"
        return lambda v: _cut(inner(v), length, pads)
    return _plain(source, target, nested=False)


def _cut(text: str, length: int, pads: bool) -> str:
    """At most, for CHAR exactly, so many characters."""
    return text[:length].ljust(length) if pads else text[:length]


def _plain(source: Type, target: Type, *, nested: bool) -> Convert:
    """``nested``: inside an array, map or struct numbers that do not fit wrap around instead."""
    if source in (target, NULL) or (is_string(source) and is_string(target)):
        return lambda v: v
    match source, target:
        case Array(), Array():
            part = _or_null(_plain(source.element, target.element, nested=True))
            return lambda v: tuple(map(part, v))
        case Map(), Map():
            key = _or_null(_plain(source.key, target.key, nested=True))
            item = _or_null(_plain(source.value, target.value, nested=True))
            return lambda v: tuple((key(k), item(i)) for k, i in v)
        case Struct(), Struct():
            types = zip(source.fields, target.fields, strict=True)
            parts = [_or_null(_plain(a, b, nested=True)) for (_, a), (_, b) in types]
            return lambda v: tuple(part(i) for part, i in zip(parts, v, strict=True))
        case _ if is_string(target):
            return lambda v: to_text(v, source)
        case _ if is_string(source):
            return _from_text(target)
        case _ if is_numeric(source) and is_numeric(target):
            return _number(source, target, wraps=nested)
        case _:
            return _other(source, target)


def _or_null(convert: Convert) -> Convert:
    return lambda v: None if v is None else convert(v)


def _from_text(target: Type) -> Convert:
    if isinstance(target, Decimal):
        return lambda v: _rescaled(read_decimal(v), target)
    if is_integer(target):
        bits = BITS[target]
        return lambda v: _fitting(read_whole(v), bits)
    readers: dict[Type, Convert] = {
        DOUBLE: read_float,
        FLOAT: lambda v: None if (found := read_float(v)) is None else f32(found),
        BOOLEAN: read_boolean,
        DATE: read_date,
        TIMESTAMP: read_timestamp,
        BINARY: lambda v: v.encode(),
    }
    if target not in readers:
        raise NoSuchCast(f"no cast from text to {target}")
    return readers[target]


def _rescaled(value: decimal.Decimal | None, target: Decimal) -> decimal.Decimal | None:
    return None if value is None else rescale(value, target)


def _fitting(value: int | None, bits: int) -> int | None:
    return value if value is not None and in_range(value, bits) else None


def _number(source: Type, target: Type, *, wraps: bool) -> Convert:
    if isinstance(target, Decimal):
        if source in (FLOAT, DOUBLE):
            return lambda v: _rescaled(decimal_of_double(v), target)
        return lambda v: rescale(decimal.Decimal(v), target)
    if target == DOUBLE:
        return float
    if target == FLOAT:
        return lambda v: f32(float(v))
    bits = BITS[target]
    if not wraps:
        return lambda v: _fitting(int(v), bits) if math.isfinite(v) else None
    if source in (FLOAT, DOUBLE):
        return lambda v: saturate(v, bits)
    return lambda v: wrap(int(v), bits)


def _other(source: Type, target: Type) -> Convert:
    """Truth values, dates and timestamps, and the bytes of whole numbers."""
    if source == BOOLEAN and is_numeric(target):
        inner = _number(INT, target, wraps=True) if target != INT else int
        return lambda v: inner(int(v))
    if target == BOOLEAN and is_numeric(source):
        return lambda v: v != 0
    if target == BINARY and is_integer(source):
        size = BITS[source] // 8
        return lambda v: v.to_bytes(size, "big", signed=True)
    if target == TIMESTAMP:
        if source == DATE:
            return lambda v: datetime.combine(v, time())
        if is_numeric(source):
            return _moment_of
    if source == TIMESTAMP:
        if target == DATE:
            return datetime.date
        if is_numeric(target):
            return _seconds(target)
    raise NoSuchCast(f"no cast from {source} to {target}")


def _moment_of(seconds: Any) -> datetime | None:
    """The moment of so many seconds since 1970; NULL outside the years 1 to 9999."""
    try:
        if isinstance(seconds, float):
            return to_datetime(saturate(seconds * _MICROS, 64)) if math.isfinite(seconds) else None
        if isinstance(seconds, decimal.Decimal):
            return to_datetime(int(MANY_DIGITS.multiply(seconds, decimal.Decimal(_MICROS))))
        return to_datetime(seconds * _MICROS)
    except OverflowError:
        return None


def _seconds(target: Type) -> Convert:
    """Seconds since 1970, whole ones rounded down."""
    if target in (BIGINT, INT, SMALLINT, TINYINT):
        bits = BITS[target]
        return lambda v: _fitting(to_instant(v) // _MICROS, bits)
    inner = _number(DOUBLE, target, wraps=True)
    return lambda v: inner(to_instant(v) / _MICROS)


def day_of(value: date | datetime) -> date:
    """The day of a date or timestamp."""
    return value.date() if isinstance(value, datetime) else value
