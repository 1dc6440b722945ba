"""LIKE patterns and Java's regular expressions, and the functions that use them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from streamq.runtime.reference.functions.declare import Family

_f = Family()

_LINE_ENDS = r"\n\r\u0085\u2028\u2029"
"""What a dot does not match in Java."""


@lru_cache(maxsize=512)
def like_pattern(text: str) -> re.Pattern[str]:
    """``%`` stands for any text and ``_`` for one character, unless a backslash is before it."""
    parts: list[str] = []
    characters = iter(text)
    for c in characters:
        if c == "\\":
            parts.append(re.escape(next(characters, "\\")))
        else:
            parts.append(".*" if c == "%" else "." if c == "_" else re.escape(c))
    return re.compile("".join(parts), re.DOTALL)


@lru_cache(maxsize=512)
def java_pattern(text: str) -> re.Pattern[str]:
    """A regular expression of Java as one of Python; classes such as ``\\w`` know ASCII only."""
    return re.compile("".join(_translated(text)), re.ASCII)


_CLASSES = {
    "Alpha": "a-zA-Z", "Digit": "0-9", "Alnum": "a-zA-Z0-9", "Upper": "A-Z", "Lower": "a-z",
    "Space": r"\s", "Punct": r"!-/:-@\[-`{-~", "XDigit": "0-9a-fA-F", "Blank": r" \t",
}


def _translated(text: str) -> Iterator[str]:
    r"""What Python spells differently: ``\Q…\E``, ``\p{…}``, ``\z``, ``\h``, named groups and the dot."""
    at, in_class, dots_match_all = 0, False, "(?s" in text
    while at < len(text):
        c = text[at]
        if c == "\\" and at + 1 < len(text):
            follows = text[at + 1]
            at += 2
            if follows == "Q":
                end = text.find("\\E", at)
                yield re.escape(text[at : end if end >= 0 else len(text)])
                at = end + 2 if end >= 0 else len(text)
            elif follows in "pP" and text[at : at + 1] == "{":
                end = text.index("}", at)
                inner = _CLASSES[text[at + 1 : end]]
                yield inner if in_class else f"[{'^' if follows == 'P' else ''}{inner}]"
                at = end + 1
            elif follows == "h":
                yield r" \t" if in_class else r"[ \t]"
            else:
                yield {"z": r"\Z", "Z": r"(?=\n?\Z)"}.get(follows, c + follows)
            continue
        if c == "[" and not in_class:
            in_class = True
        elif c == "]":
            in_class = False
        elif c == "." and not in_class and not dots_match_all:
            c = f"[^{_LINE_ENDS}]"
        elif text.startswith("(?<", at) and text[at + 3 : at + 4] not in ("=", "!"):
            c, at = "(?P<", at + 2
        yield c
        at += 1


def like_matches(s: str, pattern: str) -> bool:
    return like_pattern(pattern).fullmatch(s) is not None


def regex_finds(s: str, pattern: str) -> bool:
    return java_pattern(pattern).search(s) is not None


_f.plain("REGEXP_LIKE")(regex_finds)
_f.plain("ILIKE")(lambda s, pattern: like_matches(s.lower(), pattern.lower()))
_f.plain("REGEXP_COUNT")(lambda s, pattern: sum(1 for _ in java_pattern(pattern).finditer(s)))


@_f.plain("REGEXP_EXTRACT")
def regexp_extract(s: str, pattern: str, group: int = 1) -> str:
    found = java_pattern(pattern).search(s)
    return (found[group] or "") if found else ""


@_f.plain("REGEXP_EXTRACT_ALL")
def regexp_extract_all(s: str, pattern: str, group: int = 1) -> tuple[str, ...]:
    return tuple(found[group] or "" for found in java_pattern(pattern).finditer(s))


@_f.plain("REGEXP_REPLACE")
def regexp_replace(s: str, pattern: str, new: str, position: int = 1) -> str:
    """Before the position (from 1) nothing is replaced."""
    start = position - 1
    if start >= len(s) > 0 or (start > 0 and not s):
        return s
    return s[:start] + java_pattern(pattern).sub(lambda found: _filled(new, found), s[start:])


def _filled(template: str, found: re.Match[str]) -> str:
    """``$1`` and ``${name}`` stand for groups, a backslash for the character after it."""

    def part(piece: re.Match[str]) -> str:
        if piece[1] is not None:
            return piece[1]
        return found[int(piece[2]) if piece[2] else piece[3]] or ""

    return re.sub(r"\\(.)|\$(?:(\d)|\{(\w+)\})", part, template, flags=re.DOTALL)


@_f.plain("REGEXP_SUBSTR")
def regexp_substr(s: str, pattern: str) -> str | None:
    found = java_pattern(pattern).search(s)
    return found[0] if found and found[0] else None


@_f.plain("REGEXP_INSTR")
def regexp_instr(s: str, pattern: str) -> int:
    found = java_pattern(pattern).search(s)
    return found.start() + 1 if found else 0


@_f.plain("SPLIT")
def split(s: str, pattern: str, limit: int = -1) -> tuple[str, ...]:
    """A limit of 0 or less is none; an empty pattern parts all characters."""
    if not pattern and s:
        return tuple(s) if not 0 < limit < len(s) else (*s[: limit - 1], s[limit - 1 :])
    parts: list[str] = []
    at = 0
    for found in java_pattern(pattern).finditer(s):
        if 0 < limit <= len(parts) + 1:
            break
        if found.end() == 0:
            continue
        parts.append(s[at : found.start()])
        at = found.end()
    return (*parts, s[at:])


@_f.plain("STR_TO_MAP")
def str_to_map(
    s: str, between: str = ",", within: str = ":"
) -> tuple[tuple[str, str | None], ...]:
    """A pair without its delimiter has no value; the last of equal keys wins."""
    found: dict[str, str | None] = {}
    for pair in split(s, between):
        key, *value = split(pair, within, 2)
        found[key] = value[0] if value else None
    return tuple(found.items())


MAKERS = _f.makers
