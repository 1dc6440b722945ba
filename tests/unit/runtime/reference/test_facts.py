"""Time-varying bags: what holds when, and what changes."""

from __future__ import annotations

from streamq.runtime.reference.answers import Answer, Change
from streamq.runtime.reference.facts import (
    Fact,
    Frame,
    changes_of,
    map_snapshots,
    snapshots,
    sort_key,
)


def test_snapshots_are_the_stretches_without_change() -> None:
    a, b = Fact(("a",), 0, 10), Fact(("b",), 5, 20)
    late = Fact(("c",), 30, 31)
    assert list(snapshots([late, b, a, Fact(("gone",), 7, 7)])) == [
        (0, 5, [a]), (5, 10, [a, b]), (10, 20, [b]), (30, 31, [late]),
    ]


def test_windows_do_not_see_each_other() -> None:
    one, two = Frame(0, 10), Frame(5, 15)
    facts = [Fact((1,), 0, 10, one), Fact((2,), 5, 15, two)]
    counted = map_snapshots(facts, lambda held: [(len(held),)])
    assert counted == [Fact((1,), 0, 10, one), Fact((1,), 5, 15, two)]


def test_a_row_that_leaves_and_comes_at_once_does_not_change() -> None:
    facts = [Fact(("a",), 0, 5), Fact(("a",), 5, 9), Fact(("b",), 5, 9), Fact(("b",), 5, 9)]
    assert changes_of(facts) == [
        Change(0, ("a",), 1), Change(5, ("b",), 2), Change(9, ("a",), -1), Change(9, ("b",), -2),
    ]


def test_an_answer_holds_what_came_and_did_not_leave() -> None:
    changes = (Change(0, ("a",), 2), Change(5, ("a",), -1), Change(5, ("b",), 1))
    answer = Answer("q", ("x",), (), False, changes)
    assert answer.at(4) == {("a",): 2}
    assert answer.rows() == {("a",): 1, ("b",): 1}


def test_values_sort_as_in_spark() -> None:
    values = [float("nan"), 2.0, None, -1.0]
    assert sorted(values, key=sort_key)[:3] == [None, -1.0, 2.0]
    rows = [(1, "b"), (None, "z"), (1, None)]
    assert sorted(rows, key=sort_key) == [(None, "z"), (1, None), (1, "b")]
