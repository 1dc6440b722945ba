"""What an orchestrator is told of a run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.error import HTTPError
from urllib.request import ProxyHandler, build_opener

import pytest

from streamq.dsl.diagnostics import Diagnostic
from streamq.dsl.source import NO_SPAN
from streamq.runtime.metrics import QuerySample, QueryTotals
from streamq.runtime.report.health import Health
from streamq.runtime.report.prometheus import Endpoint
from streamq.runtime.run import Event, Happened

REASON = Diagnostic("SQ0801", "query `a` failed: no server", NO_SPAN)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def done(query: str, batch: int = 0) -> tuple[QuerySample, QueryTotals]:
    return QuerySample(query, batch, 0.0), QueryTotals(query)


def test_a_query_that_fails_is_not_well_until_it_has_done_a_batch() -> None:
    clock = Clock()
    health = Health(clock)
    health.started(("a", "b"))
    assert health.health()[0]
    assert not health.readiness()[0]
    health.happened(Happened(event=Event.READY))
    assert health.readiness()[0]
    clock.now = 10
    health.sample(*done("a"))
    clock.now = 12
    health.happened(Happened(event=Event.FAILURE, query="a", diagnostic=REASON))
    clock.now = 15
    health.happened(Happened(event=Event.RESTART, query="a"))
    well, text = health.health()
    assert not well
    assert json.loads(text) == {"status": "failing", "queries": {
        "a": {
            "state": "restarting", "for_s": 3, "no_batch_for_s": 5, "batches": 1, "failures": 1,
            "reason": "query `a` failed: no server",
        },
        "b": {"state": "running", "for_s": 15, "no_batch_for_s": 15, "batches": 0, "failures": 0},
    }}
    health.sample(*done("a", 1))
    assert health.health()[0]


def test_before_any_query_exists_a_run_is_starting_and_not_well() -> None:
    health = Health(Clock())
    assert (health.health()[0], json.loads(health.health()[1])) == (True, {"status": "starting", "queries": {}})
    assert not health.readiness()[0]
    health.started(("a",))
    assert json.loads(health.health()[1])["status"] == "well"


def test_done_is_well_and_given_up_is_not() -> None:
    health = Health(Clock())
    health.started(("a", "b"))
    health.happened(Happened(event=Event.DONE, query="a"))
    assert health.health()[0]
    health.happened(Happened(event=Event.GIVEN_UP, query="b", diagnostic=REASON))
    assert not health.health()[0]


def test_a_run_that_stops_is_not_ready() -> None:
    health = Health(Clock())
    health.started(("a",))
    health.happened(Happened(event=Event.READY))
    health.happened(Happened(event=Event.STOPPING))
    assert not health.readiness()[0]
    assert health.health()[0]


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    made = Endpoint("127.0.0.1", 0, {})
    yield made
    made.close()


def asked(endpoint: Endpoint, path: str) -> tuple[int, str]:
    address = endpoint.address.replace("/metrics", path)
    try:
        answer = build_opener(ProxyHandler({})).open(address, timeout=10)
    except HTTPError as refused:
        return refused.code, refused.read().decode()
    return answer.status, answer.read().decode()


def test_the_endpoint_answers_beside_the_metrics(endpoint: Endpoint) -> None:
    endpoint.started(("a",))
    assert asked(endpoint, "/health")[0] == 200
    assert asked(endpoint, "/ready")[0] == 503
    endpoint.happened(Happened(event=Event.READY))
    assert asked(endpoint, "/ready")[0] == 200
    endpoint.happened(Happened(event=Event.FAILURE, query="a", diagnostic=REASON))
    code, text = asked(endpoint, "/health")
    assert code == 503
    assert json.loads(text)["queries"]["a"]["reason"] == REASON.message
    assert 'streamq_failures_total{query="a"} 1.0' in asked(endpoint, "/metrics")[1]
    assert 'streamq_restarts_total{query="a"} 0.0' in asked(endpoint, "/metrics")[1]
