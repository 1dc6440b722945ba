"""Text of programs and data made fit to be shown: nothing in it steers a terminal, or hides what stands there."""

from __future__ import annotations

import re

TAB_WIDTH = 4

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

_STEERING = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff"
)
"""Control characters but for tabs and line ends, marks of direction and others that have no shape, halves of pairs."""

_STEERS = re.compile(f"[{_STEERING}]")
_STEERS_LINE = re.compile(f"[{_STEERING}\\n]")


def visible(text: str) -> str:
    """One line: tabs as spaces, and a replacement mark for each character that would steer a terminal, or end the line."""
    if text.isprintable():
        return text
    return _STEERS_LINE.sub(REPLACEMENT, text.replace("\t", " " * TAB_WIDTH))


def visible_lines(text: str) -> str:
    """The same for a text of several lines, whose tabs stay."""
    return _STEERS.sub(REPLACEMENT, text)


def escaped(text: str) -> str:
    """JSON that means the same, with such characters written as ``\\u202e``."""
    return _STEERS.sub(_in_json, text)


def escaped_python(text: str) -> str:
    """String literals of Python that mean the same, with such characters written as ``\\u202e`` or ``\\U000e0041``."""
    return _STEERS.sub(_in_python, text)


def _in_json(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def _in_python(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
