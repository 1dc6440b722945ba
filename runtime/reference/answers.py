"""What goes into the reference evaluator and what comes out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from streamq.dsl.records import dataclass
from streamq.dsl.types import Type
from streamq.runtime.reference.values import Instant, Row

Batches = Sequence[Sequence[Row]]
"""Rows of one source in order of arrival, by micro-batch; each row has the physical columns of its source."""

Inputs = Mapping[str, Batches]
"""Batches by the name of the stream or table. Batches of the same index arrive together."""


@dataclass(frozen=True, slots=True)
class Change:
    """At ``at`` the row was added ``count`` times, or taken away ``-count`` times; streams only add."""

    at: Instant
    row: Row
    count: int


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a query over all input.

    ``is_stream``: the changes are the elements of a stream, and else those of a relation. They are ordered by
    instant. ``late``: rows of each stream that came after the watermark and were left out.
    """

    query: str
    columns: tuple[str, ...]
    types: tuple[Type, ...]
    is_stream: bool
    changes: tuple[Change, ...]
    late: tuple[tuple[str, int], ...] = ()

    def rows(self) -> Counter[Row]:
        """All elements of a stream, or the rows of a relation at the end, as a bag."""
        return self.at(None)

    def at(self, instant: Instant | None) -> Counter[Row]:
        """What came until the instant (of a relation: what it holds then), as a bag; None for the end."""
        bag: Counter[Row] = Counter()
        for change in self.changes:
            if instant is not None and change.at > instant:
                break
            bag[change.row] += change.count
        return +bag
