"""Where text came from: source files, spans in them, and the set of files of one program."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property

from streamq.dsl.records import dataclass, field


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A half-open range of character offsets ``[start, end)`` in one file."""

    file: str
    start: int
    end: int

    def merge(self, other: Span) -> Span:
        """The smallest span that covers both; spans of different files do not mix."""
        if other.file != self.file:
            return self
        return Span(self.file, min(self.start, other.start), max(self.end, other.end))


NO_SPAN = Span("", 0, 0)
"""The span of nodes that no user wrote (tests, generated programs)."""


@dataclass(frozen=True)
class SourceFile:
    """One text with a name; offsets are characters of ``text`` as it is parsed (without a BOM)."""

    name: str
    text: str

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        starts.extend(i + 1 for i, ch in enumerate(self.text) if ch == "\n")
        return starts

    def line_column(self, offset: int) -> tuple[int, int]:
        """1-based line and column of a character offset."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def line_text(self, line: int) -> str:
        """The text of a 1-based line without its end-of-line characters."""
        start = self._line_starts[line - 1]
        end = self.text.find("\n", start)
        return self.text[start : None if end < 0 else end].rstrip("\r")


@dataclass
class SourceMap:
    """All files of one program, by the name that spans carry."""

    files: dict[str, SourceFile] = field(default_factory=dict)

    def add(self, source: SourceFile) -> SourceFile:
        self.files[source.name] = source
        return source

    def locate(self, span: Span) -> tuple[str, int, int]:
        """File name, 1-based line and column at which the span starts (line 0: no place)."""
        source = self.files.get(span.file)
        if source is None:
            return span.file, 0, 0
        line, column = source.line_column(min(span.start, len(source.text)))
        return span.file, line, column
