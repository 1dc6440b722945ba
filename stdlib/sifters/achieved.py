"""What queries get of their rows, as rows that are looked at tell, beside what a sifter expects.

A sifter expects rows to lie as those did that it was built from, and evenly within a region. Those that are looked at
in a micro-batch are of all its rows, kept or not: of the rows that a query wants it gets, on average, the mean of the
chances that they are kept.
"""

from __future__ import annotations

import numpy as np

from streamq.dsl.records import dataclass, replace
from streamq.stdlib.sifters.boxes import Floats
from streamq.stdlib.sifters.compact import Columns, Compact
from streamq.stdlib.sifters.queries import AT_ONCE, Queries, completeness


@dataclass(frozen=True, slots=True)
class Achieved:
    """Sums over micro-batches, each by its rows. ``rows``, ``kept``: of them; ``expected_kept``: that were to be kept.

    By query: ``wanted``, rows that it wants, ``got``, the sum of their chances, both as far as the sampled rows tell, and
    ``expected``, the sum of the completeness that was expected. ``value``: the quality that each of them can lose.
    """

    rows: float
    kept: float
    expected_kept: float
    wanted: Floats
    got: Floats
    expected: Floats
    value: Floats

    @property
    def completeness(self) -> Floats:
        """The share of its rows that each query got; 1 for one that no sampled row was for."""
        found: Floats = np.divide(self.got, self.wanted, out=np.ones_like(self.got), where=self.wanted > 0)
        return found

    @property
    def expected_completeness(self) -> Floats:
        return self.expected / max(self.rows, 1.0)

    @property
    def quality(self) -> float:
        """Of all queries together, at most 1 (section 3.2 of the paper, linear quality functions)."""
        return 1.0 - float(self.value @ (1.0 - self.completeness))

    @property
    def expected_quality(self) -> float:
        return 1.0 - float(self.value @ (1.0 - self.expected_completeness))


NONE = Achieved(0.0, 0.0, 0.0, np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0))


def after(
    before: Achieved, sifter: Compact, queries: Queries, columns: Columns, drop: Floats, rows: int, kept: int
) -> Achieved:
    """With one more micro-batch: ``columns`` of its sampled rows, ``drop`` the thresholds of its regions, 0 to 1.

    ``queries``: on the axes of the sifter.
    """
    wanted, got = _wanted(queries, sifter, columns, drop)
    stands_for = rows / max(1, len(columns[0]))
    expected = completeness(queries, sifter.regions, sifter.share, drop)
    if not before.rows:
        zero = np.zeros(len(queries.weight))
        before = replace(NONE, wanted=zero, got=zero, expected=zero)
    return Achieved(
        before.rows + rows, before.kept + kept, before.expected_kept + rows * (1.0 - float(sifter.share @ drop)),
        before.wanted + stands_for * wanted, before.got + stands_for * got, before.expected + rows * expected, queries.value,
    )


def _wanted(queries: Queries, sifter: Compact, columns: Columns, drop: Floats) -> tuple[Floats, Floats]:
    """By query: how many rows it wants, and the sum of their chances to be kept."""
    points = np.stack([a.points(column) for a, column in zip(sifter.axes, columns, strict=True)], axis=1)
    both = np.stack([np.ones(len(points)), 1.0 - drop[sifter.find(columns)]], axis=1)
    found = np.zeros((len(queries.lo), 2))
    step = max(1, AT_ONCE // max(1, len(points)))
    for first in range(0, len(queries.lo), step):
        lo, hi = queries.lo[first : first + step], queries.hi[first : first + step]
        inside = np.ones((len(lo), len(points)), dtype=bool)
        for d in range(points.shape[1]):
            inside &= (lo[:, d, None] <= points[:, d]) & (points[:, d] < hi[:, d, None])
        found[first : first + step] = inside @ both
    sums = np.zeros((len(queries.weight), 2))
    np.add.at(sums, queries.query, found)
    return sums[:, 0], sums[:, 1]
