"""Which windows are kept whole, where the share of them follows the load.

A window of which one row went must not be answered, so what is decided of a window holds for all of its rows, in
whatever micro-batch they come. A new share therefore begins with the first window of which nothing has been seen.
"""

from __future__ import annotations

from streamq.dsl.records import dataclass

MOST = 6
"""Steps that are remembered. A share stays as it is while all of them are of windows that are open."""

TOLERANCE = 0.05
"""A share that differs by less, as a part of it, is the same; but all windows are all."""

BEGINNING = -(1 << 62)


@dataclass(frozen=True, slots=True)
class Step:
    """Windows that start at ``since`` (microseconds since 1970) or later, until the next step, are kept by ``share``."""

    since: int
    share: float


def stepped(
    steps: tuple[Step, ...], newest: float | None, window_ms: int, late_ms: int, share: float
) -> tuple[Step, ...]:
    """The steps with a share for the windows that start after ``newest``, the latest time seen, in microseconds.

    ``late_ms``: how long after its end a window takes rows. Nothing is known of times in the first micro-batch, where
    the share holds for all windows.
    """
    if not steps:
        return (Step(BEGINNING, share),)
    last = steps[-1]
    same = share == last.share if share == 1 else abs(share - last.share) <= TOLERANCE * max(share, last.share)
    if newest is None or same:
        return steps
    length = window_ms * 1000
    since = (int(newest) // length + 1) * length
    before = steps[:-1] if last.since >= since else steps
    if len(before) == MOST and before[1].since > newest - length - late_ms * 1000:
        return steps
    return (*before, Step(max(since, last.since), share))[-MOST:]
