"""Functions of strings and of BINARY. Places count characters (code points) from 1."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from streamq.compiler.ir.expr import Call
from streamq.dsl.types import Array, is_string
from streamq.runtime.reference.functions.declare import Family, Function

_f = Family()

_f.plain("UPPER UCASE")(str.upper)
_f.plain("LOWER LCASE")(str.lower)
_f.plain("TRIM")(lambda s: s.strip(" "))
_f.plain("LTRIM")(lambda s: s.lstrip(" "))
_f.plain("RTRIM")(lambda s: s.rstrip(" "))
_f.plain("BTRIM")(lambda s, characters=" ": s.strip(characters) if characters else s)
_f.plain("SPACE")(lambda n: " " * n)
_f.plain("REPEAT")(lambda s, n: s * n)
_f.plain("REVERSE")(lambda v: v[::-1])
_f.plain("LENGTH LEN CHAR_LENGTH CHARACTER_LENGTH")(len)
_f.plain("OCTET_LENGTH")(lambda v: len(_bytes(v)))
_f.plain("BIT_LENGTH")(lambda v: 8 * len(_bytes(v)))
_f.plain("LEFT")(lambda s, n: s[: max(n, 0)])
_f.plain("RIGHT")(lambda s, n: s[-n:] if n > 0 else "")
_f.plain("STARTSWITH")(str.startswith)
_f.plain("ENDSWITH")(str.endswith)
_f.plain("CONTAINS")(lambda s, part: part in s)
_f.plain("INSTR")(lambda s, part: s.find(part) + 1)
_f.plain("TRANSLATE")(lambda s, old, new: s.translate(_translation(old, new)))
_f.plain("ASCII")(lambda s: ord(s[0]) if s else 0)
_f.plain("IS_VALID_UTF8")(lambda s: True)


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


@_f.plain("INITCAP")
def initcap(s: str) -> str:
    """Words are parted by blanks only."""
    return " ".join(word[:1].upper() + word[1:].lower() for word in s.split(" "))


@_f.plain("LPAD")
def lpad(s: str, length: int, pad: str = " ") -> str:
    return _padding(s, length, pad) + s[: max(length, 0)]


@_f.plain("RPAD")
def rpad(s: str, length: int, pad: str = " ") -> str:
    return s[: max(length, 0)] + _padding(s, length, pad)


def _padding(s: str, length: int, pad: str) -> str:
    missing = length - len(s)
    return (pad * (missing // len(pad) + 1))[:missing] if pad and missing > 0 else ""


@_f.plain("SUBSTR SUBSTRING MID")
def substr(s: Any, position: int, length: int | None = None) -> Any:
    """A position before the start takes away from the length; 0 is the first place, too."""
    start = position - 1 if position > 0 else len(s) + position if position < 0 else 0
    end = len(s) if length is None else start + length
    return s[max(start, 0) : max(end, 0)]


@_f.plain("SPLIT_PART")
def split_part(s: str, delimiter: str, n: int) -> str | None:
    if n == 0:
        return None
    parts = s.split(delimiter) if delimiter else [s]
    place = n - 1 if n > 0 else len(parts) + n
    return parts[place] if 0 <= place < len(parts) else ""


@_f.plain("SPLIT_INDEX")
def split_index(s: str, delimiter: str, n: int) -> str | None:
    parts = s.split(delimiter) if delimiter else [*s, ""]
    return parts[n] if 0 <= n < len(parts) else None


@_f.plain("SUBSTRING_INDEX")
def substring_index(s: str, delimiter: str, n: int) -> str:
    if not delimiter or n == 0:
        return ""
    if n > 0:
        return delimiter.join(s.split(delimiter)[:n])
    return delimiter.join(s.rsplit(delimiter, -n)[n:]) if s.count(delimiter) >= -n else s


@_f.plain("OVERLAY")
def overlay(s: str, new: str, position: int, length: int = -1) -> str:
    gone = length if length >= 0 else len(new)
    return str(substr(s, 1, position - 1)) + new + str(substr(s, position + gone))


@_f.plain("REPLACE")
def replace(s: str, old: str, new: str = "") -> str:
    return s.replace(old, new) if old else s


def _translation(old: str, new: str) -> dict[int, str | None]:
    """The first place of a character counts; what has no partner goes."""
    found: dict[int, str | None] = {}
    for i, character in enumerate(old):
        found.setdefault(ord(character), new[i] if i < len(new) else None)
    return found


@_f.plain("LOCATE POSITION")
def locate(part: str | None, s: str | None, position: int | None = 1) -> int | None:
    """Sees NULL: a position that is NULL gives 0. An empty text is found at the start, always."""
    if position is None:
        return 0
    if part is None or s is None:
        return None
    if position <= 0:
        return 0
    return s.find(part, position - 1) + 1 if part else 1


@_f.plain("FIND_IN_SET")
def find_in_set(s: str, members: str) -> int:
    parts = members.split(",")
    return parts.index(s) + 1 if "," not in s and s in parts else 0


@_f.typed("CONCAT")
def concat(call: Call) -> Function:
    if isinstance(call.type, Array):
        return lambda *arrays: tuple(v for array in arrays for v in array)
    if is_string(call.type):
        return lambda *texts: "".join(texts)
    return lambda *parts: b"".join(parts)


@_f.plain("CONCAT_WS")
def concat_ws(separator: str | None, *values: str | tuple[str | None, ...] | None) -> str | None:
    if separator is None:
        return None
    parts: list[str] = []
    for value in values:
        items = value if isinstance(value, tuple) else (value,)
        parts += [i for i in items if i is not None]
    return separator.join(parts)


@_f.plain("ELT")
def elt(n: int | None, *texts: str | None) -> str | None:
    return texts[n - 1] if n is not None and 1 <= n <= len(texts) else None


@_f.plain("QUOTE")
def quote(s: str) -> str:
    return "'" + s.replace("'", "\\'") + "'"


@_f.plain("MASK")
def mask(s: str) -> str:
    return "".join(_masked(c) for c in s)


def _masked(c: str) -> str:
    return "X" if c.isupper() else "x" if c.islower() else "n" if c.isdecimal() else c


@_f.plain("CHR CHAR")
def chr_(code: int) -> str:
    return "" if code < 0 else chr(code % 256)


@_f.plain("LEVENSHTEIN")
def levenshtein(a: str, b: str) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        corner, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            corner, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, corner + (x != y))
    return row[-1]


@_f.plain("JARO_WINKLER_SIMILARITY")
def jaro_winkler(a: str, b: str) -> float:
    """Jaro's similarity, raised by a common prefix of up to four characters (Winkler 1990)."""
    if not a and not b:
        return 1.0
    reach = max(max(len(a), len(b)) // 2 - 1, 0)
    taken = [False] * len(b)
    met: list[str] = []
    for i, x in enumerate(a):
        for j in range(max(0, i - reach), min(len(b), i + reach + 1)):
            if not taken[j] and b[j] == x:
                taken[j] = True
                met.append(x)
                break
    if not met:
        return 0.0
    partners = [y for y, is_taken in zip(b, taken, strict=True) if is_taken]
    swapped = sum(x != y for x, y in zip(met, partners, strict=True)) // 2
    n = len(met)
    jaro = (n / len(a) + n / len(b) + (n - swapped) / n) / 3
    prefix = 0
    for x, y in zip(a[:4], b[:4], strict=False):
        if x != y:
            break
        prefix += 1
    return jaro + prefix * 0.1 * (1 - jaro)


_SOUNDEX = dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "01230127022455012623017202", strict=True))
"""7 marks H and W, which do not part two letters of one code; 0 marks vowels, which do."""


@_f.plain("SOUNDEX")
def soundex(s: str) -> str:
    if not s or s[0].upper() not in _SOUNDEX:
        return s
    code, last = s[0].upper(), _SOUNDEX[s[0].upper()]
    for character in s[1:]:
        digit = _SOUNDEX.get(character.upper())
        if digit is None:
            last = "0"
        elif digit != "7":
            if digit not in ("0", last):
                code += digit
                if len(code) == 4:
                    break
            last = digit
    return code.ljust(4, "0")


@_f.plain("LUHN_CHECK")
def luhn_check(s: str) -> bool:
    if not re.fullmatch(r"\d+", s, re.ASCII):
        return False
    total = 0
    for i, digit in enumerate(reversed(s)):
        value = int(digit) * (1 + i % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


MAKERS: dict[str, Callable[[Call], Function]] = _f.makers
