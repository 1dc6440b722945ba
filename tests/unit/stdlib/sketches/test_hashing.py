"""The hashes of sketches: fixed numbers, even cells, signs that do not follow cells."""

from __future__ import annotations

import numpy as np

from streamq.stdlib.sketches.hashing import buckets, keys_of, mix64, row_seed, signs


def test_the_mixer_is_that_of_splitmix64() -> None:
    # The first numbers of splitmix64 from seed 0, as its authors' reference code prints them.
    state = np.array([0, 0x9E3779B97F4A7C15, 0x3C6EF372FE94F82A], np.uint64)
    assert [hex(x) for x in mix64(state)] == ["0xe220a8397b1dcdaf", "0x6e789e6aa1b965f4", "0x6c45d188009454f"]


def test_negative_numbers_are_keys() -> None:
    assert keys_of(np.array([-1, 3], np.int32)).tolist() == [2**64 - 1, 3]


def test_cells_are_even_and_signs_do_not_follow_them() -> None:
    keys, width = np.arange(640_000, dtype=np.uint64), 64
    cells = buckets(keys, width, row_seed(1, 0))
    counts = np.bincount(cells, minlength=width)
    # Each count is binomial: mean 10,000, deviation 99; 5 deviations for the worst of 64.
    assert counts.shape == (width,)
    assert np.abs(counts - 10_000).max() < 500
    sums = np.bincount(cells, weights=signs(keys, row_seed(1, 1)), minlength=width)
    assert np.abs(sums).max() < 500


def test_rows_see_other_cells() -> None:
    keys = np.arange(100_000, dtype=np.uint64)
    both = buckets(keys, 100, row_seed(7, 0)) == buckets(keys, 100, row_seed(7, 1))
    # A hundredth of them by chance: 1,000, deviation 31.
    assert abs(int(both.sum()) - 1000) < 160
