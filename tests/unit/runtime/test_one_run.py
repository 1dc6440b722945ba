"""A checkpoint has one run at a time."""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import ExitStack
from pathlib import Path

import pytest

from streamq.runtime.one_run import FILE_NAME, hold, locked


def test_one_at_a_time_and_then_the_next(tmp_path: Path) -> None:
    root = tmp_path / "state"
    with ExitStack() as first:
        assert hold(root, first) is None
        with ExitStack() as second:
            found = hold(root, second)
            assert found is not None
            assert (found.code, found.message) == ("SQ0805", f"checkpoint `{root}` is that of a run which has not ended")
        with ExitStack() as third:
            assert hold(root, third) is not None
    with ExitStack() as next_one:
        assert hold(root, next_one) is None


def test_what_cannot_be_made_is_told_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with ExitStack() as stack:
        assert hold(tmp_path / "file" / "state", stack) is None


def test_a_disk_can_be_closed_to_writers_while_a_run_holds_it(tmp_path: Path) -> None:
    """The system refuses that as long as a file of the disk is open for writing."""
    with locked(tmp_path / FILE_NAME) as file:
        assert fcntl.fcntl(file, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY


def test_where_only_files_open_for_writing_are_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NFS is such: flock(2)."""
    lock = fcntl.flock

    def of_nfs(file: int, how: int) -> None:
        if fcntl.fcntl(file, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise OSError(errno.EBADF, "not open for writing")
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", of_nfs)
    with locked(tmp_path / FILE_NAME), pytest.raises(BlockingIOError):
        locked(tmp_path / FILE_NAME)
