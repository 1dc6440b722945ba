"""When a sifter is built anew: what its regions hold has changed, or rows come from outside of its axes.

A change is seen while the sample still holds rows from before it, so the sifter is built once more when none of those is left.

Where only the share to keep changes the same regions get other thresholds, in a moment (``Compact.drop``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from streamq.stdlib.sifters.compact import Columns, Compact, Wish, asked, built
from streamq.stdlib.sifters.plans import Plan
from streamq.stdlib.sifters.sifter import ROWS_PER_REGION

CHANGED = 0.1
"""The share of rows that are in other regions than before, above what two samples differ by, for which it is built anew."""

OUTSIDE = 0.05
"""The share of an attribute's values outside of its axis for which it is built anew."""


@dataclass(slots=True)
class Adapting:
    """The sifter of some queries on one source, and the sample of rows that it is built from.

    ``current``: None until there is a sample. ``recent``: parts of the sample, the latest last. ``built_from``: rows of it
    that the current one had. ``until_fresh``: rows to come until the sample holds none from before the last change.
    """

    plan: Plan
    wishes: Sequence[Wish]
    current: Compact | None = None
    recent: deque[Columns] = field(default_factory=deque)
    built_from: int = 0
    until_fresh: int = 0

    @property
    def wanted_rows(self) -> int:
        """Rows of the sample that it is built from."""
        return round(ROWS_PER_REGION * self.plan.regions)

    def after(self, columns: Columns) -> bool:
        """Takes in sampled rows; True where the sifter was built anew."""
        if self.current is not None and not self.built_from and self.current.asked == asked(self.plan, self.wishes):
            self.built_from = self.wanted_rows  # of the run before, for the same queries
        if len(columns[0]):
            self.recent.append(columns)
        fresh = 0 < self.until_fresh <= len(columns[0])
        self.until_fresh = max(0, self.until_fresh - len(columns[0]))
        while self._rows() - (len(self.recent[0][0]) if self.recent else 0) >= self.wanted_rows:
            self.recent.popleft()
        count = self._rows()
        # The first is built from a few rows, and again as there are more, until there are enough.
        more = count >= self.plan.regions and count >= min(self.wanted_rows, max(1, 2 * self.built_from)) > self.built_from
        if not more and (self.current is None or count < self.wanted_rows):
            return False
        sample = [np.concatenate(parts) for parts in zip(*self.recent, strict=True)]
        changed = self.current is not None and _changed(self.current, sample)
        if not more and not fresh and not changed:
            return False
        if changed:
            self.until_fresh = self.wanted_rows
        self.built_from = min(count, self.wanted_rows)
        version = 0 if self.current is None else self.current.version + 1
        self.current = built(self.plan, sample, self.wishes, version)
        return True

    def _rows(self) -> int:
        return sum(len(part[0]) for part in self.recent)


def _changed(current: Compact, sample: Columns) -> bool:
    if any(a.outside(column) > OUTSIDE for a, column in zip(current.axes, sample, strict=True)):
        return True
    found = current.shares(sample)
    # The total variation distance of two samples of the same rows, as large as this one, on average.
    noise = float(np.sqrt(found * (1 - found) * 2 / len(sample[0])).sum()) * np.sqrt(2 / np.pi) / 2
    return bool(np.abs(found - current.share).sum() / 2 > CHANGED + noise)
