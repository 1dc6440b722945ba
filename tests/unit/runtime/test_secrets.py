"""Secrets come from the environment or from a file, and never from a program."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamq.dsl.diagnostics import Abort
from streamq.runtime.secrets import reveal
from streamq.stdlib.connectors import find_connector, validate_options
from streamq.stdlib.secrets import reference


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("env:PG_PASSWORD", ("env", "PG_PASSWORD")), ("file: keys/pg.txt ", ("file", "keys/pg.txt")),
        ("env:", None), ("hunter2", None), ("", None), ("ENV:x", None), ("file:a\nb", None),
    ],
)
def test_references(text: str, expected: tuple[str, str] | None) -> None:
    assert reference(text) == expected


def test_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_SECRET", "geheim")
    assert reveal("env:SOME_SECRET", "/") == "geheim"


def test_from_a_file_beside_the_program(tmp_path: Path) -> None:
    (tmp_path / "token.txt").write_text("geheim \n")
    assert reveal("file:token.txt", str(tmp_path)) == "geheim "


@pytest.mark.parametrize("value", ["env:NOT_SET_ANYWHERE", "file:not-there.txt", "file:empty.txt", "file:no-text.bin", "hunter2"])
def test_what_is_not_there(value: str, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "no-text.bin").write_bytes(b"\xff\xfe")
    with pytest.raises(Abort) as stopped:
        reveal(value, str(tmp_path))
    assert stopped.value.diagnostic.code == "SQ0709"
    assert "hunter2" not in stopped.value.diagnostic.message


def test_no_secret_in_a_program_nor_in_what_is_said_of_it() -> None:
    spec = find_connector("edge", "stream")
    assert spec is not None
    given = {"folder": "in", "listen": ":8472", "token": "hunter2"}
    found, problems = validate_options(spec, given, "stream")
    assert "token" not in found
    told = [p for p in problems if p.code == "SQ0708"]
    assert len(told) == 1
    assert "hunter2" not in f"{told[0].message} {told[0].help}"
    assert "token" in validate_options(spec, {**given, "token": "env:T"}, "stream")[0]
