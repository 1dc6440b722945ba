"""Window extents against their definition, instant by instant."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamq.stdlib.windows import (
    US_PER_MS,
    first_end,
    in_range,
    in_window,
    last_end,
    panes_of,
    sessions,
)

TIMES = st.lists(st.integers(-(10**15), 10**15), max_size=20)
LENGTHS = st.integers(1, 50)


def times(*ms: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(ms, dtype=np.int64) * US_PER_MS


def windows_of(ts: int, length: int, slide: int) -> list[int]:
    """Every multiple s of the slide with s <= ts < s + length, all in microseconds."""
    first = (ts - length) // slide - 1
    return [
        s * slide for s in range(first, ts // slide + 2) if s * slide <= ts < s * slide + length
    ]


def test_sliding_windows_are_closed_at_the_start_and_open_at_the_end() -> None:
    panes = panes_of(times(0, 9, 10), range_ms=10, slide_ms=5)
    pairs = list(zip(panes.rows.tolist(), (panes.starts // US_PER_MS).tolist(), strict=True))
    assert pairs == [(0, -5), (0, 0), (1, 0), (1, 5), (2, 5), (2, 10)]


def test_a_tumbling_window_holds_each_row_once() -> None:
    panes = panes_of(times(-1, 0, 999, 1000), range_ms=1000, slide_ms=1000)
    assert panes.rows.tolist() == [0, 1, 2, 3]
    assert (panes.starts // US_PER_MS).tolist() == [-1000, 0, 0, 1000]


def test_rows_between_windows_are_in_none() -> None:
    panes = panes_of(times(0, 3, 4, 9, -7), range_ms=4, slide_ms=10)
    assert panes.rows.tolist() == [0, 1, 4]
    assert (panes.starts // US_PER_MS).tolist() == [0, 0, -10]


@given(TIMES, LENGTHS, LENGTHS)
def test_panes_are_those_of_the_definition(ts: list[int], length: int, slide: int) -> None:
    panes = panes_of(np.array(ts, dtype=np.int64), length, slide)
    found: list[list[int]] = [[] for _ in ts]
    for row, start in zip(panes.rows.tolist(), panes.starts.tolist(), strict=True):
        found[row].append(start)
    assert found == [windows_of(t, length * US_PER_MS, slide * US_PER_MS) for t in ts]


@given(TIMES, LENGTHS, LENGTHS)
def test_first_and_last_ends_bound_the_panes(ts: list[int], length: int, slide: int) -> None:
    array = np.array(ts, dtype=np.int64)
    first, last = first_end(array, length, slide), last_end(array, length, slide)
    for t, early, late in zip(ts, first.tolist(), last.tolist(), strict=True):
        own = windows_of(t, length * US_PER_MS, slide * US_PER_MS)
        if own:
            assert (early, late) == (own[0] + length * US_PER_MS, own[-1] + length * US_PER_MS)
        else:
            assert late <= t < early
            assert early - late == slide * US_PER_MS


def test_a_plain_range_is_open_at_its_old_end() -> None:
    assert in_range(times(-10, -9, 0, 1), 0, 10).tolist() == [False, True, True, False]
    assert in_range(np.array([-1, 0, 1]), 0, 0).tolist() == [False, True, False]


def test_a_sliding_window_is_open_at_its_new_end() -> None:
    assert in_window(times(-11, -10, -1, 0), 0, 10).tolist() == [False, True, True, False]


def test_sessions_split_at_the_gap_itself() -> None:
    found = sessions(times(-20, -11, -1, 8, 8, 18), gap_ms=10)
    assert found.of_row.tolist() == [0, 0, 1, 1, 1, 2]
    assert (found.starts // US_PER_MS).tolist() == [-20, -1, 18]
    assert (found.ends // US_PER_MS).tolist() == [-1, 18, 28]


def test_a_microsecond_less_than_the_gap_joins() -> None:
    assert sessions(np.array([0, 9_999]), gap_ms=10).of_row.tolist() == [0, 0]


@given(TIMES, LENGTHS)
def test_sessions_are_what_neighbours_say(ts: list[int], gap: int) -> None:
    ordered = sorted(ts)
    found = sessions(np.array(ordered, dtype=np.int64), gap)
    expected: list[list[int]] = []
    for t in ordered:
        if expected and t - expected[-1][-1] < gap * US_PER_MS:
            expected[-1].append(t)
        else:
            expected.append([t])
    assert found.starts.tolist() == [s[0] for s in expected]
    assert found.ends.tolist() == [s[-1] + gap * US_PER_MS for s in expected]
    assert found.of_row.tolist() == [i for i, s in enumerate(expected) for _ in s]


def test_no_rows_are_in_no_window() -> None:
    nothing = np.array([], dtype=np.int64)
    assert panes_of(nothing, 10, 5).rows.size == 0
    assert last_end(nothing, 10, 5).size == 0
    assert sessions(nothing, 10).starts.size == 0


def test_lengths_and_order_are_checked() -> None:
    with pytest.raises(ValueError, match="positive"):
        panes_of(times(0), 0, 5)
    with pytest.raises(ValueError, match="positive"):
        last_end(times(0), 5, -1)
    with pytest.raises(ValueError, match="gap"):
        sessions(times(0), 0)
    with pytest.raises(ValueError, match="order"):
        sessions(times(1, 0), 5)
