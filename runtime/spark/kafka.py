"""Topics of Kafka as streams, through Spark's own connector."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro
from pyspark.sql.streaming.readwriter import DataStreamReader

from streamq.compiler.ir.physical import OptionValue, Parse, ScanStream
from streamq.compiler.lowering.values import (
    asks_headers,
    avro_bytes,
    parse_sql,
    record_items,
)
from streamq.dsl.source import NO_SPAN, Span
from streamq.runtime.control.offsets import Records
from streamq.runtime.paths import resolve
from streamq.runtime.secrets import reveal
from streamq.runtime.spark.names import quoted
from streamq.stdlib.avro_schema import told_as_read
from streamq.stdlib.kafka_options import CLIENT, OWN, PATHS, SECRETS, is_client_secret, login_of


def client_properties(options: Mapping[str, OptionValue], base_dir: str, origin: Span = NO_SPAN) -> dict[str, str]:
    """What Kafka's client is to know, secrets in the open: never to be shown or written down. Abort where one is missing."""
    found: dict[str, str] = {}
    for name, given in options.items():
        value = str(given)
        if name in SECRETS or (name.startswith(OWN) and is_client_secret(name)):
            value = reveal(value, base_dir, origin)
        if name.startswith(OWN):
            found[name.removeprefix(OWN)] = value
        elif name in CLIENT:
            found[CLIENT[name]] = resolve(base_dir, value) if name in PATHS else value
    if "username" in options:
        password = reveal(str(options["password"]), base_dir, origin)
        mechanism = str(options["sasl_mechanism"])
        found["sasl.jaas.config"] = jaas(mechanism, str(options["username"]), password)
    return found


def jaas(mechanism: str, username: str, password: str) -> str:
    """The login of a user as Java reads it; nothing in a name or password can end the text that it is in."""
    return f"{login_of(mechanism)} required username={_in_quotes(username)} password={_in_quotes(password)};"


def _in_quotes(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


def read_records(stream: DataStreamReader, scan: ScanStream, base_dir: str) -> DataFrame:
    """The records of a stream, as they come."""
    options = dict(scan.options)
    reader = stream.format("kafka").options(**_where(scan, base_dir))
    starting = str(options["starting"])
    if starting in ("earliest", "latest"):
        reader = reader.option("startingOffsets", starting)
    else:
        since = datetime.fromisoformat(starting).replace(tzinfo=UTC)
        # Where nothing is as new as that, what comes is read. Kafka has other meanings for times before 1970.
        reader = reader.option("startingTimestamp", str(max(0, round(since.timestamp() * 1000))))
        reader = reader.option("startingOffsetsByTimestampStrategy", "latest")
    if "max_rows_per_trigger" in options:
        reader = reader.option("maxOffsetsPerTrigger", str(options["max_rows_per_trigger"]))
    return _with_columns(reader.load(), scan)


def read_records_again(spark: SparkSession, scan: ScanStream, span: Records, base_dir: str) -> DataFrame:
    """The records between two places of each partition."""
    return _with_columns(_between(spark.read, scan, span, base_dir).load(), scan)


def whole_records_again(spark: SparkSession, scan: ScanStream, span: Records, base_dir: str) -> DataFrame:
    """The same with all that the broker has of them, whatever the program reads: enough to send them again."""
    frame = _between(spark.read, scan, span, base_dir).option("includeHeaders", "true").load()
    return frame.select("topic", "partition", "offset", "timestamp", "key", "value", "headers")


def _between(reader: DataFrameReader, scan: ScanStream, span: Records, base_dir: str) -> DataFrameReader:
    found = reader.format("kafka").options(**_where(scan, base_dir))
    return found.option("startingOffsets", span.start).option("endingOffsets", span.stop)


def _with_columns(frame: DataFrame, scan: ScanStream) -> DataFrame:
    return frame.select(*(F.expr(sql).alias(name) for name, sql in record_items(scan)))


def _where(scan: ScanStream, base_dir: str) -> dict[str, str]:
    """The options of Spark's reader that say which topics, and how to get there."""
    options = dict(scan.options)
    found = {OWN + name: value for name, value in client_properties(options, base_dir, scan.origin).items()}
    if "topic_pattern" in options:
        found["subscribePattern"] = str(options["topic_pattern"])
    else:
        found["subscribe"] = str(options["topic"])
    found["failOnDataLoss"] = str(options["fail_on_data_loss"]).lower()
    return found | ({"includeHeaders": "true"} if asks_headers(scan) else {})


def parsed(frame: DataFrame, step: Parse, base_dir: str) -> DataFrame:
    """The step's columns that pass, and the struct that values are read as."""
    options = dict(step.options)
    if step.format == "avro":
        schema = told_as_read(schema_text(options, base_dir))
        made = from_avro(F.expr(avro_bytes(step)), schema, {"mode": "FAILFAST" if step.fails else "PERMISSIVE"})
    else:
        made = F.expr(parse_sql(step))
    return frame.select(*(F.col(quoted(name)) for name in step.passed), made.alias(step.into))


def schema_text(options: Mapping[str, OptionValue], base_dir: str) -> str:
    """The Avro schema that values are written with."""
    if "schema_file" not in options:
        return str(options["schema"])
    with open(resolve(base_dir, str(options["schema_file"])), encoding="utf-8") as file:
        return file.read()
