"""The n-th, the most frequent, and all of the members of each stretch of time (``spans.py``).

``nth`` and ``most_frequent`` never put all members of all stretches side by side, so windows of many rows that
change often are no trouble; ``listed`` does, as its answer has them all.
"""

from __future__ import annotations

import numpy as np

from streamq.stdlib.timelines.spans import Spans, greatest
from streamq.stdlib.timelines.table import Index, firsts, spread


def nth(ranks: Index, spans: Spans, stretch: Index, wanted: Index) -> Index:
    """Of each wanted stretch the ``wanted``-th smallest of its members' ranks (0 or more), counted from 0.

    There must be so many members. The answer is found bit by bit from the highest: the members whose rank begins
    with the bits so far and a 0 are counted, and where they are too few the next bit is a 1.
    """
    found = np.zeros(len(stretch), dtype=np.int64)
    left = wanted.copy()
    size = spans.size + 1
    for bit in range(int(ranks.max(initial=0)).bit_length() - 1, -1, -1):
        begins = (ranks >> bit) * size
        here = (found >> bit) * size
        below = _up_to(begins + spans.first, here, stretch) - _up_to(begins + spans.last, here, stretch)
        more = left >= below
        left[more] -= below[more]
        found[more] |= 1 << bit
    return found


def frequencies(codes: Index, spans: Spans) -> tuple[Index, Index, Spans]:
    """How many members have each code (0 or more): (code, how many, the stretches in which it is so), if any."""
    code = np.concatenate((codes, codes))
    at = np.concatenate((spans.first, spans.last))
    order = np.lexsort((at, code))
    code, at = code[order], at[order]
    step = np.repeat(np.array((1, -1)), len(codes))[order]
    # One code at one instant: the last of its changes knows how many there are from then on.
    final = np.append(firsts(code, at)[1:], True) if len(code) else np.zeros(0, dtype=bool)
    count, code, at = np.cumsum(step)[final], code[final], at[final]
    until = np.append(at[1:], 0)
    some = np.flatnonzero(count > 0)
    return code[some], count[some], Spans(at[some], until[some], spans.size)


def most_frequent(codes: Index, spans: Spans) -> Index:
    """The code that most members of each stretch have, the least of equals; -1 without members."""
    code, count, when = frequencies(codes, spans)
    best = np.lexsort((~code, count))
    chosen = greatest(ranked(best), when)
    return np.where(chosen >= 0, np.append(code[best], -1)[chosen], -1)


def listed(order: Index, spans: Spans) -> tuple[Index, Index]:
    """All members of all stretches: (stretch, member), by stretch, and within one as in ``order``."""
    first = spans.first[order]
    place, stretch = spread(first, np.maximum(spans.last[order] - first, 0))
    by_stretch = np.argsort(stretch, kind="stable")
    return stretch[by_stretch], order[place[by_stretch]]


def ranked(order: Index) -> Index:
    """The place of each member in an order of all."""
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank


def _up_to(values: Index, start: Index, stretch: Index) -> Index:
    """How many of the values lie between each start and so many more, both included."""
    ordered = np.sort(values)
    return np.searchsorted(ordered, start + stretch, "right") - np.searchsorted(ordered, start)
