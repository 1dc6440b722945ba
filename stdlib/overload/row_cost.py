"""What a row costs, from the last batches, and how many rows fit into a given time (Fiscato 2012, section 5.2).

Times are milliseconds. Only batches in which there was always work to do say what a row costs.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from streamq.dsl.records import dataclass, replace

Method = Literal["ratio", "affine"]


@dataclass(frozen=True, slots=True)
class RowCost:
    """A batch of n rows takes ``fixed + per_row * n`` milliseconds."""

    fixed: float
    per_row: float


@dataclass(frozen=True, slots=True)
class RowCostModel:
    """The last batches, oldest first: (milliseconds, rows) each, ``size`` of them at most.

    ``ratio``: all time by all rows, right where a row has its price. ``affine``: a fixed price per
    batch besides, as micro-batches have it.
    """

    method: Method = "affine"
    size: int = 10
    batches: tuple[tuple[float, int], ...] = ()

    def after(self, t: float, n: int, idle: bool = False) -> RowCostModel:
        """The model after ``n`` rows in ``t`` milliseconds of measured time.

        A time without rows, and one in which the queue ran empty (``idle``), says nothing of the cost.
        """
        if n <= 0 or t <= 0 or idle:
            return self
        return replace(self, batches=(*self.batches, (t, n))[-self.size :])

    def cost(self) -> RowCost | None:
        """The cost as far as it is known: None before the first batch.

        A line is drawn through three different sizes or more that grow with time; else the ratio holds.
        """
        if not self.batches:
            return None
        t, n = np.array(self.batches, dtype=np.float64).T
        ratio = RowCost(0.0, float(t.sum() / n.sum()))
        if self.method == "ratio" or np.unique(n).size < 3:
            return ratio
        from_mean = n - n.mean()
        per_row = float(from_mean @ t / (from_mean @ from_mean))
        if per_row <= 0:
            return ratio
        return RowCost(float(t.mean() - per_row * n.mean()), per_row)

    def budget(self, delta: float) -> float:
        """How many whole rows fit into ``delta`` milliseconds; infinite before the first batch."""
        cost = self.cost()
        if cost is None:
            return math.inf
        rows = (delta - cost.fixed) / cost.per_row
        # A result that is whole but for the error of a float is whole.
        return float(max(0, math.floor(rows + 1e-9 * max(1.0, abs(rows)))))
