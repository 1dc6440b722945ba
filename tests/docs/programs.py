"""Compiles the programs of documentation pages and says which diagnostics they give."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from streamq.compiler.driver import CompileResult, compile_program
from streamq.compiler.options import CompileOptions
from streamq.dsl.diagnostics import Diagnostic
from streamq.dsl.source import SourceFile
from streamq.runtime.preflight import preflight
from streamq.runtime.render import render_concise
from tests.docs.pages import Block, Page

PROGRAM = "program.cql"


def program_of(page: Page, block: Block) -> str:
    """The block as a whole program: what the page's ``prelude`` blocks before it say comes first."""
    before = [
        b.text for b in page.blocks
        if b.language == "sql" and b.has("prelude") and b.line < block.line
    ]
    return "".join([*(() if block.has("alone") else before), block.text])


def compile_in(folder: Path, text: str) -> tuple[CompileResult, tuple[Diagnostic, ...]]:
    """Compiles a program as if it lay in the folder, and looks at the files that it names."""
    result = compile_program(
        SourceFile(PROGRAM, text), CompileOptions(base_dir=str(folder), verify=True),
        lambda name: (folder / name).read_text(encoding="utf-8"),
    )
    found = result.diagnostics
    if result.plan is not None:
        found = (*found, *preflight(result.plan))
    return result, found


def codes_of(diagnostics: Iterable[Diagnostic]) -> list[str]:
    """The codes in order, each once."""
    return sorted({d.code for d in diagnostics})


def told(result: CompileResult, diagnostics: Iterable[Diagnostic]) -> str:
    """The diagnostics as lines, for the message of a failed test."""
    return "\n".join(render_concise(d, result.sources) for d in diagnostics)
