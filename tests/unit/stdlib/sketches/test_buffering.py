"""Buffers: least recently used, second chance, and with false positives added."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest

from streamq.stdlib.sketches.buffering import clock, fp_buffering, lru, reuse_distances
from streamq.stdlib.sketches.hashing import Keys
from streamq.stdlib.sketches.lookalike import crawl
from streamq.stdlib.sketches.membership_measures import first_occurrences, fn_rate, fp_rate

LETTERS = np.array([ord(x) for x in "abacba"], np.uint64)


def plain_lru(keys: Keys, capacity: int) -> list[bool]:
    buffer: OrderedDict[int, None] = OrderedDict()
    found = []
    for key in keys.tolist():
        found.append(key in buffer)
        buffer[key] = None
        buffer.move_to_end(key)
        if len(buffer) > capacity:
            buffer.popitem(last=False)
    return found


def test_G2_lru() -> None:  # noqa: N802
    """c evicts b, b evicts a, a evicts c."""
    assert lru(LETTERS, 2).tolist() == [False, False, True, False, False, False]
    assert plain_lru(LETTERS, 2) == lru(LETTERS, 2).tolist()
    assert reuse_distances(LETTERS).tolist() == [-1, -1, 1, -1, 2, 2]


@pytest.mark.parametrize(
    ("lru_fn", "sbf_fp", "fn"),
    [(0.50, 0.084, 0.46), (0.37, 0.067, 0.35), (0.25, 0.030, 0.24), (0.657, 0.081, 0.60), (0.515, 0.066, 0.48), (0.317, 0.045, 0.30),
     (0.78, 0.082, 0.71), (0.70, 0.070, 0.65), (0.58, 0.057, 0.55), (0.45, 0.035, 0.43), (0.17, 0.016, 0.17)],
)  # fmt: skip
def test_G2_the_columns_of_the_thesis_agree(lru_fn: float, sbf_fp: float, fn: float) -> None:  # noqa: N802
    assert lru_fn * (1 - sbf_fp) == pytest.approx(fn, abs=0.007)


@pytest.mark.parametrize("capacity", [1, 2, 3, 10, 200])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 127, 128, 3000])
def test_C8_lru_is_the_list(capacity: int, n: int) -> None:  # noqa: N802
    keys = (np.random.default_rng(n).zipf(1.2, n) % 100).astype(np.uint64)
    assert lru(keys, capacity).tolist() == plain_lru(keys, capacity)


def plain_clock(keys: Keys, capacity: int) -> list[bool]:
    """A ring of [key, used], turned so that the hand is at the front."""
    ring: list[list[int]] = []
    found = []
    for key in keys.tolist():
        entry = next((entry for entry in ring if entry[0] == key), None)
        found.append(entry is not None)
        if entry is not None:
            entry[1] = 1
            continue
        if len(ring) == capacity:
            while ring[0][1]:
                ring[0][1] = 0
                ring.append(ring.pop(0))
            ring.pop(0)
        ring.append([key, 0])
    return found


@pytest.mark.parametrize("capacity", [1, 2, 3, 10, 200])
def test_C8_clock_is_the_ring(capacity: int) -> None:  # noqa: N802
    keys = (np.random.default_rng(5).zipf(1.2, 2000) % 100).astype(np.uint64)
    assert clock(keys, capacity).tolist() == plain_clock(keys, capacity)


@pytest.mark.parametrize(
    ("bits", "fn"),
    [(16_384, 0.50), (65_536, 0.37), (262_144, 0.25), (1 << 20, 0.09), (1 << 22, 0.001)],
)
def test_C8_no_new_element_is_flagged_and_clock_is_near_lru(bits: int, fn: float) -> None:  # noqa: N802
    """``fn``: of the thesis, figure 3.4; the look-alike is within 2.7 points of it."""
    keys = crawl(100_000, 0.7566, seed=1)
    duplicate = ~first_occurrences(keys)
    found, near = lru(keys, bits // 64), clock(keys, bits // 64)
    assert fp_rate(found, duplicate) == fp_rate(near, duplicate) == 0
    assert abs(fn_rate(near, duplicate) - fn_rate(found, duplicate)) < 0.02
    assert fn_rate(found, duplicate) == pytest.approx(fn, abs=0.027)


def test_C9_false_positives_for_fewer_misses() -> None:  # noqa: N802
    keys = crawl(200_000, 0.5, seed=2)
    duplicate = ~first_occurrences(keys)
    q = 0.084
    flags = fp_buffering(keys, 1000, q, 7)
    plain = lru(keys, 1000)
    assert flags[plain].all()
    new, lost = np.count_nonzero(~duplicate), np.count_nonzero(duplicate & ~plain)
    # Three standard errors of shares q of so many.
    assert fp_rate(flags, duplicate) == pytest.approx(q, abs=3 * np.sqrt(q * (1 - q) / new))
    share = fn_rate(flags, duplicate) / fn_rate(plain, duplicate)
    assert share == pytest.approx(1 - q, abs=3 * np.sqrt(q * (1 - q) / lost))
    assert np.array_equal(fp_buffering(keys, 1000, q, 7), flags)
    assert np.array_equal(fp_buffering(keys, 1000, 0, 7), plain)
    assert fp_buffering(keys, 1000, 1, 7).all()


def test_buffers_that_cannot_be() -> None:
    for buffer in (lru, clock):
        with pytest.raises(ValueError, match="a key at least"):
            buffer(LETTERS, 0)
    with pytest.raises(ValueError, match="from 0 to 1"):
        fp_buffering(LETTERS, 1, 1.5, 0)
