"""A script for spark-submit holds the program with all files that it includes."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from streamq.compiler.explain.submit_source import to_submit
from streamq.runtime.programs import load_embedded, load_program

INCLUDED = "CREATE STREAM s (timestamp TIMESTAMP, value BIGINT) WITH (connector = 'rate');\n"
PROGRAM = "INCLUDE 'parts/streams.cql';\nSELECT value, '\"\"\"\\ ''' AS odd FROM s;\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "streams.cql").write_text(INCLUDED)
    (tmp_path / "p.cql").write_text(PROGRAM)
    return tmp_path


def test_it_compiles_to_the_same_plan(folder: Path) -> None:
    program = load_program(str(folder / "p.cql"))
    tree = ast.parse(to_submit(program.sources, program.name))
    (files,) = (ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign))
    assert list(files) == ["p.cql", "parts/streams.cql"]
    embedded = load_embedded(files, Path("/elsewhere"))
    assert embedded.result is not None
    assert program.result is not None
    assert embedded.ok
    assert embedded.result.require() == program.result.require()


def test_a_file_that_is_not_among_them_is_an_error(folder: Path) -> None:
    embedded = load_embedded({"p.cql": PROGRAM}, folder)
    assert [d.code for d in embedded.diagnostics] == ["SQ0001"]
