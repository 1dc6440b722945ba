"""Whether anybody answers where the brokers of Kafka are said to be, found in seconds and without Spark."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence

from streamq.compiler.ir.physical import OptionValue, PhysicalQuery, ScanStream, walk
from streamq.dsl.diagnostics import Diagnostic
from streamq.dsl.source import Span
from streamq.stdlib.kafka_options import servers

PATIENCE_S = 3.0

Place = tuple[dict[str, OptionValue], Span]
"""The options of a stream or sink, and where the program declares it."""


def places(queries: Sequence[PhysicalQuery]) -> Iterator[tuple[str, Place]]:
    """The streams and sinks in Kafka, with the role of each."""
    for query in queries:
        for step in walk(query.root):
            if isinstance(step, ScanStream) and step.connector == "kafka":
                yield "stream", (dict(step.options), step.origin)
        if query.sink.connector == "kafka":
            yield "sink", (dict(query.sink.options), query.sink.origin)


def unreachable(queries: Sequence[PhysicalQuery]) -> tuple[Diagnostic, ...]:
    """SQ0808 for each list of brokers of whom none takes a connection."""
    found: dict[str, Diagnostic | None] = {}
    for _, (options, origin) in places(queries):
        written = str(options["bootstrap_servers"])
        if written not in found:
            found[written] = _asked(written, origin)
    return tuple(one for one in found.values() if one is not None)


def _asked(written: str, origin: Span) -> Diagnostic | None:
    reasons: list[str] = []
    for host, port in servers(written) or ():
        try:
            socket.create_connection((host, port), PATIENCE_S).close()
        except OSError as error:
            reason = "no answer" if isinstance(error, TimeoutError) else (error.strerror or str(error)).lower()
            reasons.append(f"{host}:{port}: {reason}")
        else:
            return None
    return no_answer(written, origin, tuple(reasons))


def no_answer(written: str, origin: Span, reasons: tuple[str, ...]) -> Diagnostic:
    return Diagnostic(
        "SQ0808", f"no broker of Kafka answers at `{written}`", origin, notes=reasons,
        help="start it, or correct bootstrap_servers; security_protocol must be the one of that port",
    )
