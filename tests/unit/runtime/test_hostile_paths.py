"""What INCLUDE may lead to, and names of queries and streams that become names of folders."""

from __future__ import annotations

import os
import sys
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import pytest

from streamq.runtime import bounded
from streamq.runtime.checkpoint import folder_of
from streamq.runtime.formatting import format_file
from streamq.runtime.programs import STDIN, load_program

STREAM = "CREATE STREAM s (a INT) WITH (connector = 'memory');\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a file outside that nobody may read; files of programs are short in these tests."""
    (tmp_path / "outside.cql").write_text("CREATE STREAM stolen (geheim INT) WITH (connector = 'memory');")
    folder = tmp_path / "program"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(bounded, "LONGEST", 100_000)
    return folder


def told(included: str) -> list[str]:
    """What is said of a program that includes a file: codes, messages and notes."""
    Path("p.cql").write_text(f"{STREAM}INCLUDE '{included}';\nSELECT a FROM s;\n")
    return [f"{d.code} {d.message} {' '.join(d.notes)}" for d in load_program("p.cql").diagnostics]


def test_a_plain_file(folder: Path) -> None:
    (folder / "more.cql").write_text("CREATE VIEW v AS SELECT a FROM s;")
    assert [line[:6] for line in told("more.cql")] in ([], ["SQ0901"], ["SQ0902"])


@pytest.mark.parametrize(
    "path", ["../outside.cql", "/etc/passwd", "x/../../outside.cql", "..\\outside.cql", "file:///etc/passwd", "./../outside.cql", "//etc/passwd", "C:\\x"]
)
def test_paths_that_leave_the_folder(path: str, folder: Path) -> None:
    (line,) = told(path)
    assert line.startswith("SQ0002")


@pytest.mark.parametrize("target", ["../outside.cql", "/etc/passwd", "/dev/zero", "/proc/self/environ"])
def test_links_that_leave_the_folder(target: str, folder: Path) -> None:
    os.symlink(target, folder / "link.cql")
    (line,) = told("link.cql")
    assert line.startswith("SQ0001")
    assert "leads out of the program's folder" in line
    assert "geheim" not in line


def test_folders_that_are_links(folder: Path) -> None:
    os.symlink("..", folder / "up")
    (line,) = told("up/outside.cql")
    assert line.startswith("SQ0001")


def test_a_link_inside_is_followed(folder: Path) -> None:
    (folder / "real.cql").write_text("CREATE VIEW v AS SELECT b FROM s;")
    os.symlink("real.cql", folder / "link.cql")
    assert any(line.startswith("SQ0202") for line in told("link.cql"))


@pytest.mark.parametrize("target", ["loop.cql", "."])
def test_links_that_lead_nowhere(target: str, folder: Path) -> None:
    os.symlink(target, folder / "loop.cql")
    (line,) = told("loop.cql")
    assert line.startswith("SQ0001")


def test_a_pipe_keeps_nobody_waiting(folder: Path) -> None:
    os.mkfifo(folder / "pipe.cql")
    (line,) = told("pipe.cql")
    assert "no plain file" in line


@pytest.mark.parametrize("name", ["x" * 300, "a/" * 3000 + "b", "a\nb", "\u202eb", "%00", "~/x", "$HOME/x", "*", "."])
def test_names_that_are_no_files(name: str, folder: Path) -> None:
    (line,) = told(name)
    assert line[:6] in ("SQ0001", "SQ0002")


def test_a_file_that_is_too_long(folder: Path) -> None:
    (folder / "long.cql").write_bytes(b"-" * 100_001)
    (line,) = told("long.cql")
    assert "longer than" in line


def test_programs_that_have_no_end(folder: Path) -> None:
    for found in (load_program("/dev/zero").diagnostics, format_file("/dev/zero", write=False).diagnostics):
        (diagnostic,) = found
        assert diagnostic.code == "SQ0001"
        assert "longer than" in diagnostic.message


def test_standard_input_that_has_no_end(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=BytesIO(b" " * 100_001)))
    assert [d.code for d in load_program(STDIN).diagnostics] == ["SQ0001"]


NAMES = [
    "a", "A", "a/b", "../a", "..", ".", "...", "/etc", "a\0b", "a\nb", "a b", "é", "e\u0301", "\u202ea", "x" * 300, "x" * 301, "X" * 300, "a%2Fb", "a%2fb", "CON", "a:b",
    "~", "$HOME", "-rf", "*", "é" * 200, "\U0001f511" * 100,
]  # fmt: skip


def test_checkpoints_of_queries_are_folders_of_their_own(tmp_path: Path) -> None:
    """Even where the file system does not tell capitals from small letters, as names of a program do not."""
    folders = [folder_of(tmp_path, name) for name in NAMES]
    for name, found in zip(NAMES, folders, strict=True):
        assert found.parent == tmp_path, name
        found.mkdir(exist_ok=True)
    assert len({found.name for found in folders}) == len(NAMES)
