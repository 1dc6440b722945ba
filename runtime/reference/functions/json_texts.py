"""Functions of JSON texts."""

from __future__ import annotations

import base64
import decimal
import json
import math
import re
from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache
from typing import Any

from streamq.compiler.ir.expr import Call
from streamq.dsl.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    TIMESTAMP,
    Array,
    Decimal,
    Map,
    Struct,
    Type,
    is_integer,
    is_string,
)
from streamq.runtime.reference.functions.declare import Family, Function
from streamq.runtime.reference.numbers import BITS, f32, in_range, rescale
from streamq.runtime.reference.texts import (
    date_text,
    float_text,
    read_date,
    read_timestamp,
    to_text,
)
from streamq.runtime.reference.values import to_datetime

_f = Family()

_NOTHING = object()
"""What is found where there is no value: None stands for JSON's null."""


class _Fraction(float):
    """A number with a point or exponent, which remembers its text."""

    text: str

    def __new__(cls, text: str) -> _Fraction:
        made = super().__new__(cls, text)
        made.text = text
        return made


def _parsed(text: str) -> Any:
    """The value of a JSON text; ``_NOTHING`` for any other text."""
    try:
        value, end = _DECODER.raw_decode(text.lstrip(" \t\r\n"))
    except (ValueError, RecursionError):
        return _NOTHING
    return value if not text.lstrip(" \t\r\n")[end:].strip(" \t\r\n") else _NOTHING


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(parse_float=_Fraction, parse_constant=_no_constant, strict=False)


def _rendered(value: Any) -> str:
    """A JSON value as compact text."""
    match value:
        case dict():
            return "{" + ",".join(f"{_quoted(k)}:{_rendered(v)}" for k, v in value.items()) + "}"
        case list():
            return "[" + ",".join(map(_rendered, value)) + "]"
        case str():
            return _quoted(value)
        case _Fraction():
            return float_text(value)
        case _:
            return json.dumps(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


_STEP = re.compile(r"\.([^.\[\]]+)|\['([^']+)'\]|\[(\d+)\]|\[(\*)\]")


@lru_cache(maxsize=256)
def _path(text: str) -> tuple[str | int, ...] | None:
    """Field names, places, and ``*`` as -1; None for a text that is no path."""
    steps: list[str | int] = []
    at = 1
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None:
            return None
        name = found[1] or found[2]
        star = found[4] or name == "*"
        steps.append(-1 if star else int(found[3]) if found[3] else name)
        at = found.end()
    return tuple(steps) if text.startswith("$") else None


@_f.plain("GET_JSON_OBJECT JSON_VALUE")
def get_json_object(text: str, path: str) -> str | None:
    steps, root = _path(path), _parsed(text)
    if steps is None or root is _NOTHING:
        return None
    found = [v for v in _led_to(root, steps) if v is not None]
    if not found:
        return None
    if -1 not in steps or len(found) == 1:
        return found[0] if isinstance(found[0], str) and -1 not in steps else _rendered(found[0])
    return _rendered(found)


def _led_to(value: Any, steps: tuple[str | int, ...]) -> Iterator[Any]:
    if not steps:
        yield value
        return
    step, rest = steps[0], steps[1:]
    if isinstance(step, str):
        if isinstance(value, dict) and step in value:
            yield from _led_to(value[step], rest)
    elif isinstance(value, list):
        chosen = value if step == -1 else value[step : step + 1]
        for item in chosen:
            yield from _led_to(item, rest)


@_f.plain("JSON_ARRAY_LENGTH")
def json_array_length(text: str) -> int | None:
    value = _parsed(text)
    return len(value) if isinstance(value, list) else None


@_f.plain("JSON_OBJECT_KEYS")
def json_object_keys(text: str) -> tuple[str, ...] | None:
    value = _parsed(text)
    return tuple(value) if isinstance(value, dict) else None


@_f.typed("FROM_JSON")
def from_json(call: Call) -> Function:
    """Fields that do not fit are NULL; of a text that is no JSON all fields."""
    schema = call.type
    nothing = (None,) * len(schema.fields) if isinstance(schema, Struct) else None

    def read(text: str, _: str) -> Any:
        if not text.strip():
            return None
        value = _parsed(text)
        found = _NOTHING if value is _NOTHING else _typed(value, schema)
        return nothing if found is _NOTHING or found is None else found

    return read


def _typed(value: Any, t: Type) -> Any:
    """A JSON value as one of the type; ``_NOTHING`` where it is another kind of value."""
    if value is None:
        return None
    match t:
        case Struct():
            if not isinstance(value, dict):
                return _NOTHING
            return tuple(_or_null(_typed(value.get(name), f)) for name, f in t.fields)
        case Array():
            if not isinstance(value, list):
                return _NOTHING
            items = [_typed(v, t.element) for v in value]
            return _NOTHING if any(i is _NOTHING for i in items) else tuple(items)
        case Map():
            if not isinstance(value, dict):
                return _NOTHING
            return tuple((k, _or_null(_typed(v, t.value))) for k, v in value.items())
        case _ if is_string(t):
            return value if isinstance(value, str) else _rendered(value)
        case _ if isinstance(value, str):
            return _of_text(value, t)
        case _ if isinstance(value, bool) or t == BOOLEAN:
            return value if isinstance(value, bool) and t == BOOLEAN else _NOTHING
        case _ if isinstance(value, int | float):
            return _of_number(value, t)
        case _:
            return _NOTHING


def _or_null(value: Any) -> Any:
    return None if value is _NOTHING else value


def _of_number(value: int | float, t: Type) -> Any:
    if is_integer(t):
        return value if isinstance(value, int) and in_range(value, BITS[t]) else _NOTHING
    if t == DOUBLE:
        return float(value)
    if t == FLOAT:
        return f32(value)
    if isinstance(t, Decimal):
        return rescale(decimal.Decimal(value.text if isinstance(value, _Fraction) else value), t)
    if t == TIMESTAMP and isinstance(value, int):
        return to_datetime(value * 1_000_000)
    return _NOTHING


_CONSTANTS = {
    "NaN": math.nan, "Infinity": math.inf, "+Infinity": math.inf, "INF": math.inf,
    "+INF": math.inf, "-Infinity": -math.inf, "-INF": -math.inf,
}


def _of_text(text: str, t: Type) -> Any:
    if t in (DOUBLE, FLOAT):
        return _CONSTANTS.get(text, _NOTHING)
    if t == DATE:
        found: Any = read_date(text)
    elif t == TIMESTAMP:
        found = read_timestamp(text)
    elif t == BINARY:
        found = base64.b64decode(text)
    elif isinstance(t, Decimal):
        try:
            return rescale(decimal.Decimal(text), t)
        except decimal.InvalidOperation:
            return _NOTHING
    else:
        return _NOTHING
    return _NOTHING if found is None else found


@_f.typed("TO_JSON")
def to_json(call: Call) -> Function:
    t = call.args[0].type
    return lambda value: json_text(value, t)


def json_text(value: Any, t: Type) -> str:
    """A value as JSON; fields of structs that are NULL are left out."""
    if value is None:
        return "null"
    match t:
        case Struct():
            fields = zip(value, t.fields, strict=True)
            shown = (f"{_quoted(n)}:{json_text(v, f)}" for v, (n, f) in fields if v is not None)
            return "{" + ",".join(shown) + "}"
        case Array():
            return "[" + ",".join(json_text(v, t.element) for v in value) + "]"
        case Map():
            pairs = (f"{_quoted(to_text(k, t.key))}:{json_text(v, t.value)}" for k, v in value)
            return "{" + ",".join(pairs) + "}"
        case Decimal():
            return str(value)
        case _ if t in (DOUBLE, FLOAT):
            text = float_text(value, single=t == FLOAT)
            return text if math.isfinite(value) else f'"{text}"'
        case _ if is_integer(t) or t == BOOLEAN:
            return json.dumps(value)
        case _ if t == BINARY:
            return f'"{base64.b64encode(value).decode()}"'
        case _ if t == TIMESTAMP:
            return f'"{iso_text(value)}"'
        case _:
            return _quoted(to_text(value, t))


def iso_text(value: datetime) -> str:
    """With milliseconds, or microseconds where there are some, and the zone, which is UTC."""
    return f"{date_text(value)}T{value:%H:%M:%S}.{value.microsecond // 1000:03}Z"


MAKERS = _f.makers
