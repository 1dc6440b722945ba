"""What a micro-batch costs: a fixed time, and times per row that arrives, that is kept, and that is in the state.

A tuple cost model (Fiscato 2012, section 5.2: time over tuples) has no fixed part, and takes rows that are shed
for free. In a micro-batch engine the fixed part is large, a shed row has still been read, and a query with state
walks through all of it. So::

    time = fixed + read * arrived + work * kept + hold * held
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

FIRST_HOLD_SHARE = 0.5
"""The part of a micro-batch that the state is believed to be good for, as long as nothing is known of it."""

LEAST_MS = 1e-6
"""Where a cost says that a micro-batch takes no time."""

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class BatchTime:
    """A micro-batch that was run: rows that arrived, those of them that were kept, milliseconds, and rows of state before."""

    arrived: int
    kept: int
    ms: float
    held: int = 0


@dataclass(frozen=True, slots=True)
class Cost:
    """Milliseconds: of each micro-batch, of each row that arrives, that is kept, and that is in the state before."""

    fixed: float
    read: float
    work: float
    hold: float = 0.0

    def time(self, arrived: float, kept: float, held: float = 0.0) -> float:
        """Milliseconds of a micro-batch."""
        return self.fixed + self.read * arrived + self.work * kept + self.hold * held

    def budget(self, arrived: float, within_ms: float, held: float = 0.0, holding: float = 0.0) -> float:
        """How many rows can be kept of those that arrive; 0 where even reading them takes too long.

        ``held``: rows of state whatever is kept; ``holding``: that each row brings about which is kept time and again.
        """
        left = within_ms - self.time(arrived, 0, held)
        if left <= 0:
            return 0.0
        each = self.each(holding)
        return left / each if each > 0 else float("inf")

    def each(self, holding: float = 0.0) -> float:
        """Milliseconds of a row that is kept, with the rows of state that it brings about.

        One of those takes no more than a row that is kept: where a few rows of state are always there, all that is always there
        may seem to be theirs.
        """
        return self.work + min(self.hold, self.work) * holding

    def of(self, batch: BatchTime) -> float:
        """Milliseconds that a micro-batch should have taken."""
        return self.time(batch.arrived, batch.kept, batch.held)

    def ratio(self, batch: BatchTime) -> float:
        """How many times longer than this a micro-batch took."""
        return batch.ms / max(self.of(batch), LEAST_MS)

    def scaled(self, factor: float) -> Cost:
        return Cost(self.fixed * factor, self.read * factor, self.work * factor, self.hold * factor)


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
        if _near(ratio, SURPRISE) or (ratio < 1 and self._sheds_more(batch)):
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

    def _sheds_more(self, batch: BatchTime) -> bool:
        """Less was kept of it than ever before: if it was short that tells what reading costs, not that this has changed.

        Unless something else has changed.
        """
        if self.suspects or self.old is not None or len(self.batches) < 2:
            return False
        return batch.kept / batch.arrived < min(one.kept / one.arrived for one in self.batches) / 2

    def _confirmed(self, batch: BatchTime, suspects: tuple[BatchTime, ...]) -> CostModel:
        """With a micro-batch that tells more of the cost that is."""
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

    Where all parts of it are free one micro-batch less than these can nearly always be explained, so that says little.
    """
    if not batches:
        return None, False
    cost = _simply_changed(batches, before)
    if cost is not None:
        return cost, True
    free = _fitted(batches, before, FREE_BELIEF)
    parts = 4 if any(batch.held for batch in batches) else 3
    return (free, len(batches) >= parts) if _off(free, batches) <= EXPLAINED else (None, False)


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
    rest = np.array([1 - before.time(batch.arrived, 0, batch.held) / batch.ms for batch in batches])
    work = float(kept @ rest / max(float(kept @ kept), 1e-300))
    return replace(before, work=max(0.0, work))


def _scaled(batches: Sequence[BatchTime], before: Cost) -> Cost:
    """Least squares of the relative errors, where all costs more, or less, by one factor."""
    times = np.array([before.of(batch) / batch.ms for batch in batches])
    return before.scaled(float(times.sum() / (times @ times)))


def _fitted(batches: Sequence[BatchTime], before: Cost, strength: float = BELIEF) -> Cost:
    """Least squares of the relative errors, of costs that are not negative, held near to those before.

    To these times one factor: where all goes faster, as it does while code is being compiled, the costs keep their
    proportions, of which micro-batches of one kind tell nothing.
    """
    times = np.array([batch.ms for batch in batches])
    sizes = np.array([(1.0, batch.arrived, batch.kept, batch.held) for batch in batches])
    weights = np.sqrt(FORGETTING ** np.arange(len(batches) - 1, -1, -1.0))
    prior = np.array((before.fixed, before.read, before.work, before.hold))
    expected = weights * (sizes @ prior) / times
    prior *= (expected @ weights) / max(float(expected @ expected), 1e-300)
    # A cost that was 0 may become a hundredth of a micro-batch; that of the state more, as it is not there at first.
    parts = np.array((0.01, 0.01, 0.01, FIRST_HOLD_SHARE))
    usual = np.where(sizes[-1] > 0, sizes[-1], sizes.max(axis=0))
    scale = np.maximum(prior, parts * times[-1] / np.maximum(usual, 1.0))
    belief = np.sqrt(strength)
    # In units of ``scale``, so that the columns are alike.
    matrix = np.vstack((sizes * scale * (weights / times)[:, None], belief * np.eye(len(prior))))
    wanted = np.concatenate((weights, belief * prior / scale))
    return Cost(*(_not_negative(matrix, wanted) * scale).tolist())


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
