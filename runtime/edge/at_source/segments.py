"""Stored values of a synopsis on disk: segments, each sorted by key and cycle, of which small ones are joined.

Of each attribute, segment 0 is the base: of each key the last value before the others, so that what has not changed for
long is still recovered when older segments are forgotten. Values are forgotten by folding the oldest segment into the base.
"""

from __future__ import annotations

import sqlite3

import numpy as np
import pyarrow as pa

from streamq.dsl.records import dataclass
from streamq.runtime.edge.columns import to_array, to_column
from streamq.stdlib.recovery.retaining import Entries
from streamq.stdlib.recovery.synopsis import CYCLE_BITS, Run, address

LARGE = 1 << 17
"""Entries of a segment that is not joined any more."""

TABLE = """
CREATE TABLE IF NOT EXISTS segments (
  attribute TEXT NOT NULL, number INTEGER NOT NULL, entries INTEGER NOT NULL, newest INTEGER NOT NULL,
  size INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (attribute, number)
) WITHOUT ROWID
"""
BASE = 0


@dataclass(frozen=True, slots=True)
class Segments:
    """Those of all attributes, in a database whose transactions are the caller's. ``types``: of the attributes."""

    database: sqlite3.Connection
    types: dict[str, pa.DataType]

    def append(self, attribute: str, entries: Entries) -> None:
        """Adds what a batch stored. Segments before it are joined with it while they are not much longer."""
        if not len(entries):
            return
        run = Run(
            address(entries.keys, entries.cycle_no), entries.at, entries.values, np.full(len(entries), entries.sent)
        )
        order = np.argsort(run.address, kind="stable")
        run = run.take(order)
        known = self.database.execute(
            "SELECT number, entries FROM segments WHERE attribute = ? AND number > 0 ORDER BY number DESC", (attribute,)
        )
        number = 1
        for before, count in known.fetchall():
            if 2 * len(run) < count or len(run) + count > LARGE:
                number = before + 1
                break
            run = self.read(attribute, before).joined(run)
            self._delete(attribute, before)
            number = before
        self._write(attribute, number, run)

    def numbers(self, attribute: str) -> list[int]:
        """The segments of an attribute, the newest first."""
        found = self.database.execute(
            "SELECT number FROM segments WHERE attribute = ? ORDER BY number DESC", (attribute,)
        )
        return [number for (number,) in found]

    def read(self, attribute: str, number: int) -> Run:
        """One segment."""
        (data,) = self.database.execute(
            "SELECT data FROM segments WHERE attribute = ? AND number = ?", (attribute, number)
        ).fetchone()
        return _decoded(data, self.types[attribute])

    def forget(self, horizon: int, most: int) -> None:
        """Forgets what is older than a time, and the oldest values until all take at most so many bytes."""
        while (oldest := self._oldest()) is not None:
            attribute, number, newest = oldest
            if newest >= horizon and self.size_bytes <= most:
                return
            self._fold(attribute, number)
        if self.size_bytes > most:
            self._cut_bases(most)

    @property
    def size_bytes(self) -> int:
        """What all segments take."""
        (size,) = self.database.execute("SELECT coalesce(sum(size), 0) FROM segments").fetchone()
        return int(size)

    def _oldest(self) -> tuple[str, int, int] | None:
        """The segment with the oldest newest value of those that are the first of their attribute."""
        found = self.database.execute(
            "SELECT attribute, min(number), newest FROM segments WHERE number > 0 GROUP BY attribute ORDER BY newest LIMIT 1"
        ).fetchone()
        return None if found is None else (str(found[0]), int(found[1]), int(found[2]))

    def _fold(self, attribute: str, number: int) -> None:
        run = self.read(attribute, number)
        if BASE in self.numbers(attribute):
            run = self.read(attribute, BASE).joined(run)
        key = run.address >> CYCLE_BITS
        self._delete(attribute, number)
        self._write(attribute, BASE, run.take(np.append(key[1:] != key[:-1], True)))

    def _cut_bases(self, most: int) -> None:
        """Where even the last value of each key is too much, the oldest of these go too."""
        share = most / self.size_bytes
        for (attribute,) in self.database.execute("SELECT attribute FROM segments").fetchall():
            run = self.read(attribute, BASE)
            keep = np.sort(np.argsort(run.at, kind="stable")[len(run) - int(len(run) * share * 0.9) :])
            self._write(attribute, BASE, run.take(keep)) if len(keep) else self._delete(attribute, BASE)

    def _write(self, attribute: str, number: int, run: Run) -> None:
        data = _encoded(run, self.types[attribute])
        self.database.execute(
            "INSERT OR REPLACE INTO segments VALUES (?, ?, ?, ?, ?, ?)",
            (attribute, number, len(run), int(run.at.max()), len(data), data),
        )

    def _delete(self, attribute: str, number: int) -> None:
        self.database.execute("DELETE FROM segments WHERE attribute = ? AND number = ?", (attribute, number))


def _schema(type_: pa.DataType) -> pa.Schema:
    return pa.schema([("address", pa.int64()), ("at", pa.int64()), ("value", type_), ("sent", pa.bool_())])


def _encoded(run: Run, type_: pa.DataType) -> bytes:
    columns = [pa.array(run.address), pa.array(run.at), to_array(run.values, type_), pa.array(run.sent)]
    return bytes(pa.RecordBatch.from_arrays(columns, schema=_schema(type_)).serialize())


def _decoded(data: bytes, type_: pa.DataType) -> Run:
    rows = pa.ipc.read_record_batch(pa.py_buffer(data), _schema(type_))
    addresses, at, values, sent = rows.columns
    return Run(addresses.to_numpy(), at.to_numpy(), to_column(values), sent.to_numpy(zero_copy_only=False))
