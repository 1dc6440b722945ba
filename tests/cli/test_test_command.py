"""``streamq test``: what it prints, and with which exit code it ends."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from streamq.runtime import cli

PROGRAM = """\
CREATE STREAM bid (auction BIGINT, price DOUBLE, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 2 SECONDS)
  WITH (connector = 'file', path = 'not/there', format = 'json');
CREATE QUERY hot AS
  SELECT auction, COUNT(*) AS n, WINDOW_END AS until FROM bid [TUMBLE 10 SECONDS] GROUP BY auction;
CREATE QUERY dear AS SELECT auction, price FROM bid WHERE price > 10;
"""
TESTS = """\
- test: bids are counted
  input:
    bid:
      columns: [auction, price, ts]
      rows:
        - [1, 12.5, 2024-01-01 00:00:01]
        - [1, 5.0, 2024-01-01 00:00:09.999]
        - [1, 5.0, 2024-01-01 00:00:10]
  expect:
    hot:
      columns: [auction, n, until]
      rows:
        - [1, 2, 2024-01-01 00:00:10]
        - [1, 1, 2024-01-01 00:00:20]
    dear:
      rows: [{auction: 1, price: 12.5}]
- test: late bids are not
  watermark: true
  input:
    bid:
      - {auction: 1, ts: 2024-01-01 00:00:13}
      - batch
      - {auction: 1, ts: 2024-01-01 00:00:09}
  expect:
    hot:
      rows: [{auction: 1, n: 1, until: 2024-01-01 00:00:20}]
      late: 1
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a program and its tests."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    (tmp_path / "p.cql").write_text(PROGRAM)
    (tmp_path / "p.test.yaml").write_text(TESTS)
    return tmp_path


def test_errors_come_in_the_order_of_lines(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "p.test.yaml").write_text("""\
- test: one
  expect: {hot: {rows: [{auction: 1}]}}
- test: two
  expects: {}
- test: three
  expect: {dear: {rows: [{}]}}
""")
    assert cli.main(["test"]) == 1
    out = capsys.readouterr().out
    places = [line.strip() for line in out.splitlines() if line.strip().startswith("--> ")]
    assert [place.split(":")[1] for place in places] == ["2", "3", "4", "6"]
    assert "the row of `hot` has no columns `n`, `until`" in out


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize("argv", [[], ["."], ["p.cql"], ["p.test.yaml", "p.cql"]])
def test_all_pass(folder: Path, argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["test", *argv]) == 0
    first, last = capsys.readouterr().out.splitlines()
    assert first == "p.test.yaml: 2 passed"
    assert last.startswith("2 passed in ")


def test_a_failure_shows_the_difference(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(folder / "p.test.yaml", "[1, 2, 2024", "[1, 3, 2024")
    assert cli.main(["test"]) == 1
    shown = capsys.readouterr()
    assert shown.err == ""
    assert shown.out.partition("in ")[0] == """\
p.test.yaml: 1 passed, 1 failed

FAILED p.test.yaml:1 bids are counted
  hot, all rows: 1 equal, 1 missing (-), 1 unexpected (+)
      auction  n  until
    -       1  3  2024-01-01 00:00:10
    +       1  2  2024-01-01 00:00:10

1 passed, 1 failed """


def test_a_wrong_test_is_told_with_its_place(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change(folder / "p.test.yaml", "price: 12.5}", "prize: 12.5}")
    assert cli.main(["test"]) == 1
    out = capsys.readouterr().out
    assert "error[SQ1004]: `dear` has no column `prize`" in out
    assert "--> p.test.yaml:16:27" in out
    assert "did you mean `price`?" in out
    assert "p.test.yaml: 1 passed, 1 not run" in out


def test_a_program_with_errors(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(folder / "p.cql", "SELECT auction, price", "SELECT auction, prise")
    assert cli.main(["test"]) == 1
    out = capsys.readouterr().out
    assert out.count("error[SQ0202]") == 1
    assert "p.test.yaml: 2 not run" in out


def test_a_program_that_only_the_runtime_would_refuse(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its path is not there: ``check`` says so, and ``test`` needs no file."""
    assert cli.main(["check", "p.cql"]) == 1
    assert "SQ0705" in capsys.readouterr().out
    assert cli.main(["test", "p.cql"]) == 0


def test_filter_and_junit(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["test", "--filter", "LATE", "--junit", "out.xml"]) == 0
    assert "1 passed in" in capsys.readouterr().out
    root = ElementTree.fromstring((folder / "out.xml").read_text(encoding="utf-8"))
    assert [case.get("name") for case in root.iter("testcase")] == ["late bids are not"]


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (["no/such"], "no/such does not exist"),
        (["data.yaml"], "neither a folder nor"),
        (["empty"], "holds no tests"),
        (["--filter", "zzz"], "no test has this in its name"),
        (["--junit", "no/such/out.xml"], "cannot write"),
    ],
)
def test_wrong_usage(
    folder: Path, argv: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "data.yaml").touch()
    (folder / "empty").mkdir()
    assert cli.main(["test", *argv]) == 2
    assert text in capsys.readouterr().err


def test_without_java_there_is_no_spark(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from streamq.runtime.spark import own_session
    from streamq.runtime.spark.java import JavaNotFound

    def no_java(*args: object, **options: object) -> None:
        raise JavaNotFound(())

    monkeypatch.setattr(own_session, "create_session", no_java)
    assert cli.main(["test", "--engine", "spark"]) == 3
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "error[SQ0802]" in shown.err
    assert "Traceback" not in shown.err
