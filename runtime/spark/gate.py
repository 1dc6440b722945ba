"""Lets no row of a micro-batch pass whose input was put aside: a filter over each stream, closed for that one.

A filter is no part of what Spark keeps of a query, so its state and watermark go on as if that input had never come. Only
a query whose next micro-batch is such a one has it, until it is started again.
"""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from streamq.compiler.ir.physical import ScanStream
from streamq.compiler.lowering.sql import MALFORMED_ROW
from streamq.dsl.records import replace
from streamq.runtime.spark.control_source import ASKED_WHEN_PLANNED, ControlSource
from streamq.runtime.spark.names import quoted
from streamq.runtime.spark.sources import SourceContext, read_stream

_CORRUPT = "__corrupt"


def create_gate(spark: SparkSession, query: str, checkpoint: Path) -> str:
    """A condition in SQL that is false for micro-batches whose input was put aside, asked anew for each."""
    spark.dataSource.register(ControlSource)
    allowed = str(spark.conf.get(ASKED_WHEN_PLANNED)).lower() == "true"
    view = f"{query}__gate"
    reader = spark.read.format(ControlSource.name()).option("aside", str(checkpoint))
    reader.option("may_be_empty", allowed).load().createOrReplaceTempView(quoted(view))
    return f"coalesce((SELECT threshold FROM {quoted(view)} WHERE threshold >= 0), 1L) > 0"


def read_gated(scan: ScanStream, gate: str, context: SourceContext) -> DataFrame:
    """The stream behind the gate. Where malformed rows end a query they do so behind it, not in Spark's reader."""
    options = dict(scan.options)
    if scan.connector != "file" or options.get("on_error") != "fail" or options.get("format") == "parquet":
        return read_stream(scan, context).where(gate)
    lenient = tuple((name, value) for name, value in scan.options if name != "on_error")
    frame = read_stream(replace(scan, options=lenient, corrupt_column=_CORRUPT), context)
    # Spark refuses to read the malformed text alone; the test of another column after it is never false.
    first = quoted(scan.schema[0][0])
    passes = f"CASE WHEN NOT ({gate}) THEN false WHEN {quoted(_CORRUPT)} IS NOT NULL THEN {MALFORMED_ROW} ELSE {first} IS NULL OR true END"
    return frame.where(passes).select(*(quoted(name) for name, _ in scan.schema))
