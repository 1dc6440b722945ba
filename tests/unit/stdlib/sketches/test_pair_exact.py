"""C19: all pairs compared, and a random sample of records scaled up."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from streamq.stdlib.sketches import pair_exact
from streamq.stdlib.sketches.pair_count import self_join_offline
from streamq.stdlib.sketches.pair_exact import compared_join, compared_pairs, sampled_pairs
from streamq.stdlib.sketches.similarity_plan import plan_similarity
from streamq.stdlib.sketches.super_values import records
from streamq.stdlib.sketches.titles import titles


def by_loops(rows: list[list[int]]) -> list[int]:
    found = [0] * (len(rows[0]) + 1)
    for one, other in combinations(rows, 2):
        found[sum(x == y for x, y in zip(one, other, strict=True))] += 2
    return found


@pytest.mark.parametrize("cells", [1, 500, 1 << 22])
def test_pairs_are_those_of_the_definition(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is compared at once."""
    monkeypatch.setattr(pair_exact, "CELLS", cells)
    of = records(np.random.default_rng(1).integers(0, 3, (60, 4)).astype(np.uint64))
    assert compared_pairs(of).tolist() == by_loops(of.values.tolist())
    a, b = of.take(slice(0, 25)), of.take(slice(25, None))
    apart = compared_pairs(of) - compared_pairs(a) - compared_pairs(b)
    assert (2 * compared_join(a, b)).tolist() == apart.tolist()


def test_nulls_are_equal_to_nothing() -> None:
    values = np.array([[1, 2], [1, 2], [1, 2]], np.uint64)
    nulls = np.array([[True, False], [True, True], [False, False]])
    of = records(values, nulls=nulls)
    assert compared_pairs(of).tolist() == [4, 2, 0]
    assert compared_join(of, of).tolist() == [5, 3, 1]
    assert compared_join(of, records(values)).tolist() == [3, 3, 3]


def test_all_records_are_a_sample_without_error() -> None:
    of = records(np.random.default_rng(2).integers(0, 3, (80, 4)).astype(np.uint64))
    found = sampled_pairs(of, 2, 80)
    assert found.pairs[2:].tolist() == compared_pairs(of)[2:].tolist()
    assert found.size == found.pairs[2:].sum()
    assert np.isnan(found.pairs[:2]).all()


def test_a_sample_is_scaled_by_its_pairs() -> None:
    """300 samples of 100 of 2,000: the means are within 3 standard errors of what is true."""
    of = records(np.random.default_rng(3).integers(0, 4, (2000, 3)).astype(np.uint64))
    exact = compared_pairs(of)[1:]
    found = np.array([sampled_pairs(of, 1, 100, seed).pairs[1:] for seed in range(300)])
    errors = found.std(axis=0, ddof=1) / np.sqrt(300)
    assert (np.abs(found.mean(axis=0) - exact) < 3 * errors).all()
    same = sampled_pairs(records(np.ones((50, 3), np.uint64)), 1, 7)
    assert same.size == pytest.approx(50 * 49)


def test_samples_are_checked() -> None:
    of = titles(10)
    for sample in (1, 11):
        with pytest.raises(ValueError, match="2 to 10 records"):
            sampled_pairs(of, 4, sample)
    with pytest.raises(ValueError, match="1 to 6 attributes"):
        sampled_pairs(of, 7, 5)


def test_titles_have_pairs_of_all_likenesses() -> None:
    """Exact pairs of 5,000 titles, by comparison and by the inversion; a seed gives the same titles."""
    of = titles(5000, seed=2)
    exact = compared_pairs(of)
    assert (exact > 0).all()
    assert (np.diff(exact) < 0).all()
    assert self_join_offline(of, plan_similarity(6, 1)).pairs[1:].tolist() == exact[1:].tolist()
    assert (titles(5000, seed=2).values == of.values).all()
    assert (titles(5000, seed=3).values != of.values).mean() > 0.99


def test_titles_are_words_by_a_law() -> None:
    """Words are as many as a Poisson law of 6 has, and the most frequent has a share of 1 in the sum of i^-0.8."""
    one = titles(40_000, n_words=50, zipf=0.8, length=0.001, n_attrs=1, seed=1)
    # Titles of one word, with few exceptions: an attribute is the word.
    counts = np.sort(np.unique(one.values, return_counts=True)[1])[::-1]
    share = np.arange(1, 51) ** -0.8 / (np.arange(1, 51) ** -0.8).sum()
    assert len(counts) == 50
    # Deviation sqrt(40,000 * .11 * .89) = 62 for the first; 5 deviations.
    assert abs(int(counts[0]) - 40_000 * share[0]) < 5 * np.sqrt(40_000 * share[0] * (1 - share[0]))
