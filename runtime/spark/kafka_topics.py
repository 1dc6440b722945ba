"""Whether the topics of a plan are there, asked of the brokers before any query starts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import SparkSession

from streamq.compiler.ir.physical import OptionValue, PhysicalQuery
from streamq.dsl.diagnostics import Abort, Diagnostic, did_you_mean
from streamq.dsl.source import Span
from streamq.runtime.kafka_servers import no_answer, places
from streamq.runtime.spark.kafka import client_properties
from streamq.stdlib.kafka_options import topics

PATIENCE_MS = 10_000
SHOWN = 8


def check_topics(queries: Sequence[PhysicalQuery], base_dir: str, spark: SparkSession) -> None:
    """Abort with SQ0808 for a broker that does not speak to us, and for a topic that is not there."""
    known: dict[tuple[tuple[str, OptionValue], ...], frozenset[str]] = {}
    for role, (options, origin) in places(queries):
        way = tuple((n, v) for n, v in options.items() if n == "bootstrap_servers" or n not in _WHAT)
        if way not in known:
            known[way] = _listed(spark, options, base_dir, origin)
        if (missing := _missing(role, options, known[way])) is not None:
            raise Abort(_not_there(missing, role, str(options["bootstrap_servers"]), known[way], origin))


_WHAT = frozenset({"topic", "topic_pattern", "format", "key", "timestamp", "headers", "partition", "offset", "starting"})
"""Options that do not say how brokers are talked to; of others it does not matter."""


def _missing(role: str, options: Mapping[str, OptionValue], known: frozenset[str]) -> str | None:
    if "topic_pattern" in options:
        # Topics may come that match it.
        return None
    named = topics(str(options["topic"])) if role == "stream" else (str(options["topic"]),)
    return next((name for name in named if name not in known), None)


def _not_there(topic: str, role: str, server: str, known: frozenset[str], origin: Span) -> Diagnostic:
    there = sorted(name for name in known if not name.startswith("__"))
    shown = ", ".join(there[:SHOWN]) + (", …" if len(there) > SHOWN else "")
    verb = "reads" if role == "stream" else "writes"
    return Diagnostic(
        "SQ0808", f"there is no topic `{topic}` at `{server}`", origin, label=f"this {role} {verb} it",
        help=did_you_mean(topic, there) or "create it, or correct its name",
        notes=(f"there are: {shown}",) if there else ("there are no topics, or none that may be seen",),
    )


def _listed(spark: SparkSession, options: Mapping[str, OptionValue], base_dir: str, origin: Span) -> frozenset[str]:
    properties = client_properties(options, base_dir, origin) | {
        "request.timeout.ms": str(PATIENCE_MS // 2), "default.api.timeout.ms": str(PATIENCE_MS),
    }
    try:
        with _admin(spark, properties) as admin:
            return frozenset(str(name) for name in admin.listTopics().names().get())
    except Py4JError as error:
        raise Abort(no_answer(str(options["bootstrap_servers"]), origin, (_reason(error),))) from None


@contextmanager
def _admin(spark: SparkSession, properties: Mapping[str, str]) -> Iterator[Any]:
    jvm: Any = spark._jvm
    given = jvm.java.util.Properties()
    for name, value in properties.items():
        given.setProperty(name, value)
    admin = jvm.org.apache.kafka.clients.admin.AdminClient.create(given)
    try:
        yield admin
    finally:
        admin.close(jvm.java.time.Duration.ofSeconds(1))


def _reason(error: Py4JError) -> str:
    """What Kafka's client says, without the names of its classes."""
    if not isinstance(error, Py4JJavaError):
        return "its client could not be asked"
    cause = error.java_exception
    while cause.getCause() is not None:
        cause = cause.getCause()
    return re.sub(r"^(?:[a-z]\w*\.)+[A-Z][\w$]*: ", "", str(cause.getMessage() or cause.getClass().getSimpleName())).splitlines()[0]
