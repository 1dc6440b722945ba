"""Which rows are stored: those that the value stored last for their key does not stand for (Algorithm 3 of Ahuja 2006).

The rule goes from one stored value of a key to the next, so it is no test of single rows. Rows by key are worked off in
slabs that fit in the cache, all keys of a slab at once and in one of two ways:

- a round finds for each key the first row that its stored value does not stand for, and leaves what comes after it to
  the next round. There are as many rounds as a key has stored values, each of fewer rows; most keys need one or two.
- where values change so often that a round leaves nearly all rows, it is worked out for every row which one would be
  stored next if this one were (by bisection in maxima and minima of 1, 2, 4, … rows), and the stored rows are those on
  the path from the first one, which is found by jumps over 1, 2, 4, … stored rows. The cost for each row is that of the
  logarithm of the rows of a key, however many are stored.
"""

from __future__ import annotations

import numpy as np

from streamq.stdlib.recovery.columns import Bools, Column, Ints
from streamq.stdlib.recovery.intervals import LEAST, MOST, Denominator, Intervals, intervals
from streamq.stdlib.timelines.table import firsts

SLAB = 1 << 14
"""Rows that are worked off at once."""

OFTEN = 0.9
"""The share of its rows that a round may leave: with more of them the next rounds would cost more than paths."""


def stored_rows(
    rows: Column, owner: Ints, last: Column, known: Bools, max_rel_error_pct: float, denominator: Denominator = "sv"
) -> Bools:
    """Whether each row is stored, ``[rows]``.

    ``rows``: by key, in order of time within a key; ``owner``: ``[rows]``, rising, the position of its key; ``last``:
    ``[keys]``, the value stored last of each key, which is there where it is ``known``. Both columns are ``coded``
    together. Raises ``ValueError`` for an error threshold that is not from 0 to 100 percent.
    """
    before = intervals(last, max_rel_error_pct, denominator)
    # What is not known stands for nothing.
    least, most = np.where(known, before.least, MOST), np.where(known, before.most, LEAST)
    stored = np.zeros(len(rows), dtype=bool)
    for start in range(0, len(rows), SLAB):
        slab = slice(start, start + SLAB)
        first, end = int(owner[slab][0]), int(owner[slab][-1]) + 1
        spans = intervals(rows.take(slab), max_rel_error_pct, denominator)
        stored[slab] = _slab(spans, owner[slab] - first, least[first:end], most[first:end])
    return stored


def _slab(spans: Intervals, owner: Ints, least: Ints, most: Ints) -> Bools:
    """The same of one slab. ``least``, ``most``: of the value stored last of each key, which are brought up to date."""
    stored = np.zeros(len(spans), dtype=bool)
    rows = np.arange(len(spans))
    while len(rows):
        new_keys = bool(np.any(least > most))
        changed = np.flatnonzero(spans.beyond(least[owner], most[owner]))
        heads = changed[firsts(owner[changed])]
        head_of = np.full(len(least), len(rows))
        head_of[owner[heads]] = heads
        left = np.flatnonzero(np.arange(len(rows)) > head_of[owner])
        often = len(left) > OFTEN * len(rows) and not new_keys
        if often:
            left = np.flatnonzero(np.arange(len(rows)) >= head_of[owner])
            on_path = left[_path(spans.take(left), owner[left])]
            ends = on_path[np.append(owner[on_path][1:] != owner[on_path][:-1], True)]
        else:
            on_path = ends = heads
        stored[rows[on_path]] = True
        least[owner[ends]], most[owner[ends]] = spans.least[ends], spans.most[ends]
        if often:
            break
        spans, owner, rows = spans.take(left), owner[left], rows[left]
    return stored


def _path(spans: Intervals, owner: Ints) -> Ints:
    """The rows that are stored where the first one of each key is, rising."""
    heads = np.flatnonzero(firsts(owner))
    sizes = np.diff(np.append(heads, len(owner)))
    levels = int(sizes.max()).bit_length()
    after = _next(spans, levels)
    # The last place is one that no row has: where paths end.
    jump = np.append(np.where(after < np.repeat(heads + sizes, sizes), after, len(owner)), len(owner))
    jumps = [jump]
    for _ in range(levels - 1):
        jump = jump[jump]
        jumps.append(jump)
    reached = np.zeros(len(owner) + 1, dtype=bool)
    reached[heads] = True
    for jump in reversed(jumps):
        reached[jump[np.flatnonzero(reached)]] = True
    return np.flatnonzero(reached[:-1])


def _next(spans: Intervals, levels: int) -> Ints:
    """For each row the first one after it that it does not stand for; of any key, and the number of rows if there is none.

    Looks no further than 2^levels rows; what it gives beyond the key of a row means nothing.
    """
    size = len(spans)
    # A row at the end that nothing stands for, so that nothing is looked for beyond it.
    lows, highs = [np.append(spans.low, MOST)], [np.append(spans.high, LEAST)]
    for level in range(levels - 1):
        low, high, step = lows[-1], highs[-1], 1 << level
        longer_low, longer_high = np.full(size + 1, MOST), np.full(size + 1, LEAST)
        if step <= size:
            np.maximum(low[:-step], low[step:], out=longer_low[:-step])
            np.minimum(high[:-step], high[step:], out=longer_high[:-step])
        lows.append(longer_low)
        highs.append(longer_high)
    at = np.arange(1, size + 1)
    for level in reversed(range(levels)):
        at += ((lows[level][at] <= spans.most) & (highs[level][at] >= spans.least)).astype(np.int64) << level
    return at
