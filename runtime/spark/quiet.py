"""Keeps what Spark's processes write to the terminal out of the user's sight."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from pyspark.accumulators import AccumulatorTCPServer, AccumulatorUnixServer

_STREAMS = (1, 2)
_EXCEPTION = re.compile(r'^(Exception in thread "[^"]*" )?([\w$]+\.)+[\w$]+: ')


@contextmanager
def children_write_to(path: Path | None) -> Iterator[BinaryIO]:
    """While this is open, new processes write their output and errors to a file, not to ours.

    The JVM keeps that file for its lifetime and hands it to its Python workers, which print a traceback
    for every query that is stopped in the middle of a batch. ``path`` None takes a file without a
    name. Yields the file, to be read where a start failed.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(stream) for stream in _STREAMS]
    with tempfile.TemporaryFile() if path is None else path.open("a+b") as target:
        try:
            for stream in _STREAMS:
                os.dup2(target.fileno(), stream)
            yield target
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for stream, before in zip(_STREAMS, kept, strict=True):
                os.dup2(before, stream)
                os.close(before)


def last_line(target: BinaryIO) -> str:
    """The last line that says something, for a message about a start that failed: no place in Java's code."""
    target.seek(0)
    lines = (line.strip() for line in reversed(target.read().decode("utf-8", "replace").splitlines()))
    said = next((line for line in lines if line and not line.startswith(("at ", "... "))), "")
    return _EXCEPTION.sub("", said)


def silence_accumulators() -> None:
    """Spark's accumulator server prints a traceback when the JVM leaves first; nothing is lost then."""
    for server in (AccumulatorTCPServer, AccumulatorUnixServer):
        server.handle_error = _say_nothing  # type: ignore[method-assign]


def _say_nothing(self: object, request: object, client_address: object) -> None:
    pass
