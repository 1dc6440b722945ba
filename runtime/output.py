"""What commands print, and how: diagnostics, texts, files; colours only on terminals."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from streamq.dsl.visible import visible, visible_lines

if TYPE_CHECKING:
    from streamq.dsl.diagnostics import Diagnostic
    from streamq.dsl.source import SourceMap
    from streamq.runtime.programs import Loaded

OK, PROGRAM_ERROR, USAGE, RUN_FAILED = 0, 1, 2, 3
"""Exit codes: all is well, errors in a program, wrong usage, a failed run."""

_LASTING = frozenset({"SQ0709", "SQ0802", "SQ0806", "SQ0811", "SQ0820"})
"""What a run is refused for until somebody mends it: to start it again does not help."""

WIDTH = 100
"""Columns of output that does not go to a terminal."""


class UsageError(Exception):
    """The command cannot be done as it was asked for; ends it with exit code 2."""


def exit_code_of_refusal(diagnostics: tuple[Diagnostic, ...]) -> int:
    """That of a run which did not begin: 1 where it has to be mended first, 3 where it may begin later by itself."""
    return PROGRAM_ERROR if any(d.code in _LASTING for d in diagnostics) else RUN_FAILED


def load(name: str, *, functions: bool | None = None) -> Loaded:
    """The compiled program; prints what is wrong with it.

    ``functions``: whether it may bring code, for a command that would run it; None for one that does not.
    """
    from streamq.runtime.programs import load_program

    program = load_program(name)
    if functions is not None:
        from streamq.runtime.permission import limited

        program = limited(program, functions=functions)
    show(program.diagnostics, program.sources)
    return program


def show(
    diagnostics: tuple[Diagnostic, ...], sources: SourceMap, *, concise: bool = False,
    err: bool = True,
) -> None:
    """Prints diagnostics; nothing where there are none."""
    if not diagnostics:
        return
    import shutil

    from streamq.runtime.render import render_concise, render_diagnostics, render_summary

    stream = sys.stderr if err else sys.stdout
    if concise:
        for diagnostic in diagnostics:
            print(render_concise(diagnostic, sources), file=stream)
        return
    terminal = stream.isatty()
    width = shutil.get_terminal_size((WIDTH, 24)).columns if terminal else WIDTH
    colour = _colour(terminal)
    print(render_diagnostics(diagnostics, sources, width=width, colour=colour), file=stream)
    if summary := render_summary(diagnostics):
        print(summary, file=stream)


def _colour(is_terminal: bool) -> bool:
    """Colours go to terminals only; NO_COLOR and FORCE_COLOR say otherwise."""
    if os.environ.get("NO_COLOR"):
        return False
    plain = os.environ.get("TERM", "") == "dumb"
    return bool(os.environ.get("FORCE_COLOR")) or (is_terminal and not plain)


def write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {_reason(error)}") from error


def make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make {path}: {_reason(error)}") from error


def print_text(text: str) -> None:
    shown = visible_lines(text)
    sys.stdout.write(shown if shown.endswith("\n") else f"{shown}\n")


def print_line(text: str) -> None:
    """A line with names in it that are the user's."""
    print(visible(text))


def print_error(text: str) -> None:
    print(visible_lines(text), file=sys.stderr)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
