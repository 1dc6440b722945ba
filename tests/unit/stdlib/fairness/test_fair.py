"""Fair shedding: the order of admission, its edges, and what holds for all of it."""

from __future__ import annotations

import heapq
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamq.stdlib.fairness.batches import Headers, headers
from streamq.stdlib.fairness.coverage import Log
from streamq.stdlib.fairness.fair import compensated, fair, fair_admissions, filled
from streamq.stdlib.fairness.policies import heaviest


def waiting(text: str) -> tuple[Headers, list[str]]:
    """Headers from ``name:query n total`` entries, in order of arrival, and their names."""
    entries = [e.replace(":", " ").split() for e in text.split(",")]
    queries = sorted({e[1] for e in entries})
    totals = [float(e[3].split("/")[0]) / float((e[3] + "/1").split("/")[1]) for e in entries]
    made = headers([queries.index(e[1]) for e in entries], [int(e[2]) for e in entries], totals)
    return made, [e[0] for e in entries]


GS_1 = "a1:A 10 1/10, a2:A 10 1/10, b1:B 10 1/10, b2:B 10 1/10"


def admitted(
    text: str,
    budget: float,
    coverage: list[float],
    weights: list[float] | None = None,
    **options: object,
) -> list[tuple[str, float]]:
    made, names = waiting(text)
    claims = None if weights is None else np.array(weights)
    found = fair_admissions(made, budget, np.array(coverage), claims, **options)  # type: ignore[arg-type]
    levels = [round(level, 9) for level in found.level.tolist()]
    return list(zip([names[p] for p in found.positions], levels, strict=True))


def kept(text: str, budget: float, coverage: list[float], **options: object) -> list[str]:
    made, names = waiting(text)
    return [names[p] for p in fair(made, budget, np.array(coverage), **options)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("budget", "order"),
    [
        (20, [("b1", 0.3), ("b2", 0.4)]),
        (30, [("b1", 0.3), ("b2", 0.4), ("a1", 0.7)]),
        (0, []),
        (-5, []),
    ],
)
def test_gs_1_the_query_of_least_coverage_first(
    budget: int, order: list[tuple[str, float]]
) -> None:
    assert admitted(GS_1, budget, [0.8, 0.4]) == order


@pytest.mark.parametrize("budget", [40, 45, math.inf])
@pytest.mark.parametrize("strict", [False, True])
def test_gs_1_a_large_budget_keeps_all_in_order_of_arrival(budget: float, strict: bool) -> None:
    assert kept(GS_1, budget, [0.8, 0.4], strict=strict) == ["a1", "a2", "b1", "b2"]


def test_gs_2_equal_coverages_are_served_by_number() -> None:
    text = "a1:A 10 1/20, a2:A 10 1/20, a3:A 10 1/20, b1:B 10 1/10, b2:B 10 1/10, b3:B 10 1/10"
    expected = [("b1", 0.3), ("b2", 0.4), ("a1", 0.4), ("a2", 0.45)]
    assert admitted(text, 40, [0.5, 0.5]) == expected


GS_3 = "s:A 50 1/100, d:A 1 1/5"


def test_gs_3_the_last_batch_may_go_over_the_budget() -> None:
    assert admitted(GS_3, 50, [0.5]) == [("d", 0.49), ("s", 0.5)]
    assert admitted(GS_3, 50, [0.5], strict=True) == [("d", 0.49)]
    assert admitted(GS_3, 1, [0.5]) == [("d", 0.49)]


def test_gs_4_the_weightiest_tuples_stay() -> None:
    text = "L1:Q 1 1/3, R1:Q 1 1/6, L2:Q 1 1/3, R2:Q 1 1/6"
    found = admitted(text, 3, [1.0])
    assert [name for name, _ in found] == ["L1", "L2", "R1"]
    assert found[-1][1] == pytest.approx(5 / 6)
    assert kept(text, 3, [1.0]) == ["L1", "R1", "L2"]


def test_gs_5_best_by_tuple_or_by_batch() -> None:
    text = "x:Q 10 1/10, y:Q 2 3/50"
    assert kept(text, 2, [1.0]) == ["y"]
    assert kept(text, 2, [1.0], order="total") == ["x"]


def test_gs_6_empty_batches_are_free() -> None:
    assert kept("e:Q 0 1/4, x:Q 10 1/10", 0, [1.0]) == ["e"]
    assert kept("x:Q 10 1/10, e:Q 0 1/4", 10, [1.0]) == ["x", "e"]


def test_gs_7_a_light_query_is_served_completely() -> None:
    heavy = ", ".join(f"h{i}:H 10 1/100" for i in range(9))
    expected = [("h0", 0.42), ("l0", 0.5), ("h1", 0.43)]
    assert admitted(f"{heavy}, l0:L 10 9/100", 30, [0.5, 0.5]) == expected


def test_gs_8_a_query_of_weight_2() -> None:
    expected = [("b1", 0.3), ("a1", 0.35)]
    assert admitted(GS_1, 20, [0.8, 0.4], weights=[2, 1]) == expected


@pytest.mark.parametrize("coverage", [[0.8, 0.4], [0.0, 1.0], [0.1, 0.1]])
def test_a_query_of_weight_0_gets_what_the_others_leave(coverage: list[float]) -> None:
    found = admitted(GS_1, 30, coverage, weights=[0, 1])
    assert [name for name, _ in found] == ["b1", "b2", "a1"]
    assert [n for n, _ in admitted(GS_1, 20, [0.8, 0.4], weights=[0, 0])] == ["b1", "b2"]


def test_an_unknown_coverage_is_the_mean_of_the_others() -> None:
    assert filled(np.array([0.2, math.nan, 0.6])).tolist() == pytest.approx([0.2, 0.4, 0.6])
    assert filled(np.array([math.nan, math.nan])).tolist() == [0, 0]
    assert kept(GS_1, 20, [math.nan, 0.4]) == ["a1", "b1"]


def test_nothing_waits() -> None:
    none = headers([], [], [])
    for strict in (False, True):
        assert fair(none, 10, np.array([0.5]), strict=strict).tolist() == []
    assert fair(none, 10, np.zeros(0)).tolist() == []


def test_headers_are_checked() -> None:
    with pytest.raises(ValueError, match="differ in length"):
        headers([0], [1, 2], [0.1, 0.2])
    with pytest.raises(ValueError, match="negative"):
        headers([0], [-1], [0.1])


def test_g_10_fairness_is_by_query_not_by_result() -> None:
    made = headers([0] * 9 + [1] * 9, [10] * 18, [1 / 9] * 9 + [1 / 9] * 9)
    found = fair(made, 90, np.array([1.0, 1.0]))
    assert np.bincount(made.query[found]).tolist() == [5, 4]


def test_a_late_coverage_is_brought_up_to_date() -> None:
    log = Log.empty()
    for second, weight in [(1.0, 0.3), (2.0, 0.1), (10.0, 0.2), (11.0, 0.4)]:
        log = log.after(second, np.array([0]), np.array([weight]), keep=100)
    found = compensated(np.array([0.5, 0.7]), log, now=11.0, lag=1.0, window=9.0)
    assert found == pytest.approx([0.5 + 0.4 - 0.1, 0.7])


def by_heap(made: Headers, budget: float, coverage: np.ndarray, strict: bool) -> list[int]:
    """Fair shedding batch by batch, as it is defined."""
    waiting: dict[int, list[int]] = {}
    for p in range(len(made)):
        if made.n[p]:
            waiting.setdefault(int(made.query[p]), []).append(p)
    level = {q: coverage[q] - made.total[bs].sum() for q, bs in waiting.items()}
    for bs in waiting.values():
        bs.sort(key=lambda p: (-made.total[p] / made.n[p], -made.total[p], made.seq[p]))
    heap = [(round(level[q], 9), q) for q in waiting]
    heapq.heapify(heap)
    found, used = [], 0
    while heap and used < budget:
        _, q = heapq.heappop(heap)
        p = waiting[q].pop(0)
        if not strict or used + made.n[p] <= budget:
            found.append(p)
            used += int(made.n[p])
            level[q] += made.total[p]
        if waiting[q]:
            heapq.heappush(heap, (round(level[q], 9), q))
    return found


@st.composite
def queues(draw: st.DrawFn, queries: int = 3) -> tuple[Headers, np.ndarray, int]:
    """Batches with weights in eighths, so that sums are exact; coverages; and a budget."""
    rows = draw(
        st.lists(
            st.tuples(st.integers(0, queries - 1), st.integers(0, 9), st.integers(0, 8)),
            max_size=12,
        )
    )
    query, n, eighths = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    known = draw(st.lists(st.integers(0, 16), min_size=queries, max_size=queries))
    return headers(query, n, eighths / 8), np.array(known) / 8, draw(st.integers(-1, 60))


@settings(max_examples=100)
@given(queues(), st.booleans())
def test_it_is_the_definition(drawn: tuple[Headers, np.ndarray, int], strict: bool) -> None:
    made, coverage, budget = drawn
    found = fair_admissions(made, budget, coverage, strict=strict)
    assert found.positions.tolist() == by_heap(made, budget, coverage, strict)


@settings(max_examples=50)
@given(queues())
def test_p_4_coverages_of_queries_in_competition_are_close(
    drawn: tuple[Headers, np.ndarray, int],
) -> None:
    made, coverage, budget = drawn
    found = fair_admissions(made, budget, coverage)
    waits = np.flatnonzero(made.n > 0)
    rest = np.setdiff1d(waits, found.positions)
    after = coverage - np.bincount(made.query[rest], weights=made.total[rest], minlength=3)
    both = np.intersect1d(made.query[found.positions], made.query[rest])
    if both.size:
        assert np.ptp(after[both]) <= made.total.max() + 1e-9


@settings(max_examples=50)
@given(queues(queries=1))
def test_p_5_one_query_alone_is_served_by_weight(drawn: tuple[Headers, np.ndarray, int]) -> None:
    made, coverage, budget = drawn
    assert fair(made, budget, coverage).tolist() == heaviest(made, budget).tolist()


@settings(max_examples=50)
@given(queues(), st.randoms())
def test_p_6_the_order_of_the_headers_does_not_matter(
    drawn: tuple[Headers, np.ndarray, int], random: object
) -> None:
    made, coverage, budget = drawn
    order = np.arange(len(made))
    random.shuffle(order)  # type: ignore[attr-defined]
    mixed = made.take(order)
    first = made.seq[fair(made, budget, coverage)]
    second = mixed.seq[fair(mixed, budget, coverage)]
    assert first.tolist() == second.tolist()


@settings(max_examples=50)
@given(queues())
def test_p_7_the_budget_is_used_and_passed_by_one_batch_at_most(
    drawn: tuple[Headers, np.ndarray, int],
) -> None:
    made, coverage, budget = drawn
    used = made.n[fair(made, budget, coverage)].sum()
    assert used >= min(max(budget, 0), made.size)
    assert used == 0 or used < max(budget, 0) + made.n.max()
    assert made.n[fair(made, budget, coverage, strict=True)].sum() <= max(budget, 0)
