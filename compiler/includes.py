"""INCLUDE: the statements of all files of a program, in order."""

from __future__ import annotations

import posixpath
from collections.abc import Callable

from streamq.dsl import ast
from streamq.dsl.diagnostics import Diagnostic, DiagnosticSink
from streamq.dsl.parser import parse_program
from streamq.dsl.source import SourceFile, SourceMap, Span


def resolve_includes(
    source: SourceFile, sources: SourceMap, sink: DiagnosticSink,
    read_text: Callable[[str], str] | None,
) -> tuple[ast.Statement, ...]:
    """Parses the program and, in place of each INCLUDE, the file it names.

    Paths are relative to the including file and must stay inside the program's folder. A file included
    twice counts once. ``read_text`` gets paths relative to the program's folder; files are shown by
    the path that the program's own name leads to.
    """
    return _Includer(sources, sink, read_text, source.name).expand(source, ())


class _Includer:
    """Holds what the recursion shares; paths are relative to the program's folder."""

    def __init__(
        self, sources: SourceMap, sink: DiagnosticSink, read_text: Callable[[str], str] | None,
        program: str,
    ) -> None:
        self.sources, self.sink, self.read_text = sources, sink, read_text
        self.folder, self.program = posixpath.split(program.replace("\\", "/"))
        self.done: set[str] = set()

    def expand(self, source: SourceFile, chain: tuple[str, ...]) -> tuple[ast.Statement, ...]:
        """``chain``: the included files that lead here, outermost first."""
        program = parse_program(self.sources.add(source), self.sink)
        statements: list[ast.Statement] = []
        for node in program.statements:
            if isinstance(node, ast.Include):
                statements.extend(self._include(node, chain))
            else:
                statements.append(node)
        return tuple(statements)

    def _include(self, node: ast.Include, chain: tuple[str, ...]) -> tuple[ast.Statement, ...]:
        folder = posixpath.dirname(chain[-1]) if chain else ""
        path = posixpath.normpath(posixpath.join(folder, node.path.replace("\\", "/")))
        if path.startswith(("../", "/")) or path == ".." or ":" in path:
            return self._fail("SQ0002", f"'{node.path}' leaves the program's folder", node.span,
                              "keep included files beside the program or below it")
        if path in chain or path == self.program:
            cycle = " -> ".join((self.program, *chain, path))
            return self._fail("SQ0003", f"'{node.path}' includes itself", node.span,
                              "remove one of the INCLUDEs", f"the cycle is {cycle}")
        if path in self.done:
            return ()
        try:
            if self.read_text is None:
                raise OSError("no folder to read it from")
            text = self.read_text(path)
        except (OSError, ValueError) as wrong:
            reason = getattr(wrong, "strerror", None) or str(wrong)
            return self._fail("SQ0001", f"'{node.path}' cannot be read", node.span,
                              "check the path; it is relative to this file", reason)
        self.done.add(path)
        return self.expand(SourceFile(posixpath.join(self.folder, path), text), (*chain, path))

    def _fail(
        self, code: str, message: str, span: Span, help_: str, note: str = ""
    ) -> tuple[ast.Statement, ...]:
        self.sink.add(Diagnostic(
            code=code, message=message, span=span, help=help_, notes=(note,) if note else (),
        ))
        return ()
