"""Which windows are kept where the share changes: never another answer for a window of which a row was seen."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from streamq.stdlib.overload.steps import BEGINNING, MOST, Step, stepped

LENGTH_MS, LATE_MS = 10, 25
LENGTH = LENGTH_MS * 1000


def share_of(steps: tuple[Step, ...], start: int) -> float:
    """The share by which a window is judged, as the shedder's SQL says it."""
    return next((s.share for s in reversed(steps) if start >= s.since), steps[0].share)


def test_the_first_share_holds_for_all_windows() -> None:
    assert stepped((), None, LENGTH_MS, LATE_MS, 0.3) == (Step(BEGINNING, 0.3),)


def test_a_new_share_begins_with_the_first_window_of_which_nothing_was_seen() -> None:
    first = (Step(BEGINNING, 0.3),)
    assert stepped(first, None, LENGTH_MS, LATE_MS, 0.9) == first
    assert stepped(first, 25_000.0, LENGTH_MS, LATE_MS, 0.31) == first
    second = stepped(first, 25_000.0, LENGTH_MS, LATE_MS, 0.9)
    assert second == (*first, Step(30_000, 0.9))
    assert stepped(second, 29_999.0, LENGTH_MS, LATE_MS, 0.5) == (*first, Step(30_000, 0.5))
    assert stepped(second, 30_000.0, LENGTH_MS, LATE_MS, 0.5) == (*second, Step(40_000, 0.5))
    assert stepped(first, -1.0, LENGTH_MS, LATE_MS, 0.9) == (*first, Step(0, 0.9))


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3 * LENGTH), st.floats(0.001, 1)), max_size=30))
def test_what_was_decided_of_a_window_holds_as_long_as_it_is_open(moves: list[tuple[int, float]]) -> None:
    steps, newest = stepped((), None, LENGTH_MS, LATE_MS, 0.5), 0
    known: dict[int, float] = {}
    for forward, share in moves:
        newest += forward
        for start in range(0, newest + 1, LENGTH):
            known.setdefault(start, share_of(steps, start))
        steps = stepped(steps, float(newest), LENGTH_MS, LATE_MS, share)
        assert len(steps) <= MOST
        assert [s.since for s in steps] == sorted(s.since for s in steps)
        for start, held in known.items():
            if start + LENGTH > newest - LATE_MS * 1000:
                assert share_of(steps, start) == held


def test_all_windows_are_all_however_near_the_share_was() -> None:
    near = (Step(BEGINNING, 0.97),)
    back = stepped(near, 5_000.0, LENGTH_MS, LATE_MS, 1.0)
    assert back == (*near, Step(10_000, 1.0))
    assert stepped(back, 15_000.0, LENGTH_MS, LATE_MS, 1.0) == back
    assert stepped(back, 15_000.0, LENGTH_MS, LATE_MS, 0.97) == back
