"""Secrets come from the environment or from a file, and never from a program."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamq.compiler.driver import compile_program
from streamq.dsl.diagnostics import Abort
from streamq.runtime import cli
from streamq.runtime.render import render_diagnostics
from streamq.runtime.secrets import reveal, reveal_settings
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


def test_programs_may_name_only_what_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PG_PASSWORD", "AWS_SECRET", "TOKEN"):
        monkeypatch.setenv(name, "geheim")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "token.txt").write_text("geheim")
    (tmp_path / "out.txt").write_text("geheim")
    monkeypatch.setenv("STREAMQ_SECRETS", f" PG_*, env:TOKEN ,file:{tmp_path.resolve()}/in/*")
    for value in ("env:PG_PASSWORD", "env:TOKEN", "file:in/token.txt"):
        assert reveal(value, str(tmp_path)) == "geheim"
    (tmp_path / "in" / "link").symlink_to(tmp_path / "out.txt")
    for value in ("env:AWS_SECRET", "env:token", "file:out.txt", "file:in/../out.txt", "file:in/link"):
        with pytest.raises(Abort) as refused:
            reveal(value, str(tmp_path))
        assert refused.value.diagnostic.code == "SQ0710"
        assert "STREAMQ_SECRETS" in (refused.value.diagnostic.help or "")
    monkeypatch.setenv("STREAMQ_SECRETS", "")
    with pytest.raises(Abort):
        reveal("env:TOKEN", str(tmp_path))


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


def test_what_is_printed_of_an_open_secret_has_stars_for_it() -> None:
    text = "SET spark.hadoop.fs.s3a.secret.key = 'hunter2';\nCREATE STREAM s (k INT) WITH (connector = 'file', path = 's3a://k:hunter2@b/');\nSELECT k FROM s;"
    result = compile_program(text)
    assert [d.code for d in result.diagnostics] == ["SQ0708", "SQ0708"]
    shown = render_diagnostics(result.diagnostics, result.sources)
    assert "hunter2" not in shown
    assert "SET spark.hadoop.fs.s3a.secret.key = '*******';" in shown


def test_settings_are_revealed_where_a_session_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S3", "geheim")
    given = {"spark.x.secret": "env:S3", "spark.plain": "env:S3", "trigger_interval": 1000, "spark.x.password": "open"}
    assert reveal_settings(given, "/") == {**given, "spark.x.secret": "geheim"}


def test_the_command_line_takes_no_secret_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    Path("p.cql").write_text("CREATE STREAM s (k INT) WITH (connector = 'file', path = 'in', format = 'json'); SELECT k FROM s;")
    assert cli.main(["run", "p.cql", "--set", "spark.hadoop.fs.s3a.secret.key=hunter2"]) == 2
    shown = capsys.readouterr().err
    assert "env:NAME" in shown
    assert "hunter2" not in shown
