"""The record of a run: rates, shares and ages of micro-batches; its page."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from streamq.runtime.metrics import QuerySample, QueryTotals, RunReport
from streamq.runtime.report.chart import Line, chart, nice, short
from streamq.runtime.report.page import MOST_POINTS, page, thinned
from streamq.runtime.report.record import Point, Recorder, RunRecord, completeness

SAMPLES = (
    QuerySample("q", 0, 102.0, rows_in=1000, kept=1000, batch_ms=2000, result_age_ms=2000),
    QuerySample("q", 1, 103.0, rows_in=4000, kept=1000, shed=3000, batch_ms=1000, result_age_ms=3000),
    QuerySample("q", 2, 107.0, rows_in=4000, kept=2900, shed=1000, malformed=100, late=90, batch_ms=500,
                result_age_ms=1500),
)  # fmt: skip


def recorded(*samples: QuerySample, program: str = "p.cql") -> RunRecord:
    recorder, totals = Recorder(), QueryTotals("q")
    for sample in samples:
        totals = totals.plus(sample)
        recorder.sample(sample, totals)
    return recorder.record(program, RunReport("duration", 7.0, (totals,)), {"q": 2000})


def test_points_have_rates_over_the_time_since_the_micro_batch_before() -> None:
    (query,) = recorded(*SAMPLES).queries
    assert [(p.seconds, p.offered_per_s, p.kept_per_s) for p in query.points] == [
        (2.0, 500.0, 500.0), (3.0, 4000.0, 1000.0), (7.0, 1000.0, 725.0)
    ]
    assert [p.keep for p in query.points] == [1.0, 0.25, round(2900 / 3900, 6)]


def test_completeness_leaves_malformed_rows_aside_and_takes_late_ones_off() -> None:
    (query,) = recorded(*SAMPLES).queries
    assert completeness(query.totals) == (4900 - 90) / 8900
    assert completeness(QueryTotals("q")) == 1.0


@pytest.mark.parametrize(("share", "age"), [(0.2, 1500.0), (0.45, 2000.0), (0.5, 2000.0), (0.6, 3000.0), (1.0, 3000.0)])
def test_ages_are_those_of_rows_not_of_micro_batches(share: float, age: float) -> None:
    """The results of 4,000 rows were 1.5 s old, of 1,000 rows 2 s, of 4,000 rows 3 s."""
    (query,) = recorded(*SAMPLES).queries
    assert query.age_ms(share) == age


def test_ages_of_a_start_can_be_left_out() -> None:
    (query,) = recorded(*SAMPLES).queries
    assert query.age_ms(1.0, after_s=5.0) == 1500.0
    assert query.age_ms(1.0, after_s=50.0) is None


def test_a_query_without_micro_batches_has_no_points() -> None:
    (query,) = recorded().queries
    assert query.points == ()
    assert query.age_ms(0.95) is None
    assert "<svg" in page(recorded())


def test_the_json_form_is_made_of_plain_values() -> None:
    record = recorded(*SAMPLES).to_dict()
    assert json.loads(json.dumps(record)) == record
    (query,) = json.loads(json.dumps(record))["queries"]
    assert query["latency_goal_ms"] == 2000
    assert len(query["batches"]) == 3


def test_the_page_is_whole_and_holds_its_data() -> None:
    text = page(recorded(*SAMPLES, program="</script><b>&"))
    body = text.split("<body>")[1].split('<script type="application/json"')
    ET.fromstring(f"<div>{body[0]}</div>")  # well-formed, and what users named is escaped
    data = body[1].split(">", 1)[1].split("</script>")[0]
    assert json.loads(data)["program"] == "</script><b>&"
    assert "http" not in text


def test_a_goal_that_was_missed_is_marked() -> None:
    assert 'class="missed"' in page(recorded(*SAMPLES))
    fast = tuple(replace(s, result_age_ms=500) for s in SAMPLES)
    assert 'class="missed"' not in page(recorded(*fast))


def test_a_long_run_is_thinned_and_its_oldest_results_stay() -> None:
    point = Point(0.0, 0, 10, 1.0, 1.0, 1.0, 10, 100, 0, 0)
    points = tuple(replace(point, seconds=float(n), age_ms=9000 if n == 1234 else 100) for n in range(5000))
    kept = thinned(points)
    assert len(kept) == MOST_POINTS
    assert max(p.age_ms for p in kept) == 9000
    assert [p.seconds for p in kept] == sorted(p.seconds for p in kept)
    assert thinned(points[:10]) == points[:10]


@pytest.mark.parametrize(
    ("value", "top"), [(0, 1.0), (1, 1.0), (1.1, 2.0), (3, 5.0), (7, 10.0), (999, 1000.0), (0.03, 0.05)]
)
def test_scales_end_at_round_numbers(value: float, top: float) -> None:
    assert nice(value) == pytest.approx(top)


def test_numbers_are_short() -> None:
    assert [short(v) for v in (0, 0.25, 1500, 2e7, 3.2e9)] == ["0", "0.25", "1.5k", "20M", "3.2G"]


def test_a_chart_puts_points_where_they_belong() -> None:
    drawn = chart("a", "s", [Line("x", "a", ((0.0, 0.0), (10.0, 1.0)))], goal=0.5)
    assert 'points="64.0,164.0 628.0,12.0"' in drawn
    assert 'y1="88.0"' in drawn


def test_memory_of_a_long_run_does_not_grow_and_no_row_is_lost() -> None:
    recorder, totals = Recorder(most=100), QueryTotals("q")
    for batch in range(1001):
        sample = QuerySample(
            "q", batch, 100.0 + batch, rows_in=10, kept=6, shed=3, malformed=1, late=2, rows_out=4, batch_ms=500,
            result_age_ms=9_000 if batch == 7 else 700, watermark="2024" if batch < 1000 else "",
        )
        totals = totals.plus(sample)
        recorder.sample(sample, totals)
        assert len(recorder.samples["q"]) <= 101
    kept = recorder.samples["q"]
    assert [sum(getattr(s, name) for s in kept) for name in ("rows_in", "kept", "shed", "malformed", "late", "rows_out", "batch_ms")] == [
        10_010, 6006, 3003, 1001, 2002, 4004, 500_500
    ]
    assert max(s.result_age_ms for s in kept) == 9_000
    assert [s.ended for s in kept] == sorted(s.ended for s in kept)
    assert kept[-1].ended == 1100.0
    assert kept[0].rows_per_s == 20.0
    (query,) = recorder.record("p.cql", RunReport("duration", 1001.0, (totals,)), {}).queries
    assert query.age_ms(1.0) == 9_000.0
    assert sum(p.rows_in for p in query.points) == 10_010
