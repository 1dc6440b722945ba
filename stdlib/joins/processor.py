"""A processor that is too slow, simulated: policies are compared at the same cost, whatever this machine can do.

Rows wait in buffers in front of the join; those that have waited too long are lost, which is where random dropping drops.
The processor makes so many comparisons in a second, and a row costs as much as some of them. It goes in steps: what a row
costs is taken from the step before, and what a step cost more than it had time for is missing in the next.
"""

from __future__ import annotations

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.joins.adapting import Adapting
from streamq.stdlib.joins.columns import Column, Sets
from streamq.stdlib.joins.join import Joined, join, nothing_yet
from streamq.stdlib.joins.plan import WindowJoin
from streamq.stdlib.joins.probe import no_counts
from streamq.stdlib.joins.selection import Floats, Ints, Selection, newest_first
from streamq.stdlib.joins.window import Rows

SECOND = 1_000_000
"""Units of time in a second, of rows and windows."""

LEAST = 1e-6
"""What a row is believed to cost where it costs nothing, in comparisons."""


@dataclass(frozen=True, slots=True)
class Processor:
    """``comparisons_per_s`` (C). What else costs, in comparisons: ``per_row`` (c_t), ``per_read`` of a row in a scan or of a
    posting in an index, ``per_lookup`` of an item in an index (c_l).

    ``buffer_s``: how long rows can wait. ``step_s``: of the simulation; ``period_s``: of all adaptations, a number of steps.
    """

    comparisons_per_s: float = 1.6e5
    per_row: float = 10.0
    per_read: float = 1.0
    per_lookup: float = 0.0
    buffer_s: float = 1.0
    step_s: float = 0.1
    period_s: float = 5.0

    def cost(self, selection: Selection, batch: tuple[Rows, Rows], joined: Joined) -> float:
        """What a batch cost, in comparisons."""
        lookups = self.per_lookup * _lookups(selection, batch) if self.per_lookup else 0.0
        return self.per_row * sum(map(len, batch)) + self.per_read * float(joined.touched.sum()) + lookups


@dataclass(frozen=True, slots=True)
class Period:
    """One period of adaptation that ends at ``end_s``: what was ``selected`` in it, and the state ``after`` it.

    Rows of both sides: ``arrived``, ``fetched`` by the processor, ``lost`` at the buffers. ``busy``: the part of the time
    that it worked. ``after`` is None where nothing adapts.
    """

    end_s: float
    selected: Selection
    arrived: int
    fetched: int
    lost: int
    busy: float
    after: Adapting | None


@dataclass(frozen=True, slots=True)
class Run:
    """Pairs as ids of the rows of S1 (``left``) and of S2 (``right``), the time ``at`` of the later one; all periods."""

    left: Ints
    right: Ints
    at: Ints
    periods: tuple[Period, ...]

    def between(self, start_s: float, end_s: float) -> Ints:
        """Positions of the pairs of some time."""
        return np.flatnonzero((self.at >= start_s * SECOND) & (self.at < end_s * SECOND))

    def per_s(self, start_s: float, end_s: float) -> float:
        """Pairs per second in some time."""
        return len(self.between(start_s, end_s)) / (end_s - start_s)


def arriving(ts: Floats, column: Column, types: Ints | None = None) -> Rows:
    """Rows, numbered from 0, of a stream that arrive at these times, rising, in seconds. ``types``: None: all are 0."""
    kinds = np.zeros(len(ts), dtype=np.int64) if types is None else types
    return Rows(np.rint(ts * SECOND).astype(np.int64), np.arange(len(ts)), kinds, column)


def simulated(
    plan: WindowJoin, processor: Processor, adapting: Adapting | None, rows: tuple[Rows, Rows], end_s: float
) -> Run:
    """The join of rows that arrive at their times, rising, in units of ``SECOND``, until ``end_s``.

    ``adapting``: what to begin with; None: all of the windows is compared, so that rows are lost: random dropping.
    """
    at, of_side = _merged(rows)
    ends = np.rint(np.arange(1, round(end_s / processor.step_s) + 1) * processor.step_s * SECOND).astype(np.int64)
    arrived, expired = np.searchsorted(at, ends), np.searchsorted(at, ends - round(processor.buffer_s * SECOND))
    selection = newest_first(1.0, (plan.grids[0].n_bw, plan.grids[1].n_bw)) if adapting is None else adapting.selection
    state, tally = nothing_yet(plan), _Tally(plan)
    head, credit, each = 0, 0.0, max(processor.per_row, LEAST)
    found, periods = [], []
    for step, (tail, first) in enumerate(zip(arrived.tolist(), expired.tolist(), strict=True), 1):
        tally.lost += max(0, first - head)
        head = max(head, first)
        credit += processor.comparisons_per_s * processor.step_s
        count = min(tail - head, int(max(credit, 0.0) / each))
        batch = _side(rows[0], of_side[0], head, count), _side(rows[1], of_side[1], head, count)
        state, joined = join(plan, state, batch, selection)
        found.append((joined.left, joined.right, joined.at))
        spent = processor.cost(selection, batch, joined)
        tally.take(batch, joined, spent)
        head, credit = head + count, credit - spent
        if count:
            each = max(spent / count, LEAST)
        if head == tail:
            credit = min(credit, 0.0)  # time that is not needed cannot be kept
        if step % round(processor.period_s / processor.step_s) == 0:
            before, now = selection, tail - tally.arrived_before
            if adapting is not None:
                adapting = adapting.informed(tally.counters, tally.came).rated(now, tally.fetched)
                selection = adapting.selection
            busy = tally.spent / (processor.comparisons_per_s * processor.period_s)
            periods.append(Period(step * processor.step_s, before, now, tally.fetched, tally.lost, busy, adapting))
            tally = _Tally(plan, tail)
    left, right, times = (np.concatenate(part) for part in zip(*found, strict=True))
    return Run(left, right, times, tuple(periods))


class _Tally:
    """What happened in a period so far."""

    def __init__(self, plan: WindowJoin, arrived_before: int = 0) -> None:
        self.arrived_before, self.fetched, self.lost, self.spent = arrived_before, 0, 0, 0.0
        types = len(plan.utility)
        self.counters = [no_counts(grid.n_bw, types) for grid in plan.grids]
        self.came = [np.zeros(types, dtype=np.int64) for _ in plan.grids]

    def take(self, batch: tuple[Rows, Rows], joined: Joined, spent: float) -> None:
        self.spent += spent
        self.fetched += sum(map(len, batch))
        self.counters = [one.plus(new) for one, new in zip(self.counters, joined.counters, strict=True)]
        self.came = [c + np.bincount(side.types, minlength=len(c)) for c, side in zip(self.came, batch, strict=True)]


def _merged(rows: tuple[Rows, Rows]) -> tuple[Ints, tuple[Ints, Ints]]:
    """The times of all rows in order, those of S1 first, and how many of each side are among the first 0, 1, ... of them."""
    at = np.concatenate([side.at for side in rows])
    order = np.argsort(at, kind="stable")
    second = np.append(0, np.cumsum(order >= len(rows[0])))
    return at[order], (np.arange(len(order) + 1) - second, second)


def _side(rows: Rows, of_side: Ints, head: int, count: int) -> Rows:
    """The rows of a side among ``count`` of both from ``head`` on."""
    return rows.take(slice(int(of_side[head]), int(of_side[head + count])))


def _lookups(selection: Selection, batch: tuple[Rows, Rows]) -> float:
    """About so many items are looked up: those of a probe in each basic window that its fraction needs a part of."""
    total = 0.0
    for window in (0, 1):
        probes = batch[1 - window]
        visited = np.ceil(selection.fractions(window, probes.types) * len(selection.order[window]))
        items = probes.column.sizes if isinstance(probes.column, Sets) else np.ones(len(probes))
        total += float(items @ visited)
    return total
