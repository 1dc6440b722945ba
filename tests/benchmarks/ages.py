"""How old the results of a run were: of rows, from what was seen of micro-batches.

The age of a row's result is the end of its micro-batch less the moment in which the source gave the row. Rows arrive
evenly, so of the rows of a micro-batch the oldest came when the micro-batch before took its input, and the youngest
when this one did.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from streamq.runtime.metrics import QuerySample

WARM_UP_S = 15.0
"""Counted from the end of the first micro-batch; what ends before is left out."""


@dataclass(frozen=True, slots=True)
class Ages:
    """Micro-batches: when each ``ended`` (seconds), ages of its ``oldest`` and ``youngest`` row (seconds), its rows."""

    ended: np.ndarray
    oldest: np.ndarray
    youngest: np.ndarray
    arrived: np.ndarray
    kept: np.ndarray

    def percentile(self, share: float) -> float:
        """The age that so large a share of the rows does not exceed, rows evenly spread in each micro-batch."""
        low, high = 0.0, float(self.oldest.max(initial=0.0))
        width = np.maximum(self.oldest - self.youngest, 1e-9)
        for _ in range(50):
            middle = (low + high) / 2
            below = np.clip((middle - self.youngest) / width, 0, 1)
            if (below * self.arrived).sum() >= share * self.arrived.sum():
                high = middle
            else:
                low = middle
        return high

    @property
    def kept_per_s(self) -> float:
        """Rows kept per second, from the end of the first micro-batch to that of the last; 0 where there is but one."""
        if len(self.ended) < 2:
            return 0.0
        return float(self.kept[1:].sum() / (self.ended[-1] - self.ended[0]))


def ages(samples: list[QuerySample], ended: float, rows_per_s: float) -> Ages:
    """Of a run that was broken off at ``ended`` (seconds since 1970), while ``rows_per_s`` came.

    The micro-batch that was not done then counts as one that ends there: its results are at least so old. Where that
    is younger than the oldest result so far it says nothing and is left out.
    """
    if not samples:
        return Ages(*(np.zeros(0) for _ in range(5)))
    began = samples[0].ended
    late = [s for s in samples if s.ended >= began + WARM_UP_S and s.rows_in > 0]

    before = samples[-1]
    waited, youngest = ended - before.ended + before.batch_ms / 1000, ended - before.ended
    counts = ended >= began + WARM_UP_S and waited > max((s.result_age_ms / 1000 for s in late), default=0.0)
    rows = rows_per_s * before.batch_ms / 1000
    last = (ended - began, waited, youngest, rows, 0.0) if counts else ()
    found = ages_of(late, began)
    if not last:
        return found
    return Ages(*(np.append(getattr(found, f.name), value) for f, value in zip(fields(found), last, strict=True)))


def ages_of(samples: list[QuerySample], began: float = 0.0) -> Ages:
    """Of these micro-batches alone; ``began``: what their ends count from, seconds since 1970."""
    rows = np.array(
        [(s.ended - began, s.result_age_ms / 1000, s.batch_ms / 1000, s.rows_in, s.kept) for s in samples], float
    )
    return Ages(*rows.reshape(-1, 5).T)
