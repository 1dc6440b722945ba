"""Processes that Spark starts do not write to the user's terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from streamq.runtime.spark.quiet import children_write_to, last_line

SAY = [sys.executable, "-c", "import sys; print('out'); print('err', file=sys.stderr); print()"]


def test_children_write_to_the_file_and_we_to_the_terminal(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "spark.log"
    log.write_text("before\n")
    with children_write_to(log) as output:
        subprocess.run(SAY, check=True)
        assert last_line(output) in ("out", "err")
    os.write(1, b"ours\n")
    assert capfd.readouterr() == ("ours\n", "")
    assert sorted(log.read_text().split()) == ["before", "err", "out"]


def test_the_terminal_comes_back_after_an_error(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(subprocess.CalledProcessError), children_write_to(None):
        subprocess.run([sys.executable, "-c", "print('gone'); raise SystemExit(1)"], check=True)
    os.write(2, b"ours\n")
    assert capfd.readouterr() == ("", "ours\n")


def test_the_reason_is_the_last_line_that_is_no_place_in_java(tmp_path: Path) -> None:
    said = (
        'WARN nothing\nException in thread "main" org.apache.spark.SparkException: no such master\n'
        "\tat org.apache.spark.deploy.SparkSubmit.main(SparkSubmit.scala)\n\t... 3 more\n\n"
    )
    with (tmp_path / "out").open("w+b") as target:
        target.write(said.encode())
        assert last_line(target) == "no such master"
        target.write(b"that is all: really\n")
        assert last_line(target) == "that is all: really"
