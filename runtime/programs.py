"""From a file name on the command line to a compiled program and all that is wrong with it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from streamq.compiler.driver import CompileResult, ReadText, compile_program
from streamq.compiler.options import CompileOptions
from streamq.dsl.diagnostics import Diagnostic, Severity
from streamq.dsl.records import dataclass
from streamq.dsl.source import SourceFile, SourceMap, Span
from streamq.runtime.bounded import read_file, read_regular_file, read_stream
from streamq.runtime.preflight import preflight

STDIN = "-"


@dataclass(frozen=True, slots=True)
class Loaded:
    """A program after all checks that need no Spark. ``result`` is None where it cannot be read."""

    name: str
    sources: SourceMap
    diagnostics: tuple[Diagnostic, ...]
    result: CompileResult | None = None

    @property
    def ok(self) -> bool:
        return not any(d.severity is Severity.ERROR for d in self.diagnostics)


def read_source(name: str) -> SourceFile | Diagnostic:
    """The text of a file, or of standard input for ``-``; a diagnostic where it is no text."""
    try:
        data = read_stream(sys.stdin.buffer) if name == STDIN else read_file(name)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        return Diagnostic(
            "SQ0001", f"`{name}` cannot be read: {reason}", Span(name, 0, 0),
            help="give the path of a .cql file",
        )
    shown = "<stdin>" if name == STDIN else name
    try:
        return SourceFile(shown, data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return Diagnostic(
            "SQ0005", f"`{shown}` is not UTF-8 text", Span(shown, 0, 0),
            help="save the program as UTF-8",
            notes=(f"byte {error.start} is 0x{data[error.start]:02x}",),
        )


def load_program(name: str, *, look_at_files: bool = True) -> Loaded:
    """Reads, compiles and looks at the files and folders that the program names.

    ``look_at_files``: False for a program that will not read them.
    """
    source = read_source(name)
    if isinstance(source, Diagnostic):
        return Loaded(name, SourceMap(), (source,))
    folder = Path() if name == STDIN else Path(name).parent

    def read_text(path: str) -> str:
        file = folder / path
        try:
            inside = file.resolve().is_relative_to(folder.resolve())
        except RuntimeError as error:  # before Python 3.13
            raise OSError("it is a link that leads to itself") from error
        if not inside:
            raise OSError("it is a link that leads out of the program's folder")
        return read_regular_file(file).decode("utf-8-sig")

    return _loaded(source, folder, read_text, look_at_files=look_at_files)


def load_embedded(files: Mapping[str, str], folder: Path) -> Loaded:
    """The same for a program whose text is at hand: the first of the files; the others are those that it includes.

    ``folder``: where its relative paths start.
    """

    def read_text(path: str) -> str:
        if path not in files:
            raise OSError("it is not among the program's files")
        return files[path]

    name = next(iter(files))
    return _loaded(SourceFile(name, files[name]), folder, read_text, look_at_files=True)


def _loaded(source: SourceFile, folder: Path, read_text: ReadText, *, look_at_files: bool) -> Loaded:
    result = compile_program(source, CompileOptions(base_dir=str(folder)), read_text)
    found = result.diagnostics
    if result.plan is not None and look_at_files:
        found = (*found, *preflight(result.plan))
    ordered = sorted(found, key=lambda d: (d.span, d.code, d.message))
    return Loaded(source.name, result.sources, tuple(ordered), result)
