"""C16: no heavy key is lost, whatever the order of rows, and no more candidates are kept than are needed."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.sketches.hashing import keys_of
from streamq.stdlib.sketches.heavy import Heavy, HeavyHitters, most_candidates
from streamq.stdlib.sketches.lookalike import zipf_counts

SHARE = 0.01


def rows_of(counts: np.ndarray, order: str) -> np.ndarray:
    """Keys in some order: at random, the least frequent first, or each key's rows together and the most frequent first."""
    keys = np.repeat(np.arange(len(counts), dtype=np.uint64), counts)
    if order == "random":
        return np.random.default_rng(1).permutation(keys)
    return keys[::-1] if order == "rare first" else keys


def check(found: Heavy, counts: np.ndarray, least: float) -> None:
    """All keys of at least so many rows, none of fewer than half of that, and bounds with the truth between them."""
    assert set(np.flatnonzero(counts >= least)) <= set(found.keys.tolist())
    truth = counts[found.keys.astype(np.int64)]
    assert (truth >= least / 2).all()
    assert (found.lo <= truth).all()
    assert (truth <= found.hi).all()
    assert (found.lo <= found.estimate).all()
    assert (found.estimate <= found.hi).all()


@pytest.mark.parametrize("order", ["random", "rare first", "frequent first"])
@pytest.mark.parametrize("z", [0.0, 0.8, 1.0, 1.5, 2.0])
@pytest.mark.parametrize("width", [4, 256])
def test_C16_no_heavy_key_is_missing(z: float, order: str, width: int) -> None:  # noqa: N802
    """Even where Count-Min is so narrow that it bounds nothing."""
    counts = zipf_counts(50_000, 5_000, z, 71)
    found = HeavyHitters.empty(SHARE, width, 5, 1)
    for batch in np.array_split(rows_of(counts, order), 37):
        found = found.added(batch)
        assert len(found.keys) <= found.most == 200
    assert found.taken <= 50_000 / 201
    check(found.iceberg(), counts, SHARE * 50_000)
    check(found.iceberg(0.05), counts, 0.05 * 50_000)


def test_C16_a_key_at_the_threshold_between_many_that_come_once() -> None:  # noqa: N802
    """500 of 50,000 rows, first of all, and never again."""
    rows = keys_of(np.append(np.zeros(500, np.int64), np.arange(1, 49_501)))
    for pieces in (1, 10, 500):
        found = HeavyHitters.empty(SHARE, 64, 5, 1)
        for batch in np.array_split(rows, pieces):
            found = found.added(batch)
        assert 0 in found.iceberg().keys


def test_C16_a_share_that_is_no_binary_number() -> None:  # noqa: N802
    """7 of 100 rows, where 0.07 * 100 is 7.000000000000001."""
    rows = keys_of(np.append(np.zeros(7, np.int64), np.arange(1, 94)))
    assert 0 in HeavyHitters.empty(0.07, 4096, 5, 1).added(rows).iceberg().keys


def test_C16_merged_as_if_seen_together() -> None:  # noqa: N802
    """Halves with other keys in them; the sketch is that of all, and no heavy key is missing."""
    counts = zipf_counts(50_000, 5_000, 1.0, 72)
    rows = rows_of(counts, "frequent first")
    parts = [HeavyHitters.empty(SHARE, 256, 5, 1).added(part) for part in np.array_split(rows, 8)]
    merged = parts[0]
    for part in parts[1:]:
        merged = merged.merged(part)
    whole = HeavyHitters.empty(SHARE, 256, 5, 1).added(rows)
    assert np.array_equal(merged.sketch.counts, whole.sketch.counts)
    assert len(merged.keys) <= 200
    assert merged.taken <= 50_000 / 201
    check(merged.iceberg(), counts, SHARE * 50_000)


def test_C16_the_most_frequent() -> None:  # noqa: N802
    counts = zipf_counts(100_000, 5_000, 1.2, 73)
    found = HeavyHitters.empty(SHARE, 2048, 5, 1).added(rows_of(counts, "random"))
    # The tenth has 1.3 % of the rows, and neighbours among them are 100 rows apart and more: noise has a deviation of
    # sqrt(F2/w), but few of 2048 cells hold one of the frequent keys.
    top = found.top(10)
    assert top.keys.tolist() == list(range(10))
    assert top.estimate == pytest.approx(counts[:10], rel=0.02)
    assert len(found.top(10_000).keys) <= 200


def test_weights_are_so_many_rows() -> None:
    counts = zipf_counts(20_000, 500, 1.0, 74)
    keys = np.arange(500, dtype=np.uint64)
    by_weight = HeavyHitters.empty(0.02, 128, 3, 1).added(keys, counts)
    by_row = HeavyHitters.empty(0.02, 128, 3, 1).added(rows_of(counts, "random"))
    assert np.array_equal(by_weight.counts, by_row.counts)
    assert np.array_equal(by_weight.keys, by_row.keys)
    half = HeavyHitters.empty(0.02, 128, 3, 1).added(keys, counts / 2)
    assert half.iceberg().keys.tolist() == by_row.iceberg().keys.tolist()


def test_nothing_is_no_heavy_key() -> None:
    empty = HeavyHitters.empty(SHARE, 16, 3, 1)
    none = np.array([], np.uint64)
    for found in (empty, empty.added(none), empty.added(none, np.array([], np.int64))):
        assert len(found.iceberg().keys) == 0
        assert len(found.top(3).keys) == 0


def test_candidates_are_twice_as_many_as_can_be_heavy() -> None:
    assert [most_candidates(s) for s in (1.0, 0.5, 0.3, 0.01)] == [2, 4, 7, 200]


def test_what_cannot_be_told_is_refused() -> None:
    found = HeavyHitters.empty(SHARE, 16, 3, 1)
    for share in (0.0, -0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="share of the rows"):
            HeavyHitters.empty(share, 16, 3, 1)
    with pytest.raises(ValueError, match="were not kept"):
        found.iceberg(0.005)
    with pytest.raises(ValueError, match="taken back"):
        found.added(np.arange(2, dtype=np.uint64), np.array([1, -1]))
    with pytest.raises(ValueError, match="one share"):
        found.merged(HeavyHitters.empty(0.02, 16, 3, 1))
    with pytest.raises(ValueError, match="width and seed"):
        found.merged(HeavyHitters.empty(SHARE, 17, 3, 1))
