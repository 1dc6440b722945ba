"""Who waits for Spark sees that time passes."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from streamq.runtime import waiting
from streamq.runtime.spark.quiet import children_write_to
from streamq.runtime.waiting import Waiting


def read_until(end: int, text: str) -> str:
    """What comes through a pipe, up to a text."""
    found = ""
    while text not in found:
        found += os.read(end, 1000).decode()
    return found


def test_a_terminal_sees_seconds_while_our_output_is_turned_away(tmp_path: Path) -> None:
    """As it is when Java starts."""
    read, write = os.pipe()
    kept = os.dup(1)
    os.dup2(write, 1)
    try:
        with os.fdopen(os.dup(1), "w", encoding="utf-8") as stream:
            line = Waiting(stream, "starting …", terminal=True)
            with children_write_to(tmp_path / "log"):
                assert read_until(read, " 1 s") == "\rstarting …\rstarting … 1 s"
            line.end()
            line.end()
    finally:
        os.dup2(kept, 1)
        for end in (write, kept):
            os.close(end)
    assert os.read(read, 1000) == b"\r\x1b[2K"
    os.close(read)
    assert (tmp_path / "log").read_text() == ""


def test_a_file_gets_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "LINE_SECONDS", 0.01)
    read, write = os.pipe()
    with os.fdopen(write, "w", encoding="utf-8") as stream:
        line = Waiting(stream, "starting …", terminal=False)
        assert read_until(read, " 0 s\n").startswith("starting …\nstarting … 0 s\n")
        line.end()
    os.close(read)


def test_a_stream_without_a_file_and_one_that_takes_nothing() -> None:
    out = io.StringIO()
    Waiting(out, "starting …", terminal=False).end()
    assert out.getvalue() == "starting …\n"
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w", encoding="utf-8") as broken:
        Waiting(broken, "starting …", terminal=True).end()
