"""Connectors that write: starts the query of each sink and collects what consoles show."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from streamq.compiler.ir.physical import OptionValue, PhysicalQuery, SinkSpec
from streamq.dsl.diagnostics import Abort, Diagnostic, InternalError
from streamq.runtime.metrics import ResultRows
from streamq.runtime.paths import is_remote, resolve
from streamq.runtime.sink_errors import SinkFailed
from streamq.runtime.sink_log import remove_unfinished
from streamq.runtime.spark.emit import state_store
from streamq.runtime.spark.lakes import start_lake
from streamq.runtime.spark.letters import letters_instead
from streamq.runtime.spark.progress import OUTPUT_METRIC
from streamq.runtime.spark.writers.base import Writer
from streamq.runtime.spark.writers.offered import writer_of
from streamq.runtime.supervise.letters import Aside
from streamq.stdlib.connector_specs import SPARK_OPTIONS

MEMORY_ROWS = 1_000_000
"""Rows that a memory sink keeps at most: it is for tests, everything lies in this process."""

CONSOLE_ROWS = 20
"""Rows of a batch that the console of a bare query shows."""

_ROW_IN_PARTITION = "(monotonically_increasing_id() & 8589934591)"

class StopRequestedError(Exception):
    """Raised in a batch function so that a query ends without waiting for the batch."""


@dataclass(slots=True)
class RowFeed:
    """Rows on their way from Spark's callback threads to the thread that shows them.

    A batch that Spark repeats replaces its first try. ``stopping`` makes batch functions give up;
    ``failures`` keeps the real error of a batch, which Spark would wrap beyond recognition.
    """

    stopping: threading.Event = field(default_factory=threading.Event)
    failures: dict[str, BaseException] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _batches: dict[str, dict[int, pa.Table]] = field(default_factory=dict)
    _kept: dict[str, int] = field(default_factory=dict)

    def put(self, query: str, batch: int, table: pa.Table) -> None:
        with self._lock:
            self._batches.setdefault(query, {})[batch] = table

    def take(self, query: PhysicalQuery, batch: int, total: int) -> ResultRows | None:
        """The rows of a batch that Spark has reported as done; None where it sent none."""
        with self._lock:
            table = self._batches.get(query.name, {}).pop(batch, None)
        if table is None or table.num_rows == 0:
            return None
        columns = [column.to_pylist() for column in table.columns]
        return ResultRows(
            query.name, batch, tuple(table.column_names), tuple(zip(*columns, strict=True)),
            max(total, table.num_rows), query.mode == "update", query.keys,
            whole=not _option(query.sink, "truncate", True),
        )

    def count(self, query: str, rows: int) -> int:
        """Adds to the number of rows that a memory sink keeps; returns the new number."""
        with self._lock:
            self._kept[query] = self._kept.get(query, 0) + rows
            return self._kept[query]


@dataclass(frozen=True, slots=True)
class SinkContext:
    """``checkpoint``: the folder of this query. ``trigger``: arguments of Spark's ``trigger``.

    ``rows_per_batch``: rows of a batch that a console gets; None leaves it to the sink's option.
    ``first_start``: when the query was first started with this checkpoint, seconds since the epoch.
    ``aside``: its micro-batches that were put aside.
    """

    checkpoint: Path
    trigger: dict[str, Any]
    rows_per_batch: int | None
    feed: RowFeed
    base_dir: str = ""
    first_start: float = 0.0
    aside: Mapping[int, Aside] = field(default_factory=dict)


def start_query(query: PhysicalQuery, frame: DataFrame, context: SinkContext) -> StreamingQuery:
    """Starts the query into its sink; Abort with SQ0806 where a folder cannot be made."""
    with state_store(query, frame.sparkSession):
        return _start(query, frame, context)


def _start(query: PhysicalQuery, frame: DataFrame, context: SinkContext) -> StreamingQuery:
    sink = query.sink
    match sink.connector:
        case "console":
            limit = context.rows_per_batch or int(_option(sink, "num_rows", CONSOLE_ROWS))
            writer = _writer(query, _observed(frame), context)
            return writer.foreachBatch(_batch_function(query, context.feed, limit)).start()
        case "memory":
            writer = _writer(query, _observed(frame), context)
            return writer.foreachBatch(_batch_function(query, context.feed, None)).start()
        case "noop":
            return _writer(query, frame, context).format("noop").start()
        case "file":
            return _file_writer(query, _writer(query, _observed(frame), context), context).start()
        case "delta" | "iceberg":
            return start_lake(query, _writer(query, _observed(frame), context), context.base_dir)
        case _ if (own := writer_of(query, context.checkpoint, context.base_dir)) is not None:
            own.prepare(frame)
            writer = _writer(query, _observed(frame), context)
            return writer.foreachBatch(letters_instead(_own_batch(own, query, context.feed), context.aside)).start()
        case _:
            raise InternalError(f"{query.name}: no Spark sink for connector {sink.connector!r}")


def _writer(query: PhysicalQuery, frame: DataFrame, context: SinkContext) -> DataStreamWriter:
    return (
        frame.writeStream.queryName(query.name)
        .outputMode(query.mode)
        .option("checkpointLocation", str(context.checkpoint))
        .trigger(**context.trigger)
    )


def _observed(frame: DataFrame) -> DataFrame:
    return frame.observe(OUTPUT_METRIC, F.expr("count(1)").alias("rows"))


def _file_writer(
    query: PhysicalQuery, writer: DataStreamWriter, context: SinkContext
) -> DataStreamWriter:
    options = dict(query.sink.options)
    path = resolve(context.base_dir, str(options["path"]))
    if not is_remote(path):
        _make_folder(query, Path(path))
        remove_unfinished(Path(path), context.first_start)
    writer = writer.format(str(options["format"])).option("path", path)
    for name, value in options.items():
        if name in SPARK_OPTIONS:
            writer = writer.option(SPARK_OPTIONS[name], value)
    columns = [c.strip() for c in str(options.get("partition_by") or "").split(",") if c.strip()]
    return writer.partitionBy(*columns) if columns else writer


def _make_folder(query: PhysicalQuery, folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Abort(
            Diagnostic(
                "SQ0806", f"output folder `{folder}` of query `{query.name}` cannot be made",
                query.sink.origin, help="choose a folder that you may write to",
                notes=((error.strerror or str(error)).lower(),),
            )
        ) from error


def _batch_function(
    query: PhysicalQuery, feed: RowFeed, limit: int | None
) -> Callable[[DataFrame, int], None]:
    """Brings a batch's rows, or the first ``limit`` of each partition, into this process.

    A plain ``limit`` would leave partitions unread and so lose their state: the row's number within
    its partition is filtered instead, which reads everything and keeps little.
    """

    def take_batch(batch: DataFrame, batch_id: int) -> None:
        if feed.stopping.is_set():
            raise StopRequestedError
        shown = batch if limit is None else batch.where(f"{_ROW_IN_PARTITION} < {limit}")
        try:
            table = shown.toArrow()
        except Exception as error:
            if feed.stopping.is_set():
                # Spark matches the text of an interrupted callback against a pattern that
                # overflows the stack on long texts; a short error without context avoids it.
                raise StopRequestedError from None
            feed.failures[query.name] = error
            raise
        if limit is None and feed.count(query.name, table.num_rows) > MEMORY_ROWS:
            feed.failures[query.name] = Abort(_memory_full(query))
            raise StopRequestedError
        if limit is not None and query.time_column is not None:
            table = table.sort_by(query.time_column)
        feed.put(query.name, batch_id, table if limit is None else table.slice(0, limit))

    return take_batch


def _own_batch(own: Writer, query: PhysicalQuery, feed: RowFeed) -> Callable[[DataFrame, int], None]:
    """Gives a batch to a writer of StreamQ's own; what that says of its sink is the error of the query."""

    def take_batch(batch: DataFrame, batch_id: int) -> None:
        if feed.stopping.is_set():
            raise StopRequestedError
        try:
            own.write(batch, batch_id, feed.stopping)
        except Exception as error:
            if feed.stopping.is_set():
                raise StopRequestedError from None
            feed.failures[query.name] = error
            if isinstance(error, SinkFailed):
                # Spark would search the text of the error for patterns; what matters is kept above.
                raise StopRequestedError from None
            raise

    return take_batch


def _memory_full(query: PhysicalQuery) -> Diagnostic:
    return Diagnostic(
        "SQ0806", f"the memory sink of query `{query.name}` is full", query.sink.origin,
        help="use connector 'file' for results of this size",
        notes=(f"it keeps at most {MEMORY_ROWS} rows",),
    )


def _option(sink: SinkSpec, name: str, default: OptionValue) -> OptionValue:
    return dict(sink.options).get(name, default)
