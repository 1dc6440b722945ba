"""A block of elements through a Stable Bloom filter at once, exactly as one after the other (Deng 2007, chapter 3: the thesis).

An element probes its cells, lowers a run of cells by one, and sets its cells. Only the order of what happens to *probed*
cells matters: probes and the decrements of those cells are sorted by cell and time. Other cells are lowered by how
often they were run over. A value is what the cell was last set to, less the decrements since.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamq.stdlib.sketches.probes import Cells

Values = NDArray[np.uint8]
"""Values of cells, ``[m]``."""

MOST_ELEMENTS = 8192
"""In a block: so few that what is worked on stays near the processor."""

MOST_DECREMENTS = 1 << 17

_PROBED = np.uint8(0x80)
"""Marks cells that are probed in the block, while it is done."""

_VALUE = np.uint8(0x7F)


def block_length(hashes: int, decrements: int) -> int:
    """How many elements to take at once."""
    return max(64, min(MOST_ELEMENTS, MOST_DECREMENTS // (hashes + decrements)))


def observe_block(
    values: Values, probed: Cells, starts: Cells, decrements: int, max_value: int
) -> NDArray[np.bool_]:
    """Whether all cells of an element were above 0, ``[n]``; changes ``values``, ``[m]``.

    ``probed``: ``[hashes, n]``; ``starts``: of the runs of ``decrements`` cells, ``[n]``. Both in ``0 .. m - 1``.
    """
    n = len(starts)
    if n == 0:
        return np.zeros(0, np.bool_)
    flat = probed.ravel()
    values[flat] = values.take(flat) | _PROBED
    lowered, at = _lowered(values, starts, decrements)
    order = np.flatnonzero(values.take(lowered) >= _PROBED)
    # An event: its cell, its element, and 1 for a probe that becomes a set; so a decrement is before the set.
    shift = (2 * n - 1).bit_length()
    events = np.empty(len(flat) + len(order), np.uint64)
    signed = events.view(np.int64)
    signed[: len(flat)] = ((probed << shift) | (2 * np.arange(n) + 1)).ravel()
    signed[len(flat) :] = (lowered[order] << shift) | (at[order] % n * 2)
    events.sort()

    cells = signed >> shift
    begins = _changes(cells)
    probes = np.flatnonzero((signed & 1) == 1)
    probe = signed[probes]
    probe_cell = cells[probes]
    # Each cell here is probed, so the first probes of cells go with the beginnings of cells.
    firsts = _changes(probe_cell)
    touched = probe_cell[firsts]
    since = np.empty_like(probes)
    since[1:] = probes[:-1] + 1
    since[firsts] = begins
    base = np.full(len(probes), max_value, np.int64)
    base[firsts] = values.take(touched) & _VALUE
    # An element's own decrement comes after its probe. The event before the first one is the last: another probe or cell.
    own = signed[probes - 1] == probe - 1
    missed = base <= probes - since - own
    found = np.ones(n + 1, np.bool_)
    found[np.where(missed, (probe >> 1) & ((1 << (shift - 1)) - 1), n)] = False

    _lower(values, lowered, max_value)
    last_probe = probes[np.append(firsts[1:], len(probes)) - 1]
    last_event = np.append(begins[1:], len(cells)) - 1
    values[touched] = np.maximum(max_value - (last_event - last_probe), 0)
    return found[:n]


def _lowered(values: Values, starts: Cells, decrements: int) -> tuple[Cells, Cells]:
    """The cells that are run over, each as often as it is, without those that are 0, and the elements of the runs.

    Elements are told modulo ``n``: only a few are looked at.
    """
    runs = starts + np.arange(decrements)[:, None]
    over = np.flatnonzero(starts > len(values) - decrements)
    runs[:, over] %= len(values)
    cells = runs.ravel()
    some = np.flatnonzero(values.take(cells) != 0)
    return cells[some], some


def _lower(values: Values, cells: Cells, max_value: int) -> None:
    if max_value == 1:
        values[cells] = 0
        return
    ordered = np.sort(cells)
    firsts = _changes(ordered)
    times = np.diff(firsts, append=len(ordered))
    once = ordered[firsts]
    # Values of probed cells are nothing after this, and are given new ones.
    value = values.take(once)
    values[once] = value - np.minimum(times, value).astype(np.uint8)


def _changes(ordered: NDArray[np.integer]) -> NDArray[np.int64]:
    """Where each run of equal numbers begins."""
    if len(ordered) == 0:
        return np.zeros(0, np.int64)
    return np.append(0, np.flatnonzero(ordered[1:] != ordered[:-1]) + 1)
