"""Goldens 3.3: the thresholds, against brute force over vertices and against HiGHS."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from streamq.stdlib.sifters.queries import Wanted
from streamq.stdlib.sifters.thresholds import cheapest_first, thresholds


def wanted(quality: list[float], some: list[bool] | None = None) -> Wanted:
    return Wanted(np.array(quality), np.array(some if some is not None else [True] * len(quality)), np.ones(len(quality)))


@pytest.mark.parametrize(
    ("golden", "share", "quality", "some", "keep", "fairness", "drop", "loss"),
    [
        ("3.3a", [0.1, 0.9], [0.2, 0.3], [1, 1], 0.5, 1.0, [0, 0.555556], 0.166667),
        ("3.3b1", [0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4], [1] * 4, 0.5, 1.0, [1, 0.333333, 0, 0], 0.166667),
        ("3.3b2", [0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4], [1] * 4, 0.5, 0.5, [0.65, 0.65, 0.15, 0.15], 0.3),
        ("3.3b3", [0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4], [1] * 4, 0.5, 0.2, [0.56, 0.56, 0.36, 0.36], 0.42),
        ("3.3c", [0.25, 0.25, 0.5], [0, 0.6, 0.4], [0, 1, 1], 0.3, 0.2, [1, 0.466667, 0.666667], 0.546667),
        ("3.3d", [0.6, 0.3, 0.1], [0, 0.7, 0.3], [0, 1, 1], 0.5, 0.5, [0.833333, 0, 0], 0.0),
        ("3.3e", [0.25] * 4, [0.1, 0.2, 0.3, 0.4], [1] * 4, 0.1, 0.3, [1, 1, 0.9, 0.7], 0.85),
    ],
)
def test_3_3_thresholds(
    golden: str, share: list[float], quality: list[float], some: list[int], keep: float, fairness: float,
    drop: list[float], loss: float,
) -> None:
    del golden
    want = wanted(quality, [bool(s) for s in some])
    found = thresholds(want, np.array(share), 1 - keep, fairness, more=False)
    assert found.tolist() == pytest.approx(drop, abs=1e-6)
    assert float(np.dot(quality, found)) == pytest.approx(loss, abs=1e-6)


def test_3_3_d_and_s17_what_no_query_wants_is_dropped_whole() -> None:
    found = thresholds(wanted([0, 0.7, 0.3], [False, True, True]), np.array([0.6, 0.3, 0.1]), 0.5, 0.5)
    assert found.tolist() == [1, 0, 0]


def instance(random: np.random.Generator, most: int = 24) -> tuple[Wanted, np.ndarray, float, float]:
    """With regions that have no rows, that no query wants, and of equal quality."""
    count = int(random.integers(1, most))
    share = random.exponential(1.0, count) * (random.random(count) < 0.85)
    share = share / share.sum() if share.sum() > 0 else np.full(count, 1 / count)
    some = random.random(count) < random.choice([0.5, 0.9, 1.0])
    quality = np.where(some & (share > 0), random.choice([random.random(count), random.integers(0, 4, count) / 3]), 0.0)
    dropped = float(random.choice([random.random(), 0.0, 1.0], p=[0.9, 0.05, 0.05]))
    fairness = float(random.choice([random.random(), 0.0, 1.0], p=[0.8, 0.1, 0.1]))
    return Wanted(quality, some, np.ones(count)), share, dropped, fairness


def brute(want: Wanted, share: np.ndarray, dropped: float, fairness: float) -> float:
    """The least loss: in a vertex of the program each wanted threshold but one is at the lowest or ``fairness`` above.

    Either the lowest threshold is 0 or 1 - fairness and one region is in between, or none is in between.
    """
    free = ~want.some
    needed = dropped - share[free].sum()
    if needed <= 1e-12:
        return 0.0
    quality, rows = want.quality[want.some], share[want.some]
    count, best = len(rows), np.inf
    for up in itertools.product([False, True], repeat=count):
        raised = np.array(up)
        at_bounds = [(low, k) for low in (0.0, 1 - fairness) for k in range(count)]
        for low, k in at_bounds:
            drop = np.where(raised, low + fairness, low)
            drop[k] = 0.0
            drop[k] = (needed - rows @ drop) / rows[k] if rows[k] > 0 else low
            if low - 1e-12 <= drop[k] <= low + fairness + 1e-12 and abs(rows @ drop - needed) < 1e-12:
                best = min(best, float(quality @ drop))
        low = (needed - fairness * rows[raised].sum()) / rows.sum() if rows.sum() > 0 else 0.0
        if -1e-12 <= low <= 1 - fairness + 1e-12:
            best = min(best, float(quality @ np.where(raised, low + fairness, low)))
    return best


def check(want: Wanted, share: np.ndarray, dropped: float, fairness: float) -> float:
    found = thresholds(want, share, dropped, fairness, more=False)
    assert np.all((found >= 0) & (found <= 1))
    assert share @ found == pytest.approx(dropped, abs=1e-9)
    if want.some.any():
        assert np.ptp(found[want.some]) <= fairness + 1e-9
    return float(want.quality @ found)


@pytest.mark.parametrize("seed", range(10))
def test_s10_thresholds_are_those_of_brute_force(seed: int) -> None:
    random = np.random.default_rng(seed)
    for _ in range(100):
        given = instance(random, 8)
        assert check(*given) == pytest.approx(brute(*given), abs=1e-9)


def pairwise(want: Wanted, share: np.ndarray, dropped: float, fairness: float) -> float | None:
    """By HiGHS, with a row for each pair of regions that queries want, as the paper has it; None where there is no way."""
    optimize = pytest.importorskip("scipy.optimize")
    kept = np.flatnonzero(want.some)
    pairs = [(i, j) for i in kept for j in kept if i != j]
    above = np.zeros((len(pairs), len(share)))
    for row, (i, j) in enumerate(pairs):
        above[row, i], above[row, j] = 1, -1
    found = optimize.linprog(
        want.quality, A_ub=above if len(pairs) else None, b_ub=[fairness] * len(pairs) if len(pairs) else None,
        A_eq=share[None], b_eq=[dropped], bounds=np.stack([np.zeros(len(share)), want.most], axis=1), method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert found.status in (0, 2)
    return float(found.fun) if found.status == 0 else None


@pytest.mark.parametrize("seed", range(10))
def test_s10_thresholds_are_those_of_highs(seed: int) -> None:
    pytest.importorskip("scipy.optimize")
    random = np.random.default_rng(100 + seed)
    for _ in range(100):
        given = instance(random)
        assert check(*given) == pytest.approx(pairwise(*given), abs=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_thresholds_with_bounds_are_those_of_highs(seed: int) -> None:
    pytest.importorskip("scipy.optimize")
    random = np.random.default_rng(200 + seed)
    beyond = 0
    for _ in range(60):
        plain, share, dropped, fairness = instance(random)
        most = np.where(plain.some & (random.random(len(share)) < 0.5), random.random(len(share)), 1.0)
        want = Wanted(plain.quality, plain.some, most)
        found = thresholds(want, share, dropped, fairness, more=False)
        assert np.all((found >= 0) & (found <= most + 1e-12))
        if want.some.any():
            assert np.ptp(found[want.some]) <= fairness + 1e-9
        best = pairwise(want, share, dropped, fairness)
        if best is None:
            # As much goes as can: HiGHS has no way for a little more.
            gone = float(share @ found)
            assert gone < dropped
            assert pairwise(want, share, gone - 1e-7, fairness) is not None
            assert pairwise(want, share, gone + 1e-7, fairness) is None
            beyond += 1
        else:
            assert share @ found == pytest.approx(dropped, abs=1e-9)
            assert float(want.quality @ found) == pytest.approx(best, abs=1e-9)
    assert 5 <= beyond <= 55


def test_a_query_that_needs_its_rows_keeps_them() -> None:
    want = Wanted(np.array([0.1, 0.9]), np.array([True, True]), np.array([0.2, 1.0]))
    assert thresholds(want, np.array([0.5, 0.5]), 0.5).tolist() == pytest.approx([0.2, 0.8])
    assert thresholds(want, np.array([0.5, 0.5]), 0.9).tolist() == pytest.approx([0.2, 1.0])
    assert thresholds(want, np.array([0.5, 0.5]), 0.9, 0.1).tolist() == pytest.approx([0.2, 0.3])


def test_s11_without_fairness_the_cheapest_rows_go_first() -> None:
    random = np.random.default_rng(11)
    for _ in range(200):
        want, share, dropped, _ = instance(random)
        left, loss = dropped, 0.0
        for region in cheapest_first(want.quality, share):
            part = min(left, share[region])
            loss += want.quality[region] * part / share[region] if share[region] > 0 else 0.0
            left -= part
        assert check(want, share, dropped, 1.0) == pytest.approx(loss, abs=1e-12)


def test_everything_and_nothing() -> None:
    want, share = wanted([0.5, 0.5], [True, False]), np.array([0.5, 0.5])
    assert thresholds(want, share, 0.0).tolist() == [0, 1]  # what nobody wants goes all the same
    assert thresholds(want, share, 0.0, more=False).tolist() == [0, 0]
    assert thresholds(want, share, 1.0, 0.1).tolist() == [1, 1]
    assert thresholds(wanted([0.3], [True]), np.array([1.0]), 0.25).tolist() == [0.25]
    assert thresholds(wanted([0.0, 0.0], [False, False]), share, 0.3).tolist() == [1, 1]
    # Queries that see no rows.
    assert thresholds(wanted([0.0, 0.0], [True, False]), np.array([0.0, 1.0]), 0.4, 0.2).tolist() == [0, 1]
