"""What is drawn of records: without replacement, by id and never by content, for each k and side anew."""

from __future__ import annotations

import math

import numpy as np
import pytest

from streamq.stdlib.sketches.hashing import mix64
from streamq.stdlib.sketches.similarity_plan import plan_similarity
from streamq.stdlib.sketches.super_values import BLOCK, Records, drawn, records, super_values


def equal_records(n: int, n_attrs: int = 6) -> Records:
    return records(np.ones((n, n_attrs), np.uint64))


def test_draws_are_without_replacement_and_even() -> None:
    ids = np.arange(30_000, dtype=np.uint64)
    chosen = drawn(ids, 5, 2, seed=3)
    assert chosen.shape == (2, 30_000)
    assert (chosen[0] != chosen[1]).all()
    pairs = np.bincount(chosen.min(axis=0) * 5 + chosen.max(axis=0), minlength=25)
    # Ten sets of two, 3,000 each: deviation sqrt(30,000 * .1 * .9) = 52; 5 deviations.
    assert np.count_nonzero(pairs) == 10
    assert np.abs(pairs[pairs > 0] - 3000).max() < 260


def test_a_record_has_different_super_values() -> None:
    for keys, l_k in zip(
        super_values(equal_records(2000), plan_similarity(6, 1, 0.5)),
        (3, 8, 10, 8, 3, 1),
        strict=True,
    ):
        assert keys.shape == (2000, l_k)
        ordered = np.sort(keys, axis=1)
        assert (ordered[:, 1:] != ordered[:, :-1]).all()


def test_equal_records_choose_independently() -> None:
    """Two equal records have l^2 / C of l super-values in common on average, and not all l."""
    n = 4000
    for k, keys in enumerate(super_values(equal_records(n), plan_similarity(6, 1, 0.5)), 1):
        l_k, sets = keys.shape[1], math.comb(6, k)
        assert len(np.unique(keys)) == sets
        common = (keys[: n // 2, :, np.newaxis] == keys[n // 2 :, np.newaxis]).sum(axis=(1, 2))
        # Hypergeometric: variance l (l/C) (1 - l/C) (C - l)/(C - 1); 4 deviations of the mean of 2,000.
        share = l_k / sets
        variance = l_k * share * (1 - share) * (sets - l_k) / max(1, sets - 1)
        assert abs(common.mean() - l_k * share) <= 4 * math.sqrt(variance / (n // 2)) + 1e-12


def test_draws_of_different_k_are_independent() -> None:
    """Of 4 attributes 2 of 4 sets are drawn, for k = 1 as for k = 3: six outcomes each."""
    first, _, third, _ = super_values(equal_records(20_000, 4), plan_similarity(4, 1, 0.5))
    number = [
        np.unique(np.sort(keys, axis=1), axis=0, return_inverse=True)[1].ravel()
        for keys in (first, third)
    ]
    both = np.bincount(6 * number[0] + number[1], minlength=36)
    # 36 cells of 556: deviation sqrt(20,000 / 36 * 35 / 36) = 23; 5 deviations.
    assert np.abs(both - 20_000 / 36).max() < 117


def test_sides_and_seeds_draw_independently() -> None:
    of, plan = equal_records(20_000), plan_similarity(6, 5, 0.15)
    assert plan.n_proj == (1, 1)
    mine, other = (next(super_values(of, plan, 1, side)) for side in (0, 1))
    # One of six by chance: 3,333, deviation 53; 5 deviations.
    assert abs(int((mine == other).sum()) - 3333) < 264
    assert len(np.unique(np.concatenate([mine, next(super_values(of, plan, 2))]))) == 12


def test_what_is_drawn_of_a_record_depends_on_no_other() -> None:
    n = BLOCK + 500
    of = records(np.random.default_rng(1).integers(0, 5, (n, 6)).astype(np.uint64))
    order = np.random.default_rng(2).permutation(n)
    for whole, moved in zip(
        super_values(of, plan_similarity(6, 2, 0.4), 9),
        super_values(of.take(order), plan_similarity(6, 2, 0.4), 9),
        strict=True,
    ):
        assert (whole[order] == moved).all()


def test_at_rate_1_all_sets_are_taken_and_places_count() -> None:
    values = np.array([[1, 2, 3], [1, 2, 4], [2, 1, 3]], np.uint64)
    ones, twos, threes = super_values(records(values), plan_similarity(3, 1, 1.0))
    assert [k.shape for k in (ones, twos, threes)] == [(3, 3), (3, 3), (3, 1)]
    assert [len(np.unique(k)) for k in (ones, twos, threes)] == [6, 8, 3]
    assert len(np.intersect1d(ones[0], ones[1])) == 2
    assert np.intersect1d(ones[0], ones[2]).tolist() == [ones[0, 2]]
    assert len(np.intersect1d(twos[0], twos[2])) == 0


def test_untagged_values_match_in_any_place() -> None:
    values = np.array([[1, 2, 3], [3, 1, 9]], np.uint64)
    ones, twos, threes = super_values(records(values), plan_similarity(3, 1, 1.0, untagged=True))
    assert [len(np.intersect1d(k[0], k[1])) for k in (ones, twos, threes)] == [2, 1, 0]


@pytest.mark.parametrize("untagged", [False, True])
def test_nulls_match_nothing_but_themselves(untagged: bool) -> None:
    values = np.array([[1, 2], [1, 2], [1, 2]], np.uint64)
    nulls = np.array([[False, True], [False, True], [False, False]])
    of, plan = records(values, nulls=nulls), plan_similarity(2, 1, 1.0, untagged=untagged)
    ones, twos = super_values(of, plan)
    assert len(np.unique(ones)) == 4
    assert len(np.unique(twos)) == 3
    again, _ = super_values(of, plan)
    assert (again == ones).all()
    other, _ = super_values(of, plan, side=1)
    assert (other == ones).tolist() == [[True, False], [True, False], [True, True]]


def test_records_are_checked() -> None:
    values = np.ones((3, 2), np.uint64)
    with pytest.raises(ValueError, match="keys, uint64"):
        records(values.astype(np.int64))
    with pytest.raises(ValueError, match="ids of records are all different"):
        records(values, np.array([1, 2, 1], np.uint64))
    with pytest.raises(ValueError, match=r"values are \[n, d\]"):
        records(values, nulls=np.zeros((3, 3), np.bool_))
    with pytest.raises(ValueError, match="a mask, bool, not int64"):
        records(values, nulls=np.zeros((3, 2), np.int64))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="2 attributes, and the plan is for 3"):
        next(super_values(records(values), plan_similarity(3, 1)))


def test_no_records_have_no_super_values() -> None:
    for rate in (0.5, 1.0):
        shapes = [
            k.shape
            for k in super_values(records(np.empty((0, 4), np.uint64)), plan_similarity(4, 3, rate))
        ]
        assert shapes == [(0, 2 if rate < 1 else 4), (0, 1)]


def test_super_values_do_not_collide() -> None:
    """300,000 records of small numbers, with the same in all places or counted up: as many values as records."""
    n = np.arange(300_000, dtype=np.uint64)
    for values in (
        np.stack([n % 1000, n // 1000], axis=1),
        np.stack([n, mix64(n)], axis=1),
        np.stack([n, n + 1], axis=1),
    ):
        assert len(np.unique(next(super_values(records(values), plan_similarity(2, 2))))) == len(n)
