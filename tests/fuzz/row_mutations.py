"""Rows as lines of JSON and CSV, well-formed and damaged; what an independent reader makes of each line."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from io import StringIO
from random import Random
from typing import Any

COLUMNS = {"id": "BIGINT NOT NULL", "name": "STRING", "x": "DOUBLE", "n": "INT", "ok": "BOOLEAN", "day": "DATE", "at": "TIMESTAMP"}
NESTED = {"tags": "ARRAY<STRING>", "o": "STRUCT<a INT, b STRING>"}

_ODD_VALUES = (
    "null", "true", '"true"', "1", "1.0", "1.5", "-0", "0", "007", "1e3", "1e400", "-1e400", "1e-400", "NaN", "Infinity", "-Infinity", "9223372036854775807",
    "9223372036854775808", "-9223372036854775809", "2147483648", "9" * 500, "9" * 1500, "0." + "3" * 1200, '""', '"\\ud800"', '"\\u0000"', '"\\x"', '"\\"', "'a'",
    "[]", "{}", "[1, [2]]", '["a", null]', '{"a": 1, "b": null}', '{"a": "x"}', "[" * 1200 + "]" * 1200, '"' + "é" * 20_000 + '"', '"2024-13-45"', '"2024-02-29"',
    '"0000-00-00"', '"9999-12-31"', '"2024-01-01T00:00:00Z"', '"2024-01-01 25:00:00"', '"-2024-01-01"', '"epoch"', "1700000000", '"\U0001f511"', '"$1 ${x} %s"',
    '"<script>alert(1)</script>"', '"\x1b[31mred"', "", " ", "undefined", "0x10", "+1", ".5", "5.",
)  # fmt: skip
_SIGNS = b'{}[]",:\\\x00\t \x0b\x0c\x1b#;\'/*\xff\xc3\xef\xbb\xbf\xed\xa0\x80-+0e.'
_DAY = re.compile(r"[12]\d{3}-[01]\d-[0-3]\d")
_AT = re.compile(r"[12]\d{3}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-5]\dZ")
_REAL = re.compile(r"-?\d{1,15}(\.\d{1,15})?")
Values = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """``least`` to ``most`` rows come of a line. ``values``: of its only row, where that is surely well-formed. ``bad``: it surely is not."""

    least: int = 1
    most: int = 1
    values: Values | None = None
    bad: bool = False


def plain(random: Random, number: int) -> dict[str, object]:
    """A row that is as it should be."""
    return {
        "id": number, "name": random.choice(("ann", "böb", "", "a b", "x" * 50, "名前")), "x": random.choice((0.5, -3.25, 1e10, 7.0)),
        "n": random.randint(-(2**31), 2**31 - 1), "ok": random.random() < 0.5, "day": f"20{random.randint(10, 29)}-0{random.randint(1, 9)}-1{random.randint(0, 9)}",
        "at": f"2024-05-{random.randint(10, 28)}T1{random.randint(0, 9)}:00:0{random.randint(0, 9)}Z",
    }  # fmt: skip


def json_line(random: Random, number: int) -> bytes:
    """A row as JSON, perhaps damaged; no line ends in it."""
    row: dict[str, object] = {**plain(random, number), "tags": random.choice((["a"], [], None)), "o": random.choice(({"a": 1, "b": "c"}, None))}
    parts = [(json.dumps(key), json.dumps(value, ensure_ascii=False)) for key, value in row.items()]
    if random.random() < 0.5:
        place = random.randrange(len(parts))
        match random.choice(("value", "value", "value", "lost", "twice", "more", "key", "order")):
            case "value":
                parts[place] = (parts[place][0], random.choice(_ODD_VALUES))
            case "lost":
                del parts[place]
            case "twice":
                parts.append(random.choice(parts))
            case "more":
                parts.append((random.choice(('"other"', '"ID"', '""', '"_corrupt"', '"a.b"', "bare", "'q'")), random.choice(_ODD_VALUES)))
            case "key":
                parts[place] = (random.choice(('"Name"', '"nam\\u0065"', "name", '""', '"' + "k" * 5000 + '"', "null")), parts[place][1])
            case _:
                random.shuffle(parts)
    data = ("{" + ", ".join(f"{key}: {value}" for key, value in parts) + "}").encode("utf-8", "surrogatepass")
    return _damaged(data, random, (b"[" + data + b"]", data + b",", data + data, b"[" + data + b"," + data + b"]", b"null", b"{}", b"[]", b"1", b'"a"', b"/* c */" + data))


def csv_line(random: Random, number: int) -> bytes:
    """A row as CSV, perhaps damaged; no line ends in it."""
    cells = [str(value).lower() if isinstance(value, bool) else str(value) for value in plain(random, number).values()]
    if random.random() < 0.5:
        place = random.randrange(len(cells))
        match random.choice(("value", "value", "lost", "more", "quoted")):
            case "value":
                cells[place] = random.choice(_ODD_VALUES).strip('"')
            case "lost":
                del cells[place]
            case "more":
                cells.insert(place, random.choice(("", "x", "1")))
            case _:
                cells[place] = f'"{cells[place]}"'
    data = ",".join(cells).encode("utf-8", "surrogatepass")
    return _damaged(data, random, (data + b",", b'"' + data, data.replace(b",", b";"), b",", b",,,,,,", b"\x00", b'""', b"\xef\xbb\xbf" + data))


def _damaged(data: bytes, random: Random, others: tuple[bytes, ...]) -> bytes:
    """A quarter of the lines has bytes changed, some are other things altogether."""
    draw = random.random()
    changed = bytearray(data)
    if draw < 0.2:
        for _ in range(random.choice((1, 1, 2, 5))):
            changed[random.randrange(len(changed))] = random.choice(_SIGNS) if random.random() < 0.7 else random.randrange(256)
    elif draw < 0.25:
        del changed[random.randrange(len(changed)) :]
    elif draw < 0.3:
        changed = bytearray(random.choice(others))
    elif draw < 0.31:
        changed = bytearray(random.randbytes(40))
    elif draw < 0.33:
        changed = bytearray(random.choice((b"", b" ", b"\t ", b"\x0c")))
    return bytes(changed).replace(b"\n", b"").replace(b"\r", b"")


def read_json(line: bytes) -> Reading:
    """What Python's own reader makes of a line."""
    if not line.strip(b" \t"):
        return Reading(0, 0)
    if line.lstrip(b" \t\xef\xbb\xbf\x00").startswith(b"[") or b"\x00" in line or b"[{" in line:
        return Reading(0, 1 + line.count(b"{"))
    try:
        text = line.decode("utf-8")
        pairs: list[tuple[str, object]] = json.loads(text, object_pairs_hook=_pairs, parse_constant=_refuse, parse_int=_int, parse_float=_float)
    except (ValueError, RecursionError):
        return Reading(bad=line.startswith(b"{") and line.count(b"{") > line.count(b"}") and b'"' in line and line.count(b'"') % 2 == 0 and b"\\" not in line)
    if not isinstance(pairs, _Pairs) or len({key for key, _ in pairs}) < len(pairs) or len(text) > 10_000:
        return Reading()
    row = dict(pairs)
    checks: dict[str, Callable[[Any], bool]] = {**_CHECKS, "tags": _is_texts, "o": _is_struct}
    if set(row) - set(checks):
        return Reading()
    if any(row.get(key) is not None and not check(row[key]) for key, check in checks.items()):
        return Reading()
    if row.get("id") is None:
        return Reading(bad=True)
    found = [row.get(key) for key in checks]
    found[2] = None if found[2] is None else float(str(found[2]))
    found[-1] = None if found[-1] is None else tuple(dict(found[-1]).get(key) for key in ("a", "b"))  # type: ignore[call-overload]
    found[-2] = None if found[-2] is None else tuple(found[-2])  # type: ignore[arg-type]
    return Reading(values=tuple(found))


class _Pairs(list[tuple[str, object]]):
    """An object of JSON, whose keys may come twice."""


def _pairs(items: list[tuple[str, object]]) -> _Pairs:
    return _Pairs(items)


def _refuse(text: str) -> object:
    raise ValueError(text)


def _int(text: str) -> object:
    return int(text) if len(text) < 100 else text.encode()


def _float(text: str) -> object:
    return float(text) if len(text) < 100 else text.encode()


def read_csv(line: bytes) -> Reading:
    """What Python's own reader makes of a line."""
    if not line.strip(bytes(range(33))):
        return Reading(0, 0)
    try:
        text = line.decode("utf-8")
        cells = next(csv.reader(StringIO(text), strict=True))
    except (ValueError, StopIteration, csv.Error):
        return Reading()
    if re.search(r"[\"\\\x00-\x1f\ufeff]", text) or len(text) > 10_000:
        return Reading()
    if len(cells) != len(COLUMNS):
        return Reading(bad=True)
    found: list[object] = []
    for (key, check), cell in zip(_CHECKS.items(), cells, strict=True):
        if cell == "":
            found.append(None)
            continue
        value: object = cell
        if key in ("id", "n"):
            value = int(cell) if re.fullmatch(r"-?\d{1,19}", cell, re.ASCII) else None
        elif key == "x":
            value = float(cell) if re.fullmatch(_REAL, cell) and cell.isascii() else None
        elif key == "ok":
            value = {"true": True, "false": False}.get(cell)
        if value is None or not check(value):
            return Reading()
        found.append(value)
    return Reading(bad=True) if found[0] is None else Reading(values=tuple(found))


def _is_int(bits: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and -(2 ** (bits - 1)) <= value < 2 ** (bits - 1)


def _is_day(value: Any) -> bool:
    return isinstance(value, str) and bool(_DAY.fullmatch(value)) and value.isascii() and _parses(date.fromisoformat, value)


def _is_at(value: Any) -> bool:
    return isinstance(value, str) and bool(_AT.fullmatch(value)) and value.isascii() and _parses(datetime.fromisoformat, value)


def _parses(read: Callable[[str], object], value: str) -> bool:
    try:
        read(value)
    except ValueError:
        return False
    return True


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and not any("\ud800" <= c <= "\udfff" for c in value)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and not isinstance(value, _Pairs) and all(v is None or _is_text(v) for v in value)


def _is_struct(value: Any) -> bool:
    if not isinstance(value, _Pairs) or len(dict(value)) < len(value):
        return False
    fields = dict(value)
    a, b = fields.get("a"), fields.get("b")
    return set(fields) <= {"a", "b"} and (a is None or _is_int(32)(a)) and (b is None or _is_text(b))


def _is_real(value: Any) -> bool:
    return type(value) in (int, float) and len(str(value)) < 20 and abs(value) < 1e300


_CHECKS: dict[str, Callable[[Any], bool]] = {
    "id": _is_int(64), "name": _is_text, "x": _is_real, "n": _is_int(32), "ok": lambda value: type(value) is bool, "day": _is_day, "at": _is_at,
}  # fmt: skip
