"""Goldens G7, G9 and G10: estimates from given counters, and their means and variances over random hashes."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.sketches.counter_sketch import CounterSketch, empty_count_min, empty_fast_agms
from streamq.stdlib.sketches.estimators import (
    f2_agms,
    f2_cm,
    f2_cm_minus,
    f2_cmm,
    f2_cmm_rows,
    join_agms,
    join_cm,
    join_cmm,
    point_agms,
    point_cm,
    point_cmm,
)
from streamq.stdlib.sketches.lookalike import zipf_counts
from tests.unit.stdlib.sketches.plain_counts import self_join

ROWS = np.array([[5, 1, 2, 2], [3, 3, 3, 1], [0, 6, 2, 2]])
COLUMNS = ROWS[[0, 1, 2], [0, 1, 1]]

DRAWS = 20_000
"""Of hashes."""


def test_G7_points() -> None:  # noqa: N802
    assert point_cm(COLUMNS) == 3
    # Residues 3.3333, 0.6667 and 4.6667; medians 2, 3 and 2 leave 3, 0 and 4.
    assert point_cmm(COLUMNS, ROWS, 10, "mean", clip=False) == pytest.approx(10 / 3)
    assert point_cmm(COLUMNS, ROWS, 10, "mean") == 3
    assert point_cmm(COLUMNS, ROWS, 10) == 3
    assert point_cmm(COLUMNS, ROWS, 10, unbiased=True) == pytest.approx(
        (10 / 3 + 2 / 3 + 14 / 3) / 3
    )


def test_G7_self_joins() -> None:  # noqa: N802
    assert f2_cm(ROWS) == 28
    assert f2_cmm_rows(ROWS, 10) == pytest.approx([12, 4, 76 / 3])
    assert f2_cmm(ROWS, 10) == pytest.approx(12)
    assert f2_cmm(ROWS, 10, "mean") == pytest.approx(13.7778, abs=5e-5)
    assert f2_cm_minus(ROWS) == 16


def test_G7_joins() -> None:  # noqa: N802
    other = np.array([[2, 0, 1, 1]])
    assert join_cmm(ROWS[:1], other, 10, 4) == pytest.approx(16 / 3)
    assert join_cm(ROWS[:1], other) == 14


def test_G9_agms() -> None:  # noqa: N802
    row = np.array([[4, -1, 2, -1]])
    assert f2_agms(row) == 22
    assert point_agms(row[:, 1], np.array([-1])) == 1
    assert join_agms(row, row) == 22
    assert point_agms(row[:, 1], np.array([1])) == 0
    assert point_agms(row[:, 1], np.array([1]), clip=False) == -1


def test_axes_before_are_kept() -> None:
    counts = np.stack([ROWS, 2 * ROWS])
    totals = np.array([10, 20])
    columns = np.stack([COLUMNS, 2 * COLUMNS])
    for noise in ("median", "mean"):
        each = [
            float(point_cmm(c, k, n, noise))
            for c, k, n in zip(columns, counts, totals, strict=True)
        ]
        assert point_cmm(columns, counts, totals, noise) == pytest.approx(each)
    assert f2_cmm(counts, totals).tolist() == pytest.approx([12, 48])
    assert f2_cm(counts).tolist() == [28, 112]
    assert f2_cm_minus(counts).tolist() == [16, 64]
    assert join_cmm(counts, counts, totals, totals).tolist() == pytest.approx([12, 48])
    assert f2_cmm(counts[:, None], totals[:, None]).shape == (2, 1)


def test_clips_hold_only_where_nothing_was_taken_back() -> None:
    counts = np.array([[5, 5, 5, 5]])
    assert point_cmm(np.array([2]), counts, 20) == 0
    assert point_cmm(np.array([2]), counts, 20, clip=False) == -3
    assert f2_cmm(counts, 20) == 20
    assert f2_cmm(counts, 20, clip=False) == 0
    assert f2_cmm(counts, 20, distinct=5) == 80
    # Sums of fractions may have an F2 below N.
    assert f2_cmm(counts * 1.0, 20) == 0


def test_large_counters_keep_their_digits() -> None:
    """Squares beyond 64 bits, and a variance that is a millionth of them."""
    counts = np.array([[2**33, 2**33 + 2**23]])
    assert f2_cm(counts) == pytest.approx(float((2**33) ** 2 + (2**33 + 2**23) ** 2), rel=1e-12)
    assert f2_cmm(counts, 2**34 + 2**23, clip=False) == pytest.approx(float(2**46), rel=1e-9)
    # Counters by the width are beyond 64 bits too: (4 * 2^62 - 2^62) / 3.
    one = np.array([[2**62, 0, 0, 0]])
    assert point_cmm(one[:, 0], one, 2**62, "mean", clip=False) == pytest.approx(2.0**62, rel=1e-12)


def test_noise_needs_other_cells() -> None:
    one = np.array([[3]])
    with pytest.raises(ValueError, match="2 columns"):
        point_cmm(one[0], one, 3, "mean")
    with pytest.raises(ValueError, match="2 columns"):
        f2_cmm(one, 3)
    with pytest.raises(ValueError, match="odd"):
        f2_cm_minus(one)


WIDTH = 32
F = zipf_counts(20_000, 2_000, 1.0, 11)
G = np.roll(zipf_counts(20_000, 2_000, 1.0, 12), 3)
KEYS = np.arange(2_000, dtype=np.uint64)
KEY = 5
SQUARES = self_join(F)
LEMMA_POINT = (SQUARES - F[KEY] ** 2.0) / 1
LEMMA_F2 = 2 * (SQUARES**2 - float((F**4.0).sum()))
LEMMA_JOIN = SQUARES * self_join(G) + float(F @ G) ** 2 - 2 * float((F**2.0 * G**2.0).sum())


@pytest.fixture(scope="module")
def count_min() -> CounterSketch:
    """As many rows as draws of hashes: each is one of a sketch of its own."""
    return empty_count_min(WIDTH, DRAWS, 1).added(KEYS, F)


@pytest.fixture(scope="module")
def agms() -> CounterSketch:
    return empty_fast_agms(WIDTH, DRAWS, 1).added(KEYS, F)


def check(found: np.ndarray, truth: float, variance: float) -> None:
    """The mean within 3 standard errors, and the variance within a twentieth."""
    assert abs(found.mean() - truth) < 3 * np.sqrt(variance / DRAWS)
    assert 0.95 < found.var() / variance < 1.05


def test_G10_points(count_min: CounterSketch, agms: CounterSketch) -> None:  # noqa: N802
    query = KEYS[KEY : KEY + 1]
    rows = point_cmm(
        count_min.columns(query)[0][:, None], count_min.counts[:, None], 20_000, "mean", clip=False
    )
    signed = point_agms(agms.columns(query)[0][:, None], agms.signs(query)[0][:, None], clip=False)
    check(rows, F[KEY], LEMMA_POINT / (WIDTH - 1))
    check(signed, F[KEY], LEMMA_POINT / WIDTH)
    # By mean noise a row is skewed, and the median of rows too low; by signs it is not.
    assert np.median(rows) < 0.7 * F[KEY]
    assert np.median(signed) == pytest.approx(F[KEY], rel=0.05)


def test_G10_self_joins(count_min: CounterSketch, agms: CounterSketch) -> None:  # noqa: N802
    rows = f2_cmm_rows(count_min.counts, 20_000)
    check(rows, SQUARES, LEMMA_F2 / (WIDTH - 1))
    check(f2_agms(agms.counts[:, None]), SQUARES, LEMMA_F2 / WIDTH)
    assert np.median(rows) < SQUARES


def test_G10_joins(count_min: CounterSketch, agms: CounterSketch) -> None:  # noqa: N802
    other = empty_count_min(WIDTH, DRAWS, 1).added(KEYS, G)
    rows = join_cmm(count_min.counts[:, None], other.counts[:, None], 20_000, 20_000)
    check(rows, float(F @ G), LEMMA_JOIN / (WIDTH - 1))
    signed = empty_fast_agms(WIDTH, DRAWS, 1).added(KEYS, G)
    check(join_agms(agms.counts[:, None], signed.counts[:, None]), float(F @ G), LEMMA_JOIN / WIDTH)
