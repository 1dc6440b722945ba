"""Goldens 3.4 (age mass) and 3.6 (φ), and F8: how long basic windows should be."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.joins.basic_window import (
    Ages,
    ages,
    masses,
    n_bw,
    optimality,
    shortest_bw_s,
    usual_bw_s,
)

LOADS = (0.05, 0.1, 0.25, 0.5, 1)


def normal(peak: float, sd: float, win_s: float = 1.0, parts: int = 4000) -> Ages:
    """A normal density cut off at the bounds of the window; ``peak`` and ``sd`` in windows."""
    middle = (np.arange(parts) + 0.5) / parts
    return ages(win_s, np.exp(-((middle - peak) ** 2) / (2 * sd**2)))


def test_golden_3_4_age_mass() -> None:
    of = ages(4, [1, 2, 5, 2])
    assert of.density == pytest.approx([0.1, 0.2, 0.5, 0.2])
    assert masses(of, 1) == pytest.approx([0.05, 0.15, 0.35, 0.35, 0.10])
    found = [optimality(of, 1, load) for load in (0.125, 0.25, 0.5, 0.75, 1, 1.25)]
    assert found == pytest.approx([0.7, 0.7, 1, 0.9444, 0.95, 1], abs=5e-5)


@pytest.mark.parametrize(
    ("sd", "part", "expected"),
    [
        (0.10, 0.05, (0.990, 0.963, 0.994, 0.996, 1.0)), (0.10, 0.1, (0.840, 0.866, 0.930, 0.983, 1.0)),
        (0.10, 0.25, (0.691, 0.713, 0.865, 0.851, 1.0)), (0.10, 0.5, (0.253, 0.261, 0.317, 0.506, 1.0)),
        (0.05, 0.05, (0.963, 0.893, 0.996, 1, 1)), (0.05, 0.1, (0.599, 0.672, 0.949, 1, 1)),
        (0.05, 0.25, (0.439, 0.492, 0.851, 0.920, 1)), (0.05, 0.5, (0.131, 0.146, 0.253, 0.500, 1)),
    ],
)
def test_golden_3_6_optimality(sd: float, part: float, expected: tuple[float, ...]) -> None:
    of = normal(0.75, sd, 20.0)
    assert [optimality(of, part * 20, load) for load in LOADS] == pytest.approx(expected, abs=6e-4)


def test_F8_masses_sum_to_one_and_phi_is_at_most_one() -> None:  # noqa: N802
    random = np.random.default_rng(8)
    for _ in range(300):
        of = ages(random.uniform(0.1, 500), random.exponential(1, random.integers(1, 60)) ** 3)
        bw_s = of.win_s * random.uniform(0.02, 1.5)
        found = masses(of, bw_s)
        assert len(found) == n_bw(of.win_s, bw_s)
        assert found.sum() == pytest.approx(1)
        assert found.min() >= -1e-12
        phi = optimality(of, bw_s, random.uniform(0.01, 1.5))
        assert 0 < phi <= 1 + 1e-9
        assert optimality(of, bw_s, len(found) * bw_s / of.win_s) == pytest.approx(1)


def test_masses_are_those_of_basic_windows_as_they_fill() -> None:
    """By cutting the window 2,000 times, with the newest basic window from empty to full: off by 1/2,000 at most."""
    of, bw_s = ages(5.0, [3, 0, 1, 4, 2, 7, 1]), 1.3
    expected = np.zeros(n_bw(5.0, bw_s))
    for fill in (np.arange(2000) + 0.5) / 2000:
        ends = np.clip((fill + np.arange(-1, len(expected))) * bw_s, 0, 5.0)
        expected += np.diff(of.younger(ends)) / 2000
    assert masses(of, bw_s) == pytest.approx(expected, abs=5e-4)


def test_best_part_of_a_window() -> None:
    of = ages(4, [1, 2, 5, 2])
    assert of.best(np.array([0, 0.5, 1, 2, 3.5, 4])) == pytest.approx([0, 0.25, 0.5, 0.7, 0.95, 1])
    assert of.younger(np.array([0, 1.5, 4, 9])) == pytest.approx([0, 0.2, 1, 1])


def test_number_of_basic_windows() -> None:
    assert [n_bw(w, 2) for w in (0, 1, 2, 3, 4, 6)] == [1, 2, 2, 3, 3, 4]
    assert n_bw(0.3, 0.1) == 4  # 0.3 / 0.1 is a little less than 3, 0.6 / 0.2 is not
    assert n_bw(0.7, 0.1) == 8


@pytest.mark.parametrize("win_s", [20.0, 7.3, 625.0, 0.01])
@pytest.mark.parametrize("most", [2, 20, 64])
def test_shortest_basic_window_is_the_shortest(win_s: float, most: int) -> None:
    bw_s = shortest_bw_s((win_s, win_s / 3), most)
    assert n_bw(win_s, bw_s) == most
    assert n_bw(win_s, bw_s * 0.999) == most + 1
    assert usual_bw_s((win_s, 0)) == pytest.approx(win_s / 20)


@pytest.mark.parametrize("win_s", [0, -1, np.inf, np.nan])
def test_windows_without_a_length_have_no_ages(win_s: float) -> None:
    with pytest.raises(ValueError, match="a window has a length"):
        ages(win_s, [1])
    with pytest.raises(ValueError, match="has a length"):
        usual_bw_s((win_s, win_s))


@pytest.mark.parametrize("histogram", [[], [0, 0], [1, -1], [1, np.nan]])
def test_histograms_are_checked(histogram: list[float]) -> None:
    with pytest.raises(ValueError, match="a histogram"):
        ages(1, histogram)


def test_loads_and_lengths_are_checked() -> None:
    with pytest.raises(ValueError, match="compared"):
        optimality(ages(1, [1]), 0.1, 0)
    with pytest.raises(ValueError, match="has a length"):
        n_bw(1, 0)
