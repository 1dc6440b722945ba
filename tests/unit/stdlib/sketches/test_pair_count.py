"""Goldens G11 to G15; below rate 1 the numbers are right on average, and would not be with the draws that look simpler."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from streamq.stdlib.sketches.hashing import mix64
from streamq.stdlib.sketches.pair_count import (
    PairCounts,
    join_counts,
    join_offline,
    join_sizes,
    search_offline,
    self_join_counts,
    self_join_offline,
    self_join_sizes,
)
from streamq.stdlib.sketches.pair_exact import compared_join, compared_pairs
from streamq.stdlib.sketches.similarity_plan import offline_bound, plan_similarity, whole
from streamq.stdlib.sketches.super_values import Records, records
from streamq.stdlib.sketches.titles import titles

SEEDS = range(24)


def of(*rows: tuple[int, ...]) -> Records:
    return records(np.array(rows, np.uint64))


G11 = of((1, 2, 3), (1, 2, 3), (1, 2, 4), (1, 5, 6), (7, 8, 9))
G13_A, G13_B = of((1, 2, 3), (1, 5, 6)), of((1, 2, 3), (1, 2, 9), (7, 5, 6))


def test_G11_exact_pairs() -> None:  # noqa: N802
    plan = plan_similarity(3, 1)
    assert plan.n_proj == (3, 3, 1)
    assert self_join_sizes(G11, plan).tolist() == [35, 25, 7]
    found = self_join_offline(G11, plan)
    assert found.pairs[1:].tolist() == [6, 4, 2]
    assert math.isnan(found.pairs[0])
    assert (found.size, found.possible, found.times) == (12, 20, 2)
    assert found.selectivity == 0.6
    halved = found.unordered
    assert halved.pairs[1:].tolist() == [3, 2, 1]
    assert (halved.size, halved.possible, halved.selectivity) == (6, 10, 0.6)
    assert halved.unordered.size == 6


def test_G12_explicit_sets() -> None:  # noqa: N802
    rows, chosen = ("123", "123", "124"), (((0, 1), (0, 2)), ((0, 1), (1, 2)), ((0, 1), (0, 2)))
    twos = Counter(
        (s, *(row[i] for i in s)) for row, sets in zip(rows, chosen, strict=True) for s in sets
    )
    threes = Counter(rows)
    sizes = np.array([sum(f * f for f in c.values()) for c in (twos, threes)])
    assert sizes.tolist() == [12, 5]
    plan = plan_similarity(3, 2, 0.5)
    assert plan.n_proj == (2, 1)
    found = self_join_counts(sizes, 3, plan, exact_sizes=True)
    assert found.pairs[2:].tolist() == pytest.approx([7.5, 2])
    # 9.5 ordered pairs are more than 3 records have.
    assert found.pairs[2:].sum() == pytest.approx(9.5)
    assert found.size == 6


def test_G13_join() -> None:  # noqa: N802
    plan = plan_similarity(3, 1)
    assert join_sizes(G13_A, G13_B, plan, plan).tolist() == [9, 5, 1]
    found = join_offline(G13_A, G13_B, plan)
    assert found.pairs[1:].tolist() == [2, 2, 1]
    assert (found.size, found.possible) == (5, 6)
    assert found.unordered.size == 5


def test_G14_search() -> None:  # noqa: N802
    plan = plan_similarity(3, 1)
    assert join_sizes(G13_B, of((1, 2, 3)), plan, whole(plan)).tolist() == [5, 4, 1]
    found = search_offline(G13_B, of((1, 2, 3)), plan)
    assert found.pairs[1:].tolist() == [0, 1, 1]
    assert (found.size, found.possible) == (2, 3)


def test_G15_random_records() -> None:  # noqa: N802
    drawn = records(np.random.default_rng(0).integers(0, 4, (300, 6)).astype(np.uint64))
    expected = [32078, 26474, 11800, 2926, 404, 20]
    assert compared_pairs(drawn)[1:].tolist() == expected
    for s in range(1, 7):
        found = self_join_offline(drawn, plan_similarity(6, s, 1.0), seed=s)
        assert found.pairs[s:].tolist() == expected[s - 1 :]
        assert found.size == sum(expected[s - 1 :])


def test_joins_and_searches_at_rate_1_are_exact() -> None:
    random = np.random.default_rng(1)
    a, b = (records(random.integers(0, 4, (n, 5)).astype(np.uint64)) for n in (150, 230))
    expected = compared_join(a, b)
    assert join_offline(a, b, plan_similarity(5, 1)).pairs[1:].tolist() == expected[1:].tolist()
    one = b.take(slice(7, 8))
    assert (
        search_offline(a, one, plan_similarity(5, 1)).pairs[1:].tolist()
        == compared_join(a, one)[1:].tolist()
    )


def test_nulls_match_nothing() -> None:
    random = np.random.default_rng(2)
    a, b = (
        records(random.integers(0, 3, (n, 4)).astype(np.uint64), nulls=random.random((n, 4)) < 0.3)
        for n in (120, 90)
    )
    plan = plan_similarity(4, 1)
    assert self_join_offline(a, plan).pairs[1:].tolist() == compared_pairs(a)[1:].tolist()
    assert join_offline(a, b, plan).pairs[1:].tolist() == compared_join(a, b)[1:].tolist()


def deviations(estimates: list[float], truth: float) -> float:
    """How many standard errors the mean is off; 0 where all are the truth."""
    values = np.array(estimates)
    off = abs(float(values.mean()) - truth)
    return off and off / (float(values.std(ddof=1)) / math.sqrt(len(values)))


TITLES = titles(20_000, seed=2)
EXACT = self_join_offline(TITLES, plan_similarity(6, 1)).pairs


@pytest.mark.parametrize("rate", [0.25, 0.5])
def test_a_sample_is_right_on_average(rate: float) -> None:
    """24 seeds: the mean of each number of pairs, and of sizes, is within 3 standard errors."""
    found = [self_join_offline(TITLES, plan_similarity(6, 1, rate), seed) for seed in SEEDS]
    for k in range(1, 6):
        assert deviations([float(f.pairs[k]) for f in found], EXACT[k]) < 3
    assert {float(f.pairs[6]) for f in found} == {EXACT[6]}
    fours = [self_join_offline(TITLES, plan_similarity(6, 4, rate), seed).size for seed in SEEDS]
    assert deviations(fours, EXACT[4:].sum()) < 3


def test_drawing_with_replacement_would_count_too_many() -> None:
    """A record that draws a set twice meets itself more often than l_k times: what that adds is no pair."""
    sets, n = 6, len(TITLES)
    plan = plan_similarity(6, 5, 0.5)
    picks = np.random.default_rng(3).integers(0, sets, (n, 3))
    without = np.delete(
        np.repeat(np.arange(6)[np.newaxis], sets, 0), [7 * i for i in range(6)]
    ).reshape(6, 5)
    tagged = [
        np.unique(TITLES.values[:, s], axis=0, return_inverse=True)[1].ravel() * sets + i
        for i, s in enumerate(without)
    ]
    keys = np.stack(tagged, axis=1)[np.arange(n)[:, np.newaxis], picks]
    y_5 = int((np.unique(keys, return_counts=True)[1] ** 2).sum())
    biased = self_join_counts(np.array([y_5, n + int(EXACT[6])]), n, plan, exact_sizes=True)
    # Ordered, 3 picks have 6 pairs, equal with 1/6: one too many in Y_5 for each record, and 1 / mu(5, 5) is 4.
    assert biased.pairs[5] - EXACT[5] == pytest.approx(4 * n, rel=0.2)
    found = [float(self_join_offline(TITLES, plan, seed).pairs[5]) for seed in SEEDS]
    assert deviations(found, EXACT[5]) < 3


def test_drawing_by_content_would_count_too_many() -> None:
    """Equal records that draw equal sets have l_k super-values in common, not l_k^2 / C(d, k)."""
    content = TITLES.values[:, 0].copy()
    for column in TITLES.values.T[1:]:
        content = mix64(content ^ column)
    plan = plan_similarity(6, 5, 0.5)
    by_content = [
        float(self_join_offline(Records(TITLES.values, content), plan, seed).pairs[5])
        for seed in SEEDS
    ]
    # A pair of equal records adds 3 to Y_5 and not 3/2, and 1 / mu(5, 5) is 4.
    assert np.mean(by_content) - EXACT[5] == pytest.approx(1.5 * 4 * EXACT[6], rel=0.2)
    by_id = [float(self_join_offline(TITLES, plan, seed).pairs[5]) for seed in SEEDS]
    assert deviations(by_id, EXACT[5]) < 3


def test_a_sampled_join_is_right_on_average_where_ids_are_the_same() -> None:
    a, b = TITLES.take(slice(0, 6000)), records(TITLES.values[3000:9000])
    exact = join_offline(a, b, plan_similarity(6, 3)).pairs
    assert exact[6] > 3000
    found = [
        join_offline(a, b, plan_similarity(6, 3, 0.5), plan_similarity(6, 3, 0.25), seed).pairs
        for seed in SEEDS
    ]
    for k in (3, 4, 5):
        assert deviations([float(p[k]) for p in found], exact[k]) < 3
    assert {float(p[6]) for p in found} == {exact[6]}


def test_a_search_takes_all_sets_of_its_record() -> None:
    """Right on average, and errors far below those of a search by as many sets as records have."""
    one = TITLES.take(slice(275, 276))
    exact = compared_join(TITLES, one)
    assert exact[2:].tolist() == [314, 143, 44, 7, 4]
    plan = plan_similarity(6, 2, 0.5)
    by_all = np.array([search_offline(TITLES, one, plan, seed).pairs for seed in SEEDS])
    by_some = np.array([join_offline(TITLES, one, plan, plan, seed).pairs for seed in SEEDS])
    for k in range(2, 6):
        assert deviations(by_all[:, k].tolist(), exact[k]) < 3
    assert (by_some[:, 2:4].std(axis=0) > 3 * by_all[:, 2:4].std(axis=0)).all()


def test_the_bound_holds_for_isolated_pairs_and_not_for_clusters() -> None:
    """5,000 pairs that are alike to nothing else, and 10,000 records that are all alike: 5 of 6 attributes each."""
    plan, n = plan_similarity(6, 5, 0.5), 10_000
    number = np.arange(n, dtype=np.uint64)
    isolated = np.repeat((number // 2)[:, np.newaxis], 6, axis=1)
    isolated[:, 5] = number
    clustered = np.zeros((n, 6), np.uint64)
    clustered[:, 5] = number
    spread = {}
    for name, values, size in (("isolated", isolated, n), ("clustered", clustered, n * (n - 1))):
        # Not clipped to all pairs, which in the cluster are all alike.
        found = [self_join_offline(records(values), plan, seed).pairs for seed in range(60)]
        sizes = [float(pairs[5:].sum()) / size for pairs in found]
        assert deviations(sizes, 1.0) < 3.5
        spread[name] = float(np.std(sizes, ddof=1)), offline_bound(6, 5, 0.5, size)
    # Deviations of 2.6 and 1.8 % were found by others; ours of 60 seeds are good to a tenth: 3 of these.
    assert spread["isolated"][0] == pytest.approx(0.026, rel=0.3)
    assert spread["isolated"][0] < spread["isolated"][1] == pytest.approx(0.12, abs=0.001)
    assert spread["clustered"][0] == pytest.approx(0.018, rel=0.3)
    assert spread["clustered"][0] > 10 * spread["clustered"][1]


def test_size_is_what_is_possible() -> None:
    """Not below the number of equal records, which is exact, nor above all pairs; estimates of sketches only from 0."""
    plan = plan_similarity(3, 2, 0.5)
    low = self_join_counts(np.array([6, 7]), 5, plan, exact_sizes=True)
    assert low.pairs[2:].sum() < 0
    assert low.size == low.pairs[3] == 2
    assert self_join_counts(np.array([6, 7]), 5, plan, exact_sizes=False).size == 0
    assert join_counts(np.array([100, 0]), 12, plan, plan, exact_sizes=False).size == 12


def test_few_records() -> None:
    none = records(np.empty((0, 3), np.uint64))
    plan = plan_similarity(3, 2)
    empty: PairCounts = self_join_offline(none, plan)
    assert (empty.size, empty.possible, empty.selectivity) == (0, 0, 0)
    assert self_join_offline(of((1, 2, 3)), plan).size == 0
    assert join_offline(none, of((1, 2, 3)), plan).size == 0
    assert search_offline(of((1, 2, 3)), none, plan).size == 0
