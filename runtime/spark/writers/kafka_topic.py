"""Writes a query's results as records of a topic of Kafka, through Spark's own connector, at least once (ADR 0018).

Each record has the query, the run and the micro-batch in its headers, so that a reader can tell those that came before.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import to_avro

from streamq.compiler.lowering.values import (
    BATCH,
    RUN,
    headers_sql,
    key_sql,
    shape_of,
    value_sql,
    whole_sql,
)
from streamq.runtime.spark.errors import text_of
from streamq.runtime.spark.kafka import client_properties, schema_text
from streamq.runtime.spark.kafka_errors import refused_record
from streamq.runtime.spark.writers.base import Target, Trouble, failure
from streamq.stdlib.kafka_options import OWN

QUERY_ID = "sql.streaming.queryId"
"""Where Spark says, while a micro-batch runs, whose it is: an id that is kept with the checkpoint."""


@dataclass(slots=True)
class KafkaWriter:
    """The writer of one query. Brokers and topics are looked for before, with those that are read (``kafka_topics.py``)."""

    target: Target
    _columns: list[Column] = field(default_factory=list)
    _properties: dict[str, str] = field(default_factory=dict)

    def check(self) -> None:
        """Nothing: a topic that is not there is told with the streams'."""

    def prepare(self, frame: DataFrame) -> None:
        """How rows become records; Abort with SQ0709 where a secret is not there."""
        query, options = self.target.query, dict(self.target.query.sink.options)
        self._properties = client_properties(options, self.target.base_dir, query.sink.origin)
        shape = shape_of(query.columns, query.keys, options)
        if options["format"] == "avro":
            value = to_avro(F.expr(whole_sql(shape)), schema_text(options | {"schema": shape.schema}, self.target.base_dir))
        else:
            value = F.expr(value_sql(shape, options))
        self._columns = [value.alias("value"), F.expr(headers_sql(shape, query.name)).alias("headers")]
        if shape.key:
            self._columns.append(F.expr(key_sql(shape, query.columns)).alias("key"))

    def write(self, batch: DataFrame, number: int, stopping: threading.Event) -> None:
        """One micro-batch."""
        run = batch.sparkSession.sparkContext.getLocalProperty(QUERY_ID)
        told = batch.withColumn(RUN, F.lit(run)).withColumn(BATCH, F.lit(str(number)))
        writer = told.select(*self._columns).write.format("kafka").option("topic", self.target.text("topic"))
        try:
            writer.options(**{OWN + name: text for name, text in self._properties.items()}).save()
        except (PySparkException, Py4JError) as error:
            reason = refused_record(text_of(error))
            if reason is None:
                raise
            raise failure(
                self.target, f"topic `{self.target.text('topic')}`", Trouble("refused", reason),
                help="make such rows smaller, or give them a key; or let the topic and the client ('kafka.max.request.size') take them. "
                "Others of the micro-batch may be there already",
            ) from error
