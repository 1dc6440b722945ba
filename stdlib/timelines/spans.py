"""Members of groups, and the stretches of time over which they are members.

A stretch lies between two instants at which a group changes. The stretches of all groups are numbered, those of
a group one after the other in time, so each member is there over a span of numbers. Nothing here takes more than
O((members + stretches) log stretches), however many members a stretch has.
"""

from __future__ import annotations

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.timelines.table import Column, Index, firsts


@dataclass(frozen=True, slots=True)
class Spans:
    """Each member is there from stretch ``first`` up to but without ``last``; there are ``size`` stretches."""

    first: Index
    last: Index
    size: int

    def take(self, index: Column) -> Spans:
        """The spans of some members."""
        return Spans(self.first[index], self.last[index], self.size)


def totals(weights: Index, spans: Spans) -> Index:
    """The sum of the members' whole numbers in each stretch, which wraps around at 64 bits."""
    steps = np.zeros(spans.size + 1, dtype=np.int64)
    np.add.at(steps, spans.first, weights)
    np.subtract.at(steps, spans.last, weights)
    return np.cumsum(steps[:-1])


def greatest(ranks: Index, spans: Spans) -> Index:
    """The greatest of the members' ranks (0 or more) in each stretch, -1 where there are no members.

    Each span is the union of two that are as long as a power of two. From the longest such length down, what
    holds over a length is handed to its two halves.
    """
    some = np.flatnonzero(spans.last > spans.first)
    first, last, ranks = spans.first[some], spans.last[some], ranks[some]
    found = np.full(spans.size, -1, dtype=np.int64)
    power = np.frexp((last - first).astype(np.float64))[1] - 1
    for k in range(int(power.max(initial=-1)), -1, -1):
        half = 1 << k
        if 2 * half <= spans.size:
            found[half:] = np.maximum(found[half:], found[:-half])
        here = power == k
        np.maximum.at(found, first[here], ranks[here])
        np.maximum.at(found, last[here] - half, ranks[here])
    return found


def joined(codes: tuple[Index, ...], spans: Spans) -> Spans:
    """The stretches in which at least one member with the same codes is there, as spans that do not overlap."""
    some = np.flatnonzero(spans.last > spans.first)
    if not len(some):
        return spans.take(some)
    first, last = spans.first[some], spans.last[some]
    columns = [code[some] for code in codes]
    order = np.lexsort((first, *columns))
    offset = (np.cumsum(firsts(*(c[order] for c in columns))) - 1) * (spans.size + 1)
    starts = first[order] + offset
    reach = np.maximum.accumulate(last[order] + offset)
    new = np.ones(len(order), dtype=bool)
    new[1:] = starts[1:] > reach[:-1]
    final = np.append(np.flatnonzero(new)[1:] - 1, len(order) - 1)
    return Spans(first[order][new], (reach - offset)[final], spans.size)
