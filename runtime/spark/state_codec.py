"""The state of a bucket as bytes: Arrow tables inside one Arrow table, so that any version can read it."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa

from streamq.stdlib.timelines.table import Column, State, Table

FORMAT = 1
"""Version of the layout, kept beside the state."""


def encode_state(state: State) -> bytes:
    """The tables of a state, by name, and the instant up to which it is."""
    names = [name for name, table in state.tables.items() if table]
    parts = pa.table({
        "name": pa.array(names, pa.string()),
        "table": pa.array([_encode(state.tables[name]) for name in names], pa.binary()),
    })
    marked = parts.replace_schema_metadata({"format": str(FORMAT), "through": str(state.through)})
    return _write(marked)


def decode_state(data: bytes) -> State:
    """The state from its bytes."""
    parts = pa.ipc.open_stream(pa.py_buffer(data)).read_all()
    metadata = parts.schema.metadata or {}
    tables = zip(parts.column("name").to_pylist(), parts.column("table"), strict=True)
    return State(
        {name: _decode(table.as_buffer()) for name, table in tables},
        int(metadata[b"through"]),
    )


def _encode(table: Table) -> bytes:
    return _write(pa.table({name: _to_arrow(column) for name, column in table.items()}))


def _decode(data: pa.Buffer) -> Table:
    table = pa.ipc.open_stream(data).read_all()
    return {
        name: column.to_numpy()
        for name, column in zip(table.column_names, table.columns, strict=True)
    }


def _to_arrow(column: Column) -> pa.Array:
    if column.dtype == object:
        return pa.array(column, pa.string())
    return pa.array(np.ascontiguousarray(column))


def _write(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()
