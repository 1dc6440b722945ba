"""Mean and spread of coverages, errors of results, and what more queries are worth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from streamq.stdlib.fairness.batches import batches
from streamq.stdlib.fairness.errors import (
    covariance_error,
    ranking_correlation,
    ranking_distance,
    relative_error,
)
from streamq.stdlib.fairness.measures import jain, middle_half, spread
from streamq.stdlib.fairness.operators import filtered, joined, lost, top
from streamq.stdlib.fairness.tradeoff import tipping_point, trade_off


def test_g_21_mean_and_spread() -> None:
    found = spread(np.arange(2, 10) / 10)
    assert found.mean == pytest.approx(0.55)
    assert found.deviation == pytest.approx(0.2291, abs=5e-5)
    assert found.middle_half == pytest.approx(0.4)
    assert found.middle_90 == pytest.approx(0.63)
    assert found.variation == pytest.approx(0.4166, abs=5e-5)
    assert found.jain == pytest.approx(0.8521, abs=5e-5)
    assert (found.least, found.range) == (0.2, pytest.approx(0.7))


@pytest.mark.parametrize(
    ("values", "index"),
    [
        ((1, 1, 1, 1), 1),
        ((1, 0, 0, 0), 0.25),
        ((0.8, 0.4), 0.9),
        ((0.75, 0.5), 0.9615),
        ((0.3, 0.3, 0.3), 1),
        ((0, 0), 1),
        ((1e-300, 1e-300), 1),
    ],
)
def test_g_22_jains_index(values: tuple[float, ...], index: float) -> None:
    assert jain(np.array(values)) == pytest.approx(index, abs=5e-5)


def test_spread_at_its_edges() -> None:
    assert middle_half(np.array([1, 2, 3, 4, 100.0])) == pytest.approx(52 - 1.5)
    one = spread(np.array([0.4]))
    assert (one.deviation, one.middle_half, one.middle_90, one.range) == (0, 0, 0, 0)
    assert spread(np.zeros(3)).variation == 0
    with pytest.raises(ValueError, match="no numbers"):
        spread(np.zeros(0))


def test_g_23_errors_of_averages_and_counts() -> None:
    window = np.array([10, 20, 30, 40.0])
    for keep, average, count in (([0, 3], 0, 0.5), ([0, 1], 0.4, 1.0)):
        kept = window[keep]
        mean = relative_error(np.array([window.mean()]), np.array([kept.mean()]))
        assert mean.mean == pytest.approx(average)
        counts = np.array([(window >= 25).sum()]), np.array([float((kept >= 25).sum())])
        assert relative_error(*counts).mean == pytest.approx(count)


def test_windows_without_a_value() -> None:
    perfect, degraded = np.array([0.0, 10, 20]), np.array([1.0, 9, math.nan])
    averages = relative_error(perfect, degraded)
    assert (averages.mean, averages.missing, averages.skipped) == (pytest.approx(0.1), 1, 1)
    assert relative_error(perfect, degraded, missing="zero").mean == pytest.approx(0.55)
    assert math.isnan(relative_error(np.zeros(1), np.zeros(1)).mean)


def letters(*words: str) -> NDArray[np.int64]:
    return np.array([[ord(c) - ord("A") if c != "-" else -1 for c in w] for w in words])


def test_g_24_distance_of_rankings() -> None:
    others = letters("BACDE", "EDCBA", "ABCDF", "FABCD", "FGHIJ", "ABCDE")
    distances = ranking_distance(np.repeat(letters("ABCDE"), 6, axis=0), others)
    assert distances == pytest.approx([0.04, 0.40, 0.04, 0.20, 1.0, 0.0])


def test_g_24b_correlation_of_rankings() -> None:
    tau = ranking_correlation(letters("ABCD")[0], letters("BACD")[0])
    assert tau == pytest.approx(4 / 6)
    assert (1 - tau) / 2 == pytest.approx(0.1667, abs=5e-5)
    assert ranking_correlation(letters("CABD")[0], letters("DBAC")[0]) == -1
    with pytest.raises(ValueError, match="same things"):
        ranking_correlation(letters("AB")[0], letters("AC")[0])


def test_short_rankings_are_filled_with_strangers() -> None:
    first = np.repeat(letters("ABCDE"), 3, axis=0)
    same = ranking_distance(first, letters("ABCDF", "ABC--", "-----"))
    assert same == pytest.approx([1 / 25, 4 / 25, 1.0])
    assert ranking_distance(letters("ABC--"), letters("ABC--")) == pytest.approx([0])
    assert ranking_distance(letters("-----"), letters("ABC--")) == pytest.approx([0])
    with pytest.raises(ValueError, match="not of the same windows"):
        ranking_distance(first, letters("ABC"))


def test_g_25_the_five_best_without_one_tuple() -> None:
    perfect, degraded = np.array([[1, 2, 3, 4, 5]]), np.array([[1, 3, 4, 5, 6]])
    assert ranking_distance(perfect, degraded) == pytest.approx([0.16])
    cpu, memory = batches(7, 0.5), filtered(batches(7, 0.5), 6)
    assert top(joined(cpu, memory, 6), 5).per_tuple() == pytest.approx([1 / 5])
    shed = lost(cpu, 6)
    assert top(joined(shed, memory, 5), 5).per_tuple() == pytest.approx([13 / 70])
    assert top(joined(shed, memory, 5), 5).weight == pytest.approx(13 / 14)


def test_g_26_covariances() -> None:
    x = np.array([1, 2, 3, 4.0])
    rows = [0, 3]
    full, less = (np.cov(x[r], 2 * x[r])[0, 1] for r in (slice(None), rows))
    assert (full, less) == (pytest.approx(10 / 3), pytest.approx(9))
    found = covariance_error(np.array([full, 1, math.nan]), np.array([less, 2, 5]))
    assert found.difference == pytest.approx((9 - 10 / 3 + 1) / 2)
    assert found.ratio == pytest.approx(7 / (10 / 3 - 1))


def test_covariances_that_do_not_vary_or_are_not_there() -> None:
    assert math.isnan(covariance_error(np.ones(2), np.array([1.0, 2])).ratio)
    assert math.isnan(covariance_error(np.ones(1), np.array([math.nan])).difference)


def test_g_18_cost_falls_faster_than_quality() -> None:
    queries = np.array([180, 240, 300, 600, 900, 1200.0])
    table = trade_off(queries, np.array([0.5, 0.42, 0.34, 0.19, 0.1, 0.05]))
    assert table.cost == pytest.approx([0, 0.25, 0.40, 0.70, 0.80, 0.85])
    assert table.advantage[2] == pytest.approx(0.08)
    assert table.quality[4] == pytest.approx(0.80)
    assert tipping_point(table) == pytest.approx(900)


def test_tipping_points_lie_between_lines_or_nowhere() -> None:
    table = trade_off(np.array([100, 200, 400.0]), np.array([0.8, 0.6, 0.1]))
    assert table.advantage == pytest.approx([0, 0.25, -0.125])
    assert tipping_point(table) == pytest.approx(200 + 200 * 2 / 3)
    assert tipping_point(table, threshold=0.1) == pytest.approx(200 + 200 * 0.15 / 0.375)
    assert tipping_point(table, threshold=0.5) is None
    assert tipping_point(trade_off(np.array([1, 2.0]), np.array([1, 1.0]))) is None
    with pytest.raises(ValueError, match="numbers of queries grow"):
        trade_off(np.array([2, 1.0]), np.array([1, 1.0]))
