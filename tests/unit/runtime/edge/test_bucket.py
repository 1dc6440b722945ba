from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamq.runtime.edge.at_source.bucket import Bucket, TooLarge
from tests.unit.runtime.edge.support import most_above

KBPS = st.one_of(st.floats(0.1, 1e6), st.sampled_from([60.0, 0.3, 1e5 / 3]))


@given(
    kbps=KBPS, size=st.integers(1, 1 << 20), start=st.floats(0, 2e9),
    steps=st.lists(st.tuples(st.floats(0, 100), st.floats(0, 1)), max_size=60),
)
def test_never_more_than_the_capacity_and_one_bucket(
    kbps: float, size: int, start: float, steps: list[tuple[float, float]]
) -> None:
    bucket, now, went = Bucket(kbps, size, start), start, []
    for waits, part in steps:
        now += waits
        count = round(part * size)
        if bucket.take(count, now):
            went.append((now, count))
    if went:
        assert most_above(went, kbps) <= size


@given(kbps=st.floats(0.1, 1e4), size=st.integers(1000, 1 << 20), parts=st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_what_waits_as_long_as_it_is_told_goes(kbps: float, size: int, parts: list[float]) -> None:
    bucket, now, went = Bucket(kbps, size, 0.0), 0.0, []
    for part in parts:
        count, tries = round(part * size), 0
        while not bucket.take(count, now):
            # The clock is a float, and may not have the instant itself.
            now += max(bucket.wait_s(count, now), 1e-6)
            tries += 1
            assert tries < 3
        went.append((now, count))
    assert most_above(went, kbps) <= size
    # Nor much less, while there is something to send.
    sent = sum(count for _, count in went)
    assert sent + size >= (Fraction(now) - len(parts) * Fraction(1, 10**5)) * Fraction(kbps) * 125


def test_larger_than_a_bucket_never_goes() -> None:
    bucket = Bucket(60, 100, 0.0)
    with pytest.raises(TooLarge, match="101 bytes do not fit in a bucket of 100"):
        bucket.take(101, 0.0)
    with pytest.raises(TooLarge):
        bucket.wait_s(101, 1e9)


def test_a_clock_that_goes_back_gives_nothing() -> None:
    bucket = Bucket(8, 1000, 100.0)
    assert bucket.take(1000, 100.0)
    assert not bucket.take(1, 50.0)
    assert not bucket.take(1, 100.0)
    assert bucket.take(1000, 101.0)


def test_a_capacity_that_changes_every_second() -> None:
    bucket, now, allowed, sent = Bucket(80, 10_000, 0.0), 0.0, Fraction(10_000), 0
    for second in range(100):
        kbps = (80, 8, 160, 0.5)[second % 4]
        bucket.changed(kbps, 10_000, now)
        for _ in range(10):
            now += 0.1
            while bucket.take(500, now):
                sent += 500
        allowed += Fraction(kbps) * 125
        assert sent <= allowed + 1


@pytest.mark.parametrize(("kbps", "size"), [(0, 1), (-1, 1), (1, 0), (float("inf"), 1), (float("nan"), 1)])
def test_no_capacity_is_none(kbps: float, size: int) -> None:
    with pytest.raises(ValueError, match="a bucket is filled"):
        Bucket(kbps, size, 0.0)
