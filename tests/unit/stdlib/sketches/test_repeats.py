"""C25: the interval of repetitions has the confidence that it says, for what is skewed and for pairs of titles."""

from __future__ import annotations

import math

import numpy as np
import pytest

from streamq.stdlib.sketches.pair_count import self_join_offline
from streamq.stdlib.sketches.repeats import repeated
from streamq.stdlib.sketches.similarity_plan import plan_similarity, repetitions
from streamq.stdlib.sketches.titles import titles


def test_median_and_bounds_are_order_statistics() -> None:
    values = iter([5.0, 1, 9, 3, 7, 2, 8, 4, 6])
    found = repeated(lambda _: next(values), 0.95)
    assert found.values.tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert (found.estimate, found.low, found.high) == (5, 2, 8)
    # 1 - 2 (1 + 9) / 2^9.
    assert found.confidence == pytest.approx(0.9609375)
    assert found.std_err == pytest.approx(math.sqrt(7.5))


def test_each_repetition_has_a_seed_of_its_own() -> None:
    seeds: list[int] = []
    for seed in (0, 0, 1):
        repeated(lambda s: seeds.append(s) or 0.0, 0.9, seed=seed)
    assert len(seeds) == 3 * repetitions(0.9) == 21
    assert seeds[:7] == seeds[7:14]
    assert len(set(seeds)) == 14


@pytest.mark.parametrize(
    ("confidence", "times"), [(0.9, None), (0.95, None), (0.95, 15), (0.99, 40), (0.5, 3)]
)
@pytest.mark.parametrize("law", ["normal", "exponential"])
def test_coverage_is_that_of_the_interval(confidence: float, times: int | None, law: str) -> None:
    """1,500 intervals for the median of a law: within 4 deviations of the confidence that they say."""
    random = np.random.default_rng(7)
    truth = {"normal": 0.0, "exponential": math.log(2)}[law]
    draw = {"normal": random.standard_normal, "exponential": random.standard_exponential}[law]
    trials = [repeated(lambda _: float(draw()), confidence, times) for _ in range(1500)]
    said = trials[0].confidence
    covered = np.mean([t.low <= truth <= t.high for t in trials])
    assert said >= confidence
    assert abs(covered - said) < 4 * math.sqrt(said * (1 - said) / 1500)


def test_coverage_of_numbers_of_pairs() -> None:
    """100 intervals of 9 repetitions for the pairs of 2,000 titles: 96 cover the truth, less what the skew of estimates takes."""
    of, plan = titles(2000, seed=2), plan_similarity(6, 4, 0.5)
    truth = self_join_offline(of, plan_similarity(6, 4)).size
    trials = [
        repeated(lambda s: self_join_offline(of, plan, s).size, 0.95, seed=seed)
        for seed in range(100)
    ]
    covered = sum(t.low <= truth <= t.high for t in trials)
    # Binomial of 100 at .96: deviation 2; 4 of them.
    assert covered >= 88
    error = np.std([t.estimate for t in trials], ddof=1)
    single = float(np.mean([t.std_err for t in trials]))
    # The median of 9 normal numbers has 0.41 of their deviation; 3 deviations, of 7 % each.
    assert error == pytest.approx(0.41 * single, rel=0.21)


def test_repetitions_are_enough() -> None:
    with pytest.raises(
        ValueError, match=r"5 repetitions do not bound a median with confidence 0\.95: 6 do"
    ):
        repeated(lambda _: 0.0, 0.95, 5)
    assert repeated(lambda _: 0.0, 0.95, 6).confidence == 1 - 1 / 32
    for confidence in (0.4, 1.0):
        with pytest.raises(ValueError, match=r"0\.5 or more, and below 1"):
            repeated(lambda _: 0.0, confidence)
