"""Golden 3.5 and F9: the better direction first, at the same cost."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.joins.direction import directions

FIRST, SECOND = (0.2, 0.1), (0.1, 0.2)


@pytest.mark.parametrize(
    ("frac", "win_s", "better", "expected"),
    [
        (0.4, (20, 10), FIRST, (0.6, 0)), (0.4, (20, 10), SECOND, (0.1, 1)), (0.8, (20, 10), FIRST, (1, 0.4)),
        (0.8, (20, 10), SECOND, (0.7, 1)), (0.5, (20, 20), FIRST, (1, 0)), (0.3, (20, 20), SECOND, (0, 0.6)),
    ],
)
def test_golden_3_5_direction(
    frac: float, win_s: tuple[float, float], better: tuple[float, float], expected: tuple[float, float]
) -> None:
    assert directions(frac, win_s, better) == pytest.approx(expected, abs=1e-12)


def test_F9_direction_invariant() -> None:  # noqa: N802
    """r1 w1 + r2 w2 = r (w1 + w2), and of the worse window nothing is compared before all of the better one is."""
    random = np.random.default_rng(9)
    for _ in range(1000):
        frac, average = random.random(), random.random(2)
        win_s = random.choice([random.uniform(0.1, 100, 2), random.uniform(0.1, 100, 2) * [1, 1000]])
        found = directions(frac, win_s, average)
        assert np.all((found >= 0) & (found <= 1))
        assert found @ win_s == pytest.approx(frac * win_s.sum(), rel=1e-9)
        better = int(np.argmax(average))
        assert found[better] == 1 or found[1 - better] == pytest.approx(0, abs=1e-9)


def test_equal_windows_have_the_first_as_the_better_one() -> None:
    assert directions(0.25, (10, 10), (0.01, 0.01)).tolist() == [0.5, 0]


def test_without_matches_both_are_alike() -> None:
    assert directions(0.25, (10, 30), (0, 0)).tolist() == [0.25, 0.25]


@pytest.mark.parametrize("average", [FIRST, SECOND, (0.0, 0.0)])
def test_windows_of_no_length(average: tuple[float, float]) -> None:
    assert directions(0.25, (20, 0), average).tolist() == [0.25, 0]
    assert directions(0.25, (0, 20), average).tolist() == [0, 0.25]
    assert directions(0.25, (0, 0), average).tolist() == [0, 0]
    assert directions(1, (20, 0), average).tolist() == [1, 1]


@pytest.mark.parametrize("win_s", [(20, 20), (0, 20), (1000, 1)])
def test_all_is_all(win_s: tuple[float, float]) -> None:
    assert directions(1, win_s, FIRST).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("frac", "win_s", "average"),
    [(-0.1, (1, 1), FIRST), (0.5, (-1, 1), FIRST), (0.5, (1, np.inf), FIRST), (0.5, (1, 1), (np.nan, 0))],
)
def test_numbers_are_checked(frac: float, win_s: tuple[float, float], average: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="at least 0"):
        directions(frac, win_s, average)
