"""Files of rows that have landed, which Spark's file source reads: each is there whole, and named for the messages in it."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from streamq.dsl.records import dataclass
from streamq.runtime.edge.at_run.inbox import write_once

_NAME = re.compile(r"([0-9a-f]{16})-([0-9]{12,19})-([0-9]{12,19})\.parquet")


@dataclass(frozen=True, slots=True)
class RowFiles:
    """``folder``: of one stream, which is made. Files that begin with a point are none yet. OSError."""

    folder: Path

    def __post_init__(self) -> None:
        """Removes what a process that was stopped did not end to write."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for path in self.folder.glob(".*.parquet.*"):
            path.unlink(missing_ok=True)

    def write(self, origin: bytes, first: int, last: int, rows: pa.Table) -> None:
        """Puts the rows of some messages of an edge there, on disk. OSError."""
        sink = pa.BufferOutputStream()
        pq.write_table(rows, sink, compression="zstd")
        write_once(self.folder / f"{origin.hex()}-{first:012d}-{last:012d}.parquet", sink.getvalue().to_pybytes())

    def last(self) -> dict[bytes, int]:
        """Up to which message the rows of each edge are there."""
        found: dict[bytes, int] = {}
        for origin, last, _ in self._files():
            found[origin] = max(found.get(origin, 0), last)
        return found

    def expire(self, before_s: float) -> None:
        """Removes what was written before a time of day in seconds, but of each edge the newest, which says how far it is."""
        newest = self.last()
        for origin, last, path in self._files():
            if last < newest[origin] and path.stat().st_mtime < before_s:
                path.unlink(missing_ok=True)

    def _files(self) -> list[tuple[bytes, int, Path]]:
        matches = ((_NAME.fullmatch(path.name), path) for path in sorted(self.folder.iterdir()))
        return [(bytes.fromhex(found[1]), int(found[3]), path) for found, path in matches if found]
