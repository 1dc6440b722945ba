"""The values of a column as bytes: raw, little-endian ones where each takes the same, and a record batch of texts.

Without Arrow's metadata, which takes more than the few values of an answer do. Both sides know the type and how many there are.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from streamq.runtime.edge.frames import BadMessage, batch_of, body_of

_NAME = "value"


def raw(values: pa.Array) -> bytes:
    """Values without NULL."""
    if not len(values):
        return b""
    if pa.types.is_string(values.type):
        return bytes(body_of(pa.RecordBatch.from_arrays([values], [_NAME])))
    if pa.types.is_boolean(values.type):
        return bytes(np.asarray(values.to_numpy(zero_copy_only=False), np.uint8).data)
    width = values.type.bit_width // 8
    return bytes(memoryview(values.buffers()[1])[values.offset * width : (values.offset + len(values)) * width])


def values_of(data: memoryview, count: int, type_: pa.DataType) -> pa.Array:
    """So many values of a type, without NULL. BadMessage for anything else."""
    if pa.types.is_string(type_) and count:
        found = batch_of(data, pa.schema([(_NAME, type_)])).column(0)
        if len(found) != count or found.null_count:
            raise BadMessage("the answer has not as many texts as it says")
        return found
    width = 1 if pa.types.is_boolean(type_) else 0 if pa.types.is_string(type_) else type_.bit_width // 8
    if len(data) != count * width:
        raise BadMessage("the answer has not as many values as it says")
    if not pa.types.is_boolean(type_):
        # A copy: inside of a message values begin anywhere.
        return pa.Array.from_buffers(type_, count, [None, pa.py_buffer(bytes(data))]) if count else pa.array([], type_)
    bits = np.frombuffer(data, np.uint8)
    if np.any(bits > 1):
        raise BadMessage("the answer has a truth value that is neither true nor false")
    return pa.array(bits.astype(bool))
