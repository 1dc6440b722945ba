"""Names and texts that are chosen to do harm: whatever is made of them has the form that it has with harmless ones."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from functools import cache

import pytest

from streamq.compiler.driver import CompileResult, compile_program
from streamq.compiler.explain import render, render_shedding
from streamq.compiler.explain.pyspark_source import to_pyspark
from streamq.compiler.options import CompileOptions
from streamq.dsl.diagnostics import DiagnosticSink
from streamq.dsl.formatter import format_source
from streamq.dsl.source import SourceFile
from streamq.dsl.visible import visible, visible_lines
from tests.support.hostile import NAMES, PROGRAM, named, shape, sql_texts

REFUSED = {"\x1b[31mred": "SQ0005", "\x07": "SQ0005", "__gone": "SQ0205"}
"""Names that programs do not get far with."""

TAKEN = [name for name in NAMES if name not in REFUSED]

WITHOUT_GOAL = PROGRAM[: PROGRAM.index("CREATE QUERY {q7}")]
"""A PySpark program cannot follow a goal."""


@cache
def compiled(name: str, program: str = PROGRAM) -> CompileResult:
    # A path that is blank is none.
    return compile_program(named(name, None if name.strip() else "text", program), CompileOptions(verify=True))


@cache
def rendered(name: str, stage: str, form: str) -> str:
    return render(compiled(name), stage, form)


@pytest.mark.parametrize("name", TAKEN)
def test_what_reaches_spark_has_the_same_form(name: str) -> None:
    expected = [(kind, shape(sql)) for kind, sql in sql_texts(compiled("h").require())]
    assert len(expected) > 300
    assert [(kind, shape(sql)) for kind, sql in sql_texts(compiled(name).require())] == expected


@pytest.mark.parametrize("name", REFUSED)
def test_some_names_are_refused(name: str) -> None:
    assert REFUSED[name] in [d.code for d in compiled(name).diagnostics]


def test_spark_fills_nothing_into_texts() -> None:
    texts = [sql for _, sql in sql_texts(compiled("h", PROGRAM.replace("{text}", "'${env:HOME}'")).require())]
    assert any("\\u0024{env:HOME}" in sql for sql in texts)
    assert not any("${" in sql for sql in texts)
    assert '"spark.sql.variable.substitute": "false"' in to_pyspark(compiled("h", WITHOUT_GOAL).require())


@pytest.mark.parametrize("name", TAKEN)
def test_programs_for_pyspark_have_the_same_form(name: str) -> None:
    text = to_pyspark(compiled(name, WITHOUT_GOAL).require(), name)
    # Names of one word are written without quotes.
    expected = to_pyspark(compiled("h" if f"{name}x".isidentifier() else "h h", WITHOUT_GOAL).require())
    assert "from module import f as" in text
    assert list(_form(ast.parse(text))) == list(_form(ast.parse(expected)))
    assert visible_lines(text) == text
    assert len(text.splitlines()) == len(expected.splitlines())


def _form(node: ast.AST) -> Iterator[str]:
    """The kinds of all nodes, and the names in Python: everything but what literals hold."""
    for child in ast.walk(node):
        yield type(child).__name__
        for field in ("id", "attr", "arg", "name"):
            if isinstance(getattr(child, field, None), str):
                yield getattr(child, field)
        if isinstance(child, ast.Constant):
            yield type(child.value).__name__


@pytest.mark.parametrize("name", TAKEN)
@pytest.mark.parametrize("stage", ["annotated", "physical"])
def test_explain(name: str, stage: str) -> None:
    for form in ("text", "mermaid"):
        shown, plain = (rendered(n, stage, form) for n in (name, "h"))
        assert len(shown.splitlines()) == len(plain.splitlines())
        assert visible_lines(shown) == shown
        if form == "mermaid":
            assert "<" not in shown.replace("<br/>", "")
            assert all(line.count('"') in (0, 2) for line in shown.splitlines())
    text = rendered(name, stage, "json")
    assert visible_lines(text) == text
    assert list(_keys(json.loads(text))) == list(_keys(json.loads(rendered("h", stage, "json"))))
    assert [q["name"] for q in json.loads(text)["queries"]] == [f"{name}q{number}" for number in range(1, 8)]


def _keys(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _keys(item)
    elif isinstance(value, list):
        yield "["
        for item in value:
            yield from _keys(item)


@pytest.mark.parametrize("name", TAKEN)
def test_what_is_said_of_shedding(name: str) -> None:
    shown = render_shedding(compiled(name))
    assert len(shown.splitlines()) == len(render_shedding(compiled("h")).splitlines())
    assert visible_lines(shown) == shown


@pytest.mark.parametrize("name", TAKEN)
def test_the_formatter_keeps_them(name: str) -> None:
    program = named(name, None if name.strip() else "text")
    sink = DiagnosticSink()
    text = format_source(SourceFile("p.cql", program), sink)
    assert text is not None, sink.sorted()
    assert compile_program(text).require() == compiled(name).require()


@pytest.mark.parametrize("target", ["os:system('x')", "os;system:x", "os:system\nimport y", "a b:c", "m:f as g", "m:f;import os", "..m:f", "m:", ":f", "m:f:g", "m:f#", "import os:x", "m..x:f", "m.:f", ".m:f", "m.class:f", "m:import", "1m:f", "m:f\n"])
def test_targets_of_functions_are_names_of_python(target: str) -> None:
    program = f"CREATE STREAM s (a STRING) WITH (connector = 'memory'); CREATE FUNCTION f(x STRING) RETURNS STRING AS '{target.replace(chr(39), chr(39) * 2)}'; SELECT f(a) AS b FROM s;"
    assert "SQ0706" in [d.code for d in compile_program(program).diagnostics]


def test_what_is_made_visible() -> None:
    assert visible("a\tb\nc\x1b[0m\u202e\x9b\u2028d") == "a    b\ufffdc\ufffd[0m\ufffd\ufffd\ufffdd"
    assert visible_lines("a\tb\nc\x1b") == "a\tb\nc\ufffd"
