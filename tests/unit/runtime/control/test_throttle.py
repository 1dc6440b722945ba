"""How much of a micro-batch is kept: single decisions, and whole runs of an engine on paper."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from streamq.runtime.control.throttle import (
    GROWTH,
    HEADROOM,
    LEAST_HEADROOM,
    LEAST_KEEP,
    LIMIT,
    LONGER,
    NEAR,
    PROBE_ROWS,
    SETTLED,
    SHORTER,
    SLOWLY,
    UNSURE,
    Decision,
    Throttle,
    decide,
)
from streamq.stdlib.overload.batch_time import BatchTime, Cost, CostModel
from tests.unit.runtime.control.simulated import Batch, Engine, after, age_at, kept_rate

COST = Cost(fixed=150.0, read=0.0005, work=0.004)
MODEL = CostModel(COST, (), 1_000_000)
PLANNED = HEADROOM * 1000.0
"""How long a micro-batch may take where the goal is two seconds."""


def keep(arrived: int, waited_ms: float = PLANNED, model: CostModel = MODEL) -> float:
    return decide(Throttle(2000.0, model), arrived, waited_ms, Decision()).keep


def test_the_first_micro_batch_is_small() -> None:
    assert keep(1_000_000, model=CostModel()) == PROBE_ROWS / 1_000_000
    assert keep(500, model=CostModel()) == 1.0


def test_a_micro_batch_grows_by_no_more_than_a_factor() -> None:
    model = CostModel(COST, (), 20_000)
    assert keep(300_000, model=model) == pytest.approx(GROWTH * 20_000 / 300_000)


def test_what_fits_is_kept() -> None:
    assert keep(100_000) == 1.0


def test_the_share_makes_the_micro_batch_as_long_as_planned() -> None:
    share = keep(400_000)
    assert COST.time(400_000, share * 400_000) == pytest.approx(PLANNED)


def test_rows_that_waited_long_get_a_shorter_micro_batch() -> None:
    share = keep(400_000, waited_ms=1400.0)
    assert 1400 + COST.time(400_000, share * 400_000) == pytest.approx(LIMIT * 2000)


def test_a_goal_that_cannot_be_reached_is_said_and_something_is_kept() -> None:
    found = decide(Throttle(2000.0, MODEL), 4_000_000, PLANNED, Decision())
    assert found.keep == LEAST_KEEP
    assert not found.reachable


def test_a_share_that_the_query_must_keep() -> None:
    assert decide(Throttle(2000.0, MODEL, 0.6), 400_000, PLANNED, Decision()).keep == 0.6


def test_no_rows_decide_nothing() -> None:
    before = Decision(0.3, 200.0)
    assert decide(Throttle(2000.0, MODEL), 0, 50.0, before) == before


def test_rows_that_stay_in_any_case_take_their_part_of_what_fits() -> None:
    """A quarter of the rows is spared: of the others so much goes that all take as long as before."""
    share = keep(400_000)
    found = decide(Throttle(2000.0, MODEL), 400_000, PLANNED, Decision(), spared=100_000).keep
    assert 100_000 + found * 300_000 == pytest.approx(share * 400_000)
    assert decide(Throttle(2000.0, MODEL), 100_000, PLANNED, Decision(), spared=90_000).keep == 1.0


def test_where_rows_that_stay_take_too_long_next_to_none_of_the_others_is_kept() -> None:
    found = decide(Throttle(2000.0, MODEL), 1_000_000, PLANNED, Decision(), spared=900_000)
    assert (found.keep, found.reachable) == (LEAST_KEEP, False)
    probe = decide(Throttle(2000.0), 40_000, 0.0, Decision(), spared=20_000)
    assert probe.keep == LEAST_KEEP
    before = Decision(0.5, 10.0)
    assert decide(Throttle(2000.0, MODEL), 500, PLANNED, before, spared=500) == before


def test_noise_in_the_rate_moves_the_share_slowly_and_a_new_rate_at_once() -> None:
    before = decide(Throttle(2000.0, MODEL), 300_000, PLANNED, Decision())
    noisy = decide(Throttle(2000.0, MODEL), 330_000, PLANNED, before)
    assert noisy.keep == pytest.approx(before.keep, rel=0.03)
    quiet = decide(Throttle(2000.0, MODEL), 50_000, PLANNED, noisy)
    assert quiet.keep == 1.0


def test_noise_in_the_cost_moves_the_throttle_fraction_slowly_and_a_new_cost_at_once() -> None:
    before = replace(decide(Throttle(2000.0, MODEL), 300_000, PLANNED, Decision()), steady=SETTLED)
    assert 0 < before.usual < 1
    dearer, dear = (decide(Throttle(2000.0, CostModel(COST.scaled(f), (), 300_000)), 300_000, PLANNED, before) for f in (1.1, 2))
    assert 0.97 * before.usual < dearer.usual < before.usual
    assert dear.usual < 0.6 * before.usual
    new = replace(before, steady=1)
    soon = decide(Throttle(2000.0, CostModel(COST.scaled(1.1), (), 300_000)), 300_000, PLANNED, new)
    assert dearer.usual - before.usual == pytest.approx(SLOWLY / UNSURE * (soon.usual - before.usual))
    cheap = decide(Throttle(2000.0, CostModel(COST.scaled(0.1), (), 300_000)), 300_000, PLANNED, before)
    assert cheap.usual == cheap.keep == 1


def test_a_larger_micro_batch_is_cut_and_the_throttle_fraction_stands_still() -> None:
    before = decide(Throttle(2000.0, MODEL), 300_000, PLANNED, Decision())
    larger = decide(Throttle(2000.0, MODEL), 480_000, 1.6 * PLANNED, before)
    assert larger.usual == pytest.approx(before.usual)
    assert larger.keep < 0.8 * before.keep


@pytest.mark.parametrize(("waited_ms", "keep", "doubled"), [(1200.0, 0.002, True), (1500.0, 0.002, False), (1200.0, 0.5, False)])
def test_after_a_short_micro_batch_more_is_tried_where_that_costs_next_to_nothing(waited_ms: float, keep: float, doubled: bool) -> None:
    """What was learned at a slow start: reading takes all the time there is, so next to nothing may be kept, and nothing tells."""
    wrong = CostModel(Cost(300.0, 0.033, 0.25), most_kept=100)
    before = Decision(keep, 30.0, True, keep, steady=5)
    kept = decide(Throttle(4000.0, wrong), round(30 * waited_ms), waited_ms, before).keep
    assert (kept == 2 * keep) == doubled
    assert kept < 0.02
    # Queries that shed together, and rows that were left by micro-batches before, are no proof of time to spare.
    assert decide(Throttle(4000.0, wrong, share=keep), round(30 * waited_ms), waited_ms, before).keep <= keep
    assert decide(Throttle(4000.0, wrong), round(30 * waited_ms), waited_ms, before, behind_ms=100.0).keep < 2 * keep


def load(multiple: float, seed: int) -> list[Batch]:
    """Three minutes at so many times the 158,000 rows a second that can be kept without reading more."""
    return Engine(rate=lambda _: multiple * 158_000, cost=lambda _: COST, seed=seed).run(180)


@pytest.mark.parametrize("multiple", [1, 2, 4, 8])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_overload_of_any_size_keeps_the_goal(multiple: int, seed: int) -> None:
    batches = after(load(multiple, seed), 15)
    assert age_at(batches, 95) < 2000
    # What fits: micro-batches of half the goal, of which reading all rows takes its part.
    rows = multiple * 158.0 * 1000
    allowed = min(COST.budget(rows, 1000.0), rows)
    assert 0.85 * allowed <= kept_rate(batches) <= 1.05 * allowed


def test_without_shedding_results_grow_old_without_end() -> None:
    engine = Engine(rate=lambda _: 632_000, cost=lambda _: COST, sheds=False)
    assert age_at(after(engine.run(60), 15), 50) > 20_000


def test_half_the_capacity_sheds_nothing() -> None:
    assert {batch.keep for batch in after(load(0.5, 1), 15)} == {1.0}


@pytest.mark.parametrize("noise", [0.02, 0.05, 0.1])
@pytest.mark.parametrize("multiple", [1, 4])
def test_what_is_planned_is_made_up_for_a_model_that_is_wrong(noise: float, multiple: int) -> None:
    """A fixed time six times what is believed at first: micro-batches of one size do not tell it from that of rows."""
    cost = Cost(600.0, 0.004, 0.06)
    engine = Engine(rate=lambda _: multiple * 11_500, cost=lambda _: cost, latency_ms=4000.0, noise=noise)
    batches = after(engine.run(240), 15)
    rows = multiple * 11.5 * 2000
    assert kept_rate(batches) >= 0.85 * min(cost.budget(rows, 2000.0), rows) / 2
    assert age_at(batches, 95) <= 4000


def test_what_is_planned_moves_by_small_steps_and_only_where_rows_are_shed() -> None:
    start = Throttle(2000.0)
    assert start.aged(1000.0, Decision(1.0)) == start
    assert start.aged(1000.0, Decision(0.5)).headroom == pytest.approx(HEADROOM + LONGER)
    assert start.aged(NEAR * 2000.0 + 1, Decision(1.0)).headroom == pytest.approx(HEADROOM - SHORTER)
    for _ in range(1000):
        start = start.aged(1e6, Decision(0.5))
    assert start.headroom == LEAST_HEADROOM


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_pauses_that_fit_into_the_goal_shed_nothing_at_half_the_capacity(seed: int) -> None:
    """A micro-batch takes a fifth of a second, a pause 0.7 s: more than four times as long as expected."""
    engine = Engine(rate=lambda _: 79_000, cost=lambda _: COST, pause_ms=700.0, seed=seed)
    assert {batch.keep for batch in after(engine.run(180), 15)} == {1.0}


@pytest.mark.parametrize("noise", [0.05, 0.1])
def test_a_square_wave(noise: float) -> None:
    """The throttle fraction follows each edge within seconds and stands still between them, whatever noise there is in
    time; where that is little, so does the share that is kept."""
    engine = Engine(rate=lambda t: 158_000 * (0.5 if t // 60 % 2 == 0 else 4), cost=lambda _: COST, noise=noise)
    batches = engine.run(360)
    for half in range(6):
        steady = after(batches, 60 * half + 10, 60 * half + 60)
        shares = np.array([batch.keep for batch in steady])
        if half % 2 == 0:
            assert set(shares.tolist()) == {1.0}
        else:
            fractions = np.array([batch.usual for batch in steady])
            assert fractions.std() < 0.1 * fractions.mean()
            if noise == 0.05:
                assert shares.std() < 0.1 * shares.mean()
            assert age_at(steady, 95) < 2000


def test_micro_batches_that_take_long_by_chance_move_the_throttle_fraction_in_steps() -> None:
    """A cost that is higher by two fifths may be chance for a few micro-batches; what stays so is believed soon."""
    throttle = Throttle(2000.0, CostModel(COST.scaled(1.4), (), 300_000))
    found = [replace(decide(Throttle(2000.0, MODEL), 300_000, PLANNED, Decision()), steady=SETTLED)]
    for _ in range(8):
        found.append(decide(throttle, 300_000, PLANNED, found[-1]))
    aim = decide(throttle, 300_000, PLANNED, Decision()).usual
    assert aim < 0.75 * found[0].usual
    assert found[1].usual > 0.85 * found[0].usual
    assert found[-1].usual < aim + 0.25 * (found[0].usual - aim)


def test_the_state_that_comes_of_what_is_kept_is_planned_with() -> None:
    """Room for a share of it is left before it is there, and the state that is there counts in the micro-batch itself."""
    held = replace(COST, hold=0.0005)
    empty = Throttle(2000.0, CostModel(held, (), 300_000), holding=10_000.0)
    share = decide(empty, 300_000, PLANNED, Decision()).usual
    rate = 300_000 / PLANNED
    state = 10_000 * share * rate
    usual = rate * HEADROOM * 1000
    assert held.time(usual, share * usual, state) == pytest.approx(HEADROOM * 1000)
    full = replace(empty, held=1_600_000)
    assert decide(full, 300_000, 1500.0, Decision()).keep < 0.6 * decide(empty, 300_000, 1500.0, Decision()).keep


@pytest.mark.parametrize("noise", [0.05, 0.17])
def test_a_square_wave_with_state_that_takes_longer_to_fill_than_to_learn(noise: float) -> None:
    """A query with windows: what is kept stands in the state for 16 s, and all of it is walked through each time.

    The costs, the noise and the warm-up are those of NEXMark's bids in sliding windows, as measured.
    """
    cost = Cost(60.0, 0.0012, 0.0107, 0.00052)
    engine = Engine(
        rate=lambda t: 24_675 * (0.5 if t // 60 % 2 == 0 else 4), noise=noise, latency_ms=4000.0, states=4.4, lives_s=16.0,
        cost=lambda t: cost.scaled(1 + 2 * np.exp(-t / 25)),
    )
    batches = engine.run(240)
    for half in range(1, 4):
        steady = after(batches, 60 * half + (10 if half == 2 else 20), 60 * half + 60)
        fractions = np.array([batch.usual for batch in steady])
        if half == 2:
            assert {batch.keep for batch in steady} == {1.0}
        else:
            assert fractions.std() < 0.1 * fractions.mean()
            assert age_at(steady, 95) < 4000


def test_a_burst_that_fits_into_the_goal_is_not_shed() -> None:
    """Where sizes have differed before, so that the cost of a larger micro-batch is known."""
    engine = Engine(
        rate=lambda t: 500_000 if 40 <= t < 40.2 else 60_000 + 50_000 * np.sin(t), cost=lambda _: COST
    )
    batches = after(engine.run(60), 15)
    assert {batch.keep for batch in batches} == {1.0}
    assert max(max(batch.ages) for batch in batches) < 2000


def test_one_micro_batch_a_hundred_times_larger_than_the_last() -> None:
    model = CostModel(COST, (), 20_000)
    found = decide(Throttle(2000.0, model), 1_000_000, 300.0, Decision(1.0, 10_000 / 300))
    assert COST.time(1_000_000, found.keep * 1_000_000) <= 2000 * LIMIT - 300 + 1e-6


def test_a_query_that_suddenly_costs_more() -> None:
    """The micro-batch in which it happens is too long; ten more micro-batches and the goal holds again."""
    engine = Engine(
        rate=lambda _: 158_000, cost=lambda t: COST if t < 60 else COST.scaled(4), noise=0.02
    )
    batches = engine.run(180)
    assert age_at(after(batches, 90), 95) < 2000


@pytest.mark.parametrize("factor", [3, 10, 20, 50, 100, 300])
def test_rows_that_cost_many_times_more_after_a_minute(factor: float) -> None:
    """The micro-batch in which it happens takes long, and the next one keeps next to nothing, as its rows have waited: it
    tells nothing. After the one that does, as much is kept as can be."""
    dear = replace(COST, work=factor * COST.work)
    engine = Engine(rate=lambda _: 158_000, cost=lambda t: COST if t < 60 else dear, noise=0.02)
    batches = engine.run(400)
    long = [batch for batch in batches if batch.ended - batch.began > 2 and batch.began > 60]
    assert len(long) <= 4
    steady = after(batches, long[-1].ended + 30 if long else 90)
    assert age_at(steady, 95) < 2000
    most = (1000 - 158_000 * COST.read - COST.fixed) / dear.work
    assert 0.8 * most < kept_rate(steady) < 1.1 * most


@pytest.mark.parametrize(("pause_ms", "others"), [(2500.0, 2), (6000.0, 5), (30_000.0, 12)])
def test_a_pause_of_the_machine_says_nothing_of_what_rows_cost(pause_ms: float, others: int) -> None:
    """Only rows that have waited go: after so many other micro-batches as much is kept as before."""
    usual = replace(COST, fixed=COST.fixed + pause_ms)
    paused = iter([usual])
    engine = Engine(
        rate=lambda _: 400_000, noise=0.02, cost=lambda t: next(paused, COST) if t >= 60 else COST,
    )
    batches = engine.run(150)
    (long,) = (n for n, batch in enumerate(batches) if batch.ended - batch.began > 0.9 * pause_ms / 1000)
    for batch in batches[long + others : long + others + 20]:
        assert batch.keep == pytest.approx(batches[long - 1].keep, rel=0.15)


@pytest.mark.parametrize("jump_ms", [3_600_000.0, 0.0])
def test_a_clock_that_jumps_cuts_one_micro_batch(jump_ms: float) -> None:
    """For an hour, or back: then nothing seems to have waited."""
    throttle, usual = Throttle(2000.0, MODEL), Decision()
    for _ in range(20):
        usual = decide(throttle, 300_000, PLANNED, usual)
    jumped = decide(throttle, 300_000, jump_ms, usual)
    assert LEAST_KEEP < jumped.keep <= usual.keep
    again = decide(throttle, 300_000, PLANNED, jumped)
    assert again.keep == pytest.approx(usual.keep, rel=0.25)


def test_a_source_that_stops_and_comes_back() -> None:
    engine = Engine(rate=lambda t: 0 if 30 <= t < 60 else 316_000, cost=lambda _: COST)
    batches = engine.run(120)
    assert age_at(after(batches, 61), 95) < 2000


def test_a_goal_beyond_reach_keeps_what_makes_micro_batches_no_longer_and_does_not_oscillate() -> None:
    """Of a share that was tried all is kept, once it has shown that rows cost nothing."""
    engine = Engine(rate=lambda _: 1_000, cost=lambda _: Cost(2500.0, 0.0001, 0.001))
    batches = after(engine.run(400), 15)
    keeps = [batch.keep for batch in batches]
    assert {batch.reachable for batch in batches} == {False}
    assert keeps[0] == LEAST_KEEP
    assert keeps == sorted(keeps)
    assert keeps[-1] == 1


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_slow_start_takes_no_rows_for_dear_for_ever(seed: int) -> None:
    """Micro-batches of 1.5 s whatever is kept, five times longer for ten seconds: without any shedding results are 3.5 s old."""
    usual = Cost(1500.0, 0.002, 0.002)
    engine = Engine(rate=lambda _: 40_000, cost=lambda t: usual.scaled(5.0 if t < 10 else 1.0), noise=0.1, first=5.0, seed=seed)
    batches = after(engine.run(480), 300)
    assert sum(batch.kept for batch in batches) > 0.5 * sum(batch.arrived for batch in batches)
    assert age_at(batches, 50) < 4200


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_where_reading_takes_nearly_all_time_next_to_nothing_is_kept(seed: int) -> None:
    """Nine tenths of the time go for reading: a millisecond for rows that are kept makes micro-batches ten longer. Without any
    shedding results become a minute old and more."""
    engine = Engine(rate=lambda _: 1_000_000, cost=lambda _: Cost(100.0, 0.0009, 0.004), noise=0.1, seed=seed)
    batches = after(engine.run(480), 240)
    assert sum(batch.kept for batch in batches) < 0.02 * sum(batch.arrived for batch in batches)
    assert age_at(batches, 50) < 4000


def test_the_model_learns_from_the_rows_that_were_kept() -> None:
    model = CostModel().after(BatchTime(100_000, 10_000, 300.0))
    assert model.most_kept == 10_000
