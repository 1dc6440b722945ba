"""The Bloom filter: nothing that came is missed, in a batch or between, and false positives are as the formula has them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from streamq.stdlib.sketches.bloom import AT_ONCE, Bloom, bloom_fp_rate, bloom_hashes
from streamq.stdlib.sketches.hashing import mix64
from streamq.stdlib.sketches.membership_measures import first_occurrences
from streamq.stdlib.sketches.planes import pack, unpack


def test_G6_plan_and_rate() -> None:  # noqa: N802
    assert bloom_hashes(10_000, 1000) == 7
    assert bloom_fp_rate(10_000, 7, 1000) == pytest.approx(0.0082, abs=5e-5)
    # The best number of hashes leaves half of the cells 0.
    assert bloom_fp_rate(10_000, 7, 1000) == pytest.approx(0.5 ** (np.log(2) * 10), rel=0.01)


def test_G6_new_elements_after_a_thousand() -> None:  # noqa: N802
    """200 filters, each asked for 10,000 keys: standard error .00006 for the draws; the share of ones in a filter deviates by
    .0035 (of .5), the rate by 7 * .007 of itself, .0004, and the mean of 200 by .00003. .0003 is over four of both.
    """
    rates = []
    for seed in range(200):
        filter_ = Bloom(10_000, 7, seed)
        filter_.observe(mix64(np.arange(1000, dtype=np.uint64)))
        rates.append(filter_.has(mix64(np.arange(1000, 11_000, dtype=np.uint64))).mean())
    assert np.mean(rates) == pytest.approx(bloom_fp_rate(10_000, 7, 1000), abs=0.0003)


def plain(keys: list[int], bits: int, hashes: int, seed: int) -> tuple[list[bool], list[int]]:
    """One element after the other."""
    filter_ = Bloom(bits, hashes, seed)
    found = []
    for cells in filter_.cells_of(np.array(keys, np.uint64)).T.tolist():
        found.append(all(filter_.values[cell] for cell in cells))
        filter_.values[cells] = 1
    return found, filter_.values.tolist()


@pytest.mark.parametrize("bits", [1, 2, 61, 500, 4096])
@pytest.mark.parametrize("hashes", [1, 2, 7])
def test_a_batch_is_its_elements_in_order(bits: int, hashes: int) -> None:
    drawn = np.random.default_rng(bits)
    keys = drawn.integers(0, 400, 1000).astype(np.uint64)
    flags, values = plain(keys.tolist(), bits, hashes, 3)
    filter_ = Bloom(bits, hashes, 3)
    bounds = np.sort(drawn.integers(0, 1000, 8))
    found = np.concatenate([filter_.observe(part) for part in np.split(keys, bounds)])
    assert found.tolist() == flags
    assert filter_.values.tolist() == values


def test_C7_nothing_is_missed() -> None:  # noqa: N802
    keys = np.random.default_rng(1).integers(0, 60_000, 3 * AT_ONCE).astype(np.uint64)
    filter_ = Bloom(1 << 18, 3, 1)
    flags = filter_.observe(keys)
    assert flags[~first_occurrences(keys)].all()
    assert filter_.has(keys).all()
    assert filter_.observe(keys).all()


def test_room_for_some() -> None:
    keys = np.array([1, 1, 2, 3, 3, 4], np.uint64)
    for room, taken, new in [(0, 0, 0), (1, 2, 1), (2, 3, 2), (3, 5, 3), (4, 6, 4), (5, 6, 4)]:
        filter_ = Bloom(10_000, 4, 1)
        flags, found = filter_.observe_cells(filter_.cells_of(keys), room)
        assert flags.tolist() == [False, True, False, False, True, False][:taken]
        assert found == new
        assert filter_.has(np.array([1, 2, 3, 4], np.uint64)).sum() == new


def test_filters_of_two_streams_are_one_of_both() -> None:
    keys = np.random.default_rng(2).integers(0, 1 << 40, 2000).astype(np.uint64)
    both, a, b = Bloom(20_000, 5, 1), Bloom(20_000, 5, 1), Bloom(20_000, 5, 1)
    both.observe(keys)
    a.observe(keys[::2])
    b.observe(keys[1::2])
    merged = a.merged(b)
    assert np.array_equal(merged.values, both.values)
    assert not np.array_equal(a.values, both.values)
    for other in (Bloom(20_001, 5, 1), Bloom(20_000, 4, 1), Bloom(20_000, 5, 2)):
        with pytest.raises(ValueError, match="same bits, hashes and seed"):
            a.merged(other)


@pytest.mark.parametrize("hashes", [1, 3])
def test_B5_distinct_elements_by_cells_that_are_left(hashes: int) -> None:  # noqa: N802
    """50,000 distinct elements, half of them twice, in 65,536 cells by hash.

    With t = n / m the estimate has a deviation of sqrt(m (e^t - t - 1)) for one hash, 158; with K of them and K m cells
    draws are K times as many of as large a share: sqrt(K m (e^t - t - 1)) / K, less. 4 of these.
    """
    keys = mix64(np.arange(50_000, dtype=np.uint64))
    filter_ = Bloom(hashes << 16, hashes, 1)
    filter_.observe(np.append(keys, keys[::2]))
    t = 50_000 / 65_536
    deviation = math.sqrt((hashes << 16) * (math.exp(t) - t - 1)) / hashes
    assert abs(filter_.distinct - 50_000) < 4 * deviation
    assert Bloom(10, 1, 1).distinct == 0
    full = Bloom(1, 1, 1)
    full.observe(keys[:1])
    assert full.distinct == math.inf


def test_stored_and_taken_up_again() -> None:
    filter_ = Bloom(1001, 5, 1)
    filter_.observe(np.arange(100, dtype=np.uint64))
    stored = filter_.to_bytes()
    assert np.array_equal(Bloom.from_bytes(stored, 1001, 5, 1).values, filter_.values)
    for other in [(1002, 5, 1), (1001, 4, 1), (1001, 5, 2)]:
        with pytest.raises(ValueError, match="other bits, hashes or seed"):
            Bloom.from_bytes(stored, *other)
    with pytest.raises(ValueError, match="126 bytes, and there are 125"):
        Bloom.from_bytes(stored[:-1], 1001, 5, 1)
    with pytest.raises(ValueError, match="another version"):
        Bloom.from_bytes(b"", 1001, 5, 1)


def test_a_filter_has_bits_and_hashes() -> None:
    for bits, hashes in [(0, 1), (1, 0)]:
        with pytest.raises(ValueError, match="a bit and a hash at least"):
            Bloom(bits, hashes, 1)
    with pytest.raises(ValueError, match="a distinct element at least: 0"):
        bloom_hashes(1000, 0)


@pytest.mark.parametrize("bits", [1, 2, 3, 4])
@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 1000])
def test_packed_values(bits: int, n: int) -> None:
    values = np.random.default_rng(n).integers(0, 1 << bits, n).astype(np.uint8)
    stored = pack(values, bits)
    assert len(stored) == -(-n // 8) * bits
    assert np.array_equal(unpack(stored, n, bits), values)
