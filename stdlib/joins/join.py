"""The two-sided window join of a batch of rows: new rows come into their windows, and probe the window of the other side.

Of two rows the later one is the probe, at equal times that of S2. Rows see what came before them, in their own batch too, so
the batches that rows come in make no difference. A row that is late, within what is allowed, also is probed by the rows that
came too early for it. With fractions of 1 the pairs are those of the full join (section 2.1 of Gedik, Wu, Yu, Liu 2007,
"CPU Load Shedding for Binary Stream Joins"): of rows a of S1 and b of S2 for which the condition holds those with ::

    a.at <= b.at <= a.at + w_1   or   b.at < a.at <= b.at + w_2
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.joins.plan import WindowJoin
from streamq.stdlib.joins.probe import Counters, no_counts
from streamq.stdlib.joins.scan import Probed, probed
from streamq.stdlib.joins.selection import Floats, Ints, Selection
from streamq.stdlib.joins.window import Ring, Rows, evicted, in_order, inserted, joined_up
from streamq.stdlib.timelines.table import NEVER

PIECE = 4_000_000
"""Probes times basic windows that are looked at at once, to bound the memory."""


@dataclass(frozen=True, slots=True)
class State:
    """What is kept between batches, of each window.

    ``carry``: parts of rows that are left of budgets, ``[types]``. ``horizon``: no row before it may come.
    """

    rings: tuple[Ring, Ring]
    carry: tuple[Floats, Floats]
    horizon: int


@dataclass(frozen=True, slots=True)
class Joined:
    """What a batch gave.

    Pairs in order of time, ``[pairs]`` each: ids of the row of S1 (``left``) and of S2 (``right``), the time ``at`` of the
    later one, the ``window`` that was scanned, 0 or 1, and the ``position`` of the basic window, 0 the newest. By window,
    ``[2]``: rows ``compared``, and ``touched``, rows or postings that were read for it; ``counters`` of full probes.
    ``late``: how many rows came too late and were left out.
    """

    left: Ints
    right: Ints
    at: Ints
    window: Ints
    position: Ints
    compared: Ints
    touched: Ints
    counters: tuple[Counters, Counters]
    late: int


def nothing_yet(plan: WindowJoin) -> State:
    """The state before the first batch."""
    none = np.zeros(len(plan.utility))
    return State(((), ()), (none, none), NEVER)


def join(
    plan: WindowJoin, state: State, rows: tuple[Rows, Rows], selection: Selection, horizon: int | None = None,
    stored: tuple[Rows, Rows] | None = None,
) -> tuple[State, Joined]:
    """The state after a batch of rows of S1 and of S2, each in any order, and the pairs that they make.

    ``horizon``: no row before it comes in a later batch; if None it is the latest time so far, less the lateness.
    ``stored``: those of the rows that come into these windows, where a window is cut into several, each row is in one of
    them, and probes all; None: all rows. Raises ``ValueError`` where the selection or a row is not of the plan's basic
    windows and types.
    """
    plan.check(rows, selection)
    new = [_in_time(side, state) for side in rows]
    kept = new if stored is None else [_in_time(side, state) for side in stored]
    rings = [inserted(grid, ring, side) for grid, ring, side in zip(plan.grids, state.rings, kept, strict=True)]
    found: tuple[list[Probed], list[Probed]] = ([], [])
    carry = list(state.carry)
    for window in (0, 1):
        early, overtaken = _overtaken(state.rings[1 - window], new[window])
        for probes, ring in ((early, inserted(plan.grids[window], (), overtaken)), (new[1 - window], rings[window])):
            for piece in _pieces(probes, plan.grids[window].n_bw):
                part = probed(plan, selection, window, piece, ring, carry[window])
                found[window].append(part)
                carry[window] = part.carry
    latest = max([int(side.at[-1]) for side in new if len(side)], default=NEVER)
    now = max(state.horizon, latest - plan.lateness if horizon is None else horizon)
    left = [evicted(grid, ring, now) for grid, ring in zip(plan.grids, rings, strict=True)]
    late = sum(map(len, rows)) - sum(map(len, new))
    return State((left[0], left[1]), (carry[0], carry[1]), now), _joined(plan, found, late)


def _in_time(rows: Rows, state: State) -> Rows:
    return in_order(rows.take(rows.at >= state.horizon))


def _overtaken(ring: Ring, new: Rows) -> tuple[Rows, Rows]:
    """The basic windows of the other side's ring that rows of earlier times, or the same, come after; and those rows."""
    overtaken = new.take(new.at <= ring[-1].rows.at[-1]) if ring else new.take(slice(0))
    if not len(overtaken):
        return overtaken, overtaken
    return joined_up([bw.rows for bw in ring if bw.rows.at[-1] >= overtaken.at[0]]), overtaken


def _pieces(probes: Rows, n_bw: int) -> list[Rows]:
    size = max(1, PIECE // n_bw)
    return [probes.take(slice(i, i + size)) for i in range(0, len(probes), size)]


def _joined(plan: WindowJoin, found: tuple[Sequence[Probed], Sequence[Probed]], late: int) -> Joined:
    """The pairs of both windows in order of time, at equal times those of probes of S1 first, and then by id."""
    every = [(part, window) for window in (0, 1) for part in found[window]]
    none = np.empty(0, dtype=np.int64)
    probe = np.concatenate([none, *(p.probe for p, _ in every)])
    stored = np.concatenate([none, *(p.stored for p, _ in every)])
    at = np.concatenate([none, *(p.at for p, _ in every)])
    position = np.concatenate([none, *(p.position for p, _ in every)])
    window = np.repeat(np.array([w for _, w in every], dtype=np.int64), [len(p.at) for p, _ in every])
    order = np.lexsort((stored, probe, 1 - window, at))
    probe, stored, window = probe[order], stored[order], window[order]
    counters = []
    for grid, parts in zip(plan.grids, found, strict=True):
        total = no_counts(grid.n_bw, len(plan.utility))
        for part in parts:
            total = total.plus(part.counters)
        counters.append(total)
    return Joined(
        np.where(window == 0, stored, probe), np.where(window == 0, probe, stored), at[order], window, position[order],
        np.array([sum(p.compared for p in parts) for parts in found], dtype=np.int64),
        np.array([sum(p.touched for p in parts) for parts in found], dtype=np.int64), (counters[0], counters[1]), late,
    )
