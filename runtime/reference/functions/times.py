"""Functions of dates and timestamps; the session's time zone is UTC."""

from __future__ import annotations

import calendar
import decimal
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from functools import wraps
from typing import Any

from streamq.compiler.ir.expr import Call
from streamq.dsl.types import DATE, is_string
from streamq.runtime.reference.casts import day_of
from streamq.runtime.reference.functions.declare import Family, Function, Plain, Unsupported
from streamq.runtime.reference.functions.time_formats import DAYS, MONTHS, read, write
from streamq.runtime.reference.numbers import MANY_DIGITS, saturate
from streamq.runtime.reference.operators import quotient
from streamq.runtime.reference.texts import read_date, read_timestamp, zone_of
from streamq.runtime.reference.values import to_datetime, to_instant

_f = Family()

Temporal = date | datetime
_DAY = timedelta(days=1)
_FIRST_DAY = date(1970, 1, 1)
_SECOND = 1_000_000
"""Microseconds in it."""

_f.plain("YEAR")(lambda v: v.year)
_f.plain("QUARTER")(lambda v: (v.month + 2) // 3)
_f.plain("MONTH")(lambda v: v.month)
_f.plain("WEEKOFYEAR WEEK")(lambda v: v.isocalendar().week)
_f.plain("DAY DAYOFMONTH")(lambda v: v.day)
_f.plain("DAYOFYEAR")(lambda v: v.timetuple().tm_yday)
_f.plain("DAYOFWEEK")(lambda v: v.isoweekday() % 7 + 1)
_f.plain("WEEKDAY")(lambda v: v.weekday())
_f.plain("HOUR")(lambda v: v.hour)
_f.plain("MINUTE")(lambda v: v.minute)
_f.plain("SECOND")(lambda v: v.second)
_f.plain("MONTHNAME")(lambda v: MONTHS[v.month - 1][:3])
_f.plain("DAYNAME")(lambda v: DAYS[v.weekday()][:3])
_f.plain("UNIX_SECONDS")(lambda v: to_instant(v) // _SECOND)
_f.plain("UNIX_MILLIS")(lambda v: to_instant(v) // 1000)
_f.plain("UNIX_MICROS")(to_instant)
_f.plain("UNIX_DATE")(lambda v: (v - _FIRST_DAY).days)
_f.plain("DATEDIFF DATE_DIFF")(lambda a, b: (day_of(a) - day_of(b)).days)
_f.plain("LAST_DAY")(lambda v: date(v.year, v.month, calendar.monthrange(v.year, v.month)[1]))

_PARTS: dict[str, Callable[[datetime], object]] = {
    "year y years yr yrs": lambda v: v.year,
    "yearofweek": lambda v: v.isocalendar().year,
    "quarter qtr": lambda v: (v.month + 2) // 3,
    "month mon mons months": lambda v: v.month,
    "week w weeks": lambda v: v.isocalendar().week,
    "day d days": lambda v: v.day,
    "dayofweek dow": lambda v: v.isoweekday() % 7 + 1,
    "dayofweek_iso dow_iso": lambda v: v.isoweekday(),
    "doy": lambda v: v.timetuple().tm_yday,
    "hour h hours hr hrs": lambda v: v.hour,
    "minute m min mins minutes": lambda v: v.minute,
    "second s sec seconds secs": lambda v: decimal.Decimal(v.second * _SECOND + v.microsecond).scaleb(-6),
}
_PART_OF = {name: part for names, part in _PARTS.items() for name in names.split()}

_f.plain("DATE_PART DATEPART")(lambda name, v: _PART_OF[name.casefold()](v))


def _or_null(compute: Plain) -> Plain:
    """NULL where there is no such time in the years 1 to 9999."""

    @wraps(compute)
    def safe(*args: Any) -> Any:
        try:
            return compute(*args)
        except (ValueError, OverflowError):
            return None

    return safe  # type: ignore[return-value]


_f.plain("DATE_ADD DATEADD")(_or_null(lambda v, n: day_of(v) + n * _DAY))
_f.plain("DATE_SUB")(_or_null(lambda v, n: day_of(v) - n * _DAY))
_f.plain("ADD_MONTHS")(_or_null(lambda v, n: _months_later(day_of(v), n)))
_f.plain("DATE_FROM_UNIX_DATE")(_or_null(lambda n: _FIRST_DAY + n * _DAY))
_f.plain("MAKE_DATE")(_or_null(date))
_f.plain("TIMESTAMP_MILLIS")(_or_null(lambda n: to_datetime(n * 1000)))
_f.plain("TIMESTAMP_MICROS")(_or_null(to_datetime))


def _months_later(day: date, months: int) -> date:
    """The same day of the month, or its last one."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))


@_f.plain("TIMESTAMP_SECONDS")
@_or_null
def timestamp_seconds(n: float | decimal.Decimal) -> datetime | None:
    if n != n or not -9223372036854 <= n <= 9223372036854:
        return None
    if isinstance(n, decimal.Decimal):
        return to_datetime(int(MANY_DIGITS.multiply(n, decimal.Decimal(_SECOND))))
    return to_datetime(saturate(n * _SECOND, 64) if isinstance(n, float) else n * _SECOND)


@_f.plain("MAKE_TIMESTAMP")
@_or_null
def make_timestamp(
    year: int, month: int, day: int, hour: int, minute: int, second: decimal.Decimal
) -> datetime:
    """60 seconds are the next minute's first."""
    micros = int(MANY_DIGITS.multiply(second, decimal.Decimal(_SECOND)))
    if not 0 <= micros <= 60 * _SECOND:
        raise ValueError("no second of a minute")
    return datetime(year, month, day, hour, minute) + timedelta(microseconds=micros)


@_f.plain("MONTHS_BETWEEN")
def months_between(a: datetime, b: datetime, rounds: bool = True) -> float:
    """Whole where both are on one day of the month or on the last; else the rest counts by 31 days."""
    months = (a.year - b.year) * 12 + a.month - b.month
    last = [v.day == calendar.monthrange(v.year, v.month)[1] for v in (a, b)]
    if a.day == b.day or all(last):
        return float(months)
    seconds = [v.hour * 3600 + v.minute * 60 + v.second for v in (a, b)]
    rest = (a.day - b.day) * 86400 + seconds[0] - seconds[1]
    found = months + rest / (31 * 86400)
    return round(found * 1e8) / 1e8 if rounds else found


_WEEKDAYS = {name: i for i, day in enumerate(DAYS) for name in (day[:2], day[:3], day)}


@_f.plain("NEXT_DAY")
def next_day(v: Temporal, name: str) -> date | None:
    wanted = _WEEKDAYS.get(name.capitalize())
    if wanted is None:
        return None
    day = day_of(v)
    return day + _DAY * ((wanted - day.weekday() - 1) % 7 + 1)


_YEAR, _QUARTER, _MONTH = ("YEAR", "YYYY", "YY"), ("QUARTER",), ("MONTH", "MON", "MM")
_UNITS = {
    "MICROSECOND": 1, "MILLISECOND": 1000, "SECOND": _SECOND, "MINUTE": 60 * _SECOND,
    "HOUR": 3600 * _SECOND, "DAY": 86400 * _SECOND, "DD": 86400 * _SECOND,
}


@_f.plain("TRUNC")
def trunc(v: Temporal, unit: str) -> date | None:
    day, name = day_of(v), unit.upper()
    if name in _YEAR:
        return date(day.year, 1, 1)
    if name in _QUARTER:
        return date(day.year, (day.month - 1) // 3 * 3 + 1, 1)
    if name in _MONTH:
        return date(day.year, day.month, 1)
    return day - day.weekday() * _DAY if name == "WEEK" else None


@_f.plain("DATE_TRUNC")
def date_trunc(unit: str, v: datetime) -> datetime | None:
    length = _UNITS.get(unit.upper())
    if length is not None:
        return to_datetime(to_instant(v) // length * length)
    day = trunc(v, unit)
    return None if day is None else datetime.combine(day, time())


@_f.plain("TIME_BUCKET")
def time_bucket(length: timedelta, v: datetime) -> datetime:
    micros = length // timedelta(microseconds=1)
    return to_datetime(to_instant(v) // micros * micros)


@_f.plain("MAKE_DT_INTERVAL")
@_or_null
def make_dt_interval(
    days: int = 0, hours: int = 0, minutes: int = 0, seconds: decimal.Decimal = decimal.Decimal(0)
) -> timedelta:
    micros = int(seconds.scaleb(6, MANY_DIGITS))
    return timedelta(days=days, hours=hours, minutes=minutes, microseconds=micros)


@_f.plain("DATE_FORMAT")
def date_format(v: datetime, pattern: str) -> str:
    return write(v, pattern)


@_f.plain("TO_TIMESTAMP")
def to_timestamp(v: str | Temporal, pattern: str | None = None) -> datetime | None:
    if isinstance(v, str):
        return read_timestamp(v) if pattern is None else read(v, pattern)
    return v if isinstance(v, datetime) else datetime.combine(v, time())


@_f.plain("TO_DATE DATE")
def to_date(v: str | Temporal, pattern: str | None = None) -> date | None:
    if not isinstance(v, str):
        return day_of(v)
    if pattern is None:
        return read_date(v)
    found = read(v, pattern)
    return None if found is None else found.date()


@_f.plain("FROM_UNIXTIME")
@_or_null
def from_unixtime(seconds: int, pattern: str = "yyyy-MM-dd HH:mm:ss") -> str:
    return write(to_datetime(seconds * _SECOND), pattern)


@_f.typed("UNIX_TIMESTAMP TO_UNIX_TIMESTAMP")
def unix_timestamp(call: Call) -> Function:
    if not call.args:
        raise Unsupported(f"{call.function} of the current time")
    if is_string(call.args[0].type):
        return _unix_of_text
    if call.args[0].type == DATE:
        return lambda v: to_instant(datetime.combine(v, time())) // _SECOND
    return lambda v: int(quotient(to_instant(v), _SECOND) or 0)


def _unix_of_text(text: str, pattern: str = "yyyy-MM-dd HH:mm:ss") -> int | None:
    found = read(text, pattern)
    return None if found is None else to_instant(found) // _SECOND


@_f.plain("FROM_UTC_TIMESTAMP")
def from_utc_timestamp(v: datetime, zone: str) -> datetime:
    return v.replace(tzinfo=UTC).astimezone(zone_of(zone)).replace(tzinfo=None)


@_f.plain("TO_UTC_TIMESTAMP")
def to_utc_timestamp(v: datetime, zone: str) -> datetime:
    return v.replace(tzinfo=zone_of(zone)).astimezone(UTC).replace(tzinfo=None)


MAKERS = _f.makers
