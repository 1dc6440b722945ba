"""C17: ranges and quantiles from one sketch for each level."""

from __future__ import annotations

import math

import numpy as np
import pytest

from streamq.stdlib.sketches.ranges import Method, RangeCounts

BITS, WIDTH, DEPTH, ROWS = 16, 512, 5, 100_000


def numbers(kind: str) -> np.ndarray:
    rng = np.random.default_rng(81)
    if kind == "even":
        return rng.integers(0, 2**BITS, ROWS)
    if kind == "normal":
        return np.clip(rng.normal(30_000, 3_000, ROWS), 0, 2**BITS - 1).astype(np.int64)
    return np.minimum(rng.zipf(1.3, ROWS), 2**BITS) - 1


def ranges(count: int) -> tuple[np.ndarray, np.ndarray]:
    ends = np.sort(np.random.default_rng(82).integers(0, 2**BITS, (2, count)), axis=0)
    return ends[0], ends[1]


@pytest.mark.parametrize("kind", ["even", "normal", "skewed"])
def test_C17_ranges(kind: str) -> None:  # noqa: N802
    data = numbers(kind)
    found = RangeCounts.empty(BITS, WIDTH, DEPTH, 3).added(data)
    first, last = ranges(300)
    ordered = np.sort(data)
    truth = np.searchsorted(ordered, last, "right") - np.searchsorted(ordered, first)
    cm = found.within(first, last, "CM")
    assert (cm >= truth).all()
    # Two nodes of each of the 7 levels that are not exact, and e/w N too much in each with a chance of e^-5: of 300 ranges
    # none has 14 nodes that are, on average, that far off.
    assert ((cm - truth) <= 2 * 7 * math.e / WIDTH * ROWS).all()
    # Without noise a node is off by sqrt(F2/w) at most, for a row; F2 of a level is no more than N^2/w and what heavy numbers have.
    cmm = np.abs(found.within(first, last) - truth)
    assert cmm.mean() <= np.abs(cm - truth).mean()
    if kind != "skewed":
        # 14 nodes, with F2 of at most N^2/512 (the finest exact level, even; normal numbers are in a third of the domain: 4 of it).
        spread = math.sqrt(14 * 4 * ROWS**2 / WIDTH / WIDTH)
        assert cmm.max() <= 4 * spread


@pytest.mark.parametrize("method", ["CM", "CMM"])
def test_what_is_exact(method: Method) -> None:
    """A domain of no more numbers than columns, and a range that is all there is."""
    data = np.random.default_rng(83).integers(0, 256, 10_000)
    found = RangeCounts.empty(8, 256, 3, 1).added(data)
    first, last = np.divmod(np.arange(256 * 256), 256)
    ordered = np.sort(data)
    truth = np.maximum(np.searchsorted(ordered, last, "right") - np.searchsorted(ordered, first), 0)
    assert np.array_equal(found.within(first, last, method), truth)
    shares = np.array([0.0, 0.1, 0.5, 0.999, 1.0])
    expected = ordered[np.maximum(np.ceil(shares * 10_000).astype(int) - 1, 0)]
    assert found.quantiles(shares, method).tolist() == expected.tolist()
    wide = RangeCounts.empty(63, 16, 3, 1).added(data)
    assert wide.within(np.array([0]), np.array([2**63 - 1]), method).tolist() == [10_000]


@pytest.mark.parametrize("kind", ["even", "normal", "skewed"])
def test_C17_quantiles(kind: str) -> None:  # noqa: N802
    """The share of rows up to it is what was asked for, but for the noise of 7 nodes, one of each level that is not exact."""
    data = np.sort(numbers(kind))
    found = RangeCounts.empty(BITS, WIDTH, DEPTH, 3).added(data)
    shares = np.linspace(0.01, 0.99, 50)
    at = found.quantiles(shares)
    f2 = float((np.bincount(data).astype(float) ** 2).sum())
    off = 4 * math.sqrt(7 * max(f2, 4 * ROWS**2 / WIDTH) / WIDTH) / ROWS
    upto, below = np.searchsorted(data, at, "right") / ROWS, np.searchsorted(data, at) / ROWS
    assert (below <= shares + off).all()
    assert (upto >= shares - off).all()


def test_C18_parts_are_the_whole() -> None:  # noqa: N802
    data = numbers("normal")
    panes = [RangeCounts.empty(BITS, 64, 3, 3).added(part) for part in np.split(data, 4)]
    merged = panes[0].merged(panes[1]).merged(panes[2]).merged(panes[3])
    assert np.array_equal(merged.counts, RangeCounts.empty(BITS, 64, 3, 3).added(data).counts)
    left = merged.minus(panes[0])
    again = RangeCounts.empty(BITS, 64, 3, 3).added(data[25_000:])
    assert np.array_equal(left.counts, again.counts)
    assert left.total == 75_000
    weighted = RangeCounts.empty(BITS, 64, 3, 3).added(data, np.full(len(data), 0.5))
    assert weighted.counts == pytest.approx(merged.counts / 2)
    assert weighted.total == 50_000


def test_empty_ranges_have_no_rows() -> None:
    found = RangeCounts.empty(8, 16, 3, 1).added(np.arange(256))
    assert found.within(np.array([7, 255]), np.array([6, 0])).tolist() == [0, 0]


def test_what_is_not_in_the_domain_is_refused() -> None:
    found = RangeCounts.empty(8, 16, 3, 1)
    for wrong in (-1, 256):
        with pytest.raises(ValueError, match=r"0 to 2\^8 - 1"):
            found.added(np.array([wrong]))
        with pytest.raises(ValueError, match=r"0 to 2\^8 - 1"):
            found.within(np.array([0]), np.array([wrong]))
    for bits in (0, 64):
        with pytest.raises(ValueError, match="1 to 63 bits"):
            RangeCounts.empty(bits, 16, 3, 1)
    for share in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="from 0 to 1"):
            found.quantiles(np.array([share]))
    with pytest.raises(ValueError, match="no rows"):
        found.quantiles(np.array([0.5]))
    with pytest.raises(ValueError, match="as many bits"):
        found.merged(RangeCounts.empty(9, 16, 3, 1))
    with pytest.raises(ValueError, match="width and seed"):
        found.minus(RangeCounts.empty(8, 16, 3, 2))
