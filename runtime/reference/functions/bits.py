"""Functions of bits, and of digits in other bases than ten."""

from __future__ import annotations

from streamq.runtime.reference.functions.declare import Family
from streamq.runtime.reference.numbers import wrap

_f = Family()

_MASK = (1 << 64) - 1

_f.plain("BITAND")(lambda a, b: a & b)
_f.plain("BITOR")(lambda a, b: a | b)
_f.plain("BITXOR")(lambda a, b: a ^ b)
_f.plain("BITNOT")(lambda a: ~a)
_f.plain("SHIFTLEFT")(lambda v, n: wrap(v << (n & 63), 64))
_f.plain("SHIFTRIGHT")(lambda v, n: v >> (n & 63))
_f.plain("BIT_GET GETBIT")(lambda v, n: (v >> n) & 1 if 0 <= n <= 63 else None)
_f.plain("BIN")(lambda v: format(v & _MASK, "b"))
_f.plain("BIT_COUNT")(lambda v: (int(v) & _MASK).bit_count())


@_f.plain("CONV")
def conv(digits: str | int, source: int, target: int) -> str | None:
    """Unsigned numbers of 64 bits; a negative target base gives signed ones. Reads as far as it can."""
    if not (2 <= source <= 36 and 2 <= abs(target) <= 36):
        return None
    text = str(digits).strip(" ")
    if not text:
        return None
    minus = text.startswith("-")
    value = 0
    for character in text[1:] if minus else text:
        if not (character.isascii() and character.isalnum()):
            break
        digit = int(character, 36)
        if digit >= source:
            break
        value = value * source + digit
        if value > _MASK:
            value = _MASK
            break
    if minus:
        value = _negated(value, target)
    if target < 0:
        signed = wrap(value, 64)
        return ("-" if signed < 0 else "") + _in_base(abs(signed), -target)
    return _in_base(value & _MASK, target)


def _negated(value: int, target: int) -> int:
    if target > 0 and value >= 1 << 63:
        return _MASK
    return -value


def _in_base(value: int, base: int) -> str:
    text = ""
    while True:
        value, digit = divmod(value, base)
        text = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[digit] + text
        if not value:
            return text


MAKERS = _f.makers
