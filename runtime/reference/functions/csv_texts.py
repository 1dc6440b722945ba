"""Functions of CSV lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from streamq.compiler.ir.expr import Call
from streamq.dsl.types import BINARY, STRING, TIMESTAMP, Struct, Type, is_string
from streamq.runtime.reference.casts import converter
from streamq.runtime.reference.functions.declare import Family, Function
from streamq.runtime.reference.functions.json_texts import iso_text
from streamq.runtime.reference.texts import to_text

_f = Family()


@_f.typed("FROM_CSV")
def from_csv(call: Call) -> Function:
    """Empty and missing fields are NULL, as are those that do not fit their type."""
    schema = call.type
    assert isinstance(schema, Struct)
    readers = [_reader(t) for _, t in schema.fields]

    def read(line: str, _: str) -> tuple[Any, ...]:
        parts: list[str | None] = [*_parts(line)]
        parts += [None] * (len(readers) - len(parts))
        return tuple(
            None if part is None else reader(part)
            for reader, part in zip(readers, parts, strict=False)
        )

    return read


def _reader(t: Type) -> Callable[[str], Any]:
    return (lambda text: text) if is_string(t) else converter(STRING, t)


def _parts(line: str) -> list[str | None]:
    """Fields between commas; quotes guard commas, a backslash in them guards a quote."""
    parts: list[str | None] = []
    at = 0
    while True:
        text = ""
        if line[at : at + 1] == '"':
            at += 1
            while at < len(line) and line[at] != '"':
                if line[at] == "\\" and line[at + 1 : at + 2] in ('"', "\\"):
                    at += 1
                text += line[at]
                at += 1
            at += 1
            end = line.find(",", at)
            parts.append(text)
        else:
            end = line.find(",", at)
            text = line[at : end if end >= 0 else len(line)]
            parts.append(text or None)
        if end < 0:
            return parts
        at = end + 1


@_f.typed("TO_CSV")
def to_csv(call: Call) -> Function:
    schema = call.args[0].type
    assert isinstance(schema, Struct)
    types = [t for _, t in schema.fields]
    return lambda row: ",".join(_shown(v, t) for v, t in zip(row, types, strict=True))


def _shown(value: Any, t: Type) -> str:
    """NULL is nothing, an empty text is a pair of quotes."""
    if value is None:
        return ""
    text = iso_text(value) if t == TIMESTAMP else to_text(value, t).strip(" ")
    if not text or (t != BINARY and any(c in text for c in ',"\n\r')):
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return text


MAKERS = _f.makers
