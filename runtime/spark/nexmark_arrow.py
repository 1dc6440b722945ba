"""Turns generated NEXMark columns into Arrow record batches of the schema that Spark asked for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamq.stdlib.nexmark import (
    EVENT_TABLE,
    EVENT_TYPE,
    KINDS,
    TABLES,
    TIME,
    TIME_ALIAS,
    Coded,
    Column,
    Joined,
    Kind,
    NexmarkConfig,
    Pool,
    arrivals,
    columns,
    event_numbers,
    event_times,
)

ROW = "__row"
"""A column that no table declares: the number of the event."""

BIGINT_DIGITS = 19
_WIDEST_DECIMAL = 38


class WrongColumn(Exception):
    """A wanted column that the table does not have, or cannot give in the wanted type."""


def check_schema(table: str, schema: pa.Schema) -> None:
    """Holds each wanted column against what the table can give without loss: :class:`WrongColumn`."""
    if table != EVENT_TABLE:
        _check_fields(table, schema)
        return
    for field in schema:
        name = _event_column(field.name)
        if name in TABLES:
            if not pa.types.is_struct(field.type):
                raise WrongColumn(f"nexmark column {field.name} is a STRUCT, not {field.type}")
            _check_fields(name, list(field.type))
        elif name == TIME and not pa.types.is_timestamp(field.type):
            raise WrongColumn(f"nexmark column {field.name} is TIMESTAMP, not {field.type}")
        elif name in (EVENT_TYPE, ROW) and not (
            field.type in (pa.int32(), pa.int64()) or _holds_fractions(field.type)
        ):
            raise WrongColumn(f"nexmark column {field.name} is a number, not {field.type}")


def record_batch(
    config: NexmarkConfig, table: str, schema: pa.Schema, start: int, stop: int
) -> pa.RecordBatch:
    """The rows of a table among the events that arrive in positions [start, stop)."""
    if table == EVENT_TABLE:
        return _all_kinds(config, schema, arrivals(config, start, stop))
    kind = next(kind for kind in KINDS if kind.name == table)
    arrays = _arrays(config, kind, schema, event_numbers(config, start, stop, kind))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _native(table: str, wanted: str) -> tuple[str, str]:
    """The (name, SQL type) of the table that a wanted name stands for, in any case."""
    fold = wanted.casefold()
    if fold == ROW:
        return ROW, "BIGINT"
    if fold == TIME_ALIAS:
        fold = TIME.casefold()
    for name, sql_type in TABLES[table]:
        if name.casefold() == fold:
            return name, sql_type
    raise WrongColumn(f"nexmark table {table} has no column {wanted}")


def _event_column(wanted: str) -> str:
    """The column of the table of all events that a wanted name stands for, in any case."""
    fold = wanted.casefold()
    if fold in (TIME_ALIAS, TIME.casefold()):
        return TIME
    if fold in (EVENT_TYPE, ROW) or fold in TABLES:
        return fold
    raise WrongColumn(f"nexmark table {EVENT_TABLE} has no column {wanted}")


def _check_fields(table: str, fields: Sequence[pa.Field] | pa.Schema) -> None:
    for field in fields:
        _, sql_type = _native(table, field.name)
        wanted = field.type
        match sql_type:
            case "BIGINT":
                fits = pa.types.is_int64(wanted) or _holds_fractions(wanted)
            case "TIMESTAMP":
                fits = pa.types.is_timestamp(wanted)
            case _:
                fits = pa.types.is_string(wanted) or pa.types.is_large_string(wanted)
        if not fits:
            raise WrongColumn(f"nexmark column {field.name} is {sql_type} and cannot be {wanted}")


def _holds_fractions(wanted: pa.DataType) -> bool:
    return bool(
        pa.types.is_floating(wanted)
        or (pa.types.is_decimal(wanted) and wanted.scale <= _WIDEST_DECIMAL - BIGINT_DIGITS)
    )


def _arrays(
    config: NexmarkConfig,
    kind: Kind,
    fields: Sequence[pa.Field] | pa.Schema,
    numbers: np.ndarray,
) -> list[pa.Array]:
    natives = [_native(kind.name, field.name)[0] for field in fields]
    made = columns(config, kind, numbers, [n for n in dict.fromkeys(natives) if n != ROW])
    made[ROW] = numbers
    return [_array(made[name], field.type) for name, field in zip(natives, fields, strict=True)]


def _all_kinds(config: NexmarkConfig, schema: pa.Schema, numbers: np.ndarray) -> pa.RecordBatch:
    """All events: a struct for each kind, NULL in the rows of the others."""
    kind_of = np.zeros(len(numbers), dtype=np.int32)
    for code, kind in enumerate(KINDS):
        kind_of[kind.holds(numbers)] = code
    arrays = []
    for field in schema:
        name = _event_column(field.name)
        if name == EVENT_TYPE:
            arrays.append(_numbers(kind_of, field.type))
        elif name == ROW:
            arrays.append(_numbers(numbers, field.type))
        elif name == TIME:
            arrays.append(_numbers(event_times(config, numbers), field.type))
        else:
            code = [kind.name for kind in KINDS].index(name)
            arrays.append(_struct(config, KINDS[code], field.type, numbers, kind_of == code))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _struct(
    config: NexmarkConfig,
    kind: Kind,
    wanted: pa.StructType,
    numbers: np.ndarray,
    is_kind: np.ndarray,
) -> pa.Array:
    fields = list(wanted)
    rows = pa.StructArray.from_arrays(
        _arrays(config, kind, fields, numbers[is_kind]), fields=fields
    )
    place = np.cumsum(is_kind) - 1
    return rows.take(pa.array(place, mask=~is_kind))


def _array(column: Column, wanted: pa.DataType) -> pa.Array:
    match column:
        case np.ndarray():
            return _numbers(column, wanted)
        case Coded():
            return _strings(column, wanted)
        case Joined():
            parts = [_strings(part, wanted) for part in column.parts]
            return pc.binary_join_element_wise(*parts, pa.scalar(column.separator, wanted))
        case _:
            raise TypeError(f"not a generated column: {type(column).__name__}")


def _numbers(column: np.ndarray, wanted: pa.DataType) -> pa.Array:
    array = pa.array(column)
    if pa.types.is_timestamp(wanted):
        return array.view(pa.timestamp("us", wanted.tz)).cast(wanted)
    if pa.types.is_decimal(wanted):
        return _decimals(column, wanted)
    return array if array.type.equals(wanted) else array.cast(wanted)


def _decimals(column: np.ndarray, wanted: pa.DataType) -> pa.Array:
    """As Spark casts: a number with too many digits becomes NULL. Arrow casts only into room enough."""
    whole_digits = wanted.precision - wanted.scale
    too_long = np.abs(column) >= 10**whole_digits if whole_digits < BIGINT_DIGITS else None
    room = pa.decimal128(_WIDEST_DECIMAL, wanted.scale)
    return pa.array(column, mask=too_long).cast(room).cast(wanted)


def _strings(column: Coded, wanted: pa.DataType) -> pa.Array:
    return _pool(column.pool, wanted).take(pa.array(column.codes))


@lru_cache(maxsize=64)
def _pool(pool: Pool, wanted: pa.DataType) -> pa.Array:
    return pa.array(pool.words, wanted)
