"""Compares rows from Spark with rows from DuckDB: as bags, exactly but for the last digits of floats."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import duckdb
import pyarrow as pa

RELATIVE = 1e-9


def sql_rows(connection: duckdb.DuckDBPyConnection, sql: str) -> list[dict[str, Any]]:
    """The rows of a query as dictionaries, missing values as None."""
    table: pa.Table = connection.sql(sql).to_arrow_table()
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def assert_same_rows(
    found: Iterable[Mapping[str, Any]], expected: Iterable[Mapping[str, Any]]
) -> None:
    """Fails at the first row that differs; order does not count, the names of columns do."""
    ours, theirs = _ordered(found), _ordered(expected)
    assert len(ours) == len(theirs), f"{len(ours)} rows instead of {len(theirs)}"
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.keys() == other.keys()
        for name, value in mine.items():
            assert _same(value, other[name]), f"{name}: {value!r} instead of {other[name]!r} in {other}"


def _ordered(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return sorted(({k: _plain(v) for k, v in row.items()} for row in rows), key=_key)


def _key(row: Mapping[str, Any]) -> str:
    """Orders rows by all but their floats, which may differ in the last digits, and then by those."""
    exact = {k: v for k, v in sorted(row.items()) if not isinstance(v, float)}
    rough = {k: f"{v:.6e}" for k, v in sorted(row.items()) if isinstance(v, float)}
    return f"{exact} {rough}"


def _plain(value: Any) -> Any:
    """Timestamps, also inside arrays and structs, without their zone, which is UTC on both sides."""
    match value:
        case datetime():
            return value.replace(tzinfo=None)
        case list():
            return [_plain(v) for v in value]
        case dict():
            return {k: _plain(v) for k, v in value.items()}
        case _:
            return value


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=RELATIVE)
    return bool(a == b)
