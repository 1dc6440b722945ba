"""What a micro-batch costs: a fixed time, a time per row that arrives, and a time per row that is kept.

A tuple cost model (Fiscato 2012, section 5.2: time over tuples) has no fixed part, and takes rows that are shed
for free. In a micro-batch engine the fixed part is large, and a shed row has still been read. So::

    time = fixed + read * arrived + work * kept
"""

from __future__ import annotations

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

One alone may be a pause of the machine, and so is suspected only: where there is a cost by which it and those after it
took their time, and one of those was not as expected either, it is the cost that has changed.
"""

EXPLAINED = 1.25
"""How many times longer, or shorter, than a cost says a micro-batch may take that is explained by it."""

SUSPECTED = 5
"""Micro-batches after which a surprise is forgotten of which none of them told whether it was a pause."""

FREE_BELIEF = 1e-6
"""How much the cost so far weighs where all of it may have changed."""

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

    ``most_kept``: the largest micro-batch that was seen; beyond it the estimate is a guess. ``suspects``: a surprise, and
    the micro-batches since, none of which tells whether it was a pause. ``old``: the cost before it changed, until a
    micro-batch shows that it is wrong.
    """

    cost: Cost | None = None
    batches: tuple[BatchTime, ...] = ()
    most_kept: int = 0
    suspects: tuple[BatchTime, ...] = ()
    old: Cost | None = None

    def after(self, batch: BatchTime) -> CostModel:
        """The model with one more micro-batch. One without rows says nothing of what rows cost."""
        if batch.arrived <= 0 or batch.ms <= 0:
            return self
        if self.cost is None:
            return CostModel(_first(batch), (batch,), max(self.most_kept, batch.kept))
        suspects = (*self.suspects, batch) if 0 < len(self.suspects) < SUSPECTED else ()
        changed, sure = _changed(suspects, self.cost)
        if changed is not None and sure and _witnesses(suspects, self.cost) > 1:
            return CostModel(changed, suspects, max(one.kept for one in suspects), old=self.cost)
        open_still = suspects if changed is not None else ()
        ratio = self.cost.ratio(batch)
        if _near(ratio, SURPRISE):
            return self._confirmed(batch, open_still)
        reverted = self._reverted(batch)
        if reverted is not None:
            return reverted
        last = self.cost.ratio(self.suspects[-1]) if self.suspects else 1.0
        repeated = not _near(last, SURPRISE) and (ratio > 1) == (last > 1)
        if len(self.batches) != 1 and not repeated:
            return replace(self, suspects=open_still or (batch,))
        # What only one micro-batch speaks for goes with the next that speaks against it.
        old = self.cost if repeated else None
        return CostModel(_fitted((batch,), self.cost.scaled(ratio)), (batch,), batch.kept, old=old)

    def _confirmed(self, batch: BatchTime, suspects: tuple[BatchTime, ...]) -> CostModel:
        """With a micro-batch that took about as long as expected."""
        assert self.cost is not None
        known = (*self.batches[1 - RING :], batch)
        old = None if self.old is None or not _near(self.old.ratio(batch), SURPRISE) else self.old
        return CostModel(_fitted(known, self.cost), known, max(self.most_kept, batch.kept), suspects, old)

    def _reverted(self, batch: BatchTime) -> CostModel | None:
        """Where the cost has just changed and this speaks against it: something else has changed, or nothing has."""
        if self.old is None:
            return None
        known, most = (*self.batches[1 - RING :], batch), max(self.most_kept, batch.kept)
        other, _ = _changed(known, self.old)
        if other is not None:
            return CostModel(other, known, most, old=self.old)
        if _near(self.old.ratio(batch), SURPRISE):
            return CostModel(_fitted((batch,), self.old), (batch,), most)
        return None


def _near(ratio: float, factor: float) -> bool:
    return 1 / factor <= ratio <= factor


def _first(batch: BatchTime) -> Cost:
    fixed = min(FIRST_FIXED_MS, batch.ms / 2)
    rows = (batch.ms - fixed) / (FIRST_READ_SHARE * batch.arrived + batch.kept)
    return Cost(fixed, rows * FIRST_READ_SHARE, rows)


def _witnesses(batches: Sequence[BatchTime], cost: Cost) -> int:
    """How many took longer than a cost explains where the first did, or shorter where it did."""
    sign = 1 if cost.ratio(batches[0]) > 1 else -1
    return sum(cost.ratio(batch) ** sign > EXPLAINED for batch in batches)


def _changed(batches: Sequence[BatchTime], before: Cost) -> tuple[Cost | None, bool]:
    """The cost after a change by which all of these took as long as they did, if there is one; and whether that says much.

    Where all three parts of it are free two micro-batches can nearly always be explained, so that says little.
    """
    if not batches:
        return None, False
    cost = _simply_changed(batches, before)
    if cost is not None:
        return cost, True
    free = _fitted(batches, before, FREE_BELIEF)
    return (free, len(batches) > 2) if _off(free, batches) <= EXPLAINED else (None, False)


def _simply_changed(batches: Sequence[BatchTime], before: Cost) -> Cost | None:
    """The same, where one thing has changed: what kept rows cost, or how fast all goes."""
    cost = min((_with_work(batches, before), _scaled(batches, before)), key=lambda one: _off(one, batches))
    return cost if _off(cost, batches) <= EXPLAINED else None


def _off(cost: Cost, batches: Sequence[BatchTime]) -> float:
    """How many times longer, or shorter, than a cost says one of these took at most."""
    ratios = [cost.ratio(batch) for batch in batches]
    return max(*ratios, *(1 / max(ratio, LEAST_MS) for ratio in ratios))


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
