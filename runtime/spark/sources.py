"""Connectors that read: each scan of the plan becomes one native Spark source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.readwriter import DataFrameReader
from pyspark.sql.streaming.readwriter import DataStreamReader

from streamq.compiler.evolution import source_name
from streamq.compiler.ir.physical import Named, OptionValue, ScanStream, ScanTable
from streamq.dsl.diagnostics import InternalError
from streamq.runtime.control.offsets import Files, Numbers, Records, Span
from streamq.runtime.datafiles import FileColumns, columns_of
from streamq.runtime.paths import (
    data_files,
    file_name,
    from_log,
    is_remote,
    resolve,
    spark_path,
    without_globs,
)
from streamq.runtime.spark.names import quoted
from streamq.stdlib.connector_specs import SPARK_OPTIONS, SPARK_UNITS
from streamq.stdlib.connectors import EVENT_TIME

_ONLY_STREAMS = frozenset(
    {"max_files_per_trigger", "max_bytes_per_trigger", "latest_first", "max_file_age"}
)
_NANOS_AS_LONG = "spark.sql.legacy.parquet.nanosAsLong"


@dataclass(frozen=True, slots=True)
class SourceContext:
    """``base_dir``: where relative paths start. ``memory_dir``: has a folder per memory source. ``named``: streams have names."""

    spark: SparkSession
    base_dir: str = ""
    memory_dir: str = ""
    named: bool = False

    def stream(self, scan: ScanStream) -> DataStreamReader:
        """The reader of a stream, by whose name Spark knows it where sources may come and go."""
        reader = self.spark.readStream
        return reader.name(source_name(scan.stream)) if self.named else reader


def read_stream(scan: ScanStream, context: SourceContext) -> DataFrame:
    """The unbounded frame of a stream, with the columns of ``scan.schema``.

    Where the scan collects malformed rows, ``scan.corrupt_column`` and undeclared columns may stand beside them.
    """
    match scan.connector:
        case "file":
            return _read_files(context.stream(scan), scan, context)
        case "memory":
            return _read_script(context.stream(scan), scan.stream, scan, context)
        case "rate":
            reader = context.stream(scan).format("rate").options(**spark_options(scan.options))
            return _only_declared(reader.load(), scan)
        case "nexmark":
            return _read_nexmark(context.spark, context.stream(scan), scan)
        case "kafka":
            from streamq.runtime.spark.kafka import read_records

            return read_records(context.stream(scan), scan, context.base_dir)
        case _:
            raise InternalError(f"{scan.id}: no Spark source for connector {scan.connector!r}")


def read_again(scan: ScanStream, span: Span, context: SourceContext) -> DataFrame:
    """What a stream gave to one micro-batch, with the columns of ``scan.schema``."""
    match span:
        case Files(places=places):
            reader = context.spark.read
            if scan.connector == "memory":
                return reader.schema(ddl(scan.schema)).format("json").load(plain_paths(places))
            root = resolve(context.base_dir, str(dict(scan.options)["path"]))
            if Path(root).is_dir():
                reader = reader.option("basePath", root)
            return _read_files(reader, scan, context, plain_paths(places))
        case Records():
            from streamq.runtime.spark.kafka import read_records_again

            return read_records_again(context.spark, scan, span, context.base_dir)
        case Numbers(start=start, stop=stop):
            return _read_nexmark(context.spark, context.spark.read.option("first", start), scan, stop)


def read_files_now(scan: ScanStream, context: SourceContext) -> DataFrame:
    """The rows that the files of a stream hold now, malformed ones too; columns as ``read_stream`` has them."""
    return _read_files(context.spark.read, scan, context)


def plain_paths(places: tuple[str, ...]) -> list[str]:
    """Files that Spark wrote down as addresses, as paths that its readers take."""
    return [without_globs(from_log(place)) for place in places]


def read_table(scan: ScanTable, context: SourceContext) -> DataFrame:
    """The bounded frame of a table."""
    match scan.connector:
        case "file":
            return _read_files(context.spark.read, scan, context)
        case "memory":
            return _read_script(context.spark.read, scan.table, scan, context)
        case _:
            raise InternalError(f"{scan.id}: no Spark table for connector {scan.connector!r}")


def _read_files(
    reader: DataStreamReader | DataFrameReader, scan: ScanStream | ScanTable, context: SourceContext,
    files: list[str] | None = None,
) -> DataFrame:
    """``files``: the ones to read, in place of all under the scan's path."""
    options = dict(scan.options)
    data_format = str(options["format"])
    path = resolve(context.base_dir, str(options["path"]))
    is_stream = isinstance(scan, ScanStream)
    known = _first_file(path, data_format, options)
    schema = scan.schema
    if data_format == "csv" and known is not None and known.names:
        schema = _in_file_order(schema, known.names)
        reader = reader.option("enforceSchema", False)
    nanos = frozenset(name for name, _ in schema if known and name in known.nanosecond)
    if nanos:
        # Spark has no timestamps of nanoseconds: it reads numbers, which become timestamps below.
        context.spark.conf.set(_NANOS_AS_LONG, "true")
        schema = tuple((n, "BIGINT" if n in nanos else t) for n, t in schema)
    reader = reader.options(**spark_options(scan.options, streaming=not isinstance(reader, DataFrameReader)))
    text = data_format != "parquet"
    corrupt = scan.corrupt_column if text and isinstance(scan, ScanStream) else None
    fails = not is_stream or options.get("on_error") == "fail"
    if text:
        reader = reader.option("mode", "FAILFAST" if fails else "PERMISSIVE")
        if corrupt is not None:
            reader = reader.option("columnNameOfCorruptRecord", corrupt)
            if corrupt not in (name for name, _ in schema):
                schema = (*schema, (corrupt, "STRING"))
    reader = reader.schema(ddl(schema)).format(data_format)
    frame: DataFrame
    if isinstance(reader, DataFrameReader) and files is not None:
        frame = reader.load(files)
    else:
        frame = reader.load(spark_path(path) if is_stream else path)
    if corrupt is not None:
        # The plan counts and leaves out malformed rows next; a select before that would copy each row.
        return frame
    return frame.select(*(_plain_or_micros(name, nanos) for name, _ in scan.schema))


def _first_file(
    path: str, data_format: str, options: Mapping[str, OptionValue]
) -> FileColumns | None:
    """The columns of the first file; None where no file is there yet or it says nothing."""
    if is_remote(path) or data_format == "json":
        return None
    try:
        found = (columns_of(file, data_format, options) for file in islice(data_files(path, options), 5))
        return next((columns for columns in found if columns is not None), None)
    except (OSError, ValueError):
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


def _read_script(
    reader: DataStreamReader | DataFrameReader, name: str, scan: ScanStream | ScanTable,
    context: SourceContext,
) -> DataFrame:
    """The rows that a test's ``StreamScript`` wrote: JSON files, one micro-batch per file."""
    path = Path(context.memory_dir or context.base_dir or ".") / file_name(name)
    path.mkdir(parents=True, exist_ok=True)
    if isinstance(scan, ScanStream):
        reader = reader.option("maxFilesPerTrigger", 1)
    frame: DataFrame = reader.schema(ddl(scan.schema)).format("json").load(str(path))
    return frame


def _read_nexmark(
    spark: SparkSession, reader: DataStreamReader | DataFrameReader, scan: ScanStream, events: int | None = None
) -> DataFrame:
    from streamq.runtime.spark.nexmark_source import NexmarkSource

    spark.dataSource.register(NexmarkSource)
    options = dict(scan.options) | ({} if events is None else {"events": events})
    frame: DataFrame = reader.format(NexmarkSource.name()).options(**options).schema(ddl(scan.schema)).load()
    return frame


def _only_declared(frame: DataFrame, scan: ScanStream) -> DataFrame:
    """A generator's columns under the names and types that the program declares."""
    made = {field.name.casefold(): field for field in frame.schema.fields}
    alias = EVENT_TIME.get(scan.connector, "").casefold()
    columns = []
    for name, sql_type in scan.schema:
        field = made.get(name.casefold()) or made[alias]
        column = F.col(quoted(field.name))
        if field.dataType.simpleString().upper() != sql_type.upper():
            column = F.expr(f"CAST({quoted(field.name)} AS {sql_type})")
        columns.append(column.alias(name))
    return frame.select(*columns)


def spark_options(
    options: tuple[tuple[str, OptionValue], ...], *, streaming: bool = True
) -> dict[str, OptionValue]:
    """The options that Spark's own readers have, under their names there."""
    found: dict[str, OptionValue] = {}
    for name, value in options:
        if name not in SPARK_OPTIONS or (not streaming and name in _ONLY_STREAMS):
            continue
        unit, size = SPARK_UNITS.get(name, ("", 1))
        found[SPARK_OPTIONS[name]] = f"{int(value) // size}{unit}" if unit else value
    return found


def ddl(schema: tuple[Named, ...]) -> str:
    return ", ".join(f"{quoted(name)} {sql_type}" for name, sql_type in schema)
