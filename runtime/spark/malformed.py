"""Finds the malformed rows of streams of files: in which file and line they stand, and what is wrong with them.

Spark reads the files once as a run does, which says how many there are and where. Those files it reads again as lines,
each in a task of its own, so that the number of a row in the task is that of its line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from streamq.compiler.ir.physical import Named, OptionValue
from streamq.compiler.lowering.scans import CORRUPT
from streamq.compiler.malformed import FileStream
from streamq.dsl.diagnostics import Abort, Diagnostic
from streamq.runtime.paths import from_log, partition_columns, resolve
from streamq.runtime.spark.names import quoted
from streamq.runtime.spark.sources import (
    SourceContext,
    ddl,
    plain_paths,
    read_files_now,
    spark_options,
)

LONGEST_TEXT = 200
"""Characters of a row that are shown; of a value in it a quarter."""

_ROWS_OF_A_TASK = 1 << 33
_FILE_OF_ITS_OWN = {"spark.sql.files.maxPartitionBytes": 1 << 40, "spark.sql.files.openCostInBytes": 1 << 40}
_FILE, _LINE, _TEXT, _TYPED, _PLAIN = "__file", "__line", "__text", "__typed", "__plain"
_HEADER = "__header"


Options = dict[str, OptionValue]


@dataclass(frozen=True, slots=True)
class MalformedRow:
    """``line``: from 1, of a Parquet file the row; None where rows go over lines. ``text``: its beginning, where it is known."""

    file: str
    line: int | None
    reasons: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Search:
    """What a stream's files hold: ``rows``, of which ``malformed`` ones are in ``bad_files`` of the ``files`` that have rows; ``first``: some of them."""

    stream: str
    rows: int
    malformed: int
    files: int
    bad_files: int
    first: tuple[MalformedRow, ...]


def search(stream: FileStream, base_dir: str, limit: int, spark: SparkSession) -> Search:
    """All malformed rows counted, and the first ``limit``, by file and line. Abort with SQ0801 where Spark cannot read the files."""
    name = stream.scan.stream
    try:
        frame = read_files_now(stream.scan, SourceContext(spark, base_dir))
        counted = _by_file(frame, stream)
        bad = sorted(row.file for row in counted if row.bad)
        rows = _first(frame, stream, tuple(bad[:limit]), limit, spark, base_dir) if bad else []
    except (PySparkException, Py4JJavaError) as error:
        told = str(error) if isinstance(error, PySparkException) else str(error.java_exception.getMessage())
        raise Abort(Diagnostic(
            "SQ0801", f"Spark cannot read the files of `{name}`", stream.scan.origin,
            help="look at the path and the format in the stream's WITH", notes=(told.partition("\n")[0],),
        )) from error
    total, malformed = sum(row.rows for row in counted), sum(row.bad for row in counted)
    return Search(name, total, malformed, len(counted), len(bad), tuple(_told(row, stream) for row in rows))


def _by_file(frame: DataFrame, stream: FileStream) -> list[Row]:
    """For each file: its rows, and those that are malformed. The hash makes Spark look at all columns, as it leaves others unread."""
    whole = F.max(F.hash(*(quoted(name) for name in _columns(frame))))
    marker = F.lit(None) if stream.marker is None else F.expr(stream.marker)
    file = frame.metadataColumn("_metadata").getField("file_path")
    return frame.groupBy(file.alias("file")).agg(F.count("*").alias("rows"), F.count(marker).alias("bad"), whole.alias("hash")).collect()


def _columns(frame: DataFrame) -> list[str]:
    return [name for name in frame.columns if name != CORRUPT]


def _first(frame: DataFrame, stream: FileStream, files: tuple[str, ...], limit: int, spark: SparkSession, base_dir: str) -> list[Row]:
    """Malformed rows with file, line, text, whether the text is corrupt, and of each column whether it is NULL and its text."""
    options = dict(stream.scan.options)
    if options["format"] == "parquet" or options.get("multi_line") or options.get("encoding"):
        return _shown(_as_they_are(frame, options, files), stream, limit, ())
    folders = {name for file in files for name in partition_columns(_root(stream, base_dir), Path(from_log(file)))}
    own = tuple((f.name, f.dataType.simpleString()) for f in frame.schema if f.name not in folders)
    with _settings(spark, _FILE_OF_ITS_OWN):
        lines = _by_line(spark.read.text(plain_paths(files)), own, options)
        lines = lines.withColumns({f.name: F.lit("") for f in frame.schema if f.name in folders})
        return _shown(lines, stream, limit, tuple(name for name, _ in own))


def _root(stream: FileStream, base_dir: str) -> str:
    return resolve(base_dir, str(dict(stream.scan.options)["path"]))


def _shown(rows: DataFrame, stream: FileStream, limit: int, plain: tuple[str, ...]) -> list[Row]:
    """``plain``: the columns whose text there is."""
    names = [name for name, _ in stream.scan.schema]
    corrupt = F.col(CORRUPT).isNotNull() if CORRUPT in rows.columns else F.lit(False)
    texts = [F.col(f"{_PLAIN}.{quoted(name)}") if name in plain else F.lit(None).cast("string") for name in names]
    shown = rows.where(F.expr(f"({stream.marker}) IS NOT NULL")).select(
        F.col(_FILE).alias("file"), F.col(_LINE).alias("line"), _cut(F.col(_TEXT), LONGEST_TEXT).alias("text"), corrupt.alias("corrupt"),
        F.array(*(F.col(quoted(name)).isNull() for name in names)).alias("nulls"),
        F.array(*(_cut(text, LONGEST_TEXT // 4) for text in texts)).alias("plain"),
    )
    return shown.orderBy("file", "line").limit(limit).collect()


def _cut(text: Column, longest: int) -> Column:
    return F.when(F.length(text) > longest, F.concat(F.substring(text, 1, longest), F.lit("…"))).otherwise(text)


def _as_they_are(frame: DataFrame, options: Options, files: tuple[str, ...]) -> DataFrame:
    """Rows that have no line: their file, and the text that Spark keeps of them."""
    place = frame.metadataColumn("_metadata")
    parquet = options["format"] == "parquet"
    line = place.getField("row_index") + 1 if parquet else F.lit(None).cast("bigint")
    text = F.lit("") if parquet else F.coalesce(CORRUPT, F.lit(""))
    return frame.where(place.getField("file_path").isin(*files)).withColumns(
        {_FILE: place.getField("file_path"), _LINE: line, _TEXT: text}
    )


def _by_line(lines: DataFrame, own: tuple[Named, ...], options: Options) -> DataFrame:
    """The lines of files, read into the columns of the stream and, beside that, into texts."""
    number = F.monotonically_increasing_id() % F.lit(_ROWS_OF_A_TASK) + 1
    text = F.expr("trim(LEADING '\ufeff' FROM `value`)")
    file = lines.metadataColumn("_metadata").getField("file_path")
    lines = lines.select(text.alias(_TEXT), file.alias(_FILE), number.alias(_LINE)).where(F.trim(_TEXT) != "")
    if comment := str(options.get("comment") or ""):
        lines = lines.where(~F.startswith(F.col(_TEXT), F.lit(comment)))
    if options["format"] == "csv" and options.get("header", True):
        header = lines.groupBy(_FILE).agg(F.min(_LINE).alias(_HEADER))
        lines = lines.join(F.broadcast(header), _FILE).where(F.col(_LINE) > F.col(_HEADER))
    typed, plain = _read((*own, (CORRUPT, "string")) if CORRUPT not in dict(own) else own, options), _read(tuple((name, "string") for name, _ in own), options)
    return lines.select(_FILE, _LINE, _TEXT, typed.alias(_TYPED), plain.alias(_PLAIN)).select(_FILE, _LINE, _TEXT, f"{_TYPED}.*", _PLAIN)


def _read(schema: tuple[Named, ...], options: Options) -> Column:
    kind = F.from_csv if options["format"] == "csv" else F.from_json
    given = spark_options(tuple(options.items()), streaming=False)
    texts = {name: str(value) for name, value in given.items()}
    return kind(F.col(_TEXT), ddl(schema), {**texts, "mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT})


def _told(row: Row, stream: FileStream) -> MalformedRow:
    return MalformedRow(from_log(row.file), row.line, tuple(_reasons(row, stream)), row.text)


def _reasons(row: Row, stream: FileStream) -> Iterator[str]:
    """What is wrong with a row; a value is so that is there as text, and NULL as what the stream declares."""
    texts = [text for text in row.plain if text is not None]
    whole = row.line is not None and dict(stream.scan.options)["format"] != "parquet"
    if row.corrupt and whole and not texts and dict(stream.scan.options)["format"] == "json":
        yield "is no JSON object with these columns"
        return
    told = False
    for (name, sql_type), null, text in zip(stream.scan.schema, row.nulls, row.plain, strict=True):
        if null and text is not None:
            told = True
            yield f"`{name}` is no {sql_type}: {text}"
        elif null and name in stream.required:
            told = True
            yield f"`{name}` is NULL or missing"
    if not told:
        yield "has more or fewer fields than its file has columns" if whole else "cannot be read as the stream declares it"


@contextmanager
def _settings(spark: SparkSession, settings: Mapping[str, int]) -> Iterator[None]:
    before = {name: str(spark.conf.get(name)) for name in settings}
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, old in before.items():
            spark.conf.set(name, old)
