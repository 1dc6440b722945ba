"""C24: sets by Jaccard similarity and by common items, vectors by angle."""

from __future__ import annotations

import math

import numpy as np
import pytest

from streamq.stdlib.sketches.adapters import min_hashes, padded_items, sign_projections
from streamq.stdlib.sketches.pair_count import join_offline, search_offline, self_join_offline
from streamq.stdlib.sketches.pair_exact import compared_pairs
from streamq.stdlib.sketches.similarity_plan import plan_similarity
from streamq.stdlib.sketches.super_values import Records


def ragged(*sets: list[int]) -> tuple[np.ndarray, np.ndarray]:
    sizes = [len(s) for s in sets]
    return np.append(0, np.cumsum(sizes)), np.array([x for s in sets for x in s], np.uint64)


def common(of: Records) -> int:
    """Attributes that the first two have in common."""
    equal = of.values[0] == of.values[1]
    return int(equal.sum() if of.nulls is None else (equal & ~of.nulls[:2].any(axis=0)).sum())


def test_C24_common_min_hashes_are_jaccard() -> None:  # noqa: N802
    """{0..29} and {15..44}: 15 of 45 items are common."""
    of = min_hashes(*ragged(list(range(30)), list(range(15, 45))), 6000, seed=1)
    # Binomial of 6,000 at 1/3: deviation 37; 4 of them.
    assert abs(common(of) - 2000) < 148


def test_C24_pairs_by_jaccard() -> None:  # noqa: N802
    """300 pairs of sets with 4 of 6 items in common: the pairs with k of 6 min-hashes are binomial."""
    base = 100 * np.arange(300)
    sets = [[*range(b, b + 5)] for b in base] + [[*range(b + 1, b + 6)] for b in base]
    of = min_hashes(*ragged(*sets), 6, seed=2)
    found = self_join_offline(of, plan_similarity(6, 1)).unordered.pairs
    assert found[1:].tolist() == (compared_pairs(of)[1:] / 2).tolist()
    for k in range(1, 7):
        share = math.comb(6, k) * (2 / 3) ** k * (1 / 3) ** (6 - k)
        assert abs(found[k] - 300 * share) < 4 * math.sqrt(300 * share * (1 - share))


def test_min_hashes_are_of_the_items_and_not_of_their_order() -> None:
    of = min_hashes(*ragged([3, 1, 2], [2, 2, 3, 1], [], [9], []), 8, seed=3)
    assert common(of) == 8
    assert of.nulls is not None
    assert of.nulls.all(axis=1).tolist() == [False, False, True, False, True]
    assert compared_pairs(of).tolist() == [18, 0, 0, 0, 0, 0, 0, 0, 2]
    assert len(min_hashes(*ragged(), 4)) == 0
    assert (min_hashes(*ragged([1]), 4, 1).values != min_hashes(*ragged([1]), 4, 2).values).all()


@pytest.mark.parametrize(("bits", "degrees"), [(1, 60.0), (1, 90.0), (4, 30.0), (8, 20.0)])
def test_C24_common_signs_are_the_angle(bits: int, degrees: float) -> None:  # noqa: N802
    """An attribute is equal with (1 - angle/π)^bits."""
    angle = math.radians(degrees)
    vectors = np.array([[1.0, 0, 0], [math.cos(angle), math.sin(angle), 0]])
    share = (1 - angle / math.pi) ** bits
    found = common(sign_projections(vectors, 6000, bits, seed=5))
    assert abs(found - 6000 * share) < 4 * math.sqrt(6000 * share * (1 - share))


def test_vectors_without_a_direction_are_like_no_other() -> None:
    vectors = np.array(
        [[1.0, 2.0], [10.0, 20.0], [0.0, 0.0], [0.0, 0.0], [math.nan, 1.0], [-1.0, -2.0]]
    )
    of = sign_projections(vectors, 5, 3)
    assert (of.values < 8).all()
    assert compared_pairs(of)[-1] == 2
    assert of.nulls is not None
    assert of.nulls.all(axis=1).tolist() == [False, False, True, True, True, False]
    with pytest.raises(ValueError, match="1 to 64 bits"):
        sign_projections(vectors, 5, 65)
    assert sign_projections(vectors, 2, 64).values.max() > 2**40


def test_C24_common_items_in_any_place() -> None:  # noqa: N802
    """{b, c} and {a, b} have one item in common, which is in another place of each."""
    plan = plan_similarity(4, 1, untagged=True)
    of = padded_items(*ragged([2, 3], [1, 2]), 4)
    assert self_join_offline(of, plan).unordered.pairs[1:].tolist() == [1, 0, 0, 0]
    assert self_join_offline(of, plan_similarity(4, 1)).unordered.pairs[1:].tolist() == [0, 0, 0, 0]


def test_common_items_of_random_sets() -> None:
    random = np.random.default_rng(6)
    sets = [random.choice(12, random.integers(0, 6), replace=False).tolist() for _ in range(80)]
    expected = np.zeros(6)
    for i, one in enumerate(sets):
        for other in sets[:i]:
            expected[len({*one} & {*other})] += 1
    of, plan = padded_items(*ragged(*sets), 5), plan_similarity(5, 1, untagged=True)
    assert self_join_offline(of, plan).unordered.pairs[1:].tolist() == expected[1:].tolist()
    # A sample of the sets of items, over 60 seeds: 3 standard errors.
    half = plan_similarity(5, 1, 0.5, untagged=True)
    found = np.array([self_join_offline(of, half, seed).unordered.pairs for seed in range(60)])
    errors = found.std(axis=0, ddof=1)[1:5] / math.sqrt(60)
    assert (np.abs(found.mean(axis=0) - expected)[1:5] < 3 * errors + 1e-9).all()
    joined = join_offline(of.take(slice(0, 40)), of.take(slice(40, None)), plan).pairs[1:]
    inside = [
        self_join_offline(of.take(s), plan).unordered.pairs[1:]
        for s in (slice(0, 40), slice(40, None))
    ]
    assert joined.tolist() == (expected[1:] - inside[0] - inside[1]).tolist()
    query = padded_items(*ragged([0, 1, 2]), 5)
    sizes = [len({0, 1, 2} & {*s}) for s in sets]
    assert search_offline(of, query, plan).pairs[1:4].tolist() == [
        sizes.count(k) for k in (1, 2, 3)
    ]


def test_items_are_once_in_a_set() -> None:
    of = padded_items(*ragged([5, 5, 4, 5], [], [4]), 3)
    assert of.values.tolist() == [[4, 5, 0], [0, 0, 0], [4, 0, 0]]
    assert of.nulls is not None
    assert (~of.nulls).sum(axis=1).tolist() == [2, 0, 1]
    with pytest.raises(
        ValueError, match="a set has 4 items, and a record 3: take more attributes, or min_hashes"
    ):
        padded_items(*ragged([1, 2, 3, 4]), 3)


@pytest.mark.parametrize("offsets", [[], [0, 1], [1, 2], [0, 2, 1, 2]])
def test_offsets_are_checked(offsets: list[int]) -> None:
    items = np.array([1, 2], np.uint64)
    for adapter in (min_hashes, padded_items):
        with pytest.raises(ValueError, match="offsets rise from 0 to the number of items, 2"):
            adapter(np.array(offsets, np.int64), items, 3)
