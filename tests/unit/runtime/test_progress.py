"""Spark's progress reports become samples whose rows add up."""

from __future__ import annotations

from typing import Any

import pytest

from streamq.runtime.metrics import QueryTotals
from streamq.runtime.spark.progress import OUTPUT_METRIC, looked_of, sample_of

BEGAN = 1_704_067_200.0


def report(**fields: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "batchId": 7,
        "timestamp": "2024-01-01T00:00:00.000Z",
        "numInputRows": 100,
        "durationMs": {"triggerExecution": 500, "addBatch": 400},
        "eventTime": {},
        "stateOperators": [],
        "sources": [{}],
        "sink": {"numOutputRows": 12},
        "observedMetrics": {},
    }
    return base | fields


def test_without_observed_counts_spark_s_own_hold() -> None:
    sample = sample_of("q", report(), None)
    assert (sample.rows_in, sample.kept, sample.shed, sample.rows_out) == (100, 100, 0, 12)
    assert (sample.batch_ms, sample.rows_per_s, sample.ended) == (500, 200.0, BEGAN + 0.5)


@pytest.mark.parametrize(
    ("observed", "sources", "expected"),
    [
        ({"s@q": {"malformed": 5}}, 1, (100, 95, 0, 5)),
        ({"s@q": {"well_formed": 93}}, 1, (100, 93, 0, 7)),
        ({"s@q": {"well_formed": 0}}, 1, (100, 0, 0, 100)),
        ({"s@q": {"malformed": 5}, "r@q": {"malformed": 1}}, 2, (100, 94, 0, 6)),
        ({"s.shed@q": {"arrived": 80, "kept": 60}}, 1, (80, 60, 20, 0)),
        ({"s.shed@q": {"kept": 60}}, 1, (100, 60, 40, 0)),
        ({"s.shed@q": {"kept": 0}}, 1, (100, 0, 100, 0)),
        ({"s.shed@q": {"drawn": 60}}, 1, (100, 60, 40, 0)),
        ({"s.shed@q": {"drawn": 60}, "s@q": {"unreadable": 7}}, 1, (100, 53, 40, 7)),
        (
            {"a.shed@q": {"arrived": 50, "drawn": 20}, "a@q": {"unreadable": 3}, "b.shed@q": {"arrived": 30, "kept": 10}, "b@q": {"malformed": 5}},
            2,
            (85, 27, 50, 8),
        ),
        ({"s@q": {"well_formed": 93}, "s.shed@q": {"kept": 60}}, 1, (100, 60, 33, 7)),
        ({"s@q": {"malformed": 7}, "s.shed@q": {"kept": 60}}, 1, (100, 60, 33, 7)),
        ({"s@q": {"well_formed": 93}, "s.shed@q": {"arrived": 93, "kept": 60}}, 1, (100, 60, 33, 7)),
        (
            {"s@q": {"malformed": 5}, "s.shed@q": {"arrived": 85, "kept": 60}},
            1,
            (90, 60, 25, 5),
        ),
        (
            {"a.shed@q": {"arrived": 50, "kept": 20}, "b.shed@q": {"arrived": 30, "kept": 30}},
            2,
            (80, 50, 30, 0),
        ),
    ],
)
def test_arrived_is_kept_and_shed_and_malformed(
    observed: dict[str, Any], sources: int, expected: tuple[int, int, int, int]
) -> None:
    sample = sample_of("q", report(observedMetrics=observed, sources=[{}] * sources), None)
    assert (sample.rows_in, sample.kept, sample.shed, sample.malformed) == expected
    assert sample.rows_in == sample.kept + sample.shed + sample.malformed


def test_rows_out_are_observed_where_the_sink_does_not_count() -> None:
    observed = {OUTPUT_METRIC: {"rows": 33}}
    sample = sample_of("q", report(observedMetrics=observed, sink={"numOutputRows": -1}), None)
    assert (sample.rows_out, sample.rows_in) == (33, 100)


def test_age_counts_from_when_the_batch_before_took_its_input() -> None:
    assert sample_of("q", report(), BEGAN - 2).result_age_ms == 2_500
    assert sample_of("q", report(), None).result_age_ms == 500


def test_state_late_rows_and_watermark() -> None:
    states = [
        {"numRowsTotal": 5, "memoryUsedBytes": 100, "numRowsDroppedByWatermark": 2},
        {"numRowsTotal": 6, "memoryUsedBytes": 10, "numRowsDroppedByWatermark": 1},
    ]
    times = {"watermark": "2024-01-01T00:00:04.000Z", "max": "2024-01-01T00:00:09.000Z"}
    sample = sample_of("q", report(stateOperators=states, eventTime=times), None)
    assert (sample.late, sample.state_rows, sample.state_bytes) == (3, 11, 110)
    assert sample.watermark == times["watermark"]
    assert sample.event_time_max == times["max"]


def test_the_watermark_at_the_start_says_nothing() -> None:
    times = {"watermark": "1970-01-01T00:00:00.000Z"}
    assert sample_of("q", report(eventTime=times), None).watermark == ""


def test_totals_sum_up() -> None:
    totals = QueryTotals("q")
    for rows in (10, 20):
        totals = totals.plus(sample_of("q", report(numInputRows=rows), None))
    assert (totals.batches, totals.rows_in, totals.rows_out, totals.busy_ms) == (2, 30, 24, 1000)


KAFKA = {"endOffset": {"bids": {"0": 90, "1": 40}}, "latestOffset": {"bids": {"0": 100, "1": 40, "2": 5}}}


def test_records_that_wait_and_how_old_they_are() -> None:
    """The oldest record that was read makes the age of results; those that wait are newer than the newest."""
    micros = round(BEGAN * 1_000_000)
    seen = {"s.intake@q": {"oldest_record": micros - 9_000_000, "youngest_record": micros - 2_000_000}}
    given = report(sources=[KAFKA, {"endOffset": 5, "latestOffset": 9}], observedMetrics=seen)
    sample = sample_of("q", given, BEGAN - 60)
    assert (sample.backlog_rows, sample.backlog_age_ms, sample.result_age_ms) == (15, 2_500, 9_500)
    assert looked_of(given).read_until == (micros - 2_000_000) / 1000
    totals = QueryTotals("q").plus(sample)
    assert (totals.backlog_rows, totals.backlog_age_ms) == (15, 2_500)


def test_sources_that_do_not_number_their_rows_have_no_backlog() -> None:
    sample = sample_of("q", report(sources=[{"endOffset": {"n": 5}, "latestOffset": {"n": 7}}]), None)
    assert (sample.backlog_rows, sample.backlog_age_ms) == (None, 0)
    done = report(sources=[KAFKA | {"endOffset": KAFKA["latestOffset"]}])
    assert (sample_of("q", done, None).backlog_rows, sample_of("q", done, None).backlog_age_ms) == (0, 0)
