"""Streams that look like the thesis's: shares of distinct elements, bursts, and moments of Zipf's law."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.sketches.buffering import fp_buffering, lru
from streamq.stdlib.sketches.lookalike import (
    burst_stream,
    crawl,
    most_levels,
    poisson_stream,
    zipf,
    zipf_counts,
    zipf_shares,
)
from streamq.stdlib.sketches.membership_measures import first_occurrences, fn_rate, fp_rate
from streamq.stdlib.sketches.membership_plan import stable_plan
from streamq.stdlib.sketches.stable_bloom import StableBloom

OTHERS = 1 << 31


@pytest.mark.parametrize(("n", "new"), [(100_000, 0.7566), (1_000_000, 0.4851), (100_000, 0.1475)])
def test_C27_distinct_share_of_a_crawl(n: int, new: float) -> None:  # noqa: N802
    """Each element is new with that probability: deviation .0014 at most of 100,000; within 1 %."""
    assert first_occurrences(crawl(n, new, seed=1)).mean() == pytest.approx(new, abs=0.01)


def test_a_crawl_is_fixed_by_its_seed() -> None:
    assert np.array_equal(crawl(1000, 0.5, seed=1), crawl(1000, 0.5, seed=1))
    assert not np.array_equal(crawl(1000, 0.5, seed=1), crawl(1000, 0.5, seed=2))
    assert len(crawl(0, 0.5)) == 0
    assert first_occurrences(crawl(1000, 1.0)).all()
    # Only the first is new.
    assert first_occurrences(crawl(1000, 0.0)).sum() == 1


def test_copies_come_from_nearer_the_larger_a() -> None:
    """t^(U^a) elements back: the larger a, the smaller U^a and the shorter the way."""
    shares = []
    for a in (0.4, 0.8, 1.6):
        keys = crawl(100_000, 0.5, a, seed=3)
        duplicate = ~first_occurrences(keys)
        shares.append(fn_rate(lru(keys, 1000), duplicate))
    assert shares[0] > shares[1] > shares[2]


@pytest.mark.parametrize(
    ("volume", "b", "levels"), [(0.1, 0.7, 6), (0.5, 0.8, 1), (0.9, 0.7, 0), (0.1, 0.5, None)]
)
def test_G18_levels_of_the_b_model(volume: float, b: float, levels: int | None) -> None:  # noqa: N802
    assert most_levels(volume, b) == levels
    if levels is not None:
        # The fullest part: b^levels of the volume in 2^-levels of the stream.
        assert volume * (2 * b) ** levels <= 1 < volume * (2 * b) ** (levels + 1)
        with pytest.raises(ValueError, match=f"split in halves {levels} times"):
            burst_stream(1000, b, levels + 1, volume, 10)


def test_C27_volume_of_bursts() -> None:  # noqa: N802
    n = 1 << 18
    for b in (0.5, 0.7):
        keys = burst_stream(n, b, 6, 0.1, 1000, seed=1)
        frequent = keys < OTHERS
        assert frequent.mean() == pytest.approx(0.1, abs=1e-4)
        # Shares of the 64 parts are b^i (1 - b)^(6 - i), each as often as 6 over i.
        parts = np.sort(frequent.reshape(64, -1).sum(axis=1)) / (0.1 * n)
        choose = {0: 1, 1: 6, 2: 15, 3: 20, 4: 15, 5: 6, 6: 1}
        wanted = np.sort(
            np.repeat([b**i * (1 - b) ** (6 - i) for i in choose], list(choose.values()))
        )
        assert parts == pytest.approx(wanted, abs=1e-4)
        # Distinct: all others, and those of 26,214 exponential numbers of mean 1,000 that there are: an expected
        # sum of 1 - exp(-26,214 p_i) over p_i = e^(-i/1000) / 1000 or so.
        shares = np.exp(-np.arange(20_000) / 1000) * (1 - np.exp(-1e-3))
        distinct = (0.9 * n + (1 - (1 - shares) ** (0.1 * n)).sum()) / n
        assert first_occurrences(keys).mean() == pytest.approx(distinct, abs=0.01 * distinct)


@pytest.mark.parametrize("rate", [0.5, 3.0])
def test_C27_frequent_elements_between_others(rate: float) -> None:  # noqa: N802
    """A share rate / (1 + rate); others alone are each a new key."""
    keys = poisson_stream(400_000, rate, 1e6, seed=1)
    frequent = keys < OTHERS
    # Deviation of the share over 100,000 units or more: below .002.
    assert frequent.mean() == pytest.approx(rate / (1 + rate), abs=0.01)
    assert first_occurrences(keys[~frequent]).all()
    # Between two others: Poisson, so its mean is its variance, within 5 errors of sqrt(2) rate / sqrt(100,000).
    between = np.diff(np.flatnonzero(~frequent)) - 1
    assert between.mean() == pytest.approx(rate, rel=0.02)
    assert between.var() == pytest.approx(rate, rel=0.03)
    # Exponential numbers: mean and deviation the same; error of the mean .003 of it.
    assert keys[frequent].mean() == pytest.approx(1e6, rel=0.015)
    assert keys[frequent].std() == pytest.approx(1e6, rel=0.03)


@pytest.mark.parametrize(
    ("z", "f2"),
    [(0.8, 4.09e8), (0.85, 9.37e8), (0.9, 2.04e9), (1.0, 7.9e9), (1.5, 1.76e11), (2.0, 4.0e11)],
)
def test_golden_9_1_second_moments(z: float, f2: float) -> None:
    n = 1_000_000
    shares = zipf_shares(n, z)
    assert n + n * (n - 1) * float(shares @ shares) == pytest.approx(f2, rel=6e-3)
    counts = zipf_counts(n, n, z, seed=1)
    assert counts.sum() == n
    # The largest counts make the moment; their relative errors are below .01 where z is .85 or more: 20,000 and more.
    assert float(counts.astype(float) @ counts) == pytest.approx(f2, rel=0.05)


def test_C27_streams_of_zipfs_law_have_its_counts() -> None:  # noqa: N802
    n, domain = 500_000, 1000
    keys = zipf(n, domain, 1.0, seed=2)
    assert (int(keys.min()), int(keys.max())) == (1, domain)
    wanted = n * zipf_shares(domain, 1.0)
    counts = np.bincount(keys.astype(np.int64), minlength=domain + 1)[1:]
    # Five deviations for the worst of 1,000.
    assert (np.abs(counts - wanted) < 5 * np.sqrt(wanted)).all()
    # Distinct elements: the sum of 1 - (1 - p)^n; within 1 %.
    few = zipf(2000, domain, 1.0, seed=3)
    expected = (1 - (1 - zipf_shares(domain, 1.0)) ** 2000).sum()
    # Its deviation is below sqrt(expected) / 2, 10.
    assert first_occurrences(few).sum() == pytest.approx(expected, abs=40)


def test_streams_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="a share"):
        crawl(10, 1.5)
    with pytest.raises(ValueError, match="0 elements or more"):
        crawl(-1, 0.5)
    with pytest.raises(ValueError, match="a rate and a mean"):
        poisson_stream(10, 0, 10)
    with pytest.raises(ValueError, match="a volume"):
        burst_stream(10, 0.3, 1, 0.1, 10)
    with pytest.raises(ValueError, match="a domain"):
        zipf(10, 0, 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("b", "mean", "bits", "advantage"),
    [
        (0.7, 1e6, 1 << 26, 0.281),
        (None, 1e6, 1 << 24, 0.249),
    ],
)
def test_golden_9_4_synthetic_streams(
    b: float | None, mean: float, bits: int, advantage: float
) -> None:
    """What a Stable Bloom filter misses less than a buffer with its false positives, at K=2, P=4: within 5 points.

    The other two of the table are in examples/papers/deng, ``membership --only figure36``.
    """
    n = 1 << 24
    keys = poisson_stream(n, 0.5, mean) if b is None else burst_stream(n, b, 6, 0.1, mean)
    duplicate = ~first_occurrences(keys)
    flags = StableBloom(stable_plan(bits, 2, 4, 1), 1).observe(keys)
    buffered = fp_buffering(keys, bits // 32, fp_rate(flags, duplicate), 1)
    found = fn_rate(buffered, duplicate) - fn_rate(flags, duplicate)
    assert found == pytest.approx(advantage, abs=0.05)
