"""Values on their way through a stateful operator, which knows integers, doubles and texts (ADR 0008).

A value is ``long``, ``double`` or ``text`` while it is carried. A NULL number is carried as 0 with a bit in ``nulls``;
a NULL text as NULL. What has no such form is carried as JSON.
"""

from __future__ import annotations

from collections.abc import Sequence

from streamq.compiler.ir.logical import Field
from streamq.compiler.lowering.sql import options_map, quote, spark_type
from streamq.dsl.records import dataclass
from streamq.dsl.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTERVAL,
    TIMESTAMP,
    Array,
    Decimal,
    Map,
    Struct,
    Type,
    is_integer,
    is_string,
)
from streamq.stdlib.written import JSON_OPTIONS

LONG, DOUBLES, TEXT = "long", "double", "text"
LIST, COUNTS = "list", "counts"
"""JSON arrays of values in their carried form, or of such values as ``item`` with a ``count``."""

EMPTY = {LONG: "0L", DOUBLES: "0D", TEXT: "CAST(NULL AS STRING)"}
"""A value that is not there, by its kind."""

NULL_BITS = 63
"""Values that have a bit for NULL, which are the first ones; a number beyond them is carried as text."""

LONG_DIGITS = 18
"""Digits of a decimal that a long holds for sure."""

_OPTIONS = options_map(JSON_OPTIONS)


@dataclass(frozen=True, slots=True)
class Carried:
    """A value: its kind, its column while it is carried, and its type before and after.

    ``form``: ``LIST`` or ``COUNTS`` where it comes from an operator as one text, a JSON array.
    """

    name: str
    kind: str
    column: str
    type: Type
    form: str = ""


def kind_of(t: Type) -> str:
    """The kind as which a value of the type is carried."""
    if is_integer(t) or t in (BOOLEAN, DATE, TIMESTAMP):
        return LONG
    if t in (FLOAT, DOUBLE):
        return DOUBLES
    if isinstance(t, Decimal) and t.precision <= LONG_DIGITS:
        return LONG
    return TEXT


def can_carry(t: Type) -> bool:
    """False for maps with other keys than texts, and for lengths of time."""
    match t:
        case Map():
            return is_string(t.key) and can_carry(t.value)
        case Array():
            return can_carry(t.element)
        case Struct():
            return all(can_carry(f) for _, f in t.fields)
        case _:
            return t != INTERVAL


def carried(fields: Sequence[Field], first: int = 0) -> tuple[Carried, ...]:
    """How the fields are carried, as values ``v<first>`` and so on."""
    return tuple(
        Carried(f.name, kind_of(f.type) if i < NULL_BITS else TEXT, f"v{i}", f.type)
        for i, f in enumerate(fields, first)
    )


def encode(value: Carried, text: str) -> str:
    """SQL of the carried form of a value; ``text``: SQL of the value itself."""
    if value.kind == LONG:
        return f"coalesce({as_long(text, value.type)}, 0L)"
    if value.kind == DOUBLES:
        return f"coalesce(CAST({text} AS DOUBLE), 0D)"
    match value.type:
        case Array() | Map() | Struct():
            return f"to_json(named_struct('v', {text}), {_OPTIONS})"
        case t if t == BINARY:
            return f"base64({text})"
        case t if t == TIMESTAMP:
            return f"CAST(unix_micros({text}) AS STRING)"
        case _:
            return f"CAST({text} AS STRING)"


def order_text(text: str, t: Type) -> str | None:
    """SQL of a text that has the order of the values, NULL first; None where there is none."""
    if isinstance(t, Struct):
        parts = [order_text(f"{text}.{quote(n)}", f) for n, f in t.fields]
        known = [part for part in parts if part is not None]
        return f"concat({', '.join(known)})" if len(known) == len(parts) else None
    if kind_of(t) == LONG:
        # The sign bit is turned over, so that the digits of negative numbers come first.
        digits = f"lpad(hex({as_long(text, t)} ^ shiftleft(1L, 63)), 16, '0')"
        return f"IF({text} IS NULL, '0', concat('1', {digits}))"
    if is_string(t) or t == BINARY:
        plain = text if t != BINARY else f"hex({text})"
        return f"IF({text} IS NULL, '0', concat('1', {plain}, char(0)))"
    if isinstance(t, Decimal):
        # A cast to STRING would write small values with an exponent.
        plain = f"translate(format_number(abs({text}), {t.scale}), ',', '')"
        digits = f"lpad({plain}, {t.precision + 2}, '0')"
        negative = f"concat('10', translate({digits}, '0123456789', '9876543210'))"
        return f"IF({text} IS NULL, '0', IF({text} < 0, {negative}, concat('11', {digits})))"
    return None


def null_bits(values: Sequence[tuple[Carried, str]], first: int = 0) -> str:
    """SQL of the bits that say which values are NULL; ``first``: the position of the first of them."""
    bits = [
        f"IF({text} IS NULL, {1 << i}L, 0L)"
        for i, (_, text) in enumerate(values, first) if i < NULL_BITS
    ]
    return " + ".join(bits) or "0L"


def decode(value: Carried, position: int) -> str:
    """SQL that gives the value back; ``position``: of its bit."""
    column = quote(value.column)
    if value.form and isinstance(value.type, Array):
        return _from_list(column, value.type.element, value.form)
    if value.kind == TEXT:
        return _from_text(column, value.type)
    return f"IF(`nulls` & {1 << position}L = 0L, {_from_kind(column, value.type)}, NULL)"


def as_long(text: str, t: Type) -> str:
    """SQL of the integer as which a value of a ``LONG`` type is carried; NULL where it is."""
    if t == DATE:
        return f"CAST(unix_date({text}) AS BIGINT)"
    if t == TIMESTAMP:
        return f"unix_micros({text})"
    if isinstance(t, Decimal) and t.scale:
        return f"CAST({text} * CAST('1{'0' * t.scale}' AS DECIMAL({t.scale + 1}, 0)) AS BIGINT)"
    return f"CAST({text} AS BIGINT)"


def _from_long(column: str, t: Type) -> str:
    if t == DATE:
        return f"date_from_unix_date(CAST({column} AS INT))"
    if t == TIMESTAMP:
        return f"timestamp_micros({column})"
    if isinstance(t, Decimal) and t.scale:
        unit = f"CAST('0.{'0' * (t.scale - 1)}1' AS DECIMAL({t.scale}, {t.scale}))"
        return f"CAST({column} * {unit} AS {t})"
    return f"CAST({column} AS {spark_type(t)})"


_SPARK_KINDS = {LONG: "BIGINT", DOUBLES: "DOUBLE", TEXT: "STRING"}


def _from_list(column: str, element: Type, form: str) -> str:
    if form == COUNTS and isinstance(element, Struct):
        item = element.fields[0][1]
        kinds = f"STRUCT<item: {_SPARK_KINDS[kind_of(item)]}, count: BIGINT>"
        one = f"named_struct('item', {_from_kind('e.item', item)}, 'count', e.count)"
    else:
        kinds, one = _SPARK_KINDS[kind_of(element)], _from_kind("e", element)
    return f"transform(from_json({column}, 'ARRAY<{kinds}>'), e -> {one})"


def _from_kind(column: str, t: Type) -> str:
    """The value of a column that is not NULL, or that is NULL if the value is."""
    kind = kind_of(t)
    if kind == TEXT:
        return _from_text(column, t)
    return _from_long(column, t) if kind == LONG else f"CAST({column} AS {t})"


def _from_text(column: str, t: Type) -> str:
    match t:
        case Array() | Map() | Struct():
            return f"from_json({column}, 'v {spark_type(t).replace(chr(39), chr(92) + chr(39))}', {_OPTIONS}).v"
        case _ if t == BINARY:
            return f"unbase64({column})"
        case _ if t == TIMESTAMP:
            return f"timestamp_micros(CAST({column} AS BIGINT))"
        case _ if is_string(t):
            return column
        case _:
            return f"CAST({column} AS {spark_type(t)})"
