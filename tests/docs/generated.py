"""What stands in the generated sections of the documentation, by the name in their marker."""

from __future__ import annotations

import ast as python
from dataclasses import fields
from pathlib import Path

from streamq.compiler.driver import CompileResult
from streamq.compiler.explain import render
from streamq.compiler.passes.pipeline import PIPELINE
from streamq.dsl import ast
from streamq.dsl.codes import CODES
from streamq.dsl.diagnostics import DiagnosticSink
from streamq.dsl.parser import parse_program
from streamq.dsl.source import SourceFile
from streamq.dsl.types import Type
from streamq.runtime.render import render_diagnostics
from tests.docs import reference
from tests.docs.pages import ROOT, Page, named_block
from tests.docs.programs import compile_in, told

PACKAGES = ("dsl", "stdlib", "compiler", "runtime")


def generate(page: Page, name: str, args: list[str]) -> str:
    """The body of a section; ValueError where no generator has that name."""
    match name, args:
        case "reserved-words", []:
            return reference.reserved_words()
        case "functions", []:
            return reference.functions()
        case "connectors", []:
            return reference.connectors()
        case "settings", []:
            return reference.settings()
        case "codes", []:
            return _codes()
        case "files", [room]:
            return _files(room)
        case "passes", []:
            return _passes(_compiled(page, "program"))
        case "file", [path, language]:
            return _fenced((ROOT / path).read_text(encoding="utf-8"), language)
        case "syntax-tree", []:
            return _fenced(_syntax_tree(named_block(page, "program").text))
        case "explain", [stage]:
            return _fenced(render(_compiled(page, "program"), stage))
        case "spark-query", [number]:
            return _fenced(_function(render(_compiled(page, "program"), "spark"), number), "python")
        case "diagnostics", [block]:
            return _fenced(_diagnostics(page, block))
        case _:
            raise ValueError(f"{page.name}: no generator `{name}` with arguments {args}")


def _fenced(text: str, language: str = "text") -> str:
    return f"```{language}\n{text.rstrip()}\n```"


def _compiled(page: Page, name: str) -> CompileResult:
    result, found = compile_in(page.path.parent, named_block(page, name).text)
    if result.plan is None:
        raise ValueError(told(result, found))
    return result


def _diagnostics(page: Page, name: str) -> str:
    result, found = compile_in(page.path.parent, named_block(page, name).text)
    return render_diagnostics(found, result.sources, width=100)


def _codes() -> str:
    return reference.table(
        ("code", "title"), ((f"[{code}]({code}.md)", title) for code, title in CODES.items())
    )


def _files(room: str) -> str:
    """Each file of a room with the first line of its docstring."""
    if room not in PACKAGES:
        raise ValueError(f"no room `{room}`")
    rows = []
    for path in sorted((ROOT / room).rglob("*")):
        shown = path.relative_to(ROOT).as_posix()
        if path.suffix == ".py" and path.stat().st_size:
            rows.append((f"`{shown}`", _purpose(path)))
        elif path.suffix == ".lark":
            rows.append((f"`{shown}`", "The grammar."))
    return reference.table(("file", "what it holds"), rows)


def _purpose(path: Path) -> str:
    text = python.get_docstring(python.parse(path.read_text(encoding="utf-8")))
    if not text:
        raise ValueError(f"{path} has no docstring")
    sentence = " ".join(text.split("\n\n")[0].split())
    return sentence.replace("``", "`")


def _passes(result: CompileResult) -> str:
    changed = {entry.name: entry.changed for entry in result.trace}
    rows = ((f"`{p.name}`", p.why, "yes" if changed[p.name] else "no") for p in PIPELINE)
    return reference.table(("pass", "why here", "changed this program"), rows)


def _function(script: str, number: str) -> str:
    """The function of one query in a PySpark program."""
    begin = script.index(f"def query_{number}(")
    return script[begin : script.index("\n\n\n", begin)]


def _syntax_tree(text: str) -> str:
    """The last statement's nodes, one per line, without their places in the text."""
    sink = DiagnosticSink()
    program = parse_program(SourceFile("program.cql", text), sink)
    lines: list[str] = []
    _node(program.statements[-1], "", lines)
    return "\n".join(lines)


def _node(node: ast.Node, indent: str, lines: list[str], role: str = "") -> None:
    plain: list[str] = []
    below: list[tuple[str, ast.Node]] = []
    for field in fields(node):
        value = getattr(node, field.name)
        if field.name == "span" or value is None or value == () or value is False:
            continue
        if isinstance(value, ast.Ident):
            plain.append(value.text)
        elif isinstance(value, ast.Node):
            below.append((field.name, value))
        elif isinstance(value, tuple) and all(isinstance(v, ast.Ident) for v in value):
            plain.append(".".join(v.text for v in value))
        elif isinstance(value, tuple):
            below.extend((field.name, v) for v in value if isinstance(v, ast.Node))
        else:
            plain.append(f"{field.name}={value}" if not isinstance(value, Type) else str(value))
    lead = f"{role}: " if role else ""
    lines.append(f"{indent}{lead}{type(node).__name__}({', '.join(plain)})")
    for name, child in below:
        _node(child, indent + "  ", lines, name)
