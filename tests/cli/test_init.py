"""``streamq init`` makes a project on which every command works at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from streamq.runtime.cli import main
from streamq.runtime.new_project import FILES


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    monkeypatch.chdir(tmp_path)
    assert main(["init", "shop"]) == 0
    capsys.readouterr()
    monkeypatch.chdir(tmp_path / "shop")
    return tmp_path / "shop"


def test_it_says_what_to_do_next(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", str(tmp_path / "a" / "shop")]) == 0
    said = capsys.readouterr().out
    assert f"cd {tmp_path}/a/shop\n  streamq test\n  streamq run program.cql --once" in said
    made = {p.relative_to(tmp_path / "a" / "shop").as_posix() for p in (tmp_path / "a").rglob("*") if p.is_file()}
    assert made == set(FILES)
    assert (tmp_path / "a" / "shop" / "README.md").read_text().startswith("# shop\n")


def test_commands_without_spark(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "program.cql"]) == 0
    assert capsys.readouterr().out == "program.cql: ok, 1 query\n"
    assert main(["test"]) == 0
    assert "2 passed" in capsys.readouterr().out
    assert main(["fmt", "--check", "program.cql"]) == 0
    assert main(["explain", "program.cql"]) == 0
    assert capsys.readouterr().out.startswith("query busy -> console")


@pytest.mark.spark
@pytest.mark.slow
def test_its_first_run_gives_answers(project: Path) -> None:
    command = [sys.executable, "-m", "streamq", "run", "program.cql", "--once", "--quiet"]
    done = subprocess.run(command, cwd=project, text=True, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    told = [line.split() for line in done.stdout.splitlines() if line.startswith(" 2024")]
    assert sorted(row[2:4] for row in told) == [["cart", "1"], ["home", "1"], ["home", "2"], ["shoes", "1"]]


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    assert main(["init", str(tmp_path)]) == 2
    assert "is not empty, it holds mine.txt" in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]
    assert main(["init", str(tmp_path / "mine.txt")]) == 2
    assert "is a file" in capsys.readouterr().err


def test_a_new_repository_is_an_empty_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What it holds stays as it is, and is named where a file of the project is left out for it."""
    (tmp_path / ".git").mkdir()
    for name in (".gitignore", "LICENSE", "README.md"):
        (tmp_path / name).write_text("mine")
    assert main(["init", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "\nleft as it was: README.md, .gitignore\n" in said
    assert {p.read_text() for p in tmp_path.iterdir() if p.name in (".gitignore", "LICENSE", "README.md")} == {"mine"}
    assert main(["test", str(tmp_path)]) == 0


def test_nobody_is_sent_where_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", "."]) == 0
    said = capsys.readouterr().out
    assert said.endswith("Next:\n  streamq test\n  streamq run program.cql --once\n")
    assert "left as it was" not in said
