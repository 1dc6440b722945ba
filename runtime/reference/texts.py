"""Values as text and text as values, as Spark's CAST writes and reads them."""

from __future__ import annotations

import decimal
import math
import re
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from streamq.dsl.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTERVAL,
    TIMESTAMP,
    Array,
    Map,
    Struct,
    Type,
)
from streamq.runtime.reference.numbers import f32

_SPACE = "".join(map(chr, range(0x21))) + "\x7f"
"""What Spark takes off both ends of a text before it reads a value."""

_WHOLE = re.compile(r"[+-]?(\d+)?(\.\d*)?", re.ASCII)
_FLOAT = re.compile(r"([+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)[dDfF]?", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_SPECIAL = {
    "inf": math.inf, "+inf": math.inf, "infinity": math.inf, "+infinity": math.inf,
    "-inf": -math.inf, "-infinity": -math.inf, "nan": math.nan,
}
_TRUE = frozenset({"t", "true", "y", "yes", "1"})
_FALSE = frozenset({"f", "false", "n", "no", "0"})
_DATE = re.compile(r"(\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?", re.ASCII | re.DOTALL)
_TIMESTAMP = re.compile(
    r"(\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2})"
    r"(?:[ T](\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?)?)?\s*(\D\S*)?)?)?)?",
    re.ASCII,
)
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{1,2}))?(?::?(\d{1,2}))?")


def to_text(value: Any, t: Type) -> str:
    """A value that is not NULL as ``CAST(… AS STRING)`` writes it; parts that are NULL as ``null``."""
    match t:
        case Array():
            return "[" + ", ".join(_part(v, t.element) for v in value) + "]"
        case Map():
            pairs = (f"{_part(k, t.key)} -> {_part(v, t.value)}" for k, v in value)
            return "{" + ", ".join(pairs) + "}"
        case Struct():
            parts = (_part(v, f) for v, (_, f) in zip(value, t.fields, strict=True))
            return "{" + ", ".join(parts) + "}"
        case _ if t == BOOLEAN:
            return "true" if value else "false"
        case _ if t in (DOUBLE, FLOAT):
            return float_text(value, single=t == FLOAT)
        case _ if t == TIMESTAMP:
            return timestamp_text(value)
        case _ if t == DATE:
            return date_text(value)
        case _ if t == BINARY:
            return bytes(value).decode("utf-8", "replace")
        case _ if t == INTERVAL:
            return f"INTERVAL '{interval_text(value)}' DAY TO SECOND"
        case _:
            return str(value)


def _part(value: Any, t: Type) -> str:
    return "null" if value is None else to_text(value, t)


def float_text(value: float, *, single: bool = False) -> str:
    """The shortest digits that read back as the number, in Java's form: 1.0E10, 0.001, NaN."""
    if value != value:
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if math.copysign(1, value) < 0 else "0.0"
    sign, digits, exponent = decimal.Decimal(_shortest(value, single)).normalize().as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits))
    point = len(text) + exponent
    minus = "-" if sign else ""
    if 1e-3 <= abs(value) < 1e7:
        if point <= 0:
            return f"{minus}0.{'0' * -point}{text}"
        padded = text.ljust(point, "0")
        return f"{minus}{padded[:point]}.{padded[point:] or '0'}"
    return f"{minus}{text[0]}.{text[1:] or '0'}E{point - 1}"


def _shortest(value: float, single: bool) -> str:
    if not single:
        return repr(value)
    return next(t for t in (f"{value:.{n}e}" for n in range(9)) if f32(float(t)) == value)


def date_text(value: date) -> str:
    return f"{value.year:04}-{value.month:02}-{value.day:02}"


def timestamp_text(value: datetime) -> str:
    """Without zeros at the end of the fraction."""
    text = f"{date_text(value)} {value.hour:02}:{value.minute:02}:{value.second:02}"
    return text + (f".{value.microsecond:06}".rstrip("0") if value.microsecond else "")


def interval_text(value: timedelta) -> str:
    """``days hours:minutes:seconds``."""
    minus, span = ("-", -value) if value < timedelta() else ("", value)
    hours, rest = divmod(span.seconds, 3600)
    fraction = f".{span.microseconds:06}".rstrip("0") if span.microseconds else ""
    return f"{minus}{span.days} {hours:02}:{rest // 60:02}:{rest % 60:02}{fraction}"


def read_whole(text: str) -> int | None:
    """A whole number; a fraction is cut off."""
    found = _WHOLE.fullmatch(text.strip(_SPACE))
    if found is None or (found[1] is None and found[2] is None):
        return None
    whole = int(found[1] or 0)
    return -whole if found[0].startswith("-") else whole


def read_float(text: str) -> float | None:
    stripped = text.strip(_SPACE)
    found = _FLOAT.fullmatch(stripped)
    return float(found[1]) if found else _SPECIAL.get(stripped.lower())


def read_decimal(text: str) -> decimal.Decimal | None:
    stripped = text.strip(_SPACE)
    return decimal.Decimal(stripped) if _DECIMAL.fullmatch(stripped) else None


def read_boolean(text: str) -> bool | None:
    word = text.strip(_SPACE).lower()
    return True if word in _TRUE else False if word in _FALSE else None


def read_date(text: str) -> date | None:
    """``yyyy``, ``yyyy-m`` or ``yyyy-m-d``; what follows a blank or T is not looked at."""
    found = _DATE.fullmatch(text.strip(_SPACE))
    if found is None:
        return None
    try:
        return date(int(found[1]), int(found[2] or 1), int(found[3] or 1))
    except ValueError:
        return None


def read_timestamp(text: str) -> datetime | None:
    """A date, with a time and a zone if given (UTC if not); digits after the sixth are cut off."""
    found = _TIMESTAMP.fullmatch(text.strip(_SPACE))
    if found is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    micros = int((fraction or "")[:6].ljust(6, "0"))
    try:
        moment = datetime(
            int(year), int(month or 1), int(day or 1),
            int(hour or 0), int(minute or 0), int(second or 0), micros,
        )
        if zone is None:
            return moment
        zoned = moment.replace(tzinfo=zone_of(zone))
        return zoned.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError, ZoneInfoNotFoundError):
        return None


def zone_of(name: str) -> timezone | ZoneInfo:
    """A zone by its name or offset; ValueError or ZoneInfoNotFoundError for an unknown one."""
    if name in ("Z", "UTC", "GMT", "UT"):
        return UTC
    found = _OFFSET.fullmatch(name)
    if found is None:
        return ZoneInfo(name)
    hours, minutes, seconds = (int(part or 0) for part in found.groups()[1:])
    if hours > 18 or minutes > 59 or seconds > 59:
        raise ValueError(f"no offset: {name}")
    span = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    return timezone(-span if found[1] == "-" else span)
