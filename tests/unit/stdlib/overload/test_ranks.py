"""The cut that keeps a share of all rows, those of the highest rank."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from streamq.stdlib.overload.ranks import LEVELS, Cut, cut_of, levels


def kept(ranks: NDArray[np.float64], cut: Cut) -> float:
    """The share of rows that a cut keeps, in expectation."""
    return float(np.mean(ranks > cut.rank) + cut.at * np.mean(ranks == cut.rank))


@pytest.mark.parametrize("keep", [0.0, 0.001, 0.1, 0.25, 0.3, 0.5, 0.9, 0.999])
def test_of_few_ranks_just_the_share_is_kept_and_the_highest_first(keep: float) -> None:
    ranks = np.repeat([0.25, 1.0, 4.0], [700, 250, 50]).astype(float)
    cut = cut_of(levels([ranks[::5]]), keep)
    assert cut is not None
    assert kept(ranks, cut) == pytest.approx(keep, abs=1e-9)
    worth_more, at_cut = ranks[ranks > cut.rank], ranks[ranks == cut.rank]
    assert len(worth_more) / 1000 <= keep + 1e-9
    assert (len(worth_more) + len(at_cut)) / 1000 >= keep - 1e-9


@pytest.mark.parametrize("keep", [0.01, 0.2, 0.5, 0.8, 0.99])
def test_of_many_ranks_the_share_is_kept_to_the_error_of_the_sample(keep: float) -> None:
    """2,048 of 100,000 rows are known: a share of p then has a standard error of sqrt(p (1 - p) / 2048)."""
    rng = np.random.default_rng(5)
    ranks = rng.lognormal(0.0, 2.0, 100_000)
    known = levels([ranks[:1024], ranks[1024:2048]])
    assert len(known) == LEVELS
    cut = cut_of(known, keep)
    assert cut is not None
    error = (keep * (1 - keep) / 2048) ** 0.5
    assert abs(kept(ranks, cut) - keep) < 4 * error + 1 / LEVELS


def test_a_rank_that_many_rows_have_is_divided() -> None:
    rng = np.random.default_rng(6)
    ranks = np.where(rng.random(50_000) < 0.6, 1.0, rng.random(50_000))
    cut = cut_of(levels([ranks[:4000]]), 0.3)
    assert cut is not None
    assert cut.rank == 1.0
    assert cut.at == pytest.approx(0.5, abs=0.03)


def test_nothing_known_and_nothing_to_shed() -> None:
    assert levels([]) == levels([np.array([])]) == ()
    assert cut_of((), 0.5) is None
    assert cut_of((1.0, 2.0), 1.0) is None
    assert cut_of((1.0, 2.0), 0.0) == Cut(2.0, 0.0)
    assert cut_of((3.0,), 0.25) == Cut(3.0, 0.25)
