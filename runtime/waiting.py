"""A line that says how long something takes, from a thread of its own, as who waits cannot say it."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from typing import IO

LINE_SECONDS = 10.0
"""How often something that is no terminal is told."""


class Waiting:
    """Counts seconds from its making until ``end``: in place on a terminal, in lines elsewhere.

    It writes to what ``stream`` is now, also while standard output is turned away from the user, as it is when Java starts
    (``spark/quiet.py``). What cannot be written is not said.
    """

    def __init__(self, stream: IO[str], text: str, *, terminal: bool) -> None:
        stream.flush()
        self._stream, self._text, self._terminal = stream, text, terminal
        self._encoding = getattr(stream, "encoding", None) or "utf-8"
        self._file = _copy_of(stream)
        self._began, self._over = time.monotonic(), threading.Event()
        self._write(f"{text}\n" if not terminal else f"\r{text}")
        self._thread = threading.Thread(target=self._count, name="waiting", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stops counting, and takes the line off the terminal; nothing where that is done."""
        if self._over.is_set():
            return
        self._over.set()
        self._thread.join()
        if self._terminal:
            self._write("\r\x1b[2K")
        if self._file is not None:
            os.close(self._file)

    def _count(self) -> None:
        every = 1.0 if self._terminal else LINE_SECONDS
        while not self._over.wait(every):
            line = f"{self._text} {time.monotonic() - self._began:.0f} s"
            self._write(f"\r{line}" if self._terminal else f"{line}\n")

    def _write(self, text: str) -> None:
        with suppress(OSError):
            if self._file is None:
                self._stream.write(text)
            else:
                os.write(self._file, text.encode(self._encoding, "replace"))


def _copy_of(stream: IO[str]) -> int | None:
    """A descriptor of the file behind the stream; None where there is none."""
    try:
        return os.dup(stream.fileno())
    except OSError:
        return None
