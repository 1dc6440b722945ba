"""What Prometheus is told of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from urllib.request import ProxyHandler, build_opener

import pytest

from streamq.runtime.metrics import QuerySample, QueryTotals
from streamq.runtime.report.prometheus import Endpoint

SAMPLE = QuerySample(
    "hot", 3, 100.0, rows_in=1000, kept=700, shed=200, malformed=100, late=70, rows_out=50, batch_ms=500,
    result_age_ms=1250, watermark="2024-01-01T00:00:04.500Z", state_rows=7, state_bytes=4096,
)


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    made = Endpoint("127.0.0.1", 0, {"hot": 2000})
    yield made
    made.close()


def told(endpoint: Endpoint) -> dict[str, float]:
    text = build_opener(ProxyHandler({})).open(endpoint.address, timeout=10).read().decode()
    lines = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in lines}


def test_counters_add_up_and_gauges_are_the_latest(endpoint: Endpoint) -> None:
    endpoint.started(("hot", "cold"))
    before = told(endpoint)
    assert before['streamq_rows_in_total{query="hot"}'] == before['streamq_batches_total{query="cold"}'] == 0
    totals = QueryTotals("hot")
    for _ in range(2):
        totals = totals.plus(SAMPLE)
        endpoint.sample(SAMPLE, totals)
    found = {n.removesuffix('{query="hot"}'): v for n, v in told(endpoint).items() if "hot" in n}
    assert found == {
        "streamq_rows_in_total": 2000, "streamq_rows_kept_total": 1400, "streamq_rows_shed_total": 400,
        "streamq_rows_malformed_total": 200, "streamq_rows_late_total": 140, "streamq_rows_out_total": 100,
        "streamq_rows_dead_total": 0, "streamq_rows_refused_total": 0, "streamq_failures_total": 0,
        "streamq_restarts_total": 0, "streamq_quarantined_batches_total": 0, "streamq_given_up_total": 0,
        "streamq_batches_total": 2, "streamq_batch_seconds": 0.5, "streamq_result_age_seconds": 1.25,
        "streamq_latency_goal_seconds": 2.0, "streamq_kept_share": pytest.approx(7 / 9),
        "streamq_completeness": pytest.approx(0.7), "streamq_state_rows": 7, "streamq_state_bytes": 4096,
        "streamq_last_batch_timestamp_seconds": 100.0, "streamq_watermark_seconds": 1_704_067_204.5,
    }


def test_a_query_without_a_watermark_tells_none(endpoint: Endpoint) -> None:
    endpoint.started(("hot",))
    endpoint.sample(replace(SAMPLE, watermark=""), QueryTotals("hot"))
    assert not any("watermark" in name for name in told(endpoint))


def test_a_counter_is_one_series(endpoint: Endpoint) -> None:
    endpoint.started(("hot",))
    assert not [name for name in told(endpoint) if "_created" in name]


def test_what_waits_is_told_where_the_source_tells_it(endpoint: Endpoint) -> None:
    endpoint.started(("hot",))
    endpoint.sample(SAMPLE, QueryTotals("hot"))
    assert not any("backlog" in name for name in told(endpoint))
    endpoint.sample(replace(SAMPLE, backlog_rows=12, backlog_age_ms=1500), QueryTotals("hot"))
    found = told(endpoint)
    assert (found['streamq_backlog_rows{query="hot"}'], found['streamq_backlog_age_seconds{query="hot"}']) == (12, 1.5)


def test_names_of_queries_are_labels_and_nothing_else(endpoint: Endpoint) -> None:
    name = 'a"b\\c\nd'
    endpoint.started((name,))
    assert 'streamq_batches_total{query="a\\"b\\\\c\\nd"}' in told(endpoint)


def test_a_port_that_is_taken(endpoint: Endpoint) -> None:
    port = int(endpoint.address.rpartition(":")[2].partition("/")[0])
    with pytest.raises(OSError, match="in use"):
        Endpoint("127.0.0.1", port, {})
