"""Diagnostics as text: code, message, place, the source lines with carets, help, notes.

Plain string work without rich, whose import takes a good part of the time that ``check`` may take.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from streamq.dsl.diagnostics import Diagnostic, Severity
from streamq.dsl.source import SourceFile, SourceMap, Span
from streamq.dsl.visible import TAB_WIDTH, visible

MOST_IN_FULL = 100
"""So many diagnostics are shown with their lines; those after them take a line each."""

_MOST_LINES = 3
"""Lines of a long span that are shown before its last one."""

_ANSI = {"error": "1;31", "warning": "1;33", "note": "1;36", "bold": "1", "gutter": "1;34"}

_NOT_ONE = re.compile(r"[^\x00-\x08\x0a-\x7f]")
"""Characters that may take other than one column: lines are long at times, and most of them plain."""


@dataclass(frozen=True, slots=True)
class Painter:
    """Colours text where ``colour`` is set."""

    colour: bool = False

    def paint(self, text: str, style: str) -> str:
        if not self.colour or not text:
            return text
        return f"\x1b[{_ANSI[style]}m{text}\x1b[0m"


@dataclass(frozen=True, slots=True)
class _Mark:
    """An underlined stretch of one line: columns are 0-based offsets into the line's text."""

    line: int
    start: int
    end: int
    primary: bool
    text: str


def render_diagnostics(
    diagnostics: Iterable[Diagnostic], sources: SourceMap, *, width: int = 100, colour: bool = False
) -> str:
    """The first ``MOST_IN_FULL`` diagnostics in full, a blank line between them, then the rest; empty where there are none."""
    painter = Painter(colour)
    diagnostics = tuple(diagnostics)
    sources = _without_secrets(diagnostics, sources)
    shown = ["\n".join(_render_one(d, sources, max(40, width), painter)) + "\n" for d in diagnostics[:MOST_IN_FULL]]
    if rest := diagnostics[MOST_IN_FULL:]:
        shown.append("".join(f"{render_concise(d, sources)}\n" for d in rest))
    return "\n".join(shown)


def _without_secrets(diagnostics: tuple[Diagnostic, ...], sources: SourceMap) -> SourceMap:
    """The sources with stars for the secrets that stand in them, which are reported: what is printed may be kept by others."""
    files = dict(sources.files)
    for span in (d.span for d in diagnostics if d.code == "SQ0708"):
        if (source := files.get(span.file)) is not None:
            stars = re.sub(r"(?s)'.*'", lambda text: "'" + "*" * (len(text[0]) - 2) + "'", source.text[span.start : span.end])
            files[span.file] = SourceFile(source.name, source.text[: span.start] + stars + source.text[span.end :])
    return SourceMap(files)


def render_concise(diagnostic: Diagnostic, sources: SourceMap) -> str:
    """One line: ``file:line:column: error[SQ0202]: message (help)``."""
    file, line, column = sources.locate(diagnostic.span)
    place = f"{file}:{line}:{column}: " if line else f"{file}: " if file else ""
    hint = f" ({diagnostic.help})" if diagnostic.help else ""
    return visible(f"{place}{diagnostic.severity.value}[{diagnostic.code}]: {diagnostic.message}{hint}")


def render_summary(diagnostics: Sequence[Diagnostic]) -> str:
    """``2 errors, 1 warning``; empty where there are neither."""
    parts = []
    for severity in (Severity.ERROR, Severity.WARNING):
        count = sum(d.severity is severity for d in diagnostics)
        if count:
            parts.append(f"{count} {severity.value}{'s' if count > 1 else ''}")
    return ", ".join(parts)


def _render_one(
    diagnostic: Diagnostic, sources: SourceMap, width: int, painter: Painter
) -> Iterator[str]:
    severity = diagnostic.severity.value
    head = painter.paint(f"{severity}[{diagnostic.code}]", severity)
    first, *rest = textwrap.wrap(
        visible(diagnostic.message), width - len(severity) - len(diagnostic.code) - 4,
        break_long_words=False, break_on_hyphens=False,
    ) or [""]
    yield f"{head}{painter.paint(f': {first}', 'bold')}"
    for line in rest:
        yield painter.paint(f"  {line}", "bold")
    margin = _margin(diagnostic, sources)
    yield from _snippets(diagnostic, sources, width, margin, painter)
    for kind, text in (("help", diagnostic.help), *(("note", n) for n in diagnostic.notes)):
        if text:
            yield from _remark(kind, text, margin, width, painter)


def _margin(diagnostic: Diagnostic, sources: SourceMap) -> int:
    """Width of the column of line numbers."""
    lines = [0]
    for span in (diagnostic.span, *(label.span for label in diagnostic.labels)):
        source = sources.files.get(span.file)
        if source is not None:
            lines.append(source.line_column(min(span.end, len(source.text)))[0])
    return len(str(max(lines)))


def _remark(kind: str, text: str, margin: int, width: int, painter: Painter) -> Iterator[str]:
    lead = f"{' ' * margin} = {kind}: "
    lines = textwrap.wrap(visible(text), width - len(lead), break_long_words=False, break_on_hyphens=False)
    gutter = painter.paint("=", "gutter")
    yield f"{' ' * margin} {gutter} {painter.paint(kind, 'bold')}: {lines[0] if lines else ''}"
    for line in lines[1:]:
        yield " " * len(lead) + line


def _snippets(
    diagnostic: Diagnostic, sources: SourceMap, width: int, margin: int, painter: Painter
) -> Iterator[str]:
    """The primary file's lines first, then those of other files that labels point into."""
    spans = [(diagnostic.span, diagnostic.label, True)]
    spans += [(label.span, label.text, False) for label in diagnostic.labels]
    for file in dict.fromkeys(span.file for span, _, _ in spans):
        source = sources.files.get(file)
        here = [entry for entry in spans if entry[0].file == file]
        if source is None:
            if file:
                yield f"{' ' * margin}{painter.paint('-->', 'gutter')} {visible(file)}"
            continue
        _, line, column = sources.locate(here[0][0])
        arrow = "-->" if here[0][2] else ":::"
        yield f"{' ' * margin}{painter.paint(arrow, 'gutter')} {visible(file)}:{line}:{column}"
        marks = [mark for entry in here for mark in _marks(source, *entry)]
        severity = diagnostic.severity.value
        yield from _marked_lines(source, marks, width, margin, severity, painter)


def _marks(source: SourceFile, span: Span, text: str, primary: bool) -> list[_Mark]:
    """A span as one mark per line that is shown; the text stands at the last of them."""
    start = min(span.start, len(source.text))
    end = max(start, min(span.end, len(source.text)))
    first, column = source.line_column(start)
    last, end_column = source.line_column(end)
    if last > first and end_column == 1:
        last -= 1
        end_column = len(source.line_text(last)) + 1
    lines = list(range(first, last + 1))
    if len(lines) > _MOST_LINES + 1:
        lines = [*lines[:_MOST_LINES], last]
    marks = []
    for line in lines:
        content = source.line_text(line)
        left = column - 1 if line == first else len(content) - len(content.lstrip())
        right = end_column - 1 if line == last else len(content.rstrip())
        left = min(left, len(content))
        shown = text if line == lines[-1] else ""
        marks.append(_Mark(line, left, max(right, left + 1), primary, shown))
    return marks


def _marked_lines(
    source: SourceFile, marks: list[_Mark], width: int, margin: int, severity: str, painter: Painter
) -> Iterator[str]:
    bar = painter.paint("|", "gutter")
    yield f"{' ' * margin} {bar}"
    lines = sorted({mark.line for mark in marks})
    before = _context(source, lines[0])
    if before is not None:
        lines.insert(0, before)
    previous = None
    for line in lines:
        if previous is not None and line > previous + 1:
            yield painter.paint("...", "gutter")
        previous = line
        here = [mark for mark in marks if mark.line == line]
        content = source.line_text(line)
        offset, shown = _window(content, here, width - margin - 3)
        number = painter.paint(str(line).rjust(margin), "gutter")
        yield f"{number} {bar} {shown}".rstrip()
        for mark in sorted(here, key=lambda m: (not m.primary, m.start)):
            left = _display_width(content[: mark.start]) - offset
            length = max(1, _display_width(content[mark.start : mark.end]))
            length = max(1, min(length, width - margin - 3 - left))
            style = severity if mark.primary else "gutter"
            line_of = ("^" if mark.primary else "-") * length
            text = f" {visible(mark.text)}" if mark.text else ""
            yield f"{' ' * margin} {bar} {' ' * left}{painter.paint(line_of + text, style)}"


def _context(source: SourceFile, line: int) -> int | None:
    """The line before an empty one: an error at the end of a file means what came before."""
    if line > 1 and not source.line_text(line).strip():
        for earlier in range(line - 1, 0, -1):
            if source.line_text(earlier).strip():
                return earlier
    return None


def _window(content: str, marks: list[_Mark], room: int) -> tuple[int, str]:
    """The part of a line that fits and holds its first mark, and how many columns are cut off."""
    shown = visible(content)
    if _display_width(content) <= room or not marks:
        return 0, shown if len(shown) <= room else shown[: room - 1] + "…"
    start = min(_display_width(content[: mark.start]) for mark in marks)
    if start < room * 2 // 3:
        return 0, shown[: room - 1] + "…"
    offset = start - room // 3
    cut = shown[offset + 1 : offset + room - 1]
    return offset, "…" + cut + ("…" if len(shown) > offset + room - 1 else "")


def _display_width(text: str) -> int:
    """Columns that text takes on a terminal."""
    width = len(text)
    for ch in _NOT_ONE.findall(text):
        if ch == "\t":
            width += TAB_WIDTH - 1
        elif unicodedata.combining(ch):
            width -= 1
        elif unicodedata.east_asian_width(ch) in ("W", "F"):
            width += 1
    return width
