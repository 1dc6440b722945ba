"""The writers that are given each micro-batch, by connector, and how a run asks them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from streamq.compiler.ir.physical import PhysicalQuery
from streamq.dsl.diagnostics import Abort, Diagnostic
from streamq.runtime.checkpoint import folder_of
from streamq.runtime.spark.writers.base import Target, Writer
from streamq.runtime.spark.writers.duckdb_file import DuckDBWriter
from streamq.runtime.spark.writers.kafka_topic import KafkaWriter
from streamq.runtime.spark.writers.postgres import PostgresWriter
from streamq.runtime.spark.writers.webhook import WebhookWriter

WRITERS: dict[str, Callable[[Target], Writer]] = {
    "duckdb": DuckDBWriter, "kafka": KafkaWriter, "postgres": PostgresWriter, "webhook": WebhookWriter,
}


def writer_of(query: PhysicalQuery, directory: Path, base_dir: str) -> Writer | None:
    """The writer of a query into its sink; None where Spark has one. ``directory``: the query's checkpoint."""
    make = WRITERS.get(query.sink.connector)
    return None if make is None else make(Target(query, directory, base_dir))


def not_ready(queries: Iterable[PhysicalQuery], root: Path, base_dir: str) -> tuple[Diagnostic, ...]:
    """What keeps sinks from taking rows, found before anything starts. ``root``: the run's checkpoint."""
    found: list[Diagnostic] = []
    for query in queries:
        try:
            if (writer := writer_of(query, folder_of(root, query.name), base_dir)) is not None:
                writer.check()
        except Abort as abort:
            found.append(abort.diagnostic)
    return tuple(dict.fromkeys(found))
