"""Weights that go through whole networks of operators."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamq.stdlib.fairness.batches import NOTHING, Batches, batches
from streamq.stdlib.fairness.network import Network, Operator, Rule
from streamq.stdlib.fairness.operators import (
    aggregated,
    exploded,
    filtered,
    joined,
    lost,
    propagate,
    routed,
    top,
    unchanged,
    united,
    windowed,
)
from streamq.stdlib.fairness.stamping import stamp_exact


def single(rule: Callable[[Batches], Batches]) -> Rule:
    """A rule of one stream, for the inputs of a firing taken together."""
    return lambda inputs: (rule(united(*inputs)),)


def sent(*sizes: int, sources: int) -> dict[str, Batches]:
    """One batch of each source s0, s1 ..., the whole of a window."""
    totals = stamp_exact(np.arange(len(sizes)), np.array(sizes), sources)
    return {f"s{i}": batches(n, t) for i, (n, t) in enumerate(zip(sizes, totals, strict=True))}


MAX_OF_AVERAGES = Network(
    (
        *(Operator(f"avg{i}", (f"s{i}",), single(aggregated)) for i in range(3)),
        Operator("max", ("avg0", "avg1", "avg2"), single(aggregated)),
    )
)


def test_g_02_maximum_of_averages() -> None:
    waiting, results = MAX_OF_AVERAGES.push({}, sent(2, 4, 3, sources=3))
    assert (results.n.tolist(), results.weight, waiting) == ([1], pytest.approx(1), {})


def test_g_02b_one_lost_tuple_of_four() -> None:
    arrived = sent(2, 4, 3, sources=3)
    arrived["s1"] = lost(arrived["s1"], 3)
    _, results = MAX_OF_AVERAGES.push({}, arrived)
    assert results.weight == pytest.approx(11 / 12)
    assert results.weight * 3 == pytest.approx(11 / 4)


@pytest.mark.parametrize("k", [10, 1])
def test_g_03_split_work_and_its_first_ten(k: int) -> None:
    thirds = np.full((3, 1), 100)
    network = Network(
        (
            Operator("split", ("s0",), lambda inputs: routed(inputs[0], thirds)),
            *(Operator(f"nlp{i}", ("split",), single(unchanged)) for i in range(3)),
            Operator("top", ("nlp0", "nlp1", "nlp2"), single(lambda content: top(content, k))),
        )
    )
    _, results = network.push({}, sent(300, sources=1))
    assert results.n.tolist() == [k]
    assert results.per_tuple() == pytest.approx([1 / k])


def keywords(passed: int) -> Network:
    """Messages with a keyword, the good and the bad counted, and their ratio."""
    some, half = single(lambda c: filtered(c, passed)), single(lambda c: filtered(c, c.n // 2))
    return Network(
        (
            Operator("keyword", ("s0",), some),
            Operator("good", ("keyword",), half),
            Operator("bad", ("keyword",), half),
            Operator("goods", ("good",), single(aggregated), result=True),
            Operator("bads", ("bad",), single(aggregated), result=True),
            Operator("ratio", ("goods", "bads"), single(aggregated)),
        )
    )


def test_g_04_three_results_of_one_query() -> None:
    _, results = keywords(2).push({}, sent(3, sources=1))
    assert results.total == pytest.approx([1 / 4, 1 / 4, 1 / 2])


def test_g_04b_one_message_lost_before_the_filter() -> None:
    arrived = {"s0": lost(sent(3, sources=1)["s0"], 2)}
    _, results = keywords(2).push({}, arrived)
    assert results.total == pytest.approx([1 / 6, 1 / 6, 1 / 3])


@pytest.mark.parametrize(("left", "right", "weight"), [(2, 1, 5 / 6), (1, 2, 2 / 3)])
def test_g_07_in_an_uneven_tree_one_side_is_worth_more(
    left: int, right: int, weight: float
) -> None:
    def dropping(inputs: tuple[Batches, ...]) -> tuple[Batches, ...]:
        assert inputs[0].per_tuple() == pytest.approx(2 * inputs[1].per_tuple())
        return (windowed(united(lost(inputs[0], left), lost(inputs[1], right))),)

    network = Network(
        (
            Operator("a", ("s0", "s1"), single(lambda content: propagate(content, 2))),
            Operator("b", ("a", "s2"), dropping),
        )
    )
    _, results = network.push({}, sent(2, 2, 2, sources=3))
    assert (results.n.tolist(), results.weight) == ([3], pytest.approx(weight))


def test_a_blocking_operator_waits_for_all_its_inputs() -> None:
    network = Network((Operator("join", ("s0", "s1"), single(windowed)),))
    waiting, results = network.push({}, {"s0": batches([1, 2], [0.1, 0.2])})
    assert (len(results), len(waiting["join", 0])) == (0, 2)
    later, results = network.push(waiting, {"s1": batches(4, 0.4)})
    assert (results.n.tolist(), results.total.tolist()) == ([5], [0.5])
    assert later["join", 0].n.tolist() == [2]
    assert len(waiting["join", 0]) == 2
    assert network.flush(later).n.tolist() == [2]


def test_another_operator_fires_for_each_batch() -> None:
    network = Network((Operator("union", ("s0", "s1"), single(unchanged), blocking=False),))
    waiting, results = network.push({}, {"s0": batches([1, 2], [0.1, 0.2])})
    assert (results.n.tolist(), waiting) == ([1, 2], {})


def test_an_operator_may_ask_for_several_batches() -> None:
    network = Network((Operator("window", ("s0",), single(windowed), batches=2),))
    waiting, results = network.push({}, {"s0": batches([1, 2, 3, 4, 5], [0.1] * 5)})
    assert (results.n.tolist(), len(waiting["window", 0])) == ([3, 7], 1)


def test_operators_stand_after_those_that_they_read() -> None:
    network = Network(
        (Operator("b", ("a",), single(unchanged)), Operator("a", ("s0",), single(unchanged)))
    )
    with pytest.raises(ValueError, match="`a` stands after"):
        network.push({}, {"s0": NOTHING})


RULES: dict[str, Callable[[Batches], Batches]] = {
    "filter": lambda c: filtered(c, c.n // 2),
    "nothing": lambda c: filtered(c, 0),
    "explode": lambda c: exploded(c, c.n * 3),
    "window": windowed,
    "aggregate": aggregated,
    "top": lambda c: top(c, 2),
}


def no_pairs(inputs: tuple[Batches, ...]) -> tuple[Batches, ...]:
    return (joined(inputs[0], united(*inputs[1:]), 0),)


@st.composite
def networks(draw: st.DrawFn) -> tuple[Network, dict[str, Batches], list[float]]:
    """A random network, the batches of its sources, and a list of what its lossy operators lost."""
    n_sources = draw(st.integers(1, 3))
    losses: list[float] = []
    names = [f"s{i}" for i in range(n_sources)]
    operators = []

    def lossy(share: int) -> Callable[[Batches], Batches]:
        def rule(content: Batches) -> Batches:
            kept = lost(content, content.n * share // 4)
            losses.append(content.weight - kept.weight)
            return kept

        return rule

    for i in range(draw(st.integers(1, 6))):
        fresh = (names[i],) if i < n_sources else ()
        others = draw(st.lists(st.sampled_from(names), min_size=1, max_size=2))
        kind = draw(st.sampled_from([*RULES, "join", "lossy"]))
        rule = (
            no_pairs
            if kind == "join"
            else single(RULES.get(kind) or lossy(draw(st.integers(0, 4))))
        )
        blocking = draw(st.booleans()) or kind == "join"
        size = draw(st.integers(1, 2))
        operators.append(Operator(f"o{i}", (*fresh, *others), rule, blocking, size))
        names.append(f"o{i}")
    read = {name for operator in operators for name in operator.inputs}
    sources = [name for name in names[:n_sources] if name in read]
    sizes = [draw(st.lists(st.integers(0, 20), min_size=1, max_size=5)) for _ in sources]
    of_batch = np.repeat(np.arange(len(sources)), [len(s) for s in sizes])
    totals = stamp_exact(of_batch, np.concatenate(sizes).astype(np.int64), len(sources))
    arrived = {s: batches(sizes[i], totals[of_batch == i]) for i, s in enumerate(sources)}
    return Network(tuple(operators)), arrived, losses


@settings(max_examples=40)
@given(networks())
def test_p_1_p_2_p_3_results_weigh_what_the_sources_sent_less_what_was_lost(
    drawn: tuple[Network, dict[str, Batches], list[float]],
) -> None:
    network, arrived, losses = drawn
    waiting, early = network.push({}, arrived)
    given_out = early.weight + network.flush(waiting).weight
    offered = sum(b.weight for b in arrived.values())
    assert given_out == pytest.approx(offered - sum(losses))
    assert -1e-9 <= given_out <= 1 + 1e-9


@settings(max_examples=20)
@given(networks(), st.integers(0, 3))
def test_p_3_what_is_lost_at_a_source_is_missing_in_the_results(
    drawn: tuple[Network, dict[str, Batches], list[float]], share: int
) -> None:
    network, arrived, losses = drawn
    fewer = {name: lost(b, b.n * share // 4) for name, b in arrived.items()}
    missing = sum(arrived[name].weight - fewer[name].weight for name in arrived)
    waiting, early = network.push({}, fewer)
    given_out = early.weight + network.flush(waiting).weight
    offered = sum(b.weight for b in arrived.values())
    assert given_out == pytest.approx(offered - missing - sum(losses))
