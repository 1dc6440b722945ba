"""SHED FAIR: shares that make coverages level, from what queries cost and what they kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from streamq.compiler.ir.goals import Goal
from streamq.runtime.control.decisions import Decided, DecisionLog
from streamq.runtime.control.forward import DECISIONS, KNOBS
from streamq.runtime.control.knobs import published
from streamq.runtime.control.level import CATCHING_UP, Claim, level_shares
from streamq.runtime.control.steering import Steering
from streamq.runtime.control.throttle import HEADROOM, Decision, Throttle, decide
from streamq.runtime.metrics import QuerySample
from streamq.stdlib.overload.batch_time import BatchTime, Cost, CostModel

PLANNED = HEADROOM * 2000 / 2
CLAIM = Claim(100.0, 0.0, 0.0, 2000.0)
"""85,000 rows in each 850 ms."""


def test_queries_whose_rows_may_all_be_kept_keep_all() -> None:
    assert level_shares([CLAIM, CLAIM], 1.0) == (1.0, 1.0)


def test_queries_of_one_coverage_keep_the_same_share() -> None:
    assert level_shares([CLAIM, replace(CLAIM, rate=10.0), CLAIM], 0.3) == pytest.approx((0.3, 0.3, 0.3))


def test_a_query_of_twice_the_weight_has_twice_the_coverage() -> None:
    one, two = level_shares([CLAIM, replace(CLAIM, weight=2.0)], 0.3)
    assert (one, two) == pytest.approx((0.2, 0.4))


def test_a_query_that_got_less_so_far_catches_up() -> None:
    rows = 200_000.0
    behind, ahead = level_shares(
        [replace(CLAIM, arrived=rows, kept=0.25 * rows), replace(CLAIM, arrived=rows, kept=0.35 * rows)], 0.3
    )
    assert behind + ahead == pytest.approx(0.6)
    part = CATCHING_UP * rows / (CLAIM.rate * PLANNED)
    assert behind == pytest.approx(0.3 + 0.05 * part)


def test_a_query_without_rows_is_left_alone() -> None:
    assert level_shares([replace(CLAIM, rate=0.0), CLAIM], 0.3) == pytest.approx((1.0, 0.3))


def test_a_share_decides_within_what_the_goal_leaves() -> None:
    throttle = Throttle(2000.0, CostModel(Cost(50.0, 0.0, 0.01), (), 1_000_000))
    alone = decide(throttle, 160_000, PLANNED, Decision()).keep
    assert decide(replace(throttle, share=0.2), 160_000, PLANNED, Decision()).keep == 0.2
    assert alone < decide(replace(throttle, share=1.0), 160_000, PLANNED, Decision()).keep < 1.0


def test_fair_queries_of_a_run_hear_of_each_other(tmp_path: Path) -> None:
    steering = Steering()
    for name in ("cheap", "dear", "alone"):
        (tmp_path / name).mkdir()
        goal = Goal(latency_ms=2000, fair_ms=None if name == "alone" else 10_000)
        steering.add(name, goal, tmp_path / name)
    for batch in range(5):
        ended = 100.0 + batch
        for name, kept, age_ms in (("cheap", 85_000, 1700), ("dear", 17_000, 1900), ("alone", 85_000, 1800)):
            steering.after(
                QuerySample(name, batch, ended, rows_in=85_000, kept=kept, batch_ms=800, result_age_ms=age_ms)
            )
    throttles = {name: published(tmp_path / name / KNOBS) for name in ("cheap", "dear", "alone")}
    cheap, dear, alone = throttles.values()
    assert cheap is not None
    assert dear is not None
    assert alone is not None
    assert alone.share is None
    assert cheap.share is not None
    assert dear.share is not None
    # The dear one is behind: it catches up, the cheap one waits.
    assert cheap.share < 0.5 < dear.share
    # Each goes on learning what it costs itself.
    model = CostModel()
    for _ in range(5):
        model = model.after(BatchTime(85_000, 17_000, 800.0))
    assert dear.model == CostModel(model.cost, (), 17_000)


@pytest.mark.parametrize("text", [None, "broken"])
def test_a_run_that_goes_on_tells_where_its_numbers_are_lost(tmp_path: Path, text: str | None) -> None:
    told = []
    for _ in range(2):
        steering = Steering()
        steering.add("q", Goal(latency_ms=2000), tmp_path)
        DecisionLog(tmp_path / DECISIONS).decide(0, lambda _: Decided(Decision(), 100, 0.0, Throttle(2000.0)))
        told.append([
            *steering.after(QuerySample("q", 0, 100.0, rows_in=100, kept=100, batch_ms=500)),
            *steering.after(QuerySample("q", 1, 101.0, rows_in=100, kept=100, batch_ms=500)),
        ])
        (tmp_path / KNOBS).unlink() if text is None else (tmp_path / KNOBS).write_text(text)
    assert [[KNOBS in notice for notice in of] for of in told] == [[], [True]]


def test_a_run_that_goes_on_knows_its_costs_and_its_late_rows(tmp_path: Path) -> None:
    for batches in (range(2), range(2, 3)):
        steering = Steering()
        steering.add("q", Goal(latency_ms=2000), tmp_path)
        for batch in batches:
            steering.after(QuerySample("q", batch, 100.0 + batch, rows_in=100, kept=100, batch_ms=500, late=3))
    found = published(tmp_path / KNOBS)
    assert found is not None
    assert found.late == 9
    assert found.model.most_kept == 100
