"""SHED FAIR: shares that make coverages level, from what queries cost and what they kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from streamq.compiler.ir.goals import Goal
from streamq.runtime.control.forward import KNOBS
from streamq.runtime.control.knobs import published
from streamq.runtime.control.level import Claim, level_shares
from streamq.runtime.control.steering import Steering
from streamq.runtime.control.throttle import HEADROOM, Decision, Throttle, decide
from streamq.runtime.metrics import QuerySample
from streamq.stdlib.overload.batch_time import BatchTime, Cost, CostModel

PLANNED = HEADROOM * 2000 / 2
CHEAP = Claim(Cost(50.0, 0.0, 0.001), 100.0, 0.0, 0.0, 2000.0)
"""85,000 rows of 1 microsecond in each 850 ms: 135 ms of them."""

DEAR = replace(CHEAP, cost=Cost(50.0, 0.0, 0.05))
"""The same rows of 50 microseconds: 4,300 ms."""


def busy(claims: list[Claim], shares: tuple[float, ...]) -> float:
    """The time of all their micro-batches together."""
    return sum(
        c.cost.time(c.rate * PLANNED, share * c.rate * PLANNED) for c, share in zip(claims, shares, strict=True)
    )


def test_queries_that_fit_keep_all() -> None:
    assert level_shares([CHEAP, CHEAP]) == (1.0, 1.0)


def test_a_dear_and_a_cheap_query_keep_the_same_share_and_use_all_the_time() -> None:
    claims = [CHEAP, DEAR, DEAR]
    shares = level_shares(claims)
    assert shares == pytest.approx((shares[0],) * 3)
    assert shares[0] < 1
    assert busy(claims, shares) == pytest.approx(3 * PLANNED)


def test_a_query_of_twice_the_weight_has_twice_the_coverage() -> None:
    one, two = level_shares([DEAR, replace(DEAR, weight=2.0)])
    assert two == pytest.approx(2 * one)


def test_a_query_that_got_less_so_far_catches_up() -> None:
    rows = 200_000.0
    behind, ahead = level_shares([
        replace(DEAR, arrived=rows, kept=0.1 * rows), replace(DEAR, arrived=rows, kept=0.3 * rows)
    ])
    coming = DEAR.rate * PLANNED
    assert behind > ahead
    assert 0.1 * rows + behind * coming == pytest.approx(0.3 * rows + ahead * coming) or ahead == 0.0


def test_a_query_without_rows_is_left_alone() -> None:
    shares = level_shares([replace(CHEAP, rate=0.0), DEAR])
    assert shares[0] == 1.0
    assert shares[1] < 1.0


def test_where_reading_takes_all_the_time_nothing_is_left_to_keep() -> None:
    assert level_shares([replace(DEAR, cost=Cost(50.0, 0.02, 0.05))]) == (0.0,)


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
        for name, kept, ms in (("cheap", 85_000, 135), ("dear", 17_000, 900), ("alone", 85_000, 800)):
            steering.after(QuerySample(name, batch, ended, rows_in=85_000, kept=kept, batch_ms=ms))
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
    assert dear.model == CostModel(dear.model.cost, (), dear.model.most_kept)
    assert dear.model.cost == steering_cost(5)


def steering_cost(batches: int) -> Cost:
    model = CostModel()
    for _ in range(batches):
        model = model.after(BatchTime(85_000, 17_000, 900.0))
    assert model.cost is not None
    return model.cost


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
