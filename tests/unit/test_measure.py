"""How benchmarks read their clocks."""

from __future__ import annotations

import pytest

from streamq.runtime.metrics import QuerySample
from tests.benchmarks.ages import ages
from tests.benchmarks.measure import Race, Sample
from tests.benchmarks.overload import kept_at_most


def test_a_race_is_decided_by_the_pairs() -> None:
    # The machine is twice as slow from the second pair on; the other's third run is disturbed.
    ours = (Sample(1.0, 0.5), Sample(2.0, 1.0), Sample(2.0, 1.0))
    other = (Sample(0.9, 0.5), Sample(1.8, 1.0), Sample(3.0, 1.5))
    race = Race("r", 10, ours, other)
    assert race.ratio == 0.9
    assert race.cpu_ratio == 1.0
    assert race.best_ratio == 0.9


def every_second(count: int) -> list[QuerySample]:
    """Micro-batches of a second each, of 100 rows that waited for a second at most."""
    return [
        QuerySample("q", n, 1000.0 + n, rows_in=100, kept=50, batch_ms=1000, result_age_ms=2000) for n in range(count)
    ]


def test_ages_are_spread_evenly_between_the_oldest_and_the_youngest_row() -> None:
    found = ages(every_second(40), 1039.5, 100.0)
    assert found.ended[0] == 15.0
    assert found.percentile(0.95) == pytest.approx(1.95)
    assert found.percentile(0.5) == pytest.approx(1.5)
    assert found.kept_per_s == pytest.approx(50.0)


def test_a_micro_batch_that_was_not_done_counts_where_it_is_old_already() -> None:
    young, old = (ages(every_second(40), ended, 100.0) for ended in (1039.5, 1139.0))
    assert len(old.ended) == len(young.ended) + 1
    assert old.oldest[-1] == 101.0
    assert old.percentile(1.0) == pytest.approx(101.0)


def test_what_can_be_kept_follows_from_what_micro_batches_cost() -> None:
    """Half a second, 1 us per row that arrives, 4 us per row that is kept; a goal of four seconds."""
    sizes = [(100_000, 100_000), (400_000, 300_000), (900_000, 100_000), (600_000, 200_000)]
    samples = [
        QuerySample("q", n, float(n), rows_in=arrived, kept=kept, batch_ms=round(500 + 0.001 * arrived + 0.004 * kept))
        for n, (arrived, kept) in enumerate(sizes)
    ]
    assert kept_at_most(samples, 500_000, 4.0) == pytest.approx((2 - 0.5 - 1.0) / 4e-6 / 2, rel=0.01)
    assert kept_at_most(samples, 50_000, 4.0) == 50_000
    assert kept_at_most(samples, 2_000_000, 4.0) == 0
