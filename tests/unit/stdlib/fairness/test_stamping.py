"""What batches of sources weigh, from known and from estimated counts."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from streamq.stdlib.fairness.coverage import Log, coverage
from streamq.stdlib.fairness.stamping import History, stamp_exact, stamp_online


def ints(*values: int) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64)


def test_g_01_every_source_weighs_the_same() -> None:
    totals = stamp_exact(ints(0, 1), ints(100, 20), n_sources=2)
    assert totals / [100, 20] == pytest.approx([1 / 200, 1 / 40])
    assert totals.sum() == pytest.approx(1)


def test_g_08_ten_sensors_sum_to_one() -> None:
    sources = np.repeat(np.arange(10), 6)
    totals = stamp_exact(sources, np.ones(60, dtype=np.int64), n_sources=10)
    assert totals.sum() == pytest.approx(1)
    assert np.bincount(sources, weights=totals) == pytest.approx([0.1] * 10)


def test_g_08b_fewer_readings_weigh_more() -> None:
    totals = stamp_exact(ints(0, 0, 0, 0, 0, 0, 1, 1, 1), np.ones(9, dtype=np.int64), n_sources=2)
    assert totals * 2 == pytest.approx([1 / 6] * 6 + [1 / 3] * 3)


def test_a_silent_source_is_a_loss_or_is_left_out() -> None:
    assert stamp_exact(ints(0, 0), ints(3, 1), n_sources=2) == pytest.approx([3 / 8, 1 / 8])
    excluded = stamp_exact(ints(0, 0), ints(3, 1), n_sources=2, idle="exclude")
    assert excluded == pytest.approx([3 / 4, 1 / 4])


def test_empty_panes_and_empty_batches_weigh_nothing() -> None:
    assert stamp_exact(ints(), ints(), n_sources=3).tolist() == []
    assert stamp_exact(ints(0, 1), ints(0, 0), n_sources=2).tolist() == [0, 0]
    assert stamp_exact(ints(0, 1), ints(0, 5), n_sources=2).tolist() == [0, 0.5]


def test_an_unknown_source_is_refused() -> None:
    with pytest.raises(ValueError, match="3 sources"):
        stamp_exact(ints(2), ints(1), n_sources=2)


def measured(sizes: list[int]) -> NDArray[np.float64]:
    """The coverage after each second of batches of these sizes, one a second, none of them shed."""
    history, results = History.begin(0.0), Log.empty()
    found = []
    for i, size in enumerate(sizes):
        now = i + 1.0
        history, total = stamp_online(history, now, size, 1, window=10.0)
        results = results.after(now, ints(0), np.array([total]), keep=10.0)
        found.append(coverage(results, now, 10.0, np.zeros(1)).raw[0])
    return np.array(found)


@pytest.mark.parametrize(("before", "after", "peak"), [(100, 200, 1.3375), (200, 100, 0.7188)])
def test_g_20_a_step_of_the_rate_is_seen_for_two_windows(
    before: int, after: int, peak: float
) -> None:
    found = measured([before] * 30 + [after] * 30)
    assert found[9:30] == pytest.approx(1)
    extreme = found.max() if after > before else found[9:].min()
    assert extreme == pytest.approx(peak, abs=5e-5)
    assert found[49:] == pytest.approx(1)
    assert abs(found[47] - 1) > 1e-6


def test_the_first_window_is_estimated_from_the_time_since_the_start() -> None:
    history, total = stamp_online(History.begin(5.0), 7.0, 40, 2, window=10.0)
    assert total == pytest.approx(40 / (200 * 2))
    later, nothing = stamp_online(history, 30.0, 0, 2, window=10.0)
    assert (nothing, later.at.tolist(), history.at.tolist()) == (0.0, [30.0], [7.0])


def test_a_batch_at_the_start_is_refused() -> None:
    with pytest.raises(ValueError, match="no time passed"):
        stamp_online(History.begin(5.0), 5.0, 1, 1, window=10.0)
