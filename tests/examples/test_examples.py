"""Every example compiles without errors and stands in the standard layout."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from streamq.compiler.driver import CompileResult
from streamq.dsl.diagnostics import DiagnosticSink, Severity
from streamq.dsl.formatter import format_source
from streamq.dsl.source import SourceFile
from streamq.runtime.fixtures.report import closing_text
from streamq.runtime.fixtures.runner import Runner
from tests.examples.running import EXAMPLES, compile_file

FILES = sorted(EXAMPLES.glob("*/*.cql"))
INCLUDED = {"streams.cql", "winning_bids.cql"}
"""Declarations without a query: part of other programs."""

PROGRAMS = [file for file in FILES if file.name not in INCLUDED]

GROWS = {"linear_road.cql", "q3.cql", "q4.cql", "q17.cql", "q19.cql", "q20.cql", "q23.cql"}
"""Programs that keep state without bound and are told so."""


def _name(file: Path) -> str:
    return f"{file.parent.name}/{file.name}"


def _problems(result: CompileResult) -> list[str]:
    return [f"{d.code} {d.message}" for d in result.diagnostics if d.severity is Severity.ERROR]


def test_examples_are_found() -> None:
    assert len(PROGRAMS) >= 20


@pytest.mark.parametrize("file", PROGRAMS, ids=_name)
def test_compiles(file: Path) -> None:
    result = compile_file(file)
    assert _problems(result) == []
    assert result.plan is not None
    assert result.plan.queries


def test_programs_that_need_data_say_how_it_is_made() -> None:
    """`check` refuses them until then: the command is in the program itself, and on the page of all examples."""
    page = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    need = {file.parent for file in FILES if "'data/" in file.read_text(encoding="utf-8")}
    assert len(need) == 3
    for file in PROGRAMS:
        said = re.search(r"^-- Make the data first: +(python .+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
        assert (said is not None) == (file.parent in need), file
        if said is not None:
            assert f"`{said[1]}`" in page, file
            module = said[1].split()[-1].removesuffix(".py").replace(".", "/")
            assert (EXAMPLES.parent / f"{module}.py").is_file(), file


@pytest.mark.parametrize("file", PROGRAMS, ids=_name)
def test_warns_where_state_grows(file: Path) -> None:
    codes = {d.code for d in compile_file(file).diagnostics}
    assert codes == ({"SQ0901"} if file.name in GROWS else set())


@pytest.mark.parametrize("file", FILES, ids=_name)
def test_is_in_the_standard_layout(file: Path) -> None:
    sink = DiagnosticSink()
    source = SourceFile(file.name, file.read_text(encoding="utf-8"))
    assert format_source(source, sink) == source.text
    assert not sink.has_errors


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*/*.test.yaml")), ids=_name)
def test_tests_of_examples_pass(file: Path) -> None:
    outcome = Runner().run(str(file))
    assert outcome is not None
    assert outcome.passed, closing_text([outcome], 0.0)


def test_the_demo_sheds_a_fifth() -> None:
    plan = compile_file(EXAMPLES / "nexmark" / "hot_items.cql").require()
    hot_items, prices = plan.queries
    assert [knob.initial for control in hot_items.controls for knob in control.knobs] == [0.8]
    assert prices.controls == ()
