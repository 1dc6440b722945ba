"""Disks that are full or closed: which errors say so, and of which folder."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from streamq.dsl.source import NO_SPAN
from streamq.runtime import disk
from streamq.runtime.disk import folder_in, of_error, reason_in

STATE, OUT = "/data/state/q", "/data/out"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("java.io.IOException: No space left on device", "the disk is full"),
        ("java.io.IOException: Disk quota exceeded", "the disk is full"),
        ("java.io.FileNotFoundException: /data/state/q/offsets/.3.tmp (Read-only file system)", "the file system is read-only"),
        ("java.io.FileNotFoundException: /data/state/q/state/0/0/1.delta (Permission denied)", "permission denied"),
        ("java.io.IOException: Mkdirs failed to create file:/data/out/_spark_metadata (exists=false)", "permission denied"),
        ("java.io.FileNotFoundException: /data/in/x.json (Permission denied)", ""),
        ("[DIVIDE_BY_ZERO] Division by zero", ""),
    ],
)
def test_reasons(text: str, reason: str) -> None:
    assert reason_in(text, (STATE, OUT)) == reason


def test_the_folder_that_is_named_else_one_on_a_full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    assert folder_in("cannot write /data/out/part-1", (STATE, OUT)) == OUT
    monkeypatch.setattr(disk, "_is_full", lambda folder: folder == OUT)
    assert folder_in("No space left on device", (STATE, OUT)) == OUT
    monkeypatch.setattr(disk, "_is_full", lambda folder: False)
    assert folder_in("No space left on device", (STATE, OUT)) == ""


@pytest.mark.parametrize(
    ("number", "part"),
    [(errno.ENOSPC, "the disk is full"), (errno.EROFS, "read-only"), (errno.EACCES, "permission denied"), (errno.EIO, "input/output error")],
)
def test_errors_of_python(number: int, part: str, tmp_path: Path) -> None:
    import os

    found = of_error(OSError(number, os.strerror(number)), "query `q`", tmp_path, NO_SPAN)
    assert found.code == "SQ0809"
    assert part in found.message
    assert str(tmp_path) in found.message
