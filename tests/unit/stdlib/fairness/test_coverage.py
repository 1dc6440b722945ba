"""The coverage of queries over time, and of single windows."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.fairness.coverage import (
    Log,
    coverage,
    pane_coverage,
    window_charge,
    window_totals,
)


def test_g_14_a_sliding_window_over_results() -> None:
    log, found = Log.empty(), []
    for second in range(20):
        weight = 0.05 if second in (8, 9, 10) else 0.1
        log = log.after(second, np.array([0]), np.array([weight]), keep=10)
        found.append(coverage(log, second, 10, np.zeros(1)).raw[0])
    ramp = [0.1 * (s + 1) for s in range(8)] + [0.85]
    assert found == pytest.approx([*ramp, 0.90, *[0.85] * 8, 0.90, 0.95])


def test_a_first_window_is_scaled_and_marked() -> None:
    log = Log.empty()
    for second in range(1, 5):
        log = log.after(second, np.array([0, 1]), np.array([0.1, 0.05]), keep=10)
    now = coverage(log, 4, 10, np.array([0.0, -6.0]))
    assert now.raw == pytest.approx([0.4, 0.2])
    assert now.value == pytest.approx([1.0, 0.2])
    assert now.warming.tolist() == [True, False]


def test_a_query_that_begins_now_has_no_coverage_yet() -> None:
    now = coverage(Log.empty(), 4, 10, np.array([4.0]))
    assert (now.value.tolist(), now.warming.tolist()) == ([0.0], [True])


def test_a_log_forgets_and_does_not_change() -> None:
    first = Log.empty().after(1.0, np.array([0]), np.array([0.5]), keep=5)
    second = first.after(6.0, np.array([1]), np.array([0.25]), keep=5)
    assert (second.at.tolist(), second.query.tolist(), first.at.tolist()) == ([6.0], [1], [1.0])
    assert second.between(5.0, 6.0, 3).tolist() == [0, 0.25, 0]


def test_a_window_without_results_has_coverage_0() -> None:
    found = pane_coverage(np.array([0, 0, 2]), np.array([0.5, 0.25, 1.0]), 4)
    assert found.tolist() == [0.75, 0, 1, 0]


def test_sliding_windows_charge_each_tuple_once() -> None:
    panes = np.ones(6)
    assert window_totals(panes, 4).tolist() == [0.25, 0.5, 0.75, 1, 1, 1]
    assert window_totals(panes, 1).tolist() == [1] * 6
    assert window_totals(panes, 4, "first").tolist() == [1] * 6
    assert window_charge(4_000, 1_000) == 0.25
    assert window_charge(3_000, 2_000) == pytest.approx(2 / 3)
    assert window_charge(1_000, 5_000) == 1
    with pytest.raises(ValueError, match="positive"):
        window_charge(0, 1)


def test_few_panes_in_long_windows() -> None:
    assert window_totals(np.array([1.0]), 4).tolist() == [0.25]
    assert window_totals(np.zeros(0), 4).tolist() == []
