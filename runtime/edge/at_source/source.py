"""What an edge reads: a file that may grow, a folder of files in the order of their names, or a pipe.

A position says what was read, so that after a restart nothing is read twice. A pipe cannot be read again: what was read of
it and not yet written down is lost with the process.
"""

from __future__ import annotations

import json
import os
import select
from pathlib import Path
from typing import IO, Protocol

from streamq.dsl.records import dataclass, field, replace
from streamq.runtime.edge.at_source.lines import Cutter

LEAST_BLOCK, MOST_BLOCK = 1 << 16, 1 << 22
"""Bytes that are read at once."""


@dataclass(frozen=True, slots=True)
class Position:
    """The ``file`` that is read, the bytes of it that are done, and whether they end in a line that is too long.

    ``inode``: its device and its number there, by which it is told from another file of that name; None where it was not opened.
    """

    file: str = ""
    offset: int = 0
    skipping: bool = False
    inode: tuple[int, int] | None = None

    def text(self) -> str:
        """As JSON."""
        return json.dumps([self.file, self.offset, self.skipping, *(self.inode or ())])

    def same_file(self, other: Position) -> bool:
        """Whether both are in one file."""
        return (self.file, self.inode) == (other.file, other.inode)


def position_of(text: str) -> Position:
    """The position of a JSON text. ValueError for none."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    match found:
        case [str(file), int(offset), bool(skipping)] if offset >= 0:
            return Position(file, offset, skipping)
        case [str(file), int(offset), bool(skipping), int(device), int(number)] if offset >= 0:
            return Position(file, offset, skipping, (device, number))
    raise ValueError("this is no position in a source")


@dataclass(frozen=True, slots=True)
class Block:
    """Whole ``lines``, how many more were ``too_long``, and the position after them.

    ``header``: the columns of the CSV file that they are of. ``ended``: nothing more is there now.
    """

    lines: bytes
    position: Position
    too_long: int = 0
    header: tuple[str, ...] | None = None
    ended: bool = False


class Source(Protocol):
    """What gives blocks of lines. Raises OSError."""

    def read(self) -> Block:
        """The next lines, perhaps none."""

    def seek(self, position: Position) -> None:
        """Goes on from there."""


@dataclass(slots=True)
class Files:
    """A file, or the files of a folder, those that begin with a point or an underscore left out; where there is a later file,
    nothing is added to one any more.

    ``header``: whether they are CSV whose first line names the columns. ``follow``: a line at the end that has no line
    break may go on; else it is one. A file that is shorter than what was read of it, or that took the place of the one that was
    read, is a new one, and read from its start; one that is not there is waited for, or in a folder passed over.
    """

    path: Path
    header: bool = False
    follow: bool = True
    block: int = MOST_BLOCK
    _file: IO[bytes] | None = None
    _position: Position = field(default_factory=Position)
    _cutter: Cutter = field(default_factory=lambda: Cutter(MOST_BLOCK))
    _names: tuple[str, ...] | None = None

    def seek(self, position: Position) -> None:
        """Goes on from there."""
        self._close()
        self._position = position

    def read(self) -> Block:
        """The next lines; of a file that was read to its end, those of the next one."""
        if self._file is None and not self._open():
            return Block(b"", self._position, ended=True)
        assert self._file is not None
        if data := self._file.read(self.block):
            return self._cut(data)
        later = self._next()
        if later is None and not self.follow:
            return self._block(self._cutter.ended(), 0, True)
        if later is None and not self._is_new():
            return self._block(b"", 0, True)
        # Something may have been added to it after it was read, and before the other one was there.
        if data := self._file.read(self.block):
            return self._cut(data)
        return self._left_for(later or self._position.file)

    def _cut(self, data: bytes) -> Block:
        lines, too_long = self._cutter.cut(data)
        return self._block(lines, too_long, False)

    def _block(self, lines: bytes, too_long: int, ended: bool) -> Block:
        assert self._file is not None
        offset = self._file.tell() - len(self._cutter.rest)
        self._position = replace(self._position, offset=offset, skipping=self._cutter.skipping)
        return Block(lines, self._position, too_long, self._names, ended)

    def _left_for(self, name: str) -> Block:
        """The last line of the file, which has no line break, or nothing; the file of this name is read from its start."""
        block = Block(self._cutter.ended(), Position(name), header=self._names)
        self._close()
        self._position = block.position
        return block

    def _open(self) -> bool:
        """Opens the file of the position, or a later one where it is not there; False where there is none."""
        later = self._next()
        name = self._position.file or later
        if name is None:
            return False
        try:
            file = self._path(name).open("rb")
        except FileNotFoundError:
            return self._open_later(later)
        there = os.fstat(file.fileno())
        before, offset = self._position.inode, self._position.offset
        if there.st_size < offset or (before is not None and before[1] != there.st_ino):
            offset = 0
        self._cutter = Cutter(self.block, skipping=self._position.skipping and offset > 0)
        if self.header:
            self._names, start = _header(file)
            if not start:
                # It is not whole yet: it is looked at again, unless there is a later file.
                file.close()
                return self._open_later(later)
            offset = max(offset, start)
        file.seek(offset)
        self._file, self._position = file, Position(name, offset, self._cutter.skipping, _inode(there))
        return True

    def _open_later(self, later: str | None) -> bool:
        if later is None:
            return False
        self._position = Position(later)
        return self._open()

    def _path(self, name: str) -> Path:
        return self.path / name if self.path.is_dir() else self.path

    def _next(self) -> str | None:
        """The name of the next file; those that come later have to be named so that they sort after it."""
        if not self.path.is_dir():
            return self.path.name if not self._position.file and self.path.exists() else None
        names = (e.name for e in os.scandir(self.path) if e.is_file() and e.name[0] not in "._")
        return min((name for name in names if name > self._position.file), default=None)

    def _is_new(self) -> bool:
        """Whether the file of that name is another one than was read."""
        assert self._file is not None
        mine = os.fstat(self._file.fileno())
        try:
            there = os.stat(self._path(self._position.file))
        except OSError:
            # It was moved away, and another one may come.
            return False
        return mine.st_size < self._file.tell() or _inode(there) != _inode(mine)

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file, self._names = None, None


@dataclass(slots=True)
class Pipe:
    """Standard input, or another file descriptor, which is waited for at most ``wait_s``. The first line of CSV is its header."""

    descriptor: int
    header: bool = False
    wait_s: float = 0.05
    block: int = MOST_BLOCK
    _read: int = 0
    _cutter: Cutter = field(default_factory=lambda: Cutter(MOST_BLOCK))
    _names: tuple[str, ...] | None = None

    def seek(self, position: Position) -> None:
        """A pipe goes on where it is."""

    def read(self) -> Block:
        """What is there."""
        ready, _, _ = select.select([self.descriptor], [], [], self.wait_s)
        if not ready:
            return Block(b"", self._at(), header=self._names)
        data = os.read(self.descriptor, self.block)
        self._read += len(data)
        lines, too_long = self._cutter.cut(data) if data else (self._cutter.ended(), 0)
        if self.header and self._names is None and lines:
            first, _, lines = lines.partition(b"\n")
            self._names = _names(first)
        return Block(lines, self._at(), too_long, self._names, ended=not data)

    def _at(self) -> Position:
        return Position("-", self._read - len(self._cutter.rest))


def _inode(stat: os.stat_result) -> tuple[int, int]:
    return stat.st_dev, stat.st_ino


def _header(file: IO[bytes]) -> tuple[tuple[str, ...], int]:
    """The columns that the first line names, and where the next one starts, 0 where it is not whole."""
    file.seek(0)
    line = file.readline(LEAST_BLOCK)
    if not line.endswith(b"\n"):
        return (), 0
    return _names(line), len(line)


def _names(line: bytes) -> tuple[str, ...]:
    import csv

    text = line.decode("utf-8-sig", "replace").rstrip("\r\n")
    return tuple(next(csv.reader([text]), ()))
