"""How benchmarks read their clocks."""

from __future__ import annotations

from tests.benchmarks.measure import Race, Sample


def test_a_race_is_decided_by_the_pairs() -> None:
    # The machine is twice as slow from the second pair on; the other's third run is disturbed.
    ours = (Sample(1.0, 0.5), Sample(2.0, 1.0), Sample(2.0, 1.0))
    other = (Sample(0.9, 0.5), Sample(1.8, 1.0), Sample(3.0, 1.5))
    race = Race("r", 10, ours, other)
    assert race.ratio == 0.9
    assert race.cpu_ratio == 1.0
    assert race.best_ratio == 0.9
