"""G19: the bytes of Spark's ``count_min_sketch`` and its cells of whole numbers."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from streamq.stdlib.sketches.estimators import f2_cmm, point_cmm
from streamq.stdlib.sketches.spark_bytes import read_sketches, spark_columns


def written(
    counts: list[list[int]],
    hash_a: list[int],
    total: int | None = None,
    version: int = 1,
    width: int | None = None,
) -> bytes:
    """As Spark writes it."""
    head = struct.pack(
        ">iqii",
        version,
        sum(counts[0]) if total is None else total,
        len(counts),
        width or len(counts[0]),
    )
    return head + b"".join(struct.pack(f">{len(row)}q", *row) for row in (hash_a, *counts))


def cell(key: int, factor: int, width: int) -> int:
    """In whole numbers without end."""

    def wrapped(v: int) -> int:
        return (v + 2**63) % 2**64 - 2**63

    v = wrapped(key * factor)
    v = wrapped(v + (v >> 32))
    return (v & 0x7FFFFFFF) % width


def test_G19_one_sketch() -> None:  # noqa: N802
    """1, 2, 1 as BIGINT; eps 0.5, confidence 0.5, seed 1."""
    found = read_sketches([written([[0, 2, 1, 0]], [1569548985])])
    assert found.counts.tolist() == [[[0, 2, 1, 0]]]
    assert (found.totals.tolist(), found.hash_a.tolist()) == ([3], [1569548985])
    assert found.counts.dtype == np.int64
    keys = np.array([1, 2, 1])
    cells = spark_columns(keys, found.hash_a, 4)
    assert np.bincount(cells[:, 0], minlength=4).tolist() == [0, 2, 1, 0]
    assert f2_cmm(found.counts, found.totals, clip=False) == pytest.approx([11 / 3])
    columns = found.counts[0, [0], cells]
    assert point_cmm(columns[:1], found.counts[0], 3, "mean", clip=False) == pytest.approx([5 / 3])


def test_many_sketches_at_once() -> None:
    rng = np.random.default_rng(1)
    counts = rng.integers(-(2**62), 2**62, (20, 3, 7))
    hash_a = [1569548985, -7, 2**62 + 11]
    totals = rng.integers(-(2**62), 2**62, 20)
    data = [written(c.tolist(), hash_a, int(n)) for c, n in zip(counts, totals, strict=True)]
    for given in (data, np.array(data, object)):
        found = read_sketches(given)
        assert np.array_equal(found.counts, counts)
        assert np.array_equal(found.totals, totals)
        assert found.hash_a.tolist() == hash_a


@pytest.mark.parametrize("width", [1, 4, 1000, 2**31 - 1])
def test_cells_are_those_of_whole_numbers(width: int) -> None:
    rng = np.random.default_rng(2)
    keys = np.concatenate([rng.integers(-(2**63), 2**63 - 1, 500), [0, 1, -1, 2**63 - 1, -(2**63)]])
    hash_a = np.array([1569548985, 2**31 - 1, -5, 2**63 - 1, -(2**63), 1])
    expected = [[cell(int(key), int(a), width) for a in hash_a] for key in keys]
    assert spark_columns(keys, hash_a, width).tolist() == expected


def test_keys_stay_as_they_were() -> None:
    keys = np.array([1, 2, 3])
    spark_columns(keys, np.array([5]), 4)
    assert keys.tolist() == [1, 2, 3]


def test_what_is_no_sketch_of_one_shape_is_refused() -> None:
    good = written([[0, 2, 1, 0]], [5])
    with pytest.raises(ValueError, match="no sketch"):
        read_sketches([])
    with pytest.raises(ValueError, match="one length"):
        read_sketches([good, good + b"\0"])
    with pytest.raises(ValueError, match="one length"):
        read_sketches([b"short"])
    with pytest.raises(ValueError, match="version 1 are read, not of 2"):
        read_sketches([good, written([[0, 2, 1, 0]], [5], version=2)])
    # As long as each other: 2 rows of 3 and 1 row of 7, with factors.
    with pytest.raises(ValueError, match="several shapes"):
        read_sketches([written([[1, 2, 3], [3, 2, 1]], [5, 6]), written([[1] * 7], [5])])
    with pytest.raises(ValueError, match="are not in"):
        read_sketches([written([[0, 2, 1, 0]], [5], width=5)])
    with pytest.raises(ValueError, match="several seeds"):
        read_sketches([good, written([[0, 2, 1, 0]], [6])])
