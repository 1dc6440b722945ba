"""The extent arithmetic of windows, over whole columns of timestamps.

Timestamps are int64 microseconds since 1970 in UTC (negative before), lengths are whole
milliseconds as in the syntax tree. Sliding and tumbling windows are [start, end) with starts at
multiples of the slide from 1970, as Spark has them; a plain ``[RANGE t]`` is (now - t, now]
(docs/language/windows.md).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamq.dsl.records import dataclass

Times = NDArray[np.int64]
US_PER_MS = 1_000


@dataclass(frozen=True, slots=True)
class Panes:
    """The windows that rows fall into, one entry per (row, window), by row, then by start.

    ``rows``: index of the row. ``starts``: the window's start, microseconds.
    """

    rows: Times
    starts: Times


@dataclass(frozen=True, slots=True)
class Sessions:
    """The sessions of sorted timestamps. ``of_row``: the session of each row, counted from 0.

    ``starts`` and ``ends``: per session its first timestamp, and its last one plus the gap.
    """

    of_row: Times
    starts: Times
    ends: Times


def panes_of(ts_us: Times, range_ms: int, slide_ms: int) -> Panes:
    """All windows [start, start + range) that contain each timestamp.

    A row is in ceil(range / slide) windows at most; where the slide is longer than the range it
    may fall between two and be in none. Raises ValueError for lengths that are not positive.
    """
    length, slide = _lengths(range_ms, slide_ms)
    ts = np.asarray(ts_us, dtype=np.int64)
    most = -(-length // slide)
    last = np.floor_divide(ts, slide) * slide
    starts = last[:, None] + np.arange(1 - most, 1, dtype=np.int64) * slide
    rows, columns = np.nonzero(starts + length > ts[:, None])
    return Panes(rows.astype(np.int64), starts[rows, columns])


def first_end(ts_us: Times, range_ms: int, slide_ms: int) -> Times:
    """The end of the earliest window that contains each timestamp: when it is first seen.

    Where no window contains a timestamp, the end of the next window after it.
    """
    length, slide = _lengths(range_ms, slide_ms)
    ts = np.asarray(ts_us, dtype=np.int64)
    return (np.floor_divide(ts - length, slide) + 1) * slide + length


def last_end(ts_us: Times, range_ms: int, slide_ms: int) -> Times:
    """The end of the latest window that contains each timestamp: after it the row can be forgotten.

    Where no window contains a timestamp, the end of the last window before it.
    """
    length, slide = _lengths(range_ms, slide_ms)
    ts = np.asarray(ts_us, dtype=np.int64)
    return np.floor_divide(ts, slide) * slide + length


def in_window(ts_us: Times, end_us: int, range_ms: int) -> NDArray[np.bool_]:
    """Which timestamps lie in the sliding window [end - range, end)."""
    ts = np.asarray(ts_us, dtype=np.int64)
    return (ts >= end_us - range_ms * US_PER_MS) & (ts < end_us)


def in_range(ts_us: Times, now_us: int, range_ms: int) -> NDArray[np.bool_]:
    """Which timestamps a plain ``[RANGE t]`` holds at ``now``: those in (now - t, now].

    ``range_ms`` 0 is ``[NOW]`` at a granularity of one microsecond: those stamped ``now``.
    """
    ts = np.asarray(ts_us, dtype=np.int64)
    oldest = now_us - max(range_ms * US_PER_MS, 1)
    return (ts > oldest) & (ts <= now_us)


def sessions(ts_us: Times, gap_ms: int) -> Sessions:
    """The sessions of timestamps in ascending order, of one key.

    Neighbours belong together where they lie less than the gap apart; exactly the gap apart, a new
    session begins. Raises ValueError for a gap that is not positive or times out of order.
    """
    if gap_ms <= 0:
        raise ValueError(f"a session's gap must be positive, not {gap_ms} ms")
    ts = np.asarray(ts_us, dtype=np.int64)
    steps = np.diff(ts)
    if steps.size and steps.min() < 0:
        raise ValueError("timestamps are not in ascending order")
    gap = gap_ms * US_PER_MS
    begins = np.concatenate((np.ones(min(ts.size, 1), dtype=bool), steps >= gap))
    ends = np.concatenate((begins[1:], np.ones(min(ts.size, 1), dtype=bool)))
    return Sessions(np.cumsum(begins, dtype=np.int64) - 1, ts[begins], ts[ends] + gap)


def _lengths(range_ms: int, slide_ms: int) -> tuple[int, int]:
    if range_ms <= 0 or slide_ms <= 0:
        raise ValueError(f"a window's lengths must be positive, not {range_ms} and {slide_ms} ms")
    return range_ms * US_PER_MS, slide_ms * US_PER_MS
