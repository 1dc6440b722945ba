"""Messages of one stream on the central side, as files of a folder: they are there before they are acknowledged.

A message is ``<origin>-<number>.rows``; ``<origin>.taken`` has the number up to which a reader is done with them. A message
that comes again has the name that it had, or a number that is taken, and is not there twice. An edge that writes into the
folder itself makes the same files. A file that is no message is put aside as ``*.rows.bad``. Open requests are ``<id>.request``, and answers ``<id>-<first>.answer``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from streamq.dsl.records import dataclass, field
from streamq.runtime.edge.frames import BadMessage, framed
from streamq.runtime.edge.messages import Rows, decoded_rows

_ROWS = re.compile(r"([0-9a-f]{16})-([0-9]{12,19})\.rows")


def file_name(origin: bytes, seq: int) -> str:
    """Of a message; names sort as numbers do."""
    return f"{origin.hex()}-{seq:012d}.rows"


def write_once(path: Path, data: bytes) -> None:
    """Puts a file there whole, on disk, or not at all. OSError."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@dataclass(slots=True)
class Inbox:
    """``folder``: of one stream, which is made; ``schema``: of its rows. OSError.

    ``missing``: messages that never came, as numbers show: a central side that was set back to an earlier state has such.
    """

    folder: Path
    schema: pa.Schema
    missing: int = 0
    _last: dict[bytes, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Finds out what is there."""
        self.folder.mkdir(parents=True, exist_ok=True)

    def clear(self, before_s: float) -> None:
        """Removes what processes that were killed did not end to write, before a time of day in seconds. OSError."""
        for path in self.folder.glob(".*.rows.*"):
            with suppress(FileNotFoundError):
                if path.stat().st_mtime < before_s:
                    path.unlink()

    def accept(self, origin: bytes, seq: int, message: bytes) -> bool:
        """Writes a message down; False for one that came before. What was there before the first one is not missed."""
        last = self.last(origin)
        if seq <= last:
            return False
        write_once(self.folder / file_name(origin, seq), message)
        if last:
            self.missing += seq - last - 1
        self._last[origin] = seq
        return True

    def last(self, origin: bytes) -> int:
        """The number of the last message of an edge that came, 0 for none."""
        if origin not in self._last:
            there = [seq for found, seq in self._files() if found == origin]
            self._last[origin] = max([self.taken(origin), *there])
        return self._last[origin]

    def taken(self, origin: bytes) -> int:
        """Up to which message a reader is done."""
        try:
            return int((self.folder / f"{origin.hex()}.taken").read_text("ascii"))
        except (OSError, ValueError):
            return 0

    def waiting(self) -> int:
        """How many messages nobody has taken yet."""
        return len(self._files())

    def pending(self) -> Iterator[Rows]:
        """Messages that are not taken yet, those of each edge in order. BadMessage for a file that is none; OSError."""
        for origin, numbers in self.numbers().items():
            for seq in numbers:
                yield self.read(origin, seq)

    def numbers(self) -> dict[bytes, list[int]]:
        """Of the messages of each edge that are not taken yet, in order. OSError."""
        found: dict[bytes, list[int]] = {}
        taken: dict[bytes, int] = {}
        for origin, seq in self._files():
            if origin not in taken:
                taken[origin] = self.taken(origin)
            if seq > taken[origin]:
                found.setdefault(origin, []).append(seq)
            else:
                # The reader was stopped after it said so.
                (self.folder / file_name(origin, seq)).unlink(missing_ok=True)
        return found

    def read(self, origin: bytes, seq: int) -> Rows:
        """A message. BadMessage for a file that is none; OSError."""
        path = self.folder / file_name(origin, seq)
        found = decoded_rows(framed(path.read_bytes()), self.schema)
        if (found.origin, found.seq) != (origin, seq):
            raise BadMessage(f"the file {path.name} has another message in it")
        return found

    def size(self, origin: bytes, seq: int) -> int:
        """The bytes of a message. OSError."""
        return (self.folder / file_name(origin, seq)).stat().st_size

    def aside(self, origin: bytes, seq: int) -> str:
        """Puts away a file that is no message, so that nobody reads it again; gives its name. OSError."""
        path = self.folder / file_name(origin, seq)
        return path.replace(path.with_name(f"{path.name}.bad")).name

    def take(self, message: Rows) -> None:
        """A reader is done with a message and those of its edge before it."""
        self.done(message.origin, message.seq)

    def done(self, origin: bytes, seq: int) -> None:
        """A reader is done with all messages of an edge up to a number. OSError."""
        write_once(self.folder / f"{origin.hex()}.taken", str(seq).encode("ascii"))
        for found, number in self._files():
            if found == origin and number <= seq:
                (self.folder / file_name(origin, number)).unlink(missing_ok=True)

    def _files(self) -> list[tuple[bytes, int]]:
        matches = map(_ROWS.fullmatch, sorted(entry.name for entry in os.scandir(self.folder)))
        return [(bytes.fromhex(found[1]), int(found[2])) for found in matches if found]
