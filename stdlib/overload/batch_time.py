"""What a micro-batch costs: a fixed time, a time per row that arrives, and a time per row that is kept.

A tuple cost model (Fiscato 2012, section 5.2: time over tuples) has no fixed part, and takes rows that are shed
for free. In a micro-batch engine the fixed part is large, and a shed row has still been read. So::

    time = fixed + read * arrived + work * kept
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from streamq.dsl.records import dataclass, replace

RING = 30
"""Micro-batches that are looked at."""

FORGETTING = 0.93
"""The weight of a micro-batch against the one after it."""

FIRST_FIXED_MS = 100.0
FIRST_READ_SHARE = 0.1
"""What is believed before anything speaks for or against it: of a first micro-batch, and of the cost of a row."""

BELIEF = 1.0
"""How much the cost so far weighs against one micro-batch."""

SURPRISE = 2.0
"""Two micro-batches in a row that take so many times longer, or shorter, than expected: what was before is worthless.

One alone may be a pause of the machine. Where there is a cost by which it and those after it took their time (within
``EXPLAINED``), and one of them was not as expected either, it is the cost that has changed.
"""

EXPLAINED = 1.25
FREE_BELIEF = 1e-6
"""How much the cost so far weighs where all of it may have changed."""

SETTLED = 4
"""Micro-batches after which what was before a change is forgotten."""

LEAST_MS = 1e-6
"""Where a cost says that a micro-batch takes no time."""

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class BatchTime:
    """A micro-batch that was run: rows that arrived, those of them that were kept, milliseconds."""

    arrived: int
    kept: int
    ms: float


@dataclass(frozen=True, slots=True)
class Cost:
    """Milliseconds: of each micro-batch, of each row that arrives, of each row that is kept."""

    fixed: float
    read: float
    work: float

    def time(self, arrived: float, kept: float) -> float:
        """Milliseconds of a micro-batch."""
        return self.fixed + self.read * arrived + self.work * kept

    def budget(self, arrived: float, within_ms: float) -> float:
        """How many rows can be kept of those that arrive; 0 where even reading them takes too long."""
        left = within_ms - self.fixed - self.read * arrived
        if left <= 0:
            return 0.0
        return left / self.work if self.work > 0 else float("inf")

    def ratio(self, batch: BatchTime) -> float:
        """How many times longer than this a micro-batch took."""
        return batch.ms / max(self.time(batch.arrived, batch.kept), LEAST_MS)

    def scaled(self, factor: float) -> Cost:
        return Cost(self.fixed * factor, self.read * factor, self.work * factor)


@dataclass(frozen=True, slots=True)
class CostModel:
    """The cost as it was last estimated, and the micro-batches behind it, the latest last.

    ``most_kept``: the largest micro-batch that was seen; beyond it the estimate is a guess. ``odd``: a surprise, and the
    micro-batches since, none of which tells whether it was a pause. ``old``: the cost before it changed, as long as that is new.
    """

    cost: Cost | None = None
    batches: tuple[BatchTime, ...] = ()
    most_kept: int = 0
    odd: tuple[BatchTime, ...] = ()
    old: Cost | None = None

    def after(self, batch: BatchTime) -> CostModel:
        """The model with one more micro-batch. One without rows says nothing of what rows cost."""
        if batch.arrived <= 0 or batch.ms <= 0:
            return self
        most = max(self.most_kept, batch.kept)
        if self.cost is None:
            return CostModel(_first(batch), (batch,), most)
        ratio = self.cost.ratio(batch)
        since = (*self.odd[:1], *self.odd[1:][-SETTLED:], batch) if self.odd else ()
        other = _explaining(since, self.cost) if since else None
        if other is not None and len(self._odd_as_the_first(since)) > 1:
            return CostModel(other, since, max(one.kept for one in since), old=self.cost)
        if _near(ratio, SURPRISE):
            batches = (*self.batches[1 - RING :], batch)
            old = self.old if len(batches) < SETTLED else None
            return CostModel(_fitted(batches, self.cost), batches, most, since if other is not None else (), old)
        if self.old is not None:
            # What changed may be something else; or nothing did.
            again = _explaining((*self.batches, batch), self.old)
            if again is not None:
                return CostModel(again, (*self.batches, batch), most, old=self.old)
            if _near(self.old.ratio(batch), SURPRISE):
                return CostModel(_fitted((batch,), self.old), (batch,), most)
        # What only one micro-batch speaks for goes with the next that speaks against it.
        repeated = bool(self.odd) and (ratio > 1) == (self.cost.ratio(self.odd[-1]) > 1)
        if len(self.batches) != 1 and not repeated:
            return replace(self, odd=(batch,) if other is None else since)
        return CostModel(_fitted((batch,), self.cost.scaled(ratio)), (batch,), batch.kept)

    def _odd_as_the_first(self, since: tuple[BatchTime, ...]) -> list[BatchTime]:
        """Those that took longer than expected where the first did, or shorter where it did."""
        assert self.cost is not None
        ratios = [self.cost.ratio(batch) for batch in since]
        return [
            batch for batch, ratio in zip(since, ratios, strict=True)
            if (ratio > EXPLAINED if ratios[0] > 1 else ratio < 1 / EXPLAINED)
        ]


def _near(ratio: float, factor: float) -> bool:
    return 1 / factor <= ratio <= factor


def _first(batch: BatchTime) -> Cost:
    fixed = min(FIRST_FIXED_MS, batch.ms / 2)
    rows = (batch.ms - fixed) / (FIRST_READ_SHARE * batch.arrived + batch.kept)
    return Cost(fixed, rows * FIRST_READ_SHARE, rows)


def _explaining(batches: Sequence[BatchTime], before: Cost) -> Cost | None:
    """The cost after a change by which all of these took as long as they did, if there is one: the simplest."""
    for costs in ((_with_work(batches, before), _scaled(batches, before)), (_fitted(batches, before, FREE_BELIEF),)):
        off = [max(abs(math.log(cost.ratio(batch))) for batch in batches) for cost in costs]
        if min(off) <= math.log(EXPLAINED):
            return costs[off.index(min(off))]
    return None


def _with_work(batches: Sequence[BatchTime], before: Cost) -> Cost:
    """Least squares of the relative errors, where only the rows that are kept cost something else than before."""
    kept = np.array([batch.kept / batch.ms for batch in batches])
    rest = np.array([1 - before.time(batch.arrived, 0) / batch.ms for batch in batches])
    work = float(kept @ rest / max(float(kept @ kept), 1e-300))
    return replace(before, work=max(0.0, work))


def _scaled(batches: Sequence[BatchTime], before: Cost) -> Cost:
    """Least squares of the relative errors, where all costs more, or less, by one factor."""
    times = np.array([before.time(batch.arrived, batch.kept) / batch.ms for batch in batches])
    return before.scaled(float(times.sum() / (times @ times)))


def _fitted(batches: Sequence[BatchTime], before: Cost, strength: float = BELIEF) -> Cost:
    """Least squares of the relative errors, of costs that are not negative, held near to those before."""
    times = np.array([batch.ms for batch in batches])
    sizes = np.array([(1.0, batch.arrived, batch.kept) for batch in batches])
    weights = np.sqrt(FORGETTING ** np.arange(len(batches) - 1, -1, -1.0))
    prior = np.array((before.fixed, before.read, before.work))
    # A cost that was 0 may become a hundredth of a micro-batch.
    scale = np.maximum(prior, times[-1] / np.maximum(sizes[-1], 1.0) / 100)
    belief = np.sqrt(strength)
    # In units of ``scale``, so that the three columns are alike.
    matrix = np.vstack((sizes * scale * (weights / times)[:, None], belief * np.eye(3)))
    wanted = np.concatenate((weights, belief * prior / scale))
    fixed, read, work = _not_negative(matrix, wanted) * scale
    return Cost(float(fixed), float(read), float(work))


def _not_negative(matrix: Matrix, wanted: Matrix) -> Matrix:
    """The least squares with no negative number: the best of those that leave some columns out."""
    columns = matrix.shape[1]
    best, least = np.zeros(columns), float(wanted @ wanted)
    for count in range(1, columns + 1):
        for chosen in combinations(range(columns), count):
            part, *_ = np.linalg.lstsq(matrix[:, chosen], wanted, rcond=None)
            if (part < 0).any():
                continue
            error = matrix[:, chosen] @ part - wanted
            if (square := float(error @ error)) < least:
                least = square
                best = np.zeros(columns)
                best[list(chosen)] = part
    return best
