"""F20: what is selected next, and what is known of each period, from counters alone."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.dsl.records import replace
from streamq.stdlib.joins.adapting import Adapting, Policy, start
from streamq.stdlib.joins.conditions import SetCondition
from streamq.stdlib.joins.plan import WindowJoin
from streamq.stdlib.joins.probe import Counters, no_counts
from streamq.stdlib.joins.window import Grid

OVERLAP = SetCondition("OVERLAP", 3, 100)


def plan(lengths: tuple[int, int] = (4, 3), utility: tuple[float, ...] = (1.0,)) -> WindowJoin:
    return WindowJoin(OVERLAP, (Grid(lengths[0], 1), Grid(lengths[1], 1)), utility=np.array(utility))


def counts(matches: list[int], compared: int = 1000, types: int = 1) -> Counters:
    found = np.array(matches)
    each = np.full(types, compared * len(matches) // types)
    return Counters(found, np.full(len(matches), compared), np.full(types, found.sum() / types), each)


FIRST, SECOND = counts([0, 10, 90, 40, 0]), counts([9, 10, 30, 8])
CAME = (np.array([500]), np.array([500]))


def after(policy: Policy, arrived: int = 1000, fetched: int = 250) -> Adapting:
    return start(plan(), policy).informed((FIRST, SECOND), CAME).rated(arrived, fetched)


@pytest.mark.parametrize("policy", ["NEWEST", "CORRELATION", "DIRECTION", "KNAPSACK", "AUTO"])
def test_all_is_compared_at_first_and_where_nothing_is_lost(policy: Policy) -> None:
    for one in (start(plan(), policy), after(policy, 1000, 1000)):
        assert one.selection.frac == 1
        assert one.selection.frac_dir.tolist() == [1, 1]
        for window in (0, 1):
            assert one.selection.fractions(window, np.zeros(2, dtype=np.int64)).tolist() == [1, 1]


def test_policies_add_up() -> None:
    newest = after("NEWEST").selection
    assert (newest.frac, newest.sample_p) == (0.25, 0)
    assert [o.tolist() for o in newest.order] == [[0, 1, 2, 3, 4], [0, 1, 2, 3]]
    learned = after("CORRELATION").selection
    assert [o.tolist() for o in learned.order] == [[2, 3, 1, 0, 4], [2, 1, 0, 3]]
    assert learned.frac_dir.tolist() == [0.25, 0.25]
    assert learned.sample_p == 0.1
    direction = after("DIRECTION").selection
    assert direction.frac_dir == pytest.approx([0.25 * 7 / 4, 0])
    together = after("KNAPSACK").selection
    # A quarter of nine basic windows: 0.09, 0.04, and a quarter of 0.03 of the other window.
    assert together.frac_type is not None
    assert [float(f[0]) for f in together.frac_type] == pytest.approx([2 / 5, 1 / 16])
    assert together.frac_dir == pytest.approx([2 / 5, 1 / 16])
    assert after("AUTO").selection.frac_dir == pytest.approx([2 / 5, 1 / 16])


def test_F20_what_is_known_of_a_period() -> None:  # noqa: N802
    known = after("AUTO")
    assert known.rate.beta == 0.25
    assert known.rate.frac == 0.25
    assert known.matches == (140, 57)
    assert known.learned[0].match_p == pytest.approx([0, 0.01, 0.09, 0.04, 0])
    assert known.learned[1].order.tolist() == [2, 1, 0, 3]
    later = known.informed((no_counts(5, 1), no_counts(4, 1)), CAME).rated(1000, 1000)
    assert later.rate.frac == pytest.approx(0.3)
    assert later.matches == (140, 57)
    assert later.came[0].tolist() == [900]


def test_periods_of_rate_and_correlation_are_independent() -> None:
    one = start(plan(), "AUTO").informed((FIRST, SECOND), CAME).rated(1000, 250)
    other = start(plan(), "AUTO").rated(1000, 250).informed((FIRST, SECOND), CAME)
    assert one.selection.frac_dir == pytest.approx(other.selection.frac_dir)


def test_dear_types_are_compared_before_cheap_ones() -> None:
    dear = plan(utility=(9.0, 1.0))
    known = start(dear, "KNAPSACK").informed(
        (counts([5, 5, 5, 5, 5], types=2), counts([5, 5, 5, 5], types=2)), (np.array([100, 900]), np.array([100, 900]))
    )
    known = replace(known, gains=start(dear).gains).rated(1000, 300)
    chosen = known.selection
    assert chosen.frac_type is not None
    for by_type in chosen.frac_type:
        assert by_type[0] == 1
        assert by_type[1] < 0.5
    # All of the dear tenth, and two ninths of the others: 0.3 on average.
    assert np.dot([5, 4], chosen.frac_dir) == pytest.approx(0.3 * 9)


def test_no_matches_and_a_silent_stream() -> None:
    came = np.array([1000]), np.array([0])
    quiet = start(plan(), "AUTO").informed((no_counts(5, 1), no_counts(4, 1)), came).rated(1000, 400)
    assert quiet.selection.frac_dir == pytest.approx([0.4, 0.4])
    assert [o.tolist() for o in quiet.selection.order] == [[0, 1, 2, 3, 4], [0, 1, 2, 3]]
    assert quiet.rated(0, 0).selection.frac == pytest.approx(0.48)


@pytest.mark.parametrize("policy", ["NEWEST", "CORRELATION", "DIRECTION", "KNAPSACK", "AUTO"])
def test_windows_of_no_length(policy: Policy) -> None:
    one_way = start(plan((4, 0)), policy).informed((FIRST, counts([3])), CAME).rated(1000, 250)
    chosen = one_way.selection
    assert chosen.frac == 0.25
    assert chosen.frac_dir[0] == pytest.approx(0.25)
    if policy not in ("NEWEST", "CORRELATION"):
        assert chosen.frac_dir[1] == 0
    neither = start(plan((0, 0)), policy).informed((counts([3]), counts([3])), CAME).rated(1000, 250)
    assert neither.selection.frac == 0.25
