"""Plans for shedders lose the least: compared with all sets of places of random programs, tried one by one."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest

from streamq.compiler.analysis.antichains import Curves, bits, heaviest_antichain
from streamq.compiler.analysis.placement import KEEP_ALL, Plan, Planner, RoadMap, filled
from streamq.compiler.analysis.shed_places import Operator, Places, Query, places_of
from streamq.compiler.analysis.shed_reasons import reasons
from tests.support.shed_programs import Tried, random_program, small_programs


def check_plan(plan: Plan, needed: float, tried: Tried, places: Places) -> None:
    """It saves what it must, by the rules, with no error in its sums."""
    index = [places.places.index(s.place) for s in plan.shedders]
    chosen = np.isin(np.arange(len(places.places)), index)
    assert (tried.sets == chosen).all(axis=1).any()
    share = np.zeros(len(places.places))
    share[index] = [s.share for s in plan.shedders]
    assert (share <= tried.most).all()
    assert (share[index] > 0).all()
    saving = float(share @ tried.saving - chosen @ tried.test)
    assert saving == pytest.approx(plan.saving, rel=1e-9)
    assert saving >= needed * (1 - 1e-9)
    assert plan.loss == pytest.approx(float(share @ tried.loss), rel=1e-9, abs=1e-12)


def test_plans_of_500_random_programs_lose_the_least() -> None:
    rng = random.Random(7)
    gaps = cuts = 0
    for program, places in small_programs(500):
        tried = Tried(program, places)
        planner = Planner(places)
        road = planner.road_map()
        assert road.most == pytest.approx(max(0.0, tried.able), rel=1e-9, abs=1e-9)
        shares = [rng.random() ** 2, rng.random(), rng.random(), 0.999]
        for needed in (road.most * share for share in shares):
            least = tried.least(needed) if needed > 0 else 0.0
            plan = planner.plan(needed)
            assert plan is not None
            assert plan.loss == pytest.approx(least, abs=1e-9)
            assert plan.least == pytest.approx(least, abs=1e-9)
            check_plan(plan, needed, tried, places)
            gaps += _of_corners(planner, needed) > least + 1e-6
        assert planner.plan(road.most * 1.001 + 1e-6) is None
        for place in places.places:
            assert not place.keepers or place.most == 0
        cuts += _cut(planner)
    # Programs in which corners alone would not do, and orders that only a cut takes apart, are among them.
    assert gaps > 50
    assert cuts > 20


def _of_corners(planner: Planner, needed: float) -> float:
    """The least loss with places of a corner: what a price of the saving alone finds."""
    losses = [np.inf]
    for corner in planner.curves.of(planner.useful):
        shedders = filled((planner.places[i] for i in bits(corner.taken)), needed)
        losses.append(np.inf if shedders is None else sum(s.loss for s in shedders))
    return min(losses)


def _cut(planner: Planner) -> bool:
    """Whether the order of the useful places has four that form an N."""
    near, useful = planner.curves.near, list(bits(planner.useful))
    return any(
        near[a] >> b & near[b] >> c & near[c] >> d & 1 and not (near[a] >> c | near[b] >> d | near[a] >> d) & 1
        for a in useful for b in useful for c in useful for d in useful
        if len({a, b, c, d}) == 4
    )


def check_road(road: RoadMap, tried: Tried, places: Places) -> None:
    assert road.plans[0] == KEEP_ALL
    for lower, upper in pairwise(road.plans):
        assert lower.saving < upper.saving
        assert lower.loss <= upper.loss
    for plan in road.plans[1:]:
        assert plan.loss == pytest.approx(tried.least(plan.saving), abs=1e-9)
        check_plan(plan, plan.saving, tried, places)
        assert road.at(plan.saving) == plan
    losses = [road.at(road.most * n / 300).loss for n in range(301)]
    assert all(a <= b + 1e-12 for a, b in pairwise(losses))
    assert road.at(-1.0) == road.at(0.0) == KEEP_ALL
    assert road.at(2 * road.most + 1) == road.plans[-1]


def test_road_maps_rise_and_each_of_their_plans_is_the_best() -> None:
    rng = random.Random(3)
    worst = 0.0
    for program, places in small_programs(200):
        tried = Tried(program, places)
        road = Planner(places).road_map()
        check_road(road, tried, places)
        for _ in range(5 if road.most else 0):
            needed = road.most * rng.uniform(0.001, 1)
            plan = road.at(needed)
            check_plan(plan, needed, tried, places)
            least = tried.least(needed)
            assert plan.least - 1e-9 <= least <= plan.loss + 1e-9
            worst = max(worst, plan.loss - least)
    assert worst < 0.01


def test_places_save_and_lose_what_a_program_with_fewer_rows_does() -> None:
    """Without joins, whose rows go with those of either side, all of it is exact: the flow is worked out anew."""
    rng = random.Random(11)
    seen = 0
    while seen < 200:
        operators, queries, _ = random_program(rng)
        places = places_of(operators, queries)
        if any(o.pairs for o in operators):
            continue
        seen += 1
        spent, answers = _flow(operators, queries, {})
        weights = sum(q.weight for q in queries)
        shares = {p.name: rng.random() for p in places.places}
        antichain = rng.choice(Tried((operators, queries, 0.0), places).sets)
        chosen = [p for p, here in zip(places.places, antichain, strict=True) if here]
        less, fewer = _flow(operators, queries, {p.name: shares[p.name] for p in chosen})
        lost = sum(q.weight / weights * q.slope * (1 - fewer[q.name] / answers[q.name]) for q in queries)
        assert spent - less == pytest.approx(sum(shares[p.name] * p.saving for p in chosen), rel=1e-9, abs=1e-9)
        assert lost == pytest.approx(sum(shares[p.name] * p.loss for p in chosen), abs=1e-9)


def _flow(
    operators: list[Operator], queries: list[Query], dropped: dict[str, float]
) -> tuple[float, dict[str, float]]:
    """The cost of a program without joins per second, and the rows of its answers."""
    rates: dict[str, float] = {}
    cost = 0.0
    for o in operators:
        arriving = 0.0
        for n, below in enumerate(o.inputs):
            again = f" ({n + 1})" if below in o.inputs[:n] else ""
            arriving += rates[below] * (1 - dropped.get(f"{below} → {o.name}{again}", 0.0))
        cost += o.cost * arriving
        made = o.selectivity * arriving if o.rate is None else o.rate
        rates[o.name] = made * (1 - dropped.get(o.name, 0.0))
    answers = {
        q.name: rates[q.operator] * (1 - dropped.get(f"{q.operator} → {q.name}", 0.0)) for q in queries
    }
    return cost + sum(q.cost * answers[q.name] for q in queries), answers


def test_sides_of_a_join_each_take_its_result_along() -> None:
    operators = [
        Operator(name="a", rate=100.0), Operator(name="b", rate=300.0),
        Operator(name="j", inputs=("a", "b"), selectivity=0.5, cost=2.0, pairs=True),
        Operator(name="top", inputs=("j",), cost=3.0),
    ]
    places = places_of(operators, [Query(name="q", operator="top")], test=0.1)
    assert [(p.name, p.saving, p.loss, p.test) for p in places.places] == [
        ("a", pytest.approx(100 * 2 + 200 * 3), pytest.approx(1.0), 10.0),
        ("b", pytest.approx(300 * 2 + 200 * 3), pytest.approx(1.0), 30.0),
        ("j", 200 * 3, 1.0, 20.0),
    ]


def one_path() -> Places:
    operators = [
        Operator(name="s", rate=1000.0), Operator(name="f", inputs=("s",), selectivity=0.1, cost=1.0),
        Operator(name="agg", inputs=("f",), selectivity=0.5, cost=20.0),
    ]
    return places_of(operators, [Query(name="q", operator="agg", slope=0.8, least=0.25)], test=0.05)


def test_a_single_path_sheds_at_its_source() -> None:
    places = one_path()
    assert [p.name for p in places.places] == ["s", "f", "agg"]
    road = Planner(places).road_map()
    assert road.most == pytest.approx(0.75 * 3000 - 50)
    plan = road.at(1000.0)
    assert [(s.place.name, s.share) for s in plan.shedders] == [("s", pytest.approx(1050 / 3000))]
    assert plan.loss == pytest.approx(0.8 * 0.35)
    (reason,) = reasons(places, plan)
    assert reason.words == (
        "all that `q` does with a row comes after it; next best: `f`, which loses 40.20% instead of 28.00%"
    )


def test_little_is_saved_where_fewer_rows_are_tested() -> None:
    places = one_path()
    plan = Planner(places).road_map().at(20.0)
    assert [s.place.name for s in plan.shedders] == ["f"]
    (reason,) = reasons(places, plan)
    assert reason.why == "it tests 100 rows per second, at `s` it would be 1,000"
    assert reason.instead == ("s",)


def shared(least: float, weight: float = 1.0) -> Places:
    """A stream that is read by a cheap query and by an expensive one."""
    operators = [
        Operator(name="s", rate=100.0), Operator(name="cheap", inputs=("s",), cost=1.0),
        Operator(name="dear", inputs=("s",), cost=30.0),
    ]
    queries = [
        Query(name="p", operator="cheap", least=least, weight=weight), Query(name="q", operator="dear"),
    ]
    return places_of(operators, queries)


def test_rows_that_a_query_needs_are_dropped_below_where_it_parts() -> None:
    places = shared(least=1.0)
    plan = Planner(places).plan(600.0)
    assert plan is not None
    assert [(s.place.name, s.share) for s in plan.shedders] == [("s → dear", pytest.approx(0.2))]
    (reason,) = reasons(places, plan)
    assert reason.words == "above it, at `s`, `p` needs all rows; no other places save as much"


def test_queries_that_disagree_are_told_apart() -> None:
    places = shared(least=0.0)
    plan = Planner(places).plan(600.0)
    assert plan is not None
    assert [s.place.name for s in plan.shedders] == ["s → dear"]
    (reason,) = reasons(places, plan)
    assert reason.why == "above it, at `s`, `p` would lose rows too"
    assert reason.instead == ("s",)
    assert reason.loss == pytest.approx(600 / 3100)
    assert plan.loss == pytest.approx(0.1)


@pytest.mark.parametrize("least", [0.0, 1.0])
def test_nothing_is_dropped_where_nothing_may_be_or_nothing_is_saved(least: float) -> None:
    operators = [
        Operator(name="s", rate=100.0), Operator(name="f", inputs=("s",), cost=1.0, selectivity=0.5),
    ]
    places = places_of(operators, [Query(name="q", operator="f", least=least)], test=1.0)
    planner = Planner(places)
    assert planner.plan(1.0) is None
    road = planner.road_map()
    assert road == RoadMap((KEEP_ALL,))
    assert road.at(50.0) == KEEP_ALL
    assert reasons(places, KEEP_ALL) == ()


def test_a_query_without_rows_loses_nothing() -> None:
    operators = [
        Operator(name="s", rate=100.0), Operator(name="f", inputs=("s",), cost=1.0, selectivity=0.0),
        Operator(name="j", inputs=("f", "f"), cost=1.0, pairs=True),
    ]
    places = places_of(operators, [Query(name="q", operator="j"), Query(name="p", operator="s")])
    plan = Planner(places).plan(100.0)
    assert plan is not None
    assert [(s.place.name, s.share) for s in plan.shedders] == [("s → f", 1.0)]
    assert plan.loss == 0.0


def test_a_stream_joined_with_itself_has_an_arm_for_each_side() -> None:
    operators = [
        Operator(name="s", rate=10.0), Operator(name="j", inputs=("s", "s"), cost=1.0, pairs=True),
    ]
    places = places_of(operators, [Query(name="q", operator="j")])
    assert [p.name for p in places.places] == ["s", "s → j", "s → j (2)"]
    assert places.below == (0b110, 0, 0)
    assert [p.loss for p in places.places] == [2.0, 1.0, 1.0]


def test_queries_that_are_alike_are_not_tried_in_all_combinations() -> None:
    operators = [Operator(name="s", rate=100.0)]
    operators += [Operator(name=f"f{i}", inputs=("s",), cost=10.0) for i in range(40)]
    queries = [Query(name=f"q{i}", operator=f"f{i}") for i in range(40)]
    queries.append(Query(name="all", operator="s", least=1.0))
    plan = Planner(places_of(operators, queries, test=0.5)).plan(9_600.0, looked=200)
    assert plan is not None
    assert len(plan.shedders) == 10 + 1
    assert plan.least == plan.loss


def test_what_is_not_looked_at_is_told() -> None:
    for program, places in small_programs(60):
        planner = Planner(places)
        needed = 0.37 * planner.road_map().most
        if needed:
            quick, best = planner.plan(needed, looked=0), planner.plan(needed)
            assert best is not None
            least = Tried(program, places).least(needed)
            if quick is not None:
                assert quick.least - 1e-9 <= least <= quick.loss + 1e-9


def test_the_heaviest_antichain_is_the_one_that_networkx_cuts_out() -> None:
    nx = pytest.importorskip("networkx")
    rng = random.Random(5)
    for _ in range(200):
        n = rng.randint(1, 14)
        below = [0] * n
        for i in reversed(range(n)):
            for j in range(i + 1, n):
                if rng.random() < 0.2:
                    below[i] |= 1 << j | below[j]
        weights = [rng.choice([0, 1, 5, rng.randint(1, 10**18)]) for _ in range(n)]
        chosen = list(bits(heaviest_antichain(weights, below)))
        assert not any(below[i] >> j & 1 for i in chosen for j in chosen)
        graph = nx.DiGraph()
        for i in range(n):
            graph.add_edge("from", ("give", i), capacity=weights[i])
            graph.add_edge(("take", i), "to", capacity=weights[i])
            graph.add_edges_from((("give", i), ("take", j)) for j in bits(below[i]))
        flow = nx.maximum_flow_value(graph, "from", "to")
        assert sum(weights[i] for i in chosen) == sum(weights) - flow


def test_a_curve_is_the_hull_of_all_antichains() -> None:
    for program, places in small_programs(100):
        tried = Tried(program, places)
        planner = Planner(places)
        saving = tried.sets @ (tried.most * tried.saving - tried.test)
        loss = tried.sets @ (tried.most * tried.loss)
        curve = Curves(planner.curves.tops, places.below).of(planner.useful)
        for price in [0.0, *np.geomspace(1e-7, 1e2, 40)]:
            found = max(price * c.saving - c.loss for c in curve)
            assert found == pytest.approx(float((price * saving - loss).max()), rel=1e-9, abs=1e-12)


def test_what_would_make_an_answer_wrong_goes_nowhere() -> None:
    """The second input of an outer join, also where another query could do without its rows; on its own arm it can."""
    operators = [
        Operator(name="a", rate=100.0), Operator(name="b", rate=100.0),
        Operator(name="j", inputs=("a", "b"), cost=1.0, pairs=True, whole=(1,)), Operator(name="f", inputs=("b",), cost=1.0),
    ]
    places = places_of(operators, [Query(name="q", operator="j"), Query(name="r", operator="f")])
    most = {p.name: p.most for p in places.places}
    assert most == {"a": 1.0, "b": 0.0, "b → j": 0.0, "b → f": 1.0}
    assert {p.name: p.keepers for p in places.places}["b"] == ("q",)
