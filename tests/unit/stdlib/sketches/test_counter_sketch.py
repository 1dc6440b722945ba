"""Count-Min and Fast-AGMS: never too low, the same from parts as from all, and what left a window is gone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from streamq.stdlib.sketches.counter_sketch import (
    CounterSketch,
    empty_count_min,
    empty_fast_agms,
    sketch_from_bytes,
)
from streamq.stdlib.sketches.estimators import f2_cm, point_cm
from streamq.stdlib.sketches.hashing import keys_of
from streamq.stdlib.sketches.lookalike import zipf_counts
from tests.unit.stdlib.sketches.plain_counts import self_join

Kind = Callable[[int, int, int], CounterSketch]
KINDS: list[Kind] = [empty_count_min, empty_fast_agms]


def stream(rows: int, seed: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return keys_of(np.random.default_rng(seed).zipf(1.5, rows))


@pytest.mark.parametrize("z", [0.0, 0.5, 1.0, 1.5, 2.0])
def test_C11_never_below_the_truth(z: float) -> None:  # noqa: N802
    counts = zipf_counts(20_000, 2_000, z, 1)
    keys = np.arange(2_000, dtype=np.uint64)
    sketch = empty_count_min(64, 5, 9).added(keys, counts)
    assert (point_cm(sketch.columns(keys)) >= counts).all()
    assert f2_cm(sketch.counts) >= self_join(counts)


def test_counters_are_sums_of_cells() -> None:
    """Each row has all of the weights, and a key alone is in one cell of each."""
    keys = stream(100_000, 2)
    sketch = empty_count_min(100, 4, 3).added(keys)
    assert sketch.counts.sum(axis=1).tolist() == [100_000] * 4
    assert sketch.total == 100_000
    one = empty_count_min(100, 4, 3).added(keys[:1])
    assert one.columns(keys[:1]).tolist() == [[1, 1, 1, 1]]
    assert (one.counts != 0).sum() == 4


@pytest.mark.parametrize("kind", KINDS)
def test_C18_parts_are_the_whole(kind: Kind) -> None:  # noqa: N802
    """Merged parts are the sketch of all; without the pane that left, it is as if it had never come."""
    keys = stream(50_000, 4)
    weights = np.random.default_rng(5).integers(-3, 9, len(keys))
    for w in (None, weights):
        panes = [
            kind(97, 5, 7).added(keys[s], None if w is None else w[s])
            for s in np.split(np.arange(len(keys)), 5)
        ]
        merged = panes[0]
        for pane in panes[1:]:
            merged = merged.merged(pane)
        whole = kind(97, 5, 7).added(keys, w)
        assert np.array_equal(merged.counts, whole.counts)
        assert merged.total == whole.total
        left = merged.minus(panes[0])
        again = kind(97, 5, 7).added(keys[10_000:], None if w is None else w[10_000:])
        assert np.array_equal(left.counts, again.counts)
        assert left.total == again.total


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_taken_back_was_never_there(kind: Kind) -> None:
    keys = stream(1000, 6)
    sketch = kind(16, 3, 1).added(keys).added(keys, np.full(1000, -1))
    assert (sketch.total, np.abs(sketch.counts).max()) == (0, 0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_sketch_stays_as_it_was(kind: Kind) -> None:
    empty = kind(16, 3, 1)
    empty.added(stream(1000, 6))
    assert (empty.total, np.abs(empty.counts).max()) == (0, 0)


@pytest.mark.parametrize("kind", KINDS)
def test_whole_weights_are_exact(kind: Kind) -> None:
    """Of 2^60 and 1 a float keeps no 1."""
    keys = keys_of(np.array([5, 5]))
    sketch = kind(8, 2, 1).added(keys, np.array([2**60, 1]))
    assert (np.abs(sketch.columns(keys)) == 2**60 + 1).all()
    assert sketch.total == 2**60 + 1


@pytest.mark.parametrize("kind", KINDS)
def test_weights_that_are_fractions(kind: Kind) -> None:
    keys = keys_of(np.array([5, 5, 6]))
    sketch = kind(64, 2, 1).added(keys).added(keys, np.array([0.5, 0.25, 1.0]))
    assert sketch.counts.dtype == np.float64
    assert np.abs(sketch.columns(keys)[0]) == pytest.approx([2.75, 2.75])
    assert sketch.total == 4.75
    assert sketch.merged(kind(64, 2, 1)).total == 4.75


@pytest.mark.parametrize("kind", KINDS)
def test_no_keys_are_no_change(kind: Kind) -> None:
    sketch = kind(8, 2, 1).added(keys_of(np.array([], np.int64)))
    assert sketch.total == 0
    assert sketch.columns(keys_of(np.array([], np.int64))).shape == (0, 2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [0, -1, 2**63 + 5])
def test_bytes_come_back(kind: Kind, seed: int) -> None:
    keys = stream(1000, 6)
    for sketch in (
        kind(16, 3, seed).added(keys),
        kind(16, 3, seed).added(keys, np.full(1000, 0.5)),
    ):
        again = sketch_from_bytes(sketch.to_bytes())
        assert np.array_equal(again.counts, sketch.counts)
        assert again.counts.dtype == sketch.counts.dtype
        assert (again.total, again.seed) == (sketch.total, sketch.seed)
        assert again.merged(sketch).total == 2 * sketch.total


def test_bytes_of_anything_else_are_refused() -> None:
    data = empty_count_min(4, 2, 1).to_bytes()
    for wrong in (b"", data[:-1], data + b"\0", b"XXXX" + data[4:]):
        with pytest.raises(ValueError, match=r"bytes|kind"):
            sketch_from_bytes(wrong)
    with pytest.raises(ValueError, match="version 1 are read, not of 2"):
        sketch_from_bytes(data[:5] + b"\2" + data[6:])
    # As many bytes as 0 rows have.
    with pytest.raises(ValueError, match="0 rows of 4"):
        sketch_from_bytes(data[:8] + b"\0" + data[9:32])


@pytest.mark.parametrize("kind", KINDS)
def test_sketches_that_see_other_cells_are_refused(kind: Kind) -> None:
    sketch = kind(16, 3, 1)
    for other in (kind(17, 3, 1), kind(16, 4, 1), kind(16, 3, 2)):
        with pytest.raises(ValueError, match="one depth, width and seed"):
            sketch.merged(other)
        with pytest.raises(ValueError, match="one depth, width and seed"):
            sketch.minus(other)


def test_kinds_do_not_go_together() -> None:
    plain, signed = empty_count_min(16, 3, 1), empty_fast_agms(16, 3, 1)
    for call in (plain.merged, plain.minus):
        with pytest.raises(ValueError, match="do not go together"):
            call(signed)
    with pytest.raises(ValueError, match="this is Count-Min"):
        plain.signs(stream(3, 1))


@pytest.mark.parametrize("kind", KINDS)
def test_sums_beyond_64_bits_are_refused(kind: Kind) -> None:
    """They would begin anew below zero; as floats they go on."""
    keys = keys_of(np.array([5, 5]))
    half = np.array([2**62, 2**62 - 1024])
    full = kind(8, 2, 1).added(keys, half)
    assert full.total == 2**63 - 1024
    assert (np.abs(full.columns(keys)) == 2**63 - 1024).all()
    assert sketch_from_bytes(full.to_bytes()).total == full.total
    with pytest.raises(ValueError, match="not to 9223372036854775808: give weights as floats"):
        full.added(keys[:1], np.array([1024]))
    with pytest.raises(ValueError, match="less than 2\\^63, not to"):
        full.merged(full)
    with pytest.raises(ValueError, match="less than 2\\^63: give"):
        kind(8, 2, 1).added(keys, np.array([2**63 - 1, 2**63 - 1]))
    with pytest.raises(ValueError, match="not 9223372036854775808"):
        kind(8, 2, 1).added(keys, np.array([2**63, 1], np.uint64))
    assert full.added(keys, half * 1.0).total == 2.0**64 - 2048


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_sketch_or_key_or_weight_is_refused(kind: Kind) -> None:
    for width, depth in ((1, 3), (16, 0), (2**32, 1)):
        with pytest.raises(ValueError, match="columns and a row"):
            kind(width, depth, 1)
    sketch, keys = kind(16, 3, 1), keys_of(np.arange(3))
    with pytest.raises(ValueError, match="64 bits"):
        sketch.added(np.arange(3))
    with pytest.raises(ValueError, match="each key has a weight"):
        sketch.added(keys, np.ones(2))
    with pytest.raises(ValueError, match="numbers"):
        sketch.added(keys, np.array(["1", "2", "3"]))
    with pytest.raises(ValueError, match="finite"):
        sketch.added(keys, np.array([1.0, np.nan, 2.0]))
