"""Policies compared over several nodes that share queries."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from streamq.stdlib.fairness.federation import (
    RESULT,
    Federation,
    Feedback,
    Policy,
    Trial,
    reference_federation,
    simulate,
)
from streamq.stdlib.fairness.measures import spread

TWO_NODES = Federation(
    query=np.array([1, 1, 0]),
    node=np.array([0, 1, 1]),
    reader=np.full(3, RESULT),
    output=np.ones(3, dtype=np.int64),
    turn=np.zeros(3, dtype=np.int64),
    source=np.arange(3),
    phase=np.zeros(3),
    budget=np.array([1000.0, 100.0]),
    rate=10.0,
    batch=10,
    period=1,
    window=40,
)
"""Query X (1) has a source on either node, Y (0) on the second, which can process half of what it gets."""


def run(policy: Policy, feedback: Feedback, report: int = 1) -> NDArray[np.float64]:
    """The coverages of X and Y in each tick."""
    trial = Trial(
        policy=policy, feedback=feedback, report=report, warm_up=160, measured=320, sample=1
    )
    return simulate(TWO_NODES, trial)[:, ::-1]


def test_g_11_global_coverages_make_queries_equal() -> None:
    found = run("fair", "global")
    assert found == pytest.approx(np.full_like(found, 2 / 3), abs=0.02)
    assert found.mean(axis=0) == pytest.approx([0.667, 0.666], abs=0.003)


def test_g_11_rare_reports_swing_around_it() -> None:
    found = run("fair", "global", report=8)
    assert found.mean(axis=0) == pytest.approx([0.667, 0.667], abs=0.02)
    assert found.min() == pytest.approx(0.60, abs=0.02)
    assert found.max() == pytest.approx(0.80, abs=0.07)


def test_g_11_local_coverages_do_not() -> None:
    assert run("fair", "none").mean(axis=0) == pytest.approx([0.80, 0.40])
    assert run("fair", "local").mean(axis=0) == pytest.approx([0.833, 0.333], abs=0.02)


def test_g_11_neither_does_chance() -> None:
    assert run("random", "global").mean(axis=0) == pytest.approx([0.75, 0.50], abs=0.02)


@pytest.fixture(scope="module")
def small() -> Federation:
    return reference_federation(30, (2, 3), seed=5, nodes=9)


def test_fair_shedding_is_more_even_and_gives_more(small: Federation) -> None:
    fair, random = (
        spread(simulate(small, Trial(policy=p, warm_up=60, measured=60)).mean(axis=0))
        for p in ("fair", "random")
    )
    assert fair.mean > random.mean
    assert fair.jain > random.jain + 0.1
    assert fair.variation < random.variation


def test_the_same_seed_gives_the_same(small: Federation) -> None:
    trial = Trial(policy="random", warm_up=0, measured=20)
    first, second = simulate(small, trial), simulate(small, trial)
    assert np.array_equal(first, second)
    assert first.shape == (5, 30)
    again = reference_federation(30, (2, 3), seed=5, nodes=9)
    assert np.array_equal(again.node, small.node)
    assert np.array_equal(again.phase, small.phase)


def test_nothing_is_lost_where_all_can_be_processed() -> None:
    ample = reference_federation(12, (3, 2), seed=1, capacity=1e6)
    found = simulate(ample, Trial(warm_up=80, measured=40))
    assert found == pytest.approx(np.ones_like(found), abs=0.05)
    assert found.mean() == pytest.approx(1, abs=0.01)


def test_the_layout_of_the_reference(small: Federation) -> None:
    parts = np.bincount(small.query)
    assert parts.tolist() == [2, 3] * 15
    for query in range(30):
        assert len(set(small.node[small.query == query].tolist())) == parts[query]
    chain = small.reader != RESULT
    assert (~chain).sum() == 30
    assert np.array_equal(small.query[small.reader[chain]], small.query[chain])
    offered = len(small.source) * small.rate * small.batch
    assert small.budget == pytest.approx([offered / 27] * 9)
    costly = reference_federation(30, (2, 3), seed=5, nodes=9, capacity=4000, overhead=3)
    assert costly.budget == pytest.approx(1000 - 3 * np.bincount(costly.node, minlength=9))
    sent = np.concatenate([small.sent(tick) for tick in range(40)])
    assert np.bincount(sent).tolist() == [30] * len(small.source)
    assert summed_weights(small, sent) == pytest.approx([1] * 30)


@pytest.mark.parametrize(
    ("fragments", "queries", "total"),
    [
        ((2,), 334, 2004),
        ((3,), 220, 1980),
        ((4,), 170, 2040),
        ((5,), 134, 2010),
        ((6,), 112, 2016),
        ((2, 3, 4, 5, 6), 190, 2280),
    ],
)
def test_g_19_the_fragments_of_three_kinds_of_queries(
    fragments: tuple[int, ...], queries: int, total: int
) -> None:
    assert len(reference_federation(3 * queries, fragments, seed=0).query) == total


def summed_weights(federation: Federation, sent: NDArray[np.int64]) -> NDArray[np.float64]:
    query = federation.query[federation.source[sent]]
    return np.bincount(query, weights=federation.batch_weights()[sent])
