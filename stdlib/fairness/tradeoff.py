"""What more queries on the same machines are worth: cost per query falls, and so does coverage."""

from __future__ import annotations

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.fairness.batches import Floats


@dataclass(frozen=True, slots=True)
class TradeOff:
    """Against the first line of a table, for each line. ``queries``: how many ran.

    ``cost`` and ``quality``: by which part the cost per query and the mean coverage are lower.
    ``advantage``: the first minus the second; more queries pay while it is positive.
    """

    queries: Floats
    cost: Floats
    quality: Floats
    advantage: Floats


def trade_off(queries: Floats, coverage: Floats) -> TradeOff:
    """The trade-off of mean coverages at growing numbers of queries on machines that stay the same.

    Raises ValueError unless the numbers grow and the first line has queries and coverage.
    """
    n = np.asarray(queries, dtype=np.float64)
    mean = np.asarray(coverage, dtype=np.float64)
    if not n.size or n[0] <= 0 or mean[0] <= 0 or np.any(np.diff(n) <= 0):
        raise ValueError("numbers of queries grow, from a base with queries and coverage")
    cost = 1 - n[0] / n
    quality = (mean[0] - mean) / mean[0]
    return TradeOff(n, cost, quality, cost - quality)


def tipping_point(table: TradeOff, threshold: float = 0.0) -> float | None:
    """From how many queries on the advantage stays at or below the threshold, between the lines by a straight line.

    None where the last line still has more, or where no line ever had.
    """
    above = np.flatnonzero(table.advantage > threshold)
    if not above.size or above[-1] == len(table.advantage) - 1:
        return None
    last = int(above[-1])
    high, low = table.advantage[last : last + 2] - threshold
    left, right = table.queries[last : last + 2]
    return float(left + (right - left) * high / (high - low))
