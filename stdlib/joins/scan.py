"""One window is probed: each probe spends its budget on the basic windows that it sees, one basic window after the other."""

from __future__ import annotations

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.joins.matching import matches, prepared
from streamq.stdlib.joins.plan import WindowJoin
from streamq.stdlib.joins.probe import Counters, budgets, counted, sampled, takes, whole_budgets
from streamq.stdlib.joins.selection import Floats, Ints, Selection
from streamq.stdlib.joins.utility import pair_utility
from streamq.stdlib.joins.window import Ring, Rows, live

_NONE = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Probed:
    """What probes of one window gave.

    Of each pair, ``[pairs]``: ids of the ``probe`` and the ``stored`` row, the time ``at`` of the probe, the ``position`` of
    the basic window. ``compared``, ``touched``: rows that were, and rows or postings that were read for it. ``carry``: of
    budgets, by type.
    """

    probe: Ints
    stored: Ints
    at: Ints
    position: Ints
    compared: int
    touched: int
    counters: Counters
    carry: Floats


def probed(plan: WindowJoin, selection: Selection, window: int, probes: Rows, ring: Ring, carry: Floats) -> Probed:
    """Probes, in order of time, compare what the selection gives them of the rows of a ring that came before them.

    ``window``: 0 where these are rows of S1. Memory is probes times basic windows.
    """
    grid = plan.grids[window]
    at, ids, types = (
        np.concatenate(c or [_NONE])
        for c in ([bw.rows.at for bw in ring], [bw.rows.ids for bw in ring], [bw.rows.types for bw in ring])
    )
    first, last = live(grid, at, probes.at, ties=window == 0)
    counts = last - first
    budget = counts.sum(axis=1)
    wanted = selection.fractions(window, probes.types) * budget
    full = sampled(probes.ids, window, selection.frac * selection.sample_p)
    if plan.carries:
        budget[~full], carry = budgets(wanted[~full], probes.types[~full], carry)
    else:
        budget[~full] = whole_budgets(wanted[~full])
    take = takes(counts, selection.order[window], budget)
    probe, stored, touched = _matches(plan, window, probes, ring, last, take)
    position = grid.cells(probes.at[probe]) - grid.cells(at[stored])
    utility = pair_utility(plan.utility[probes.types[probe]], plan.utility[types[stored]], plan.combine)
    counters = counted(full, probes.types, counts, probe, position, utility, len(plan.utility))
    return Probed(
        probes.ids[probe], ids[stored], probes.at[probe], position, int(take.sum()), touched, counters, carry
    )


def _matches(
    plan: WindowJoin, window: int, probes: Rows, ring: Ring, last: Ints, take: Ints
) -> tuple[Ints, Ints, int]:
    """The matches among the ``take`` rows before ``last`` in each basic window, ``[probes, n_bw]`` both.

    Positions of the probe, and of the stored row among all of the ring; and how much was touched.
    """
    cells = plan.grids[window].cells(probes.at)
    ready = prepared(plan.condition, probes.column, plan.how)
    found, base, touched = [], 0, 0
    for bw in ring:
        # In order of time, those that see this basic window are a stretch, each from its own position.
        some = np.arange(*np.searchsorted(cells, (bw.cell, bw.cell + take.shape[1])))
        position = cells[some] - bw.cell
        wanted = take[some, position] > 0
        some, position = some[wanted], position[wanted]
        if len(some):
            stop = last[some, position] - base
            start = stop - take[some, position]
            rows = prepared(plan.condition, bw.rows.column, plan.how)
            part = matches(plan.condition, 1 - window, ready.take(some), rows, start, stop, plan.how)
            found.append((some[part.probe], part.row + base))
            touched += part.touched
        base += len(bw.rows)
    return np.concatenate([p for p, _ in found] or [_NONE]), np.concatenate([r for _, r in found] or [_NONE]), touched
