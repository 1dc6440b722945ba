"""The columns of a Parquet file, read from its footer without a Parquet library.

``streamq check`` must stay fast, and importing pyarrow takes longer than everything else that it
does. A footer is Thrift's compact protocol; of its FileMetaData only the schema (field 2) is read.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from streamq.dsl.records import dataclass

_MAGIC = b"PAR1"
_SCHEMA, _NAME, _CHILDREN, _LOGICAL = 2, 4, 5, 10
_TIMESTAMP, _UNIT = 8, 2
_UNITS = {1: "ms", 2: "us", 3: "ns"}


@dataclass(frozen=True, slots=True)
class ParquetColumn:
    """A top-level column. ``timestamp_unit`` is ``ms``, ``us``, ``ns`` or empty."""

    name: str
    timestamp_unit: str = ""


def read_columns(path: Path) -> tuple[ParquetColumn, ...]:
    """The top-level columns of a file in order; ValueError where it is no Parquet file."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        if size < 12:
            raise ValueError("too short for a Parquet file")
        file.seek(size - 8)
        length, magic = struct.unpack("<I4s", file.read(8))
        if magic != _MAGIC or length + 8 > size:
            raise ValueError("the Parquet footer is missing")
        file.seek(size - 8 - length)
        footer = file.read(length)
    try:
        elements = _Compact(footer).struct(until=_SCHEMA)[_SCHEMA]
        return _top_level(elements)
    except (IndexError, KeyError, RecursionError, UnicodeDecodeError, struct.error) as error:
        raise ValueError("the Parquet footer is damaged") from error


def _top_level(elements: list[dict[int, Any]]) -> tuple[ParquetColumn, ...]:
    """Schema elements come in pre-order; the first is the root."""
    columns, at = [], 1
    for _ in range(elements[0][_CHILDREN]):
        element = elements[at]
        columns.append(ParquetColumn(element[_NAME].decode("utf-8"), _timestamp_unit(element)))
        at = _after(elements, at)
    return tuple(columns)


def _after(elements: list[dict[int, Any]], at: int) -> int:
    """Index just past the subtree that starts at ``at``."""
    pending = 1
    while pending:
        pending += elements[at].get(_CHILDREN, 0) - 1
        at += 1
    return at


def _timestamp_unit(element: dict[int, Any]) -> str:
    unit = element.get(_LOGICAL, {}).get(_TIMESTAMP, {}).get(_UNIT, {})
    return next((_UNITS[key] for key in unit if key in _UNITS), "")


class _Compact:
    """A reader of Thrift's compact protocol: structs as ``{field id: value}``."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def struct(self, until: int | None = None) -> dict[int, Any]:
        """One struct; stops after field ``until`` where that is given."""
        fields: dict[int, Any] = {}
        field_id = 0
        while (head := self._byte()) != 0:
            step, kind = head >> 4, head & 15
            field_id = field_id + step if step else self._zigzag()
            fields[field_id] = self._value(kind, in_list=False)
            if field_id == until:
                break
        return fields

    def _value(self, kind: int, *, in_list: bool) -> Any:
        match kind:
            case 1 | 2:
                return self._byte() == 1 if in_list else kind == 1
            case 3:
                return self._byte()
            case 4 | 5 | 6:
                return self._zigzag()
            case 7:
                return struct.unpack("<d", self._take(8))[0]
            case 8:
                return self._take(self._varint())
            case 9 | 10:
                head = self._byte()
                size = head >> 4 if head >> 4 != 15 else self._varint()
                return [self._value(head & 15, in_list=True) for _ in range(size)]
            case 11:
                size = self._varint()
                kinds = self._byte() if size else 0
                return [
                    (self._value(kinds >> 4, in_list=True), self._value(kinds & 15, in_list=True))
                    for _ in range(size)
                ]
            case 12:
                return self.struct()
            case _:
                raise IndexError(f"unknown Thrift type {kind}")

    def _byte(self) -> int:
        value = self._data[self._at]
        self._at += 1
        return value

    def _take(self, count: int) -> bytes:
        if self._at + count > len(self._data):
            raise IndexError("footer ends too early")
        self._at += count
        return self._data[self._at - count : self._at]

    def _varint(self) -> int:
        value, shift = 0, 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
