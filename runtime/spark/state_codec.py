"""The state of a bucket as bytes: Arrow tables inside one Arrow table, so that any version can read it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from streamq.stdlib.timelines.table import Column, State, Table

FORMAT = 1
"""Version of the layout, kept beside the state."""

# Spark's way from the store to Python costs more per byte than this: columns with one value nearly vanish.
_WRITE = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
_WRAP = pa.ipc.IpcWriteOptions(use_threads=False)
_READ = pa.ipc.IpcReadOptions(use_threads=False)


def encode_state(state: State) -> bytes:
    """The tables of a state, by name, and the instant up to which it is."""
    names = [name for name, table in state.tables.items() if table]
    parts = pa.record_batch({
        "name": pa.array(names, pa.string()),
        "table": pa.array([_encode(state.tables[name]) for name in names], pa.binary()),
    })
    metadata = {"format": str(FORMAT), "through": str(state.through)}
    return _write(parts.replace_schema_metadata(metadata), _WRAP)


def decode_state(data: bytes) -> State:
    """The state from its bytes."""
    parts = pa.ipc.open_stream(pa.py_buffer(data), options=_READ).read_all()
    metadata = parts.schema.metadata or {}
    tables = zip(parts.column("name").to_pylist(), parts.column("table"), strict=True)
    return State(
        {name: _decode(table.as_buffer()) for name, table in tables},
        int(metadata[b"through"]),
    )


def _encode(table: Table) -> bytes:
    columns = {name: _to_arrow(column) for name, column in table.items()}
    return _write(pa.RecordBatch.from_pydict(columns), _WRITE)


def _decode(data: pa.Buffer) -> Table:
    table = pa.ipc.open_stream(data, options=_READ).read_all()
    return {
        name: column.to_numpy()
        for name, column in zip(table.column_names, table.columns, strict=True)
    }


def _to_arrow(column: Column) -> pa.Array:
    if column.dtype == object:
        return pa.array(column, pa.string())
    return pa.array(np.ascontiguousarray(column))


def _write(batch: pa.RecordBatch, options: pa.ipc.IpcWriteOptions) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())
