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

    def within(self, start: int, stop: int) -> Spans:
        """What the spans have of the stretches from ``start`` up to but without ``stop``, which are numbered from 0."""
        first, last = (np.clip(bound, start, stop) - start for bound in (self.first, self.last))
        return Spans(first, last, stop - start)

    def and_more(self, first: Index, last: Index) -> Spans:
        """These spans, and those of more members."""
        if not len(first):
            return self
        return Spans(
            np.concatenate((self.first, first)), np.concatenate((self.last, last)), self.size
        )


def totals(weights: Index, spans: Spans) -> Index:
    """The sum of the members' whole numbers in each stretch, which wraps around at 64 bits."""
    steps = np.zeros(spans.size + 1, dtype=np.int64)
    np.add.at(steps, spans.first, weights)
    np.subtract.at(steps, spans.last, weights)
    return np.cumsum(steps[:-1])


def greatest(ranks: Index, spans: Spans) -> Index:
    """The greatest of the members' ranks (0 or more) in each stretch, -1 where there are no members."""
    return _united(np.maximum, -1, ranks, spans)


def bits(values: Index, spans: Spans) -> Index:
    """The bits that are set in any of the members' whole numbers in each stretch."""
    return _united(np.bitwise_or, 0, values, spans)


def odd_bits(values: Index, spans: Spans) -> Index:
    """The bits that are set in an odd number of the members' whole numbers in each stretch."""
    steps = np.zeros(spans.size + 1, dtype=np.int64)
    np.bitwise_xor.at(steps, spans.first, values)
    np.bitwise_xor.at(steps, spans.last, values)
    return np.bitwise_xor.accumulate(steps[:-1])


def _united(unite: np.ufunc, nothing: int, values: Index, spans: Spans) -> Index:
    """What the members of each stretch make together, where a member may be counted twice.

    Each span is the union of two that are as long as a power of two. From the longest such length down, what
    holds over a length is handed to its two halves.
    """
    some = np.flatnonzero(spans.last > spans.first)
    first, last, values = spans.first[some], spans.last[some], values[some]
    found = np.full(spans.size, nothing, dtype=np.int64)
    power = np.frexp((last - first).astype(np.float64))[1] - 1
    for k in range(int(power.max(initial=-1)), -1, -1):
        half = 1 << k
        if 2 * half <= spans.size:
            found[half:] = unite(found[half:], found[:-half])
        here = power == k
        unite.at(found, first[here], values[here])
        unite.at(found, last[here] - half, values[here])
    return found


def joined(codes: tuple[Index, ...], spans: Spans) -> tuple[Index, Spans]:
    """The stretches in which at least one member with the same codes is there, as spans that do not overlap.

    Gives the position of such a member for each span, and the spans.
    """
    some = np.flatnonzero(spans.last > spans.first)
    if not len(some):
        return some, spans.take(some)
    first, last = spans.first[some], spans.last[some]
    columns = [code[some] for code in codes]
    order = np.lexsort((first, *columns))
    offset = (np.cumsum(firsts(*(c[order] for c in columns))) - 1) * (spans.size + 1)
    starts = first[order] + offset
    reach = np.maximum.accumulate(last[order] + offset)
    new = np.ones(len(order), dtype=bool)
    new[1:] = starts[1:] > reach[:-1]
    final = np.append(np.flatnonzero(new)[1:] - 1, len(order) - 1)
    return some[order][new], Spans(first[order][new], (reach - offset)[final], spans.size)
