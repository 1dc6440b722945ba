"""Whole lines of what is read, block by block: the rest waits for what comes after it, and lines without end are left out."""

from __future__ import annotations

from streamq.dsl.records import dataclass


@dataclass(slots=True)
class Cutter:
    """Cuts bytes after the last line break. ``most``: bytes of a line; longer ones are skipped and counted.

    ``rest``: what waits for its end; ``skipping``: whether the line that goes on is one that is left out.
    """

    most: int
    rest: bytes = b""
    skipping: bool = False

    def cut(self, data: bytes) -> tuple[bytes, int]:
        """The lines that are whole with these bytes, and how many were too long."""
        if self.skipping:
            end = data.find(b"\n")
            if end < 0:
                return b"", 0
            data, self.skipping = data[end + 1 :], False
        data = self.rest + data
        end = data.rfind(b"\n") + 1
        self.rest = data[end:]
        if len(self.rest) <= self.most:
            return data[:end], 0
        self.rest, self.skipping = b"", True
        return data[:end], 1

    def ended(self) -> bytes:
        """What is left where nothing comes after it: a line that has no line break."""
        last, self.rest, self.skipping = self.rest, b"", False
        return last
