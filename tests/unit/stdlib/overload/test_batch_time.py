"""The cost of a micro-batch, estimated from those that were run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from streamq.stdlib.overload.batch_time import (
    FIRST_FIXED_MS,
    FIRST_READ_SHARE,
    RING,
    BatchTime,
    Cost,
    CostModel,
)

TRUE = Cost(fixed=150.0, read=0.0005, work=0.004)


def fitted(batches: list[BatchTime]) -> CostModel:
    model = CostModel()
    for batch in batches:
        model = model.after(batch)
    return model


def measured(cost: Cost, sizes: list[tuple[int, int]], noise: float = 0.0) -> list[BatchTime]:
    random = np.random.default_rng(7)
    return [
        BatchTime(arrived, kept, cost.time(arrived, kept) * random.lognormal(0, noise))
        for arrived, kept in sizes
    ]


def varied(count: int) -> list[tuple[int, int]]:
    random = np.random.default_rng(3)
    arrived = random.integers(10_000, 800_000, count)
    kept = (arrived * random.uniform(0.05, 1, count)).astype(int)
    return list(zip(arrived.tolist(), kept.tolist(), strict=True))


def test_nothing_is_known_at_first() -> None:
    assert CostModel().cost is None
    assert CostModel().after(BatchTime(0, 0, 500.0)) == CostModel()


def test_the_first_micro_batch_is_shared_out_by_what_is_believed() -> None:
    cost = CostModel().after(BatchTime(1000, 1000, 1200.0)).cost
    assert cost is not None
    assert cost.fixed == FIRST_FIXED_MS
    assert cost.read == pytest.approx(FIRST_READ_SHARE * cost.work)
    assert cost.time(1000, 1000) == pytest.approx(1200)


def test_different_sizes_tell_the_three_costs_apart() -> None:
    cost = fitted(measured(TRUE, varied(200))).cost
    assert cost is not None
    assert cost.fixed == pytest.approx(TRUE.fixed, rel=0.02)
    assert cost.read == pytest.approx(TRUE.read, rel=0.02)
    assert cost.work == pytest.approx(TRUE.work, rel=0.02)


def with_state(cost: Cost, sizes: list[tuple[int, int]], states: list[int], noise: float = 0.0) -> list[BatchTime]:
    random = np.random.default_rng(5)
    return [
        BatchTime(arrived, kept, cost.time(arrived, kept, held) * random.lognormal(0, noise), held)
        for (arrived, kept), held in zip(sizes, states, strict=True)
    ]


def test_the_state_is_told_apart_from_the_rest_as_soon_as_it_grows() -> None:
    """First it is as large as it was, and its cost may as well be fixed; ten micro-batches in which it grows tell."""
    true = Cost(60.0, 0.0012, 0.0107, 0.00052)
    quiet, loud = [(6_000, 6_000)] * 60, varied(10)
    states = [750_000] * 60 + [750_000 + 150_000 * n for n in range(10)]
    cost = fitted(with_state(true, quiet + loud, states, noise=0.05)).cost
    assert cost is not None
    assert cost.hold == pytest.approx(true.hold, rel=0.25)
    assert cost.time(200_000, 60_000, 3_000_000) == pytest.approx(true.time(200_000, 60_000, 3_000_000), rel=0.2)


def test_a_query_without_state_pays_nothing_for_it() -> None:
    cost = fitted(measured(TRUE, varied(50))).cost
    assert cost is not None
    assert cost.hold == 0


def test_costs_keep_their_proportions_where_all_goes_faster() -> None:
    """Micro-batches of one kind, of which nothing is shed, do not tell reading from working, but how fast both go."""
    first = CostModel(TRUE, (BatchTime(50_000, 50_000, TRUE.time(50_000, 50_000)),), 50_000)
    model = first
    for n in range(60):
        model = model.after(BatchTime(50_000, 50_000, TRUE.scaled(0.97**n).time(50_000, 50_000)))
    assert model.cost is not None
    assert model.cost.work < 0.4 * TRUE.work
    assert model.cost.read / model.cost.work == pytest.approx(TRUE.read / TRUE.work, rel=0.05)


def test_what_reading_costs_is_learned_from_the_first_micro_batch_of_which_most_is_shed() -> None:
    """It takes a fifth of what was expected, and nothing has changed: the others were kept whole, and told nothing."""
    believed, true = Cost(100.0, 0.004, 0.002), Cost(100.0, 0.0005, 0.0055)
    model = CostModel(believed)
    for _ in range(20):
        model = model.after(BatchTime(50_000, 50_000, true.time(50_000, 50_000)))
    for _ in range(3):
        model = model.after(BatchTime(200_000, 200, true.time(200_000, 200)))
    assert len(model.batches) == 23
    assert model.cost is not None
    assert model.cost.time(50_000, 50_000) == pytest.approx(true.time(50_000, 50_000), rel=0.3)
    assert model.cost.time(200_000, 200) < 0.6 * believed.time(200_000, 200)


def test_noise_leaves_the_prediction_good() -> None:
    """The error of 30 measurements of 10 % is 10 % over the root of about 14 that count, times 3 costs: 5 %."""
    cost = fitted(measured(TRUE, varied(200), noise=0.1)).cost
    assert cost is not None
    for arrived, kept in ((100_000, 100_000), (500_000, 100_000), (800_000, 80_000)):
        assert cost.time(arrived, kept) == pytest.approx(TRUE.time(arrived, kept), rel=0.15)


def test_no_cost_is_negative() -> None:
    """Times that fall with size come of noise: the best guess is then that size costs nothing."""
    random = np.random.default_rng(11)
    sizes = [(int(n), int(n)) for n in random.integers(1000, 2000, 50)]
    batches = [BatchTime(a, k, 2000.0 - 0.5 * k) for a, k in sizes]
    cost = fitted(batches).cost
    assert cost is not None
    assert min(cost.fixed, cost.read, cost.work) >= 0


def test_one_size_for_long_keeps_what_was_known_of_others() -> None:
    model = fitted(measured(TRUE, varied(100)))
    model = fitted_on(model, measured(TRUE, [(300_000, 90_000)] * 300, noise=0.02))
    assert model.cost is not None
    assert model.cost.time(300_000, 90_000) == pytest.approx(TRUE.time(300_000, 90_000), rel=0.05)
    assert model.cost.time(20_000, 20_000) == pytest.approx(TRUE.time(20_000, 20_000), rel=0.3)


def fitted_on(model: CostModel, batches: list[BatchTime]) -> CostModel:
    for batch in batches:
        model = model.after(batch)
    return model


@pytest.mark.parametrize("factor", [100.0, 5.0, 0.2, 0.01])
def test_a_cost_that_changes_at_once_is_followed_when_it_is_seen_twice(factor: float) -> None:
    model = fitted(measured(TRUE, varied(100)))
    changed = TRUE.scaled(factor)
    model = fitted_on(model, measured(changed, [(200_000, 60_000), (300_000, 90_000)]))
    assert model.cost is not None
    assert model.cost.time(300_000, 90_000) == pytest.approx(
        changed.time(300_000, 90_000), rel=0.05
    )
    assert model.most_kept == 90_000


@pytest.mark.parametrize("factor", [100.0, 5.0, 0.2])
def test_one_micro_batch_that_is_out_of_line_says_nothing(factor: float) -> None:
    """As often as it comes: each of them stands between others that are as expected."""
    model = fitted(measured(TRUE, varied(100)))
    odd, usual = measured(TRUE.scaled(factor), [(300_000, 90_000)]), measured(TRUE, [(300_000, 90_000)])
    for _ in range(5):
        model = fitted_on(model, odd + usual)
    assert model.cost is not None
    assert model.cost.time(300_000, 90_000) == pytest.approx(TRUE.time(300_000, 90_000), rel=0.01)


def test_a_cost_of_kept_rows_that_changes_is_told_from_a_pause_by_the_next_micro_batch() -> None:
    model = fitted(measured(TRUE, varied(100)))
    dear = replace(TRUE, work=30 * TRUE.work)
    odd, cut, usual = (300_000, 90_000), (900_000, 900), (200_000, 60_000)
    after_pause = fitted_on(model, measured(TRUE.scaled(20), [odd]) + measured(TRUE, [cut]))
    assert after_pause.suspects  # a micro-batch that keeps nothing tells nothing
    assert after_pause.after(*measured(TRUE, [usual])).suspects == ()
    changed = fitted_on(model, measured(dear, [odd, cut, usual]))
    assert changed.cost is not None
    assert changed.cost.work == pytest.approx(dear.work, rel=0.05)
    # The few rows that the second one kept were taken for a dearer reading, as long as that was the simplest.
    assert changed.cost.read == pytest.approx(TRUE.read, rel=0.1)


def test_a_cost_that_two_micro_batches_spoke_for_goes_when_the_old_one_is_right_again() -> None:
    model = fitted(measured(TRUE, varied(100)))
    dear = replace(TRUE, work=30 * TRUE.work)
    model = fitted_on(model, measured(dear, [(300_000, 90_000), (200_000, 60_000)]))
    assert model.cost is not None
    assert model.cost.work == pytest.approx(dear.work, rel=0.05)
    back = model.after(*measured(TRUE, [(200_000, 60_000)]))
    assert back.cost is not None
    assert back.cost.time(200_000, 60_000) == pytest.approx(TRUE.time(200_000, 60_000), rel=0.05)


def test_pauses_between_micro_batches_that_tell_nothing_change_nothing() -> None:
    """A suspicion ends after a while, and ends with the micro-batch that tells."""
    model = fitted(measured(TRUE, varied(100)))
    small = measured(TRUE, [(3000, 3000)])
    pause = measured(TRUE.scaled(10), [(3000, 3000)])
    later = fitted_on(model, pause + small * 50)
    assert later.suspects == ()
    again = fitted_on(later, pause + small)
    assert again.cost is not None
    assert again.cost.time(300_000, 90_000) == pytest.approx(TRUE.time(300_000, 90_000), rel=0.05)


@pytest.mark.parametrize("cut_ms", [0.98, 1.02])
def test_a_surprise_after_an_expected_micro_batch_is_not_the_second_in_a_row(cut_ms: float) -> None:
    model = fitted(measured(TRUE, varied(100)))
    cut = measured(TRUE.scaled(cut_ms), [(900_000, 900)])
    found = fitted_on(model, measured(TRUE.scaled(20), [(300_000, 90_000)]) + cut + measured(TRUE.scaled(10), [(200_000, 60_000)]))
    assert found.cost is not None
    assert found.cost.read == pytest.approx(TRUE.read, rel=0.1)
    back = fitted_on(found, measured(TRUE, [(200_000, 60_000)]))
    assert back.cost is not None
    assert back.cost.time(300_000, 90_000) == pytest.approx(TRUE.time(300_000, 90_000), rel=0.1)


def test_pauses_near_to_each_other_are_soon_forgotten() -> None:
    """One micro-batch in twelve is a pause, and the next one is cut as its rows have waited."""
    random = np.random.default_rng(3)
    model = fitted(measured(TRUE, varied(100)))
    wrong = 0
    for _ in range(1000):
        pause = random.random() < 0.08
        for size, factor in (((300_000, 90_000), 8.0 if pause else 1.0), ((900_000, 900), 1.0))[: 2 if pause else 1]:
            model = fitted_on(model, measured(TRUE.scaled(factor * random.lognormal(0, 0.05)), [size]))
        assert model.cost is not None
        wrong += not 0.67 < model.cost.time(300_000, 90_000) / TRUE.time(300_000, 90_000) < 1.5
    assert wrong < 30


def test_surprises_both_ways_do_not_add_up() -> None:
    model = fitted(measured(TRUE, varied(100)))
    slow, fast = (measured(TRUE.scaled(factor), [(300_000, 90_000)]) for factor in (10.0, 0.1))
    assert fitted_on(model, slow + fast + slow + fast).cost == model.cost


def test_what_one_micro_batch_said_goes_with_the_next_that_says_otherwise() -> None:
    model = fitted([BatchTime(1000, 1000, 3000.0), BatchTime(20_000, 20_000, 600.0)])
    assert model.cost is not None
    assert model.cost.time(20_000, 20_000) == pytest.approx(600, rel=0.05)


def test_only_so_many_micro_batches_are_kept() -> None:
    assert len(fitted(measured(TRUE, varied(3 * RING))).batches) == RING


def test_budget() -> None:
    assert TRUE.budget(100_000, 600.0) == pytest.approx((600 - 150 - 50) / 0.004)
    assert TRUE.budget(1_000_000, 600.0) == 0
    assert Cost(1.0, 0.0, 0.0).budget(10, 5.0) == float("inf")


def test_a_few_rows_of_state_do_not_stand_for_what_every_micro_batch_takes() -> None:
    """Groups of which there are always three, and a second that each micro-batch takes: seen on a cluster."""
    cost = Cost(100.0, 0.001, 0.02, 300.0)
    assert cost.budget(100_000, 3000.0, held=3, holding=3 / 400) == pytest.approx((3000 - 1100) / (0.02 * (1 + 3 / 400)))
    assert Cost(100.0, 0.001, 0.02, 0.005).each(10.0) == pytest.approx(0.07)
