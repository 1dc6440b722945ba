"""The window join of batches, full and selective."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from streamq.dsl.records import replace
from streamq.stdlib.joins.conditions import EQUAL, Condition, SetCondition, ValueCondition, band
from streamq.stdlib.joins.join import Joined, join, nothing_yet
from streamq.stdlib.joins.plan import WindowJoin
from streamq.stdlib.joins.probe import sampled
from streamq.stdlib.joins.selection import Selection, newest_first
from streamq.stdlib.joins.window import Grid
from tests.unit.stdlib.joins.streams import (
    Pred,
    Row,
    cut_in_time,
    letters,
    oracle,
    overlap,
    pairs,
    random_stream,
    random_streams,
    row_by_row,
    rows_of,
    run,
    some_set,
)

OVERLAP_2 = SetCondition("OVERLAP", 2, alphabet=10)
S1 = letters((0, "abc"), (2, "bcd"), (4, "ade"), (6, "abf"), (8, "cde"))
S2 = letters((1, "abd"), (3, "bce"), (5, "abf"), (7, "acd"), (9, "abc"))
GOLDEN = WindowJoin(OVERLAP_2, (Grid(6, 2, 0), Grid(4, 2, 1)), carries=False)
Order = tuple[list[int], list[int]]
FULL = [
    (1, 1, 1), (2, 2, 1), (3, 1, 2), (3, 2, 2), (4, 3, 1), (5, 1, 3), (6, 4, 3), (7, 2, 4), (7, 3, 4), (8, 5, 4), (9, 4, 5),
]


def chosen(one: float, two: float, order: Order, frac: float = 0.5, sample_p: float = 0.0) -> Selection:
    return Selection(frac, np.array([one, two]), None, (np.array(order[0]), np.array(order[1])), sample_p)


@pytest.mark.parametrize("indexed", [False, True])
def test_golden_3_1_full_join(indexed: bool) -> None:
    (found,) = run(replace(GOLDEN, indexed=indexed), (S1, S2), newest_first(1.0, (4, 3)))
    assert pairs([found]) == FULL
    assert found.compared.sum() == 19


@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.parametrize(
    ("one", "two", "order", "compared", "output"),
    [
        (0.5, 0.5, ([0, 1, 2, 3], [0, 1, 2]), 7, [(3, 2, 2), (6, 4, 3), (8, 5, 4)]),
        (0.5, 0.5, ([2, 1, 3, 0], [1, 0, 2]), 7, [(3, 1, 2), (4, 3, 1), (5, 1, 3), (7, 2, 4)]),
        (0.8, 0.05, ([2, 1, 3, 0], [1, 0, 2]), 7, [(3, 1, 2), (5, 1, 3), (7, 2, 4), (7, 3, 4), (9, 4, 5)]),
        (1.0, 1.0, ([2, 1, 3, 0], [1, 0, 2]), 19, FULL),
    ],
)
def test_golden_3_2_selective_join(
    one: float, two: float, order: Order, compared: int, output: list[tuple[int, int, int]], indexed: bool
) -> None:
    for cuts in ([], [(1, 1), (3, 2)], [(i, i) for i in range(5)]):
        found = run(replace(GOLDEN, indexed=indexed), (S1, S2), chosen(one, two, order), cuts)
        assert pairs(found) == output
        assert sum(f.compared.sum() for f in found) == compared


def test_golden_3_2_trace_of_the_probe_at_7() -> None:
    """S2.4 has one row to spend and finds S1.2 in the third basic window, counted from 1."""
    (found,) = run(GOLDEN, (S1, S2), chosen(0.5, 0.5, ([2, 1, 3, 0], [1, 0, 2])))
    at_7 = found.at == 7
    assert (found.left[at_7].tolist(), found.window[at_7].tolist(), found.position[at_7].tolist()) == ([2], [0], [2])


def test_F1_the_full_join_is_the_oracle_on_100_random_stream_pairs() -> None:  # noqa: N802
    random = np.random.default_rng(1)
    pairs_found = 0
    for number in range(100):
        w = (int(random.integers(0, 30)), int(random.integers(0, 30)))
        b = int(random.integers(2, 40))
        both = (
            random_stream(random, int(random.integers(0, 60)), 100), random_stream(random, int(random.integers(0, 60)), 100)
        )
        plan = WindowJoin(OVERLAP_2, (Grid(w[0], b), Grid(w[1], b, 3)), indexed=bool(number % 2))
        full = newest_first(1.0, (plan.grids[0].n_bw, plan.grids[1].n_bw))
        expected = oracle(overlap(2), w, both)
        (once,) = run(plan, both, full)
        assert set(zip(once.left.tolist(), once.right.tolist(), strict=True)) == expected
        assert len(once.left) == len(expected)
        assert np.all(np.diff(once.at) >= 0)
        for parts in (2, 6):
            assert pairs(run(plan, both, full, cut_in_time(random, both, parts))) == pairs([once])
        pairs_found += len(expected)
    assert pairs_found > 1000  # the streams do make pairs


@pytest.mark.parametrize("combine", ["MAX", "AVG"])
@pytest.mark.parametrize("by_type", [False, True])
def test_F5_F11_selective_joins_are_the_algorithm_row_by_row(combine: Any, by_type: bool) -> None:  # noqa: N802
    random = np.random.default_rng(5)
    full_probes = 0
    for number in range(8):
        both = random_streams(random, 60, 150, types=3)
        grids = (Grid(int(random.integers(10, 60)), 9), Grid(int(random.integers(10, 60)), 7, 2))
        plan = WindowJoin(
            OVERLAP_2, grids, bool(number % 2), utility=np.array([4.0, 1.0, 0.5]), combine=combine, carries=False
        )
        fractions = (random.random(3), random.random(3)) if by_type else None
        order = (random.permutation(grids[0].n_bw), random.permutation(grids[1].n_bw))
        selection = Selection(0.7, random.random(2), fractions, order, 0.6)
        expected = row_by_row(plan, overlap(2), both, selection)
        for parts in (1, 6):
            found = run(plan, both, selection, cut_in_time(random, both, parts))
            assert pairs(found) == expected.pairs
            assert sum(f.compared for f in found).tolist() == expected.compared
            for i in (0, 1):
                counters = [f.counters[i] for f in found]
                assert sum(c.matches for c in counters).tolist() == expected.matches[i]
                assert sum(c.compared for c in counters).tolist() == expected.full_compared[i]
                assert sum(c.utility for c in counters).tolist() == pytest.approx(expected.utility[i])
                assert sum(c.utility_compared for c in counters).tolist() == expected.utility_compared[i]
        full_probes += sum(map(sum, expected.matches))
    assert full_probes > 100  # counters have something to count


def test_F5_comparisons_are_at_most_the_fraction_of_the_window() -> None:  # noqa: N802
    random = np.random.default_rng(55)
    both = random_streams(random, 300, 1000)
    plan = WindowJoin(OVERLAP_2, (Grid(200, 20), Grid(100, 20)), carries=False)
    (full,) = run(plan, both, newest_first(1.0, (11, 6)))
    order = ([7, 3, *(j for j in range(11) if j not in (3, 7))], [5, 4, 3, 2, 1, 0])
    for fraction in (0.0, 0.013, 0.3, 0.9):
        (found,) = run(plan, both, chosen(fraction, fraction, order))
        assert np.all(found.compared <= fraction * full.compared)
        # Each of 300 probes loses less than a row.
        assert np.all(found.compared > fraction * full.compared - 300)
        # What is carried on is lost by nobody, but for a row of each window at the end.
        (carried,) = run(replace(plan, carries=True), both, chosen(fraction, fraction, order))
        assert np.all(np.abs(carried.compared - fraction * full.compared) < 1)


def test_carried_budgets_do_not_depend_on_batches() -> None:
    random = np.random.default_rng(8)
    both = random_streams(random, 200, 500, 2)
    plan = WindowJoin(OVERLAP_2, (Grid(50, 5), Grid(50, 5)), utility=np.ones(2))
    fractions = (np.array([0.01, 0.3]), np.array([0.2, 0.004]))
    selection = Selection(0.1, np.full(2, 0.1), fractions, (np.arange(11), np.arange(11)[::-1]), 0.5)
    (once,) = run(plan, both, selection)
    for parts in (3, 40):
        found = run(plan, both, selection, cut_in_time(random, both, parts))
        assert pairs(found) == pairs([once])
        assert sum(f.compared for f in found).tolist() == once.compared.tolist()


def test_a_scan_reads_what_it_compares_and_an_index_what_is_shared() -> None:
    random = np.random.default_rng(10)
    both = random_streams(random, 80, 200)
    plan, full = WindowJoin(OVERLAP_2, (Grid(40, 7), Grid(60, 7))), newest_first(1.0, (7, 10))
    (scanned,), (listed,) = run(plan, both, full), run(replace(plan, indexed=True), both, full)
    assert scanned.touched.tolist() == scanned.compared.tolist() == listed.compared.tolist()
    items = [{row.id: row.value or frozenset() for row in stream} for stream in both]
    live = oracle(lambda a, b: True, (40, 60), both)
    assert scanned.compared.sum() == len(live)
    assert listed.touched.sum() == sum(len(items[0][a] & items[1][b]) for a, b in live)


def test_each_type_gets_its_fraction_of_the_window() -> None:
    """All rows match, so that pairs are comparisons: of each type as many as its fraction of what its probes see, to one."""
    random = np.random.default_rng(9)
    both = (
        random_stream(random, 200, 500, 2, value=lambda _: 1), random_stream(random, 200, 500, 2, value=lambda _: 1)
    )
    fractions = (np.array([0.03, 0.4]), np.array([0.25, 0.011]))
    plan = WindowJoin(EQUAL, (Grid(50, 5), Grid(50, 5)), utility=np.ones(2))
    (full,) = run(plan, both, newest_first(1.0, (11, 11)))
    (found,) = run(plan, both, replace(newest_first(0.5, (11, 11)), frac_type=fractions))
    types = [{row.id: row.type for row in stream} for stream in both]

    def by_type(joined: Joined, window: int) -> np.ndarray[Any, Any]:
        probe = joined.right if window == 0 else joined.left
        return np.bincount([types[1 - window][i] for i in probe[joined.window == window].tolist()], minlength=2)

    for window in (0, 1):
        assert np.all(by_type(full, window) > 500)
        assert np.all(np.abs(by_type(found, window) - fractions[window] * by_type(full, window)) < 1)


def test_F11_pair_utilities_of_all_pairs_are_those_of_brute_force() -> None:  # noqa: N802
    """With every probe full, the counters hold the utility of the whole join."""
    random = np.random.default_rng(11)
    both = random_streams(random, 80, 200, 3)
    value = np.array([4.0, 1.0, 0.25])
    types = [{row.id: row.type for row in stream} for stream in both]
    for combine, utility in (("MAX", max), ("AVG", lambda a, b: (a + b) / 2)):
        plan = WindowJoin(OVERLAP_2, (Grid(40, 7), Grid(60, 7)), utility=value, combine=combine)
        (found,) = run(plan, both, newest_first(1.0, (7, 10), sample_p=1.0))
        total = sum(utility(value[types[0][a]], value[types[1][b]]) for a, b in oracle(overlap(2), (40, 60), both))
        assert sum(c.utility.sum() for c in found.counters) == pytest.approx(total)
        assert sum(c.matches.sum() for c in found.counters) == len(found.left)
        assert [c.compared.sum() for c in found.counters] == found.compared.tolist()


def test_full_probes_go_by_the_global_fraction() -> None:
    """A window of which nothing is compared is still learned about, and replays sample the same rows."""
    random = np.random.default_rng(12)
    both = random_streams(random, 400, 1000)
    selection = chosen(1.0, 0.0, (list(range(6)), list(range(6))), frac=0.5, sample_p=0.4)
    plan = WindowJoin(OVERLAP_2, (Grid(100, 20), Grid(100, 20)))
    first, again = run(plan, both, selection)[0], run(plan, both, selection)[0]
    assert first.counters[1].matches.sum() > 0
    assert first.compared[1] == first.counters[1].compared.sum()
    assert set(first.left[first.window == 1].tolist()) <= set(np.flatnonzero(sampled(np.arange(400), 1, 0.2)).tolist())
    assert pairs([first]) == pairs([again])


@pytest.mark.parametrize("w", [(0, 12), (12, 0), (0, 0)])
def test_windows_of_length_0_are_one_way_joins(w: tuple[int, int]) -> None:
    random = np.random.default_rng(13)
    both = random_streams(random, 60, 40)
    plan = WindowJoin(OVERLAP_2, (Grid(w[0], 5), Grid(w[1], 5)))
    found = run(plan, both, newest_first(1.0, (plan.grids[0].n_bw, plan.grids[1].n_bw)), cut_in_time(random, both, 5))
    assert {p[1:] for p in pairs(found)} == oracle(overlap(2), w, both)
    if w[1] == 0:
        # An S1 row comes before all S2 rows of its time, so none is there for it to probe.
        assert sum(f.compared[1] for f in found) == 0


BAD_STREAMS: dict[str, tuple[list[Row], list[Row]]] = {
    "both silent": ([], []),
    "one silent": ([Row(t, t, 0, 1) for t in range(500)], []),
    "the other silent": ([], [Row(t, t, 0, 1) for t in range(500)]),
    "1000 to 1": ([Row(t, t, 0, t % 7) for t in range(3000)], [Row(1000 * t, t, 0, t) for t in range(3)]),
    "1 to 1000": ([Row(1000 * t, t, 0, t) for t in range(3)], [Row(t, t, 0, t % 7) for t in range(3000)]),
    "all match": ([Row(t, t, 0, 1) for t in range(200)], [Row(t, t, 0, 1) for t in range(200)]),
    "none match": ([Row(t, t, 0, 1) for t in range(200)], [Row(t, t, 0, 2) for t in range(200)]),
    "one time": ([Row(5, t, 0, t % 3) for t in range(100)], [Row(5, t, 0, t % 3) for t in range(100)]),
    "gaps": ([Row(997 * t, t, 0, 1) for t in range(60)], [Row(997 * t + 20, t, 0, 1) for t in range(60)]),
    "before 0": ([Row(t - 300, t, 0, t % 2) for t in range(200)], [Row(t - 310, t, 0, t % 3) for t in range(200)]),
    "NULL": (
        [Row(t, t, 0, None if t % 2 else 3) for t in range(50)], [Row(t, t, 0, None if t % 3 else 3) for t in range(50)]
    ),
}


@pytest.mark.parametrize("name", BAD_STREAMS)
@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.parametrize("b", [1, 8, 1000])
def test_odd_streams_are_joined_as_well(name: str, indexed: bool, b: int) -> None:
    """Also with basic windows longer than the window, and as short as a unit of time."""
    both = BAD_STREAMS[name]
    plan = WindowJoin(EQUAL, (Grid(20, b), Grid(30, b)), indexed=indexed)
    full = newest_first(1.0, (plan.grids[0].n_bw, plan.grids[1].n_bw))
    expected = oracle(lambda a, b: a is not None and a == b, (20, 30), both)
    cuts = cut_in_time(np.random.default_rng(0), both, 4)
    for found in (run(plan, both, full), run(plan, both, full, cuts)):
        assert {p[1:] for p in pairs(found)} == expected
        assert sum(len(f.left) for f in found) == len(expected)


def test_a_silent_stream_does_not_let_the_window_of_the_other_grow() -> None:
    plan = WindowJoin(EQUAL, (Grid(20, 5), Grid(30, 5)))
    state, full = nothing_yet(plan), newest_first(1.0, (5, 7))
    rows, none = rows_of([Row(t, t, 0, 1) for t in range(1000)]), rows_of([])
    for i in range(0, 1000, 100):
        state, _ = join(plan, state, (rows.take(slice(i, i + 100)), none), full)
        assert sum(len(bw.rows) for bw in state.rings[0]) <= 5 * 5
    # The other side alone moves time on.
    state, _ = join(plan, state, (none, rows_of([Row(5000, 0, 0, 1)])), full)
    assert state.rings[0] == ()


def displaced(random: np.random.Generator, stream: list[Row], lateness: int) -> list[Row]:
    """The rows as they come when each is held up by less than the lateness."""
    held = random.integers(0, lateness, len(stream))
    return [stream[i] for i in np.argsort(np.array([row.at for row in stream]) + held, kind="stable")]


@pytest.mark.parametrize("parts", [1, 4, 20])
def test_rows_out_of_order_make_the_pairs_that_they_make_in_order(parts: int) -> None:
    random = np.random.default_rng(21)
    most = 0
    for _ in range(6):
        streams = random_streams(random, 80, 200)
        came = (displaced(random, streams[0], 25), displaced(random, streams[1], 25))
        # Batches end where as many rows of each side came, so that one side may be ahead of the other, too.
        ends = np.sort(random.integers(1, 80, parts - 1)).tolist()
        lateness = max(
            (max(r.at for s in came for r in s[:e]) - min(r.at for s in came for r in s[e:]) for e in ends), default=0
        )
        plan = WindowJoin(OVERLAP_2, (Grid(30, 7), Grid(20, 7)), lateness=max(0, lateness))
        found = run(plan, came, newest_first(1.0, (6, 4)), [(e, e) for e in ends])
        assert sum(f.late for f in found) == 0
        assert sorted(p[1:] for p in pairs(found)) == sorted(oracle(overlap(2), (30, 20), streams))
        assert set(pairs(found)) == set(pairs(run(plan, streams, newest_first(1.0, (6, 4)))))
        most = max(most, lateness)
    assert most > 20 or parts == 1


def test_rows_that_come_too_late_are_counted_and_left_out() -> None:
    plan = WindowJoin(EQUAL, (Grid(20, 5), Grid(20, 5)), lateness=10)
    full = newest_first(1.0, (5, 5))
    state, _ = join(plan, nothing_yet(plan), (rows_of([Row(100, 0, 0, 1)]), rows_of([])), full)
    assert state.horizon == 90
    state, found = join(plan, state, (rows_of([]), rows_of([Row(89, 0, 0, 1), Row(90, 1, 0, 1)])), full)
    assert (found.late, found.left.tolist(), found.right.tolist(), found.at.tolist()) == (1, [0], [1], [100])
    # A given horizon holds instead of the lateness, and never goes back.
    state, _ = join(plan, state, (rows_of([]), rows_of([])), full, horizon=95)
    state, found = join(plan, state, (rows_of([Row(94, 5, 0, 1)]), rows_of([])), full, horizon=50)
    assert (state.horizon, found.late) == (95, 1)


def test_late_rows_are_probed_with_a_budget_too() -> None:
    """Half of the rows that come late to a probe are compared, and full probes count them all."""
    plan = WindowJoin(EQUAL, (Grid(100, 10), Grid(100, 10)), lateness=200)
    first = (rows_of([]), rows_of([Row(100, i, 0, 1) for i in range(50)]))
    late = (rows_of([Row(90 + i % 5, i, 0, 1) for i in range(40)]), rows_of([]))
    for sample_p, compared in ((0.0, 50 * 20), (1.0, None)):
        selection = newest_first(0.5, (11, 11), sample_p)
        state, _ = join(plan, nothing_yet(plan), first, selection)
        _, found = join(plan, state, late, selection)
        full = int(sampled(np.arange(50), 0, 0.5 * sample_p).sum())
        assert found.compared.tolist() == [compared or full * 40 + (50 - full) * 20, 0]
        assert found.counters[0].compared.tolist() == [0, full * 40, *[0] * 9]
        assert len(found.left) == found.compared[0]


def test_rows_of_one_time_meet_whichever_came_first() -> None:
    plan, full = WindowJoin(EQUAL, (Grid(20, 5), Grid(0, 5))), newest_first(1.0, (5, 1))
    one, none = rows_of([Row(7, 3, 0, 1)]), rows_of([])
    for first, second in (((one, none), (none, one)), ((none, one), (one, none)), ((one, one), (none, none))):
        state, before = join(plan, nothing_yet(plan), first, full)
        _, after = join(plan, state, second, full)
        assert pairs([before, after]) == [(7, 3, 3)]


def small(random: np.random.Generator) -> int:
    return int(random.integers(12))


def half_of_the_pairs(a: Any, b: Any) -> Any:
    return 2 * a < b


@pytest.mark.parametrize(
    ("condition", "pred", "value"),
    [
        (EQUAL, lambda a, b: a == b, small),
        (band(3), lambda a, b: abs(a - b) <= 3, small),
        (ValueCondition(half_of_the_pairs), half_of_the_pairs, small),
        (SetCondition("SUBSET", alphabet=10), lambda a, b: a is not None and b is not None and a <= b, some_set),
        (SetCondition("SUPERSET"), lambda a, b: a is not None and b is not None and a >= b, some_set),
    ],
)
def test_joins_by_other_conditions_are_the_oracle(condition: Condition, pred: Pred, value: Callable[[Any], Any]) -> None:
    random = np.random.default_rng(31)
    both = (random_stream(random, 120, 200, value=value), random_stream(random, 120, 200, value=value))
    plan = WindowJoin(condition, (Grid(30, 7), Grid(20, 7)))
    found = run(plan, both, newest_first(1.0, (6, 4)), cut_in_time(random, both, 3))
    assert sorted(p[1:] for p in pairs(found)) == sorted(oracle(pred, (30, 20), both))
    assert {w for f in found for w in f.window.tolist()} == {0, 1}


def test_what_does_not_fit_the_plan_is_refused() -> None:
    plan = WindowJoin(OVERLAP_2, (Grid(6, 2), Grid(4, 2)))
    state, rows, none = nothing_yet(plan), rows_of(S1, OVERLAP_2), rows_of([], OVERLAP_2)
    with pytest.raises(ValueError, match="4 and 3 basic windows"):
        join(plan, state, (rows, none), newest_first(1.0, (4, 4)))
    with pytest.raises(ValueError, match="types of rows"):
        join(plan, state, (replace(rows, types=rows.types + 1), none), newest_first(1.0, (4, 3)))
    by_type = replace(newest_first(1.0, (4, 3)), frac_type=(np.ones(2), np.ones(2)))
    with pytest.raises(ValueError, match="1 types"):
        join(plan, state, (rows, none), by_type)
    with pytest.raises(ValueError, match="equality only"):
        WindowJoin(band(1), (Grid(6, 2), Grid(4, 2)), indexed=True)


def test_equal_sets_join_where_they_are_empty() -> None:
    plan = WindowJoin(SetCondition("EQUAL", alphabet=10), (Grid(10, 2), Grid(10, 2)))
    rows = rows_of([Row(t, t, 0, s) for t, s in enumerate((frozenset(), None, frozenset({1})))], plan.condition)
    for one in (plan, replace(plan, indexed=True), replace(plan, condition=SetCondition("EQUAL"))):
        _, found = join(one, nothing_yet(one), (rows, rows), newest_first(1.0, (6, 6)))
        assert pairs([found]) == [(0, 0, 0), (2, 2, 2)]
