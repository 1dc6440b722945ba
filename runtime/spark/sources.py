"""Connectors that read: each scan of the plan becomes one native Spark source."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.readwriter import DataFrameReader
from pyspark.sql.streaming.readwriter import DataStreamReader

from streamq.compiler.ir.physical import Named, ScanStream, ScanTable
from streamq.dsl.diagnostics import InternalError
from streamq.runtime.datafiles import FileColumns, columns_of
from streamq.runtime.paths import data_files, is_remote, resolve, spark_path
from streamq.runtime.spark.names import quoted

Options = Mapping[str, str | int | float | bool]

READER_OPTIONS: dict[str, str] = {
    "header": "header",
    "delimiter": "sep",
    "quote": "quote",
    "escape": "escape",
    "comment": "comment",
    "encoding": "encoding",
    "null_value": "nullValue",
    "timestamp_format": "timestampFormat",
    "date_format": "dateFormat",
    "multiline": "multiLine",
    "max_files_per_trigger": "maxFilesPerTrigger",
    "max_bytes_per_trigger": "maxBytesPerTrigger",
    "latest_first": "latestFirst",
    "recursive": "recursiveFileLookup",
}
"""Options of the ``file`` connector that Spark has under another name."""

_RATE_OPTIONS = {
    "rows_per_second": "rowsPerSecond",
    "ramp_up": "rampUpTime",
    "partitions": "numPartitions",
}
_NANOS_AS_LONG = "spark.sql.legacy.parquet.nanosAsLong"


def read_stream(spark: SparkSession, scan: ScanStream, base_dir: str) -> DataFrame:
    """The unbounded frame of a stream, with exactly the columns of ``scan.schema``."""
    match scan.connector:
        case "file":
            return _read_files(spark, spark.readStream, scan, base_dir)
        case "memory":
            return _read_script(spark.readStream, scan, base_dir)
        case "rate":
            reader = spark.readStream.format("rate")
            for name, key in _RATE_OPTIONS.items():
                if (value := dict(scan.options).get(name)) is not None:
                    reader = reader.option(key, value)
            return _only_declared(reader.load(), scan.schema)
        case "nexmark":
            return _read_nexmark(spark, scan)
        case _:
            raise InternalError(f"{scan.id}: no Spark source for connector {scan.connector!r}")


def read_table(spark: SparkSession, scan: ScanTable, base_dir: str) -> DataFrame:
    """The bounded frame of a table."""
    match scan.connector:
        case "file":
            return _read_files(spark, spark.read, scan, base_dir)
        case "memory":
            return _read_script(spark.read, scan, base_dir)
        case _:
            raise InternalError(f"{scan.id}: no Spark table for connector {scan.connector!r}")


def _read_files(
    spark: SparkSession,
    reader: DataStreamReader | DataFrameReader,
    scan: ScanStream | ScanTable,
    base_dir: str,
) -> DataFrame:
    options = dict(scan.options)
    data_format = str(options["format"])
    path = resolve(base_dir, str(options["path"]))
    is_stream = isinstance(scan, ScanStream)
    known = _first_file(path, data_format, options)
    schema = scan.schema
    if data_format == "csv" and known is not None and known.names:
        schema = _in_file_order(schema, known.names)
        reader = reader.option("enforceSchema", False)
    nanos = frozenset(name for name, _ in schema if known and name in known.nanosecond)
    if nanos:
        # Spark has no timestamps of nanoseconds: it reads the number, the cast below makes it whole.
        spark.conf.set(_NANOS_AS_LONG, "true")
        schema = tuple((n, "BIGINT" if n in nanos else t) for n, t in schema)
    for name, key in READER_OPTIONS.items():
        if (value := options.get(name)) is not None and (is_stream or "trigger" not in name.lower()):
            reader = reader.option(key, value)
    corrupt = scan.corrupt_column if isinstance(scan, ScanStream) else None
    fails = options.get("on_error") == "fail"
    if data_format != "parquet":
        reader = reader.option("mode", "FAILFAST" if fails else "PERMISSIVE")
        if corrupt is not None:
            reader = reader.option("columnNameOfCorruptRecord", corrupt)
            if corrupt not in (name for name, _ in schema):
                schema = (*schema, (corrupt, "STRING"))
    place = spark_path(path) if is_stream else path
    frame: DataFrame = reader.schema(_ddl(schema)).format(data_format).load(place)
    names = [name for name, _ in scan.schema if name != corrupt]
    columns = [_plain_or_micros(name, nanos) for name in names]
    if corrupt is not None and data_format != "parquet":
        columns.append(_corrupt_column(corrupt, names))
    return frame.select(*columns)


def _first_file(path: str, data_format: str, options: Options) -> FileColumns | None:
    """The columns of the first file there is; None where no file is there yet or it says nothing."""
    if is_remote(path) or data_format == "json":
        return None
    for file in islice(data_files(path), 5):
        try:
            found = columns_of(file, data_format, options)
        except (OSError, ValueError, EOFError):
            return None
        if found is not None:
            return found
    return None


def _in_file_order(schema: tuple[Named, ...], header: tuple[str, ...]) -> tuple[Named, ...]:
    """A CSV file is read by position: all its columns, in its order, declared ones with their type.

    Declared columns that the header lacks come last; they may be folder names (``state=NY``).
    """
    declared = {name.casefold(): (name, sql_type) for name, sql_type in schema}
    ordered = [declared.get(name.casefold(), (name, "STRING")) for name in header]
    rest = [item for item in schema if item not in ordered]
    return (*ordered, *rest)


def _plain_or_micros(name: str, nanos: frozenset[str]) -> Column:
    if name in nanos:
        return F.expr(f"timestamp_micros({quoted(name)} div 1000)").alias(name)
    return F.col(quoted(name))


def _corrupt_column(corrupt: str, names: list[str]) -> Column:
    """The text of malformed rows. Spark refuses to read it alone (a plain count needs nothing else),
    so the expression leans on another column without being changed by it."""
    text = quoted(corrupt)
    if not names:
        return F.col(text)
    sql = f"coalesce({text}, IF({quoted(names[0])} IS NULL, NULL, {text}))"
    return F.expr(sql).alias(corrupt)


def _read_script(
    reader: DataStreamReader | DataFrameReader, scan: ScanStream | ScanTable, base_dir: str
) -> DataFrame:
    """The rows that a test's ``StreamScript`` wrote: JSON files, one micro-batch per file."""
    options = dict(scan.options)
    path = resolve(base_dir, str(options["path"]))
    Path(path).mkdir(parents=True, exist_ok=True)
    if isinstance(scan, ScanStream):
        reader = reader.option("maxFilesPerTrigger", 1)
    frame: DataFrame = reader.schema(_ddl(scan.schema)).format("json").load(path)
    return frame


def _read_nexmark(spark: SparkSession, scan: ScanStream) -> DataFrame:
    from streamq.runtime.spark.nexmark_source import NexmarkSource

    spark.dataSource.register(NexmarkSource)
    reader = spark.readStream.format(NexmarkSource.name())
    for key, value in scan.options:
        reader = reader.option(key, value)
    return _only_declared(reader.load(), scan.schema)


def _only_declared(frame: DataFrame, schema: tuple[Named, ...]) -> DataFrame:
    """A generator's columns under the names and types that the program declares."""
    made: dict[str, Any] = {field.name.casefold(): field for field in frame.schema.fields}
    return frame.select(
        *[
            F.expr(f"CAST({quoted(made[name.casefold()].name)} AS {sql_type})").alias(name)
            if made[name.casefold()].dataType.simpleString().upper() != sql_type.upper()
            else F.col(quoted(made[name.casefold()].name)).alias(name)
            for name, sql_type in schema
        ]
    )


def _ddl(schema: tuple[Named, ...]) -> str:
    return ", ".join(f"{quoted(name)} {sql_type}" for name, sql_type in schema)
