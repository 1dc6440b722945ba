"""How benchmarks read their clocks."""

from __future__ import annotations

import pytest

from tests.benchmarks.measure import Race, Sample, least_seconds


def test_each_part_of_a_run_is_taken_where_nothing_disturbed_it() -> None:
    # Outside of micro-batches 0.5 and 0.25, then two micro-batches.
    runs = (Sample(4.5, 0.0, (3.0, 1.0)), Sample(5.25, 0.0, (1.0, 4.0)))
    assert least_seconds(runs) == 0.25 + 1.0 + 1.0
    assert least_seconds((Sample(2.0, 0.0), Sample(3.0, 0.0))) == 2.0
    race = Race("r", 10, runs, (Sample(4.5, 0.0, (2.0, 2.0)),))
    assert race.ratio == 4.5 / 2.25


def test_runs_of_different_micro_batches_are_not_put_together() -> None:
    with pytest.raises(ValueError, match="zip"):
        least_seconds((Sample(2.0, 0.0, (1.0,)), Sample(2.0, 0.0, (1.0, 0.5))))
