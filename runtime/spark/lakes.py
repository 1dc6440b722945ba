"""Delta and Iceberg tables as sinks, which Spark writes where the jars of these formats are in its session."""

from __future__ import annotations

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from streamq.compiler.ir.physical import PhysicalQuery
from streamq.dsl.diagnostics import Abort, Diagnostic
from streamq.runtime.paths import resolve

FORMATS = {"delta": "delta", "iceberg": "iceberg"}

_JARS = {
    "delta": "io.delta:delta-spark_2.13 and io.delta:delta-storage",
    "iceberg": "org.apache.iceberg:iceberg-spark-runtime",
}


def start_lake(query: PhysicalQuery, writer: DataStreamWriter, base_dir: str) -> StreamingQuery:
    """Starts the query into its table; Abort with SQ0811 where the session has no jar that knows the format."""
    options = dict(query.sink.options)
    connector = query.sink.connector
    columns = [c.strip() for c in str(options.get("partition_by") or "").split(",") if c.strip()]
    writer = writer.format(FORMATS[connector])
    writer = writer.partitionBy(*columns) if columns else writer
    try:
        if "table" in options:
            return writer.toTable(str(options["table"]))
        return writer.start(resolve(base_dir, str(options["path"])))
    except (PySparkException, Py4JError) as error:
        if "DATA_SOURCE_NOT_FOUND" not in str(error):
            raise
        raise Abort(Diagnostic(
            "SQ0811", f"connector `{connector}` needs jars that are not in Spark's session: {_JARS[connector]}",
            query.sink.origin, help="take those for Spark 4.3, and name them with SET spark.jars = 'a.jar,b.jar'",
        )) from error
