"""The libraries that Spark does not have by itself, and queries need."""

from __future__ import annotations

from collections.abc import Iterator

from streamq.compiler.ir import physical as ph
from streamq.dsl.source import Span

KAFKA, AVRO = "spark-sql-kafka-0-10", "spark-avro"
"""Names of artefacts in Maven, without the version of Scala."""


def needs(query: ph.PhysicalQuery) -> Iterator[tuple[str, Span]]:
    """The libraries of a query, each with what needs it in the program."""
    for step in ph.walk(query.root):
        if isinstance(step, ph.ScanStream) and step.connector == "kafka":
            yield KAFKA, step.origin
        if isinstance(step, ph.Parse) and step.format == "avro":
            yield AVRO, step.origin
    if query.sink.connector == "kafka":
        yield KAFKA, query.sink.origin
        if dict(query.sink.options).get("format") == "avro":
            yield AVRO, query.sink.origin


def libraries_of(plan: ph.PhysicalPlan) -> tuple[str, ...]:
    """The libraries of all queries, each once."""
    return tuple(dict.fromkeys(name for query in plan.queries for name, _ in needs(query)))
