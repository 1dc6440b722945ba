"""INCLUDE: where paths lead, what counts once, and how files are named in messages."""

from __future__ import annotations

import pytest

from streamq.compiler.driver import CompileResult, compile_program
from streamq.dsl.source import SourceFile
from tests.support.cases import reader

STREAM = "CREATE STREAM s (a INT) WITH (connector = 'memory');\n"


def compile_files(text: str, files: dict[str, str], name: str = "program.cql") -> CompileResult:
    return compile_program(SourceFile(name, text), read_text=reader(files))


def test_paths_start_from_the_including_file() -> None:
    files = {
        "lib/a.cql": "INCLUDE 'deeper/b.cql'; INCLUDE '../c.cql';",
        "lib/deeper/b.cql": STREAM,
        "c.cql": "CREATE VIEW v AS SELECT a FROM s;",
    }
    assert compile_files("INCLUDE 'lib/a.cql'; SELECT a FROM v;", files).ok


def test_a_file_counts_once_however_it_is_reached() -> None:
    files = {"a.cql": "INCLUDE 'lib/s.cql';", "lib/s.cql": STREAM}
    program = "INCLUDE 'a.cql'; INCLUDE 'lib/s.cql'; INCLUDE './lib/../lib/s.cql'; SELECT a FROM s;"
    assert compile_files(program, files).ok


def test_backslashes_are_slashes() -> None:
    assert compile_files("INCLUDE 'lib\\s.cql'; SELECT a FROM s;", {"lib/s.cql": STREAM}).ok


def test_statements_stand_where_the_include_stands() -> None:
    files = {"q.cql": "CREATE QUERY first AS SELECT a FROM s;"}
    result = compile_files(STREAM + "INCLUDE 'q.cql'; CREATE QUERY second AS SELECT a FROM s;", files)
    assert [q.name for q in result.require().queries] == ["first", "second"]


@pytest.mark.parametrize("path", ["../s.cql", "/s.cql", "lib/../../s.cql", "..", "C:/s.cql", "file:s.cql"])
def test_paths_stay_in_the_folder(path: str) -> None:
    (diagnostic,) = compile_files(f"INCLUDE '{path}';", {}).diagnostics
    assert (diagnostic.code, diagnostic.span.start) == ("SQ0002", 0)


def test_files_are_shown_by_the_path_that_the_program_has() -> None:
    result = compile_files("INCLUDE 'lib/s.cql';", {"lib/s.cql": "SELECT;"}, "work/jobs/main.cql")
    (diagnostic,) = result.diagnostics
    assert result.sources.locate(diagnostic.span) == ("work/jobs/lib/s.cql", 1, 7)


def test_a_program_of_the_same_name_further_down_is_another_file() -> None:
    files = {"lib/main.cql": STREAM}
    assert compile_files("INCLUDE 'lib/main.cql'; SELECT a FROM s;", files, "lib/main.cql").ok


@pytest.mark.parametrize("name", ["main.cql", "jobs/main.cql", "/abs/jobs/main.cql", "jobs\\main.cql"])
def test_a_program_that_includes_itself(name: str) -> None:
    (diagnostic,) = compile_files("INCLUDE 'main.cql';", {}, name).diagnostics
    assert diagnostic.code == "SQ0003"


def test_a_cycle_is_told_from_its_beginning() -> None:
    files = {"a.cql": "INCLUDE 'b.cql';", "b.cql": "INCLUDE 'a.cql';"}
    result = compile_files("INCLUDE 'a.cql';", files)
    (diagnostic,) = result.diagnostics
    assert diagnostic.code == "SQ0003"
    assert diagnostic.notes == ("the cycle is program.cql -> a.cql -> b.cql -> a.cql",)
    assert result.sources.locate(diagnostic.span) == ("b.cql", 1, 1)


def test_without_a_folder_nothing_can_be_included() -> None:
    (diagnostic,) = compile_program("INCLUDE 'a.cql';").diagnostics
    assert diagnostic.code == "SQ0001"


def test_bytes_that_are_no_text() -> None:
    def read(path: str) -> str:
        return b"\xff".decode("utf-8")

    (diagnostic,) = compile_program("INCLUDE 'a.cql';", read_text=read).diagnostics
    assert diagnostic.code == "SQ0001"


def test_errors_of_every_file_are_found_at_once() -> None:
    files = {"a.cql": "SELEC a;", "b.cql": "CREATE STREAM s (a INTT) WITH (connector = 'memory');"}
    result = compile_files("INCLUDE 'a.cql'; INCLUDE 'b.cql'; INCLUDE 'c.cql'; SELECT;", files)
    places = {(d.code, result.sources.locate(d.span)[0]) for d in result.diagnostics}
    assert places == {
        ("SQ0101", "a.cql"), ("SQ0106", "b.cql"), ("SQ0001", "program.cql"), ("SQ0102", "program.cql"),
    }  # fmt: skip
