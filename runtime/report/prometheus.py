"""``streamq run --metrics :9108``: the counts of a run for Prometheus, at ``http://127.0.0.1:9108/metrics``.

Names and units follow Prometheus's rules: counters end in ``_total``, times are in seconds; each has the label ``query``.
Rows obey in = kept + shed + malformed + dead; late rows are among the kept ones. ``/health`` and ``/ready`` answer 200 or
503, with what is known of each query as JSON (``health.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    disable_created_metrics,
    start_http_server,
)

from streamq.runtime.metrics import QuerySample, QueryTotals
from streamq.runtime.report.health import Health
from streamq.runtime.report.record import completeness
from streamq.runtime.run import Event, Happened, SilentListener

_Start = Callable[[str, list[tuple[str, str]]], Any]

_COUNTERS = {
    "rows_in": "Rows that arrived.", "kept": "Rows that the query kept.", "shed": "Rows that were shed.",
    "malformed": "Rows that could not be read.", "dead": "Rows of micro-batches that were put aside.",
    "refused": "Rows of results that the sink would not take.", "late": "Rows that came after the watermark; of those of one group in one task an aggregate counts one.",
    "rows_out": "Rows that went to the sink.",
}
_EVENTS = {
    Event.FAILURE: ("failures", "Failures of the query."), Event.RESTART: ("restarts", "Starts after a failure."),
    Event.QUARANTINE: ("quarantined_batches", "Micro-batches that were put aside."),
    Event.GIVEN_UP: ("given_up", "Times that the query was given up: 0 or 1."),
}
_GAUGES = {
    "batch_seconds": "How long the last micro-batch took.",
    "result_age_seconds": "How long the oldest row of the last micro-batch may have waited for its result.",
    "latency_goal_seconds": "How old results may be; absent where the query does not say.",
    "kept_share": "The share of the last micro-batch's rows that was kept.",
    "completeness": "The share of all rows so far that was kept and in time.",
    "watermark_seconds": "The watermark, in seconds since 1970; absent where the query has none.",
    "last_batch_timestamp_seconds": "When the last micro-batch ended, in seconds since 1970.",
    "state_rows": "Rows of state.", "state_bytes": "Memory of the state.",
    "backlog_rows": "Records that the last micro-batch left unread; absent where the source does not tell.",
    "backlog_age_seconds": "How long the oldest of them has waited at most.",
}


@dataclass
class Endpoint(SilentListener):
    """Answers requests from its making until ``close``. ``goals_ms``: how old results may be, by query.

    Raises OSError where the address cannot be listened on.
    """

    host: str
    port: int
    goals_ms: Mapping[str, int]
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
    health: Health = field(default_factory=Health)

    def __post_init__(self) -> None:
        # Else each counter has a second series with the time of its making, which nobody asks for.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._counters = {
            name: Counter(f"streamq_{_spelled(name)}", text, ["query"], registry=self.registry)
            for name, text in _COUNTERS.items()
        }
        self._events = {
            event: Counter(f"streamq_{name}", text, ["query"], registry=self.registry)
            for event, (name, text) in _EVENTS.items()
        }
        self._batches = Counter("streamq_batches", "Micro-batches.", ["query"], registry=self.registry)
        self._gauges = {
            name: Gauge(f"streamq_{name}", text, ["query"], registry=self.registry)
            for name, text in _GAUGES.items()
        }
        self._server, self._thread = start_http_server(self.port, self.host, self.registry)
        metrics = self._server.get_app()
        assert metrics is not None
        self._server.set_app(lambda environ, start: self._answer(environ, start, metrics))

    @property
    def address(self) -> str:
        """Where it listens; the port is a free one where 0 was asked for."""
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}/metrics"

    def _answer(self, environ: dict[str, Any], start: _Start, metrics: Any) -> Iterable[bytes]:
        """Serves the paths of health; all others give metrics."""
        asked = {"/health": self.health.health, "/ready": self.health.readiness}.get(str(environ.get("PATH_INFO")))
        if asked is None:
            found: Iterable[bytes] = metrics(environ, start)
            return found
        well, text = asked()
        start("200 OK" if well else "503 Service Unavailable", [("Content-Type", "application/json; charset=utf-8")])
        return [text.encode()]

    def happened(self, what: Happened) -> None:
        self.health.happened(what)
        if what.query and (counter := self._events.get(what.event)) is not None:
            counter.labels(what.query).inc()

    def started(self, queries: tuple[str, ...]) -> None:
        self.health.started(queries)
        for query in queries:
            for counter in (*self._counters.values(), *self._events.values(), self._batches):
                counter.labels(query)
            if (goal := self.goals_ms.get(query)) is not None:
                self._gauges["latency_goal_seconds"].labels(query).set(goal / 1000)

    def sample(self, sample: QuerySample, totals: QueryTotals) -> None:
        self.health.sample(sample, totals)
        for name, counter in self._counters.items():
            counter.labels(sample.query).inc(getattr(sample, name))
        self._batches.labels(sample.query).inc()
        arrived = sample.kept + sample.shed
        values = {
            "batch_seconds": sample.batch_ms / 1000, "result_age_seconds": sample.result_age_ms / 1000,
            "kept_share": sample.kept / arrived if arrived else 1.0, "completeness": completeness(totals),
            "state_rows": sample.state_rows, "state_bytes": sample.state_bytes, "last_batch_timestamp_seconds": sample.ended,
        }
        if sample.watermark:
            values["watermark_seconds"] = datetime.fromisoformat(sample.watermark).timestamp()
        if sample.backlog_rows is not None:
            values |= {"backlog_rows": sample.backlog_rows, "backlog_age_seconds": sample.backlog_age_ms / 1000}
        for name, value in values.items():
            self._gauges[name].labels(sample.query).set(value)

    def close(self) -> None:
        """Stops answering."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _spelled(name: str) -> str:
    return name if name.startswith("rows_") else f"rows_{name}"
