"""Columns of a stream at the edge: their Arrow types, and as the arrays that ranking and retention work on.

Types are those that a synopsis can keep: numbers, truth values, texts, dates and times.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from streamq.stdlib.recovery.columns import LEAST_INTEGER, Column, column

TYPES: dict[str, pa.DataType] = {
    str(type_): type_
    for type_ in (
        pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.string(), pa.date32(),
        pa.timestamp("us"), pa.timestamp("us", "UTC"),
    )
}
"""By the name that Arrow gives them."""

MOST_TEXT = 256
"""Characters of a text in a key, or in an attribute that may be shed: numpy makes all of a column as wide as the widest."""


def fingerprint(schema: pa.Schema) -> bytes:
    """Eight bytes that tell schemas apart, by the names and types of their columns in order."""
    text = "\n".join(f"{field.name}\t{field.type}" for field in schema)
    return hashlib.sha256(text.encode("utf-8")).digest()[:8]


def for_ranking(array: pa.Array) -> NDArray[Any]:
    """Values with NaN, NaT or None for NULL."""
    return np.asarray(array.to_numpy(zero_copy_only=False))


def to_column(array: pa.Array) -> Column:
    """The same for retention. ValueError for what it cannot keep: see ``keepable``."""
    null = None
    if array.null_count:
        null = array.is_null().to_numpy(zero_copy_only=False)
        array = array.fill_null(_blank(array.type))
    if pa.types.is_string(array.type):
        values = np.array(array.to_pylist(), dtype=np.str_)
    else:
        values = np.asarray(array.to_numpy(zero_copy_only=False))
    return column(values, null)


def to_array(values: Column, type_: pa.DataType | None = None) -> pa.Array:
    """Back to Arrow; ``type_``: that of the stream, which may be narrower than the one that retention works with."""
    found = pa.array(values.values, mask=values.null if values.null.any() else None)
    return found if type_ is None or found.type == type_ else found.cast(type_)


def keepable(rows: pa.RecordBatch, key: Collection[str], sent: Collection[str]) -> tuple[pa.RecordBatch, int]:
    """The rows that a synopsis can keep, and how many it cannot.

    It has no place for the least whole number, for texts that are longer than ``MOST_TEXT`` or end in the character 0, nor,
    in the ``key``, for NULL and NaN. Columns that are always ``sent`` may be anything.
    """
    good: pa.BooleanArray | None = None
    for name, array in zip(rows.schema.names, rows.columns, strict=True):
        if name in key or name not in sent:
            fine = _fine(array, name in key)
            if fine is not None:
                good = fine if good is None else pc.and_(good, fine)
    wrong = 0 if good is None else len(good) - (good.true_count or 0)
    return (rows.filter(good), wrong) if wrong else (rows, 0)


def _fine(array: pa.Array, key: bool) -> pa.BooleanArray | None:
    """Where a value can be kept; None for everywhere."""
    good = None
    if pa.types.is_string(array.type):
        good = pc.and_(
            pc.less_equal(pc.utf8_length(array), MOST_TEXT), pc.invert(pc.ends_with(array, "\0"))
        )
    elif array.type == pa.int64():
        good = pc.not_equal(array, LEAST_INTEGER)
    elif pa.types.is_floating(array.type) and key:
        good = pc.invert(pc.is_nan(array))
    if array.null_count and (good is not None or key):
        good = array.is_valid() if good is None else good.fill_null(not key)
    return good


def _blank(type_: pa.DataType) -> pa.Scalar:
    """What stands where there is NULL; nobody looks at it."""
    if pa.types.is_string(type_):
        return pa.scalar("", type_)
    if pa.types.is_boolean(type_):
        return pa.scalar(False, type_)
    if pa.types.is_date(type_):
        return pa.scalar(0, pa.int32()).cast(type_)
    return pa.scalar(0, pa.int64()).cast(type_)
