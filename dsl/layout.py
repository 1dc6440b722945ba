"""Documents that know where they may break, and their layout in a given width.

A document is a text, a place for a line end, a group, an indented document, a comment, or a
sequence of these. A group is set on one line where it fits, else all its own line ends are taken.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from streamq.dsl.records import dataclass

WIDTH = 100
INDENT = 2


@dataclass(frozen=True, slots=True)
class Line:
    """A line end; in a group on one line it is ``flat`` instead, None never is on one line."""

    flat: str | None


@dataclass(frozen=True, slots=True)
class Group:
    doc: Doc


@dataclass(frozen=True, slots=True)
class Indent:
    """Lines begun inside stand one step further to the right."""

    doc: Doc


@dataclass(frozen=True, slots=True)
class Remark:
    """A comment: whatever comes after it is on a new line, and no group around it is flat."""

    text: str


Doc: TypeAlias = "str | Line | Group | Indent | Remark | tuple[Doc, ...]"

LINE = Line(" ")
SOFT = Line("")
HARD = Line(None)


def joined(docs: Iterable[Doc], separator: Doc) -> Doc:
    """The documents with the separator between them."""
    parts: list[Doc] = []
    for doc in docs:
        if parts:
            parts.append(separator)
        parts.append(doc)
    return tuple(parts)


def bracketed(open: str, inside: Doc, close: str) -> Doc:
    """``open inside close`` on one line, or with the inside indented on lines of its own."""
    return Group((open, Indent((SOFT, inside)), SOFT, close))


def layout(doc: Doc, width: int = WIDTH) -> str:
    """The text of a document; no line ends in a space."""
    out: list[str] = []
    column = 0
    after_remark = False
    stack: list[tuple[int, bool, Doc]] = [(0, False, doc)]
    while stack:
        indent, flat, item = stack.pop()
        match item:
            case str():
                if item and after_remark:
                    out.append("\n" + " " * indent)
                    column, after_remark, item = indent, False, item.lstrip()
                out.append(item)
                column += len(item)
            case Line(flat=text):
                if flat and text is not None:
                    stack.append((indent, flat, text))
                else:
                    if out and out[-1].isspace() and "\n" not in out[-1]:
                        out.pop()
                    out.append("\n" + " " * indent)
                    column, after_remark = indent, False
            case Group(doc=inner):
                fits = flat or _fits(inner, stack, width - column)
                stack.append((indent, fits, inner))
            case Indent(doc=inner):
                stack.append((indent + INDENT, flat, inner))
            case Remark(text=text):
                stack.append((indent, flat, ""))
                if after_remark:
                    out.append("\n" + " " * indent)
                out.append(text)
                after_remark = True
            case tuple():
                stack.extend((indent, flat, part) for part in reversed(item))
    return "".join(out)


def _fits(doc: Doc, after: list[tuple[int, bool, Doc]], room: int) -> bool:
    """True where ``doc`` on one line, and what follows it up to a line end, fits in ``room``."""
    pending: list[tuple[bool, Doc]] = [(True, doc)]
    position = len(after)
    while room >= 0:
        if not pending:
            if not position:
                return True
            position -= 1
            pending.append(after[position][1:])
        flat, item = pending.pop()
        match item:
            case str():
                room -= len(item)
            case Line(flat=text):
                if not flat:
                    return True
                if text is None:
                    return False
                room -= len(text)
            case Group(doc=inner):
                # A group that follows may break, so only what is inside counts as flat.
                pending.append((flat, inner))
            case Indent(doc=inner):
                pending.append((flat, inner))
            case Remark():
                return not flat
            case tuple():
                pending.extend((flat, part) for part in reversed(item))
    return False
