"""The rows that shed values are taken from by nearness: those of the last cycle in which a column was sent, on disk.

Recovery by the nearest neighbour (Ahuja 2006, equation 3.6) needs nothing of the edge. Which messages have been seen is
written down with the rows, so that after a restart none counts twice, and none is missing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from streamq.dsl.records import dataclass, field
from streamq.runtime.edge.at_run.bounds import numeric
from streamq.runtime.edge.at_run.inbox import write_once
from streamq.runtime.edge.messages import Rows
from streamq.stdlib.recovery.columns import Floats
from streamq.stdlib.recovery.nearest import nearest

MOST_ROWS = 1 << 14
"""Of a reference: each row that is recovered is compared with all of them."""


@dataclass(slots=True)
class References:
    """``path``: of the file; ``schema``: of the stream; ``columns``: those that are recovered; ``length``: rows of a cycle.

    ``length`` 0: those of a message.
    """

    path: Path
    schema: pa.Schema
    columns: Sequence[str]
    length: int
    _rows: dict[str, pa.RecordBatch] = field(default_factory=dict)
    _seen: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Reads what is there. What cannot be read, or is of another stream, counts as nothing."""
        try:
            with self.path.open("rb") as file, pa.ipc.open_stream(file) as reader:
                noted = json.loads(reader.schema.metadata[b"streamq"])
                if reader.schema.equals(self.schema):
                    batches = dict(zip(noted["columns"], reader, strict=True))
                    self._rows = {name: rows for name, rows in batches.items() if name in self.columns and rows.num_rows}
                    self._seen = noted["seen"]
        except (OSError, ValueError, KeyError, TypeError, pa.ArrowException):
            return

    def save(self) -> None:
        """Writes it down. OSError."""
        if not self.columns:
            return
        noted = json.dumps({"columns": list(self._rows), "seen": self._seen})
        schema = self.schema.with_metadata({"streamq": noted})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, schema) as writer:
            for rows in self._rows.values():
                writer.write_batch(rows.replace_schema_metadata(schema.metadata))
        write_once(self.path, sink.getvalue().to_pybytes())

    def see(self, message: Rows) -> None:
        """Takes the rows of a message for those of the columns that it has, unless it was seen before."""
        origin = message.origin.hex()
        if message.seq <= self._seen.get(origin, 0):
            return
        self._seen[origin] = message.seq
        most = min(self.length or message.rows.num_rows, MOST_ROWS)
        told = [name for name in self.columns if name not in message.plan.attrs]
        if not (told and message.rows.num_rows):
            return
        rows = self._wide(message)
        for name in told:
            both = pa.concat_batches([self._rows[name], rows]) if name in self._rows else rows
            self._rows[name] = both.slice(max(both.num_rows - most, 0))

    def values(self, message: Rows, name: str) -> pa.Array:
        """Of each row of a message in which a column was shed, the value of the row that is nearest; NULL where there is none."""
        type_ = self.schema.field(name).type
        rows = self._rows.get(name)
        # NULL in the reference is nobody's value.
        having = [f.name for f in message.rows.schema if numeric(f.type) and f.name not in message.key]
        if rows is None or not having:
            return pa.nulls(message.rows.num_rows, type_)
        known = rows.column(name).is_valid().to_numpy(zero_copy_only=False)
        found = nearest(_numbers(message.rows, having), _numbers(rows, having), np.where(known, 0.0, np.nan), "zscore")
        return rows.column(name).take(pa.array(found.rows, mask=found.rows < 0))

    def _wide(self, message: Rows) -> pa.RecordBatch:
        """Its rows with all columns of the stream, in memory of their own."""
        shed = message.plan.attrs
        arrays = [
            pa.nulls(message.rows.num_rows, f.type) if f.name in shed else message.rows.column(f.name) for f in self.schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def _numbers(rows: pa.RecordBatch, names: Sequence[str]) -> Floats:
    """Columns as numbers, ``[rows, columns]``, NaN for NULL."""
    arrays = [rows.column(name).cast(pa.float64(), safe=False).fill_null(np.nan) for name in names]
    return np.stack([array.to_numpy(zero_copy_only=False) for array in arrays], axis=1)
