"""The weight that each kind of operator passes on."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.fairness.batches import NOTHING, Batches, batches
from streamq.stdlib.fairness.operators import (
    aggregated,
    copied,
    distinct,
    exploded,
    filtered,
    grouped,
    grouped_apart,
    joined,
    lost,
    routed,
    top,
    unchanged,
    united,
    windowed,
)


def shown(content: Batches) -> list[tuple[int, float]]:
    rounded = [round(t, 12) for t in content.total.tolist()]
    return list(zip(content.n.tolist(), rounded, strict=True))


def test_g_05_a_filter_doubles_the_weight_of_the_half_that_passes() -> None:
    passed = filtered(batches(10, 1), 5)
    assert shown(passed) == [(5, 1.0)]
    assert passed.per_tuple() == pytest.approx([1 / 5])


def test_g_05b_a_filter_that_lets_nothing_through_sends_an_empty_batch() -> None:
    passed = filtered(batches(10, 1), 0)
    assert shown(passed) == [(0, 1.0)]
    assert passed.per_tuple().tolist() == [0]
    assert passed.weight == 1


def test_g_05c_a_map_changes_no_weight() -> None:
    assert shown(unchanged(batches(10, 1))) == [(10, 1.0)]


@pytest.mark.parametrize("n_out", [0, 1, 5, 12])
def test_g_06_a_join_passes_on_the_weight_of_both_sides(n_out: int) -> None:
    pairs = joined(batches(3, 0.5), batches(4, 0.5), n_out)
    assert shown(pairs) == [(n_out, 1.0)]
    if n_out:
        assert pairs.per_tuple() == pytest.approx([1 / n_out])


def test_g_06_a_join_has_no_more_pairs_than_there_can_be() -> None:
    with pytest.raises(ValueError, match="no 13 pairs"):
        joined(batches(3, 0.5), batches(4, 0.5), 13)


def test_filters_work_batch_by_batch() -> None:
    content = batches([4, 2, 0], [0.4, 0.2, 0.1])
    assert shown(filtered(content, [2, 2, 0])) == [(2, 0.4), (2, 0.2), (0, 0.1)]
    with pytest.raises(ValueError, match="no more tuples"):
        filtered(content, [2, 3, 0])


def test_an_exploded_tuple_shares_its_weight() -> None:
    assert exploded(batches(2, 0.5), 10).per_tuple() == pytest.approx([0.05])


def test_a_union_keeps_batches_apart() -> None:
    both = united(batches(2, 0.5), NOTHING, batches([1, 1], [0.1, 0.2]))
    assert shown(both) == [(2, 0.5), (1, 0.1), (1, 0.2)]


@pytest.mark.parametrize(
    ("content", "window", "aggregate", "first_two"),
    [
        (batches([2, 3], [0.2, 0.4]), [(5, 0.6)], [(1, 0.6)], [(2, 0.6)]),
        (batches([1, 0], [0.2, 0.1]), [(1, 0.3)], [(1, 0.3)], [(1, 0.3)]),
        (batches(0, 0.3), [(0, 0.3)], [(0, 0.3)], [(0, 0.3)]),
        (NOTHING, [], [], []),
    ],
)
def test_windows_and_what_is_made_of_them(
    content: Batches,
    window: list[tuple[int, float]],
    aggregate: list[tuple[int, float]],
    first_two: list[tuple[int, float]],
) -> None:
    assert shown(windowed(content)) == window
    assert shown(aggregated(content)) == aggregate
    assert shown(top(content, 2)) == first_two


def test_groups_share_alike_or_by_their_own_tuples() -> None:
    content = batches([3, 1], [0.3, 0.3])
    assert shown(grouped(content, 2)) == [(2, 0.6)]
    apart = grouped_apart(np.array([0, 0, 1, 0]), np.array([0.1, 0.1, 0.1, 0.3]), 3)
    assert shown(apart) == [(1, 0.5), (1, 0.1), (0, 0.0)]
    assert grouped(NOTHING, 2) is NOTHING
    assert grouped_apart(np.zeros(0, dtype=np.int64), np.zeros(0), 2).total.dtype == np.float64


def test_distinct_tuples_carry_the_weight_of_all() -> None:
    assert distinct(batches(4, 0.4), 2).per_tuple() == pytest.approx([0.2])


def test_copies_share_the_weight_and_routed_tuples_keep_theirs() -> None:
    content = batches([4, 2], [0.4, 0.1])
    assert [shown(c) for c in copied(content, 2)] == [[(4, 0.2), (2, 0.05)]] * 2
    left, right = routed(content, np.array([[1, 0], [3, 2]]))
    assert shown(left) == [(1, 0.1), (0, 0.0)]
    assert shown(right) == [(3, 0.3), (2, 0.1)]
    with pytest.raises(ValueError, match="not the whole"):
        routed(content, np.array([[1, 0], [2, 2]]))


def test_an_empty_batch_is_routed_to_all() -> None:
    parts = routed(batches(0, 0.4), np.zeros((2, 1), dtype=np.int64))
    assert [shown(p) for p in parts] == [[(0, 0.2)], [(0, 0.2)]]


def test_lost_tuples_take_their_weight_with_them() -> None:
    assert shown(lost(batches([4, 2, 0], [0.4, 0.1, 0.3]), [1, 0, 0])) == [
        (1, 0.1),
        (0, 0.0),
        (0, 0.3),
    ]


def test_batches_are_checked() -> None:
    with pytest.raises(ValueError, match="not the same batches"):
        batches([1, 2], [0.5])
    for n, total in ((-1, 0.5), (1, -0.5), (1, float("nan"))):
        with pytest.raises(ValueError, match="negative"):
            batches(n, total)
