"""``streamq fmt`` on one file: the text in the standard layout, written only where it differs."""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass
from pathlib import Path

from streamq.dsl.diagnostics import Diagnostic, DiagnosticSink
from streamq.dsl.formatter import format_source
from streamq.dsl.source import SourceMap, Span
from streamq.runtime.programs import STDIN, read_source


@dataclass(frozen=True, slots=True)
class Formatted:
    """``before`` and ``text`` (after) are equal where nothing changes. ``failed``: no program."""

    name: str
    before: str
    text: str
    sources: SourceMap
    diagnostics: tuple[Diagnostic, ...] = ()
    failed: bool = False

    @property
    def changed(self) -> bool:
        return self.before != self.text

    def diff(self) -> str:
        """The change as a unified diff."""
        lines = difflib.unified_diff(
            self.before.splitlines(keepends=True), self.text.splitlines(keepends=True),
            self.name, f"{self.name} (formatted)",
        )
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def format_file(name: str, *, write: bool) -> Formatted:
    """Formats a file, or standard input for ``-``; ``write`` puts a changed file back.

    A program with syntax errors is left alone and its diagnostics are returned. Line ends stay as
    the file has them.
    """
    source = read_source(name)
    sources = SourceMap()
    if isinstance(source, Diagnostic):
        return Formatted(name, "", "", sources, (source,), failed=True)
    sources.add(source)
    sink = DiagnosticSink()
    text = format_source(source, sink)
    if text is None:
        return Formatted(name, source.text, source.text, sources, sink.sorted(), failed=True)
    if "\r\n" in source.text:
        text = text.replace("\r\n", "\n").replace("\n", "\r\n")
    formatted = Formatted(name, source.text, text, sources)
    if write and formatted.changed and name != STDIN:
        try:
            _replace(Path(name), text)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            wrong = Diagnostic(
                "SQ0001", f"`{name}` cannot be written: {reason}", Span(name, 0, 0),
                help="`--diff` shows what would change",
            )
            return Formatted(name, source.text, source.text, sources, (wrong,), failed=True)
    return formatted


def _replace(path: Path, text: str) -> None:
    """Writes the file at once or not at all; it keeps its permissions."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_bytes(text.encode("utf-8"))
        draft.chmod(path.stat().st_mode)
        draft.replace(path.resolve())
    finally:
        draft.unlink(missing_ok=True)
