"""Files of programs, read up to a bound: a device has no end, and a pipe may keep its reader waiting."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

LONGEST = 16_000_000
"""Bytes of a file of a program."""


def read_stream(stream: BinaryIO) -> bytes:
    """All that comes, up to its end; OSError where that is too much."""
    data = stream.read(LONGEST + 1)
    if len(data) > LONGEST:
        raise OSError(f"it is longer than {LONGEST // 1_000_000} MB, which no program is")
    return data


def read_file(path: str | Path) -> bytes:
    """What is in the file that a user names, which may be a pipe; OSError where it cannot be read."""
    with open(path, "rb") as file:
        return read_stream(file)


def read_regular_file(path: Path) -> bytes:
    """The same for a file that a program names: OSError for anything else than a plain file, without waiting for it."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError("it is no plain file")
        return read_stream(file)
