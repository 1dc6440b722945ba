"""Sees to it that a checkpoint has one run at a time: two would do each other's micro-batches, and sinks get them twice."""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from streamq.dsl.diagnostics import Diagnostic
from streamq.dsl.source import NO_SPAN

FILE_NAME = ".run.lock"


def hold(root: Path, stack: ExitStack) -> Diagnostic | None:
    """Holds the folder of checkpoints until the stack ends, or the process does; SQ0805 where another run holds it.

    What cannot be written, or has no locks, is held by nobody: the first is told when a query starts.
    """
    try:
        stack.callback(locked(root / FILE_NAME).close)
    except BlockingIOError:
        return Diagnostic(
            "SQ0805", f"checkpoint `{root}` is that of a run which has not ended", NO_SPAN,
            help="stop that run first, or choose another folder with `--checkpoint`",
        )
    except OSError:
        return None
    return None


def locked(path: Path) -> IO[bytes]:
    """A file that no other process can lock until it is closed; BlockingIOError where one has, OSError where it cannot be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # A file that is open for writing keeps a disk from being closed to writers; only NFS locks no other.
    try:
        return _locked(path, os.O_RDONLY)
    except OSError as error:
        if error.errno != errno.EBADF:
            raise
        return _locked(path, os.O_RDWR)


def _locked(path: Path, access: int) -> IO[bytes]:
    file = os.fdopen(os.open(path, access | os.O_CREAT | os.O_CLOEXEC, 0o666), "rb")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        file.close()
        raise
    return file
