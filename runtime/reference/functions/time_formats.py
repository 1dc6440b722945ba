"""Patterns of dates and times such as ``yyyy-MM-dd HH:mm:ss``: writing and reading with them."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfoNotFoundError

from streamq.runtime.reference.functions.declare import Unsupported
from streamq.runtime.reference.texts import zone_of

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_TOKEN = re.compile(r"'(?:[^']|'')*'|([A-Za-z])\1*|[^A-Za-z']", re.DOTALL)

Piece = tuple[str, int]
"""A letter of a pattern and how often it stands."""


@lru_cache(maxsize=256)
def pieces(pattern: str) -> tuple[Piece | str, ...]:
    """The letters of a pattern with their counts, and the texts between them."""
    found: list[Piece | str] = []
    for token in _TOKEN.finditer(pattern):
        text = token[0]
        if token[1]:
            found.append((text[0], len(text)))
        elif text.startswith("'"):
            found.append("'" if text == "''" else text[1:-1].replace("''", "'"))
        elif text not in "[]":
            found.append(text)
    return tuple(found)


def write(value: datetime, pattern: str) -> str:
    """The time in a pattern; ``Unsupported`` for a letter that is not known."""
    return "".join(p if isinstance(p, str) else _written(value, *p) for p in pieces(pattern))


def _written(value: datetime, letter: str, count: int) -> str:
    match letter:
        case "y":
            return f"{value.year % 100:02}" if count == 2 else str(value.year).zfill(count)
        case "M" | "L":
            return _name(MONTHS[value.month - 1], count) or str(value.month).zfill(count)
        case "E":
            return DAYS[value.weekday()] if count == 4 else DAYS[value.weekday()][:3]
        case "Q" | "q" if count <= 2:
            return str((value.month + 2) // 3).zfill(count)
        case "Q" | "q":
            number = (value.month + 2) // 3
            return f"Q{number}" if count == 3 else f"{number}{('st', 'nd', 'rd', 'th')[number - 1]} quarter"
        case "a":
            return "AM" if value.hour < 12 else "PM"
        case "S":
            return f"{value.microsecond:06}".ljust(count, "0")[:count]
        case "G":
            return "Anno Domini" if count == 4 else "AD"
        case "F":
            return str((value.day - 1) % 7 + 1)
        case "V" | "z" | "O" | "x" | "X" | "Z":
            return _zone(letter, count)
        case _ if letter in _NUMBERS:
            return str(_NUMBERS[letter](value)).zfill(count)
        case _:
            raise Unsupported(f"the pattern letter {letter}")


_NUMBERS: dict[str, Callable[[datetime], int]] = {
    "d": lambda v: v.day,
    "D": lambda v: v.timetuple().tm_yday,
    "H": lambda v: v.hour,
    "h": lambda v: (v.hour + 11) % 12 + 1,
    "K": lambda v: v.hour % 12,
    "k": lambda v: v.hour or 24,
    "m": lambda v: v.minute,
    "s": lambda v: v.second,
}


def _name(word: str, count: int) -> str:
    return word if count == 4 else word[:3] if count == 3 else ""


def _zone(letter: str, count: int) -> str:
    """The zone of the session, which is UTC."""
    match letter:
        case "V":
            return "UTC"
        case "z":
            return "Coordinated Universal Time" if count == 4 else "UTC"
        case "O":
            return "GMT"
        case "X":
            return "Z"
        case "Z" if count == 4:
            return "GMT"
        case "Z" if count == 5:
            return "Z"
        case "Z":
            return "+0000"
        case _:
            return ("+00", "+0000", "+00:00", "+0000", "+00:00")[count - 1]


def read(text: str, pattern: str) -> datetime | None:
    """The time that a text holds in a pattern; NULL where it does not match or is no time."""
    found = _reader(pattern).fullmatch(text)
    if found is None:
        return None
    parts = {name: value for name, value in found.groupdict().items() if value is not None}
    try:
        return _assembled(parts)
    except (ValueError, OverflowError, ZoneInfoNotFoundError):
        return None


def _assembled(parts: dict[str, str]) -> datetime:
    year_text = parts.get("y", "1970")
    year = int(year_text) + (2000 if "two" in parts and len(year_text) == 2 else 0)
    if "yy" in parts:
        year = 2000 + int(parts["yy"])
    month = int(parts.get("M", 1))
    if "name" in parts:
        month = next(i for i, m in enumerate(MONTHS, 1) if m[:3] == parts["name"][:3])
    hour = int(parts.get("H", 0))
    if "k" in parts:
        hour = int(parts["k"]) % 24
    if "h" in parts:
        half = int(parts["h"])
        if not 1 <= half <= 12:
            raise ValueError(f"no hour of a half day: {half}")
        hour = half % 12
    if "K" in parts:
        hour = int(parts["K"])
    if parts.get("a") == "PM":
        hour += 12 if "h" in parts or "K" in parts else 0
    micros = int(parts.get("S", "")[:6].ljust(6, "0"))
    moment = datetime(
        year, month, int(parts.get("d", 1)), hour,
        int(parts.get("m", 0)), int(parts.get("s", 0)), micros,
    )
    if "D" in parts:
        moment = datetime(year, 1, 1, hour, moment.minute, moment.second, micros)
        moment += timedelta(days=int(parts["D"]) - 1)
    if "E" in parts and not DAYS[moment.weekday()].startswith(parts["E"][:3]):
        raise ValueError("another day of the week")
    if "zone" not in parts:
        return moment
    return moment.replace(tzinfo=zone_of(parts["zone"])).astimezone(UTC).replace(tzinfo=None)


@lru_cache(maxsize=256)
def _reader(pattern: str) -> re.Pattern[str]:
    """Runs of letters without a text between them are read by their exact count of digits."""
    found = pieces(pattern)
    parts: list[str] = []
    for i, piece in enumerate(found):
        if isinstance(piece, str):
            parts.append(re.escape(piece))
        else:
            touches = i + 1 < len(found) and _is_number(found[i + 1])
            parts.append(_expected(*piece, exact=touches))
    return re.compile("".join(parts), re.ASCII)


def _is_number(piece: Piece | str) -> bool:
    if isinstance(piece, str):
        return False
    return piece[0] in "yMLdDHhKkmsS" and not (piece[0] in "ML" and piece[1] > 2)


def _expected(letter: str, count: int, *, exact: bool) -> str:
    match letter:
        case "y" if count == 2:
            return r"(?P<yy>\d{2})"
        case "y":
            return rf"(?P<y>\d{{{count}{'' if exact or count > 3 else ',4'}}})"
        case "M" | "L" if count > 2:
            names = [m if count == 4 else m[:3] for m in MONTHS]
            return f"(?P<name>{'|'.join(names)})"
        case "M" | "L":
            return _digits("M", count, exact)
        case "E":
            return f"(?P<E>{'|'.join(d if count == 4 else d[:3] for d in DAYS)})"
        case "a":
            return "(?P<a>AM|PM)"
        case "S":
            return rf"(?P<S>\d{{{count}}})"
        case "V" | "z" | "O" | "x" | "X" | "Z":
            return r"(?P<zone>[A-Za-z][\w/+:-]*|[+-]\d{2}(?::?\d{2})?)"
        case _ if letter in _NUMBERS:
            return _digits(letter, count, exact)
        case _:
            raise Unsupported(f"the pattern letter {letter}")


def _digits(name: str, count: int, exact: bool) -> str:
    most = "3" if name == "D" else "2"
    return rf"(?P<{name}>\d{{{count}{f',{most}' if count == 1 and not exact else ''}}})"
