"""Which columns a data file has: CSV header, first JSON lines, Parquet footer; without Spark.

What reads a format is imported where a file has it: most programs have one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import IO, Any

from streamq.dsl.records import dataclass

SAMPLE_LINES = 1_000
"""JSON lines looked at; a column that no line of a longer file shows may still come later."""

LONGEST_LINE = 1_000_000
"""Characters of a line that are held at once."""

_MODULES = {".gz": "gzip", ".bz2": "bz2"}
_PACKED = frozenset({".zst", ".lz4", ".snappy", ".deflate", ".xz", ".zip"})


Options = Mapping[str, str | int | float | bool]


@dataclass(frozen=True, slots=True)
class FileColumns:
    """``names`` in file order; ``width`` alone is known of a CSV file without a header.

    ``whole``: all rows were looked at, so that a column not among ``names`` is not in the file.
    ``nanosecond``: Parquet columns whose timestamps count nanoseconds.
    """

    names: tuple[str, ...] = ()
    width: int | None = None
    whole: bool = True
    nanosecond: frozenset[str] = frozenset()


def columns_of(file: Path, data_format: str, options: Options) -> FileColumns | None:
    """The columns of a file, or None where it is empty or packed in a way Python does not read.

    ``options`` are the connector's (``header``, ``delimiter``, ``quote``, ``encoding``,
    ``multi_line``, ``comment``). OSError and ValueError say why a file could not be read.
    """
    match data_format:
        case "parquet":
            from streamq.runtime.parquet_footer import read_columns

            columns = read_columns(file)
            return FileColumns(
                tuple(c.name for c in columns),
                nanosecond=frozenset(c.name for c in columns if c.timestamp_unit == "ns"),
            )
        case _ if file.suffix in _PACKED:
            return None
        case "csv":
            return _of_text(_csv_columns, file, options)
        case "json":
            return _of_text(_json_columns, file, options)
        case _:
            return None


def _of_text(
    read: Callable[[Path, Options], FileColumns | None], file: Path, options: Options
) -> FileColumns | None:
    """What a reader finds; ValueError for a character set that there is not, and for broken text or packing."""
    import csv
    import zlib

    try:
        return read(file, options)
    except (LookupError, RecursionError, EOFError, csv.Error, zlib.error) as error:
        raise ValueError(str(error)) from error


def _open(file: Path, options: Options) -> IO[str]:
    opener = import_module(_MODULES.get(file.suffix, "io")).open
    encoding = str(options.get("encoding") or "utf-8-sig")
    stream: IO[str] = opener(file, "rt", encoding=encoding, errors="replace", newline="")
    return stream


def _csv_columns(file: Path, options: Options) -> FileColumns | None:
    import csv

    delimiter = str(options.get("delimiter") or ",")
    quote, comment = str(options.get("quote") or '"'), str(options.get("comment") or "")
    if len(delimiter) != 1 or len(quote) != 1:
        return None
    with _open(file, options) as stream:
        lines = (line for line in _lines(stream) if not comment or not line.startswith(comment))
        first = next((row for row in csv.reader(lines, delimiter=delimiter, quotechar=quote)
                      if row), None)
    if first is None:
        return None
    if options.get("header", True):
        return FileColumns(tuple(first), width=len(first))
    return FileColumns(width=len(first))


def _json_columns(file: Path, options: Options) -> FileColumns | None:
    """All keys of the first lines in order of appearance; lines that are no objects are skipped."""
    if options.get("multi_line"):
        return None
    names: dict[str, None] = {}
    seen = 0
    with _open(file, options) as stream:
        for row in _objects(islice(_lines(stream), SAMPLE_LINES)):
            names.update(dict.fromkeys(row))
            seen += 1
        whole = stream.read(1) == ""
    return FileColumns(tuple(names), whole=whole) if seen else None


def _lines(stream: IO[str]) -> Iterator[str]:
    """The lines of a text; a longer one comes in pieces."""
    while line := stream.readline(LONGEST_LINE):
        yield line


def _objects(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    import json

    for line in lines:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict):
            yield row
