"""Bloom filters in turn: none missed within the window, false positives within the rate, old ones forgotten."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.sketches.bloom import AT_ONCE, Bloom
from streamq.stdlib.sketches.buffering import reuse_distances
from streamq.stdlib.sketches.hashing import Keys
from streamq.stdlib.sketches.lookalike import crawl
from streamq.stdlib.sketches.membership_measures import (
    first_occurrences,
    fn_rate,
    fp_rate,
    last_seen,
)
from streamq.stdlib.sketches.membership_plan import (
    RotatingPlan,
    plan_rotating,
    rotating_bits,
    stable_plan,
)
from streamq.stdlib.sketches.rotating_bloom import RotatingBloom
from streamq.stdlib.sketches.stable_bloom import StableBloom
from tests.unit.stdlib.sketches.new_keys import new_keys


class Plain:
    """One element after the other."""

    def __init__(self, plan: RotatingPlan, seed: int) -> None:
        self.plan = plan
        self.filters = {0: Bloom(plan.bits_each, plan.hashes, seed)}
        self.held = {0: 0}
        self.seed = seed
        self.overfull = 0

    def open(self, pane: int) -> None:
        if pane not in self.filters:
            self.filters[pane] = Bloom(self.plan.bits_each, self.plan.hashes, self.seed)
            self.held[pane] = 0
        for old in [p for p in self.filters if p <= max(self.filters) - self.plan.generations]:
            del self.filters[old], self.held[old]

    def one(self, key: int, pane: int) -> bool:
        keys = np.array([key], np.uint64)
        found = any(bool(filter_.has(keys)[0]) for filter_ in self.filters.values())
        if pane not in self.filters:
            self.overfull += 1
        elif not self.filters[pane].has(keys)[0]:
            if self.held[pane] < self.plan.capacity:
                self.filters[pane].observe(keys)
                self.held[pane] += 1
            else:
                self.overfull += 1
        return found

    def by_count(self, keys: Keys) -> list[bool]:
        flags = []
        for key in keys.tolist():
            newest, keys_ = max(self.filters), np.array([key], np.uint64)
            full = self.held[newest] == self.plan.capacity
            found = any(bool(filter_.has(keys_)[0]) for filter_ in self.filters.values())
            if full and not self.filters[newest].has(keys_)[0]:
                self.open(newest + 1)
            self.one(key, max(self.filters))
            flags.append(found)
        return flags

    def by_pane(self, keys: Keys, panes: np.ndarray) -> list[bool]:
        flags = [False] * len(keys)
        for i in np.argsort(panes, kind="stable").tolist():
            self.open(int(panes[i]))
            flags[i] = self.one(int(keys[i]), int(panes[i]))
        return flags


PLANS = [
    plan_rotating(rotating_bits(n, fp, g), fp, g)
    for n, fp, g in [(1, 0.3, 2), (7, 0.5, 2), (20, 0.1, 3), (100, 0.01, 5)]
]


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("seed", range(3))
def test_by_count_it_is_the_loop_in_any_batches(plan: RotatingPlan, seed: int) -> None:
    drawn = np.random.default_rng(seed)
    keys = drawn.integers(0, 60, 800).astype(np.uint64)
    filter_ = RotatingBloom(plan, seed)
    parts = np.split(keys, np.sort(drawn.integers(0, 800, 6)))
    found = np.concatenate([filter_.observe(part) for part in parts])
    assert found.tolist() == Plain(plan, seed).by_count(keys)
    assert filter_.overfull == 0


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("seed", range(3))
def test_by_pane_it_is_the_loop(plan: RotatingPlan, seed: int) -> None:
    """Panes come out of order, some are left out, some are too old, and some have more than there is room for."""
    drawn = np.random.default_rng(seed)
    filter_, plain = RotatingBloom(plan, seed), Plain(plan, seed)
    for at in (0, 1, 2, 3, 3, 9, 10, 30):
        n = int(drawn.integers(0, 150))
        keys, panes = (
            drawn.integers(0, 80, n).astype(np.uint64),
            np.maximum(at - drawn.integers(0, 8, n), 0),
        )
        assert filter_.observe(keys, panes).tolist() == plain.by_pane(keys, panes)
        assert filter_.overfull == plain.overfull


@pytest.mark.parametrize(
    ("bits", "fp", "generations"), [(20_000, 0.1, 2), (60_000, 0.01, 2), (60_000, 0.05, 4)]
)
def test_C10_none_missed_within_the_capacity(bits: int, fp: float, generations: int) -> None:  # noqa: N802
    plan = plan_rotating(bits, fp, generations)
    keys = crawl(200_000, 0.5, seed=3)
    flags = RotatingBloom(plan, 1).observe(keys)
    distance = reuse_distances(keys)
    within = (distance >= 0) & (distance <= plan.capacity)
    assert within.sum() > 10_000
    assert flags[within].all()
    last = last_seen(keys)
    near = (last >= 0) & (np.arange(len(keys)) - last - 1 <= (generations - 1) * plan.capacity)
    assert near.sum() > 10_000
    assert flags[near].all()
    assert not flags[distance > generations * plan.capacity].all()


@pytest.mark.parametrize("generations", [2, 3])
def test_C10_found_after_exactly_the_capacity(generations: int) -> None:  # noqa: N802
    """Wherever in a generation it came: the bound is sharp."""
    plan = plan_rotating(rotating_bits(20, 1e-6, generations), 1e-6, generations)
    between = (generations - 1) * plan.capacity
    missed = []
    for before in range(plan.capacity + 1):
        for extra in (0, 1):
            filter_ = RotatingBloom(plan, 1)
            filter_.observe(new_keys(before, 1))
            one = new_keys(1, 2)
            filter_.observe(np.concatenate([one, new_keys(between + extra, 3)]))
            missed.append((extra, not filter_.observe(one)[0]))
    assert not any(lost for extra, lost in missed if extra == 0)
    assert sum(lost for extra, lost in missed if extra == 1) == 1


@pytest.mark.parametrize(("fp", "generations"), [(0.1, 2), (0.01, 2), (0.05, 4)])
def test_C10_false_positives_within_the_rate(fp: float, generations: int) -> None:  # noqa: N802
    """Of a million new elements, over the whole of all generations: the rate is the bound where the newest is full, less
    before. Standard error .0003 at most, so four of these below the bound on average.
    """
    plan = plan_rotating(100_000, fp, generations)
    flags = RotatingBloom(plan, 1).observe(new_keys(1_000_000, 1))
    assert 0.3 * fp < flags.mean() < plan.fp_bound - 0.0012


def test_C10_false_positives_when_all_are_full() -> None:  # noqa: N802
    """Panes filled to the last: the bound itself. Standard error .0007 over 200,000, and the filters' own deviations: the
    share of ones, of .5, by .002 each, so the rate by 4 * .004 of itself, .0016, over sqrt(2): .0013 in all; 4 of these.
    """
    plan = plan_rotating(100_000, 0.1)
    filter_ = RotatingBloom(plan, 1)
    for pane in (0, 1):
        filter_.observe(new_keys(3 * plan.capacity, pane), np.full(3 * plan.capacity, pane))
    assert filter_.held == [plan.capacity, plan.capacity]
    flags = filter_.observe(new_keys(200_000, 5), np.full(200_000, 1))
    assert flags.mean() == pytest.approx(0.1, abs=0.0052)
    assert filter_.held == [plan.capacity, plan.capacity]


def test_C10_none_missed_within_panes() -> None:  # noqa: N802
    """In any order within a batch; an element is found from its own pane and the ``generations - 1`` after."""
    plan = plan_rotating(rotating_bits(5000, 0.001, 3), 0.001, 3)
    keys, panes = new_keys(4000, 1), np.repeat(np.arange(10, 14), 1000)
    order = np.random.default_rng(1).permutation(4000)
    filter_ = RotatingBloom(plan, 1)
    # A new element is a false positive with .001: 4 of 4,000 and deviation 2.
    assert filter_.observe(keys[order], panes[order]).sum() < 14
    assert filter_.overfull == 0
    assert filter_.newest == 13
    again = filter_.observe(keys, np.full(4000, 13)).reshape(4, 1000)
    assert again[1:].all()
    # Those of pane 10 are gone: pane 13 is the third after it.
    assert again[0].sum() < 10
    assert filter_.observe(keys, np.full(4000, 100)).sum() < 14


def test_what_there_is_no_room_for_is_counted() -> None:
    plan = plan_rotating(rotating_bits(100, 0.01), 0.01)
    filter_ = RotatingBloom(plan, 1)
    filter_.observe(new_keys(10 * plan.capacity, 1), np.zeros(10 * plan.capacity, np.int64))
    assert filter_.held[0] == plan.capacity
    # But for false positives, which need no room: 1 % of 900, up to 4 deviations.
    assert 9 * plan.capacity - 25 <= filter_.overfull <= 9 * plan.capacity
    before = filter_.overfull
    filter_.observe(new_keys(3, 2), np.array([7, 8, 8]))
    assert filter_.overfull == before
    # Pane 6 is gone.
    filter_.observe(new_keys(2, 3), np.array([6, 6]))
    assert filter_.overfull == before + 2


@pytest.mark.parametrize("by_pane", [False, True])
def test_stored_and_taken_up_again(by_pane: bool) -> None:
    plan = plan_rotating(9999, 0.05, 3)
    keys = crawl(8000, 0.5, seed=1)
    panes = np.arange(-2000, 6000) // 500 if by_pane else None
    whole, before = RotatingBloom(plan, 1), RotatingBloom(plan, 1)
    assert RotatingBloom.from_bytes(before.to_bytes(), plan, 1).newest is None
    flags = whole.observe(keys, panes)
    before.observe(keys[:1500], None if panes is None else panes[:1500])
    stored = before.to_bytes()
    after = RotatingBloom.from_bytes(stored, plan, 1)
    assert after.newest == before.newest
    assert np.array_equal(
        after.observe(keys[1500:], None if panes is None else panes[1500:]), flags[1500:]
    )
    assert after.to_bytes() == whole.to_bytes()
    for other, seed in [
        (plan_rotating(9999, 0.04, 3), 1),
        (plan_rotating(9996, 0.05, 2), 1),
        (plan, 2),
    ]:
        with pytest.raises(ValueError, match="other bits, generations, capacity or seed"):
            RotatingBloom.from_bytes(stored, other, seed)
    for wrong in (b"", stored[:30], b"SQRB\x02" + stored[5:]):
        with pytest.raises(
            ValueError, match="not the bytes of a rotating Bloom filter of this version"
        ):
            RotatingBloom.from_bytes(wrong, plan, 1)
    with pytest.raises(ValueError, match="bytes, and there are"):
        RotatingBloom.from_bytes(stored + b"x", plan, 1)


@pytest.mark.parametrize("panes", [None, np.zeros(0, np.int64)])
def test_empty_batches(panes: np.ndarray | None) -> None:
    filter_ = RotatingBloom(PLANS[0], 1)
    assert len(filter_.observe(np.zeros(0, np.uint64), panes)) == 0
    assert filter_.newest is None
    with pytest.raises(ValueError, match="2 keys, 1 panes"):
        filter_.observe(new_keys(2, 1), np.zeros(1, np.int64))


def test_long_batches() -> None:
    keys = crawl(3 * AT_ONCE, 0.5, seed=2)
    plan = plan_rotating(1 << 16, 0.1)
    whole, parts = RotatingBloom(plan, 1), RotatingBloom(plan, 1)
    flags = whole.observe(keys)
    assert np.array_equal(
        np.concatenate([parts.observe(part) for part in np.array_split(keys, 40)]), flags
    )
    panes, one = RotatingBloom(plan, 1), RotatingBloom(plan, 1)
    numbers = np.arange(len(keys)) // 20_000
    flags = panes.observe(keys, numbers)
    assert np.array_equal(
        np.concatenate([one.observe(keys[numbers == p], numbers[numbers == p]) for p in range(5)]),
        flags,
    )


@pytest.mark.parametrize(
    ("bits", "fp", "fn"), [(16_384, 0.064, 0.286), (65_536, 0.063, 0.143), (262_144, 0.050, 0.030)]
)
def test_fewer_are_missed_than_by_the_stable_filter(bits: int, fp: float, fn: float) -> None:
    """At equal bits and as many false positives. ``fp`` and ``fn``: as measured on another stream of the same kind; 25,000
    duplicates give .003 at most, and the streams differ by as much: .012 is about three of both.
    """
    keys = crawl(100_000, 0.7566, seed=1)
    duplicate = ~first_occurrences(keys)
    flags = RotatingBloom(plan_rotating(bits, 0.1), 3).observe(keys)
    assert fp_rate(flags, duplicate) == pytest.approx(fp, abs=0.012)
    assert fn_rate(flags, duplicate) == pytest.approx(fn, abs=0.012)
    # Of Stable Bloom filters of as many bits, whatever their K and P, with no fewer false positives: the best.
    stable = []
    for hashes in (1, 2, 3):
        for decrements in range(1, 10):
            found = StableBloom(stable_plan(bits, hashes, decrements, 1), 3).observe(keys)
            if fp_rate(found, duplicate) <= fp_rate(flags, duplicate) + 0.003:
                stable.append(fn_rate(found, duplicate))
    # Three standard errors of .003.
    assert fn_rate(flags, duplicate) < min(stable) - 0.009
