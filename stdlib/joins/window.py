"""A window as a ring of basic windows: rows in order of time, in cells of a fixed grid (section 3.1 of the paper).

A row stays in the cell of its time. Seen from a probe, a cell has a position, 0 the newest, which grows as probes move on;
cells without rows are not stored, so a gap costs nothing. What expires goes as a whole basic window, and so the oldest one
may hold rows that a probe is too late for. Times are whole numbers of any unit, such as microseconds, the same for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.joins.columns import Column, concat
from streamq.stdlib.joins.selection import Ints


@dataclass(frozen=True, slots=True)
class Grid:
    """How a window is cut.

    ``length``: w, at least 0, an age at which a row is still live; ``bw_length``: b, above 0; ``origin``: where a cell
    begins. Raises ``ValueError`` for other lengths.
    """

    length: int
    bw_length: int
    origin: int = 0

    def __post_init__(self) -> None:
        """Checks the lengths."""
        if self.length < 0 or self.bw_length <= 0:
            raise ValueError("a window is not shorter than 0, a basic window longer than 0")

    @property
    def n_bw(self) -> int:
        """Basic windows that live rows can be in: one more than fill the window, as the newest is only partly full."""
        return 1 + -(-self.length // self.bw_length)

    def cells(self, at: Ints) -> Ints:
        """The number of the cell of each time."""
        return (at - self.origin) // self.bw_length


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one stream, ``[rows]`` each: times, ids that no other row of it has, types from 0, what they are joined by."""

    at: Ints
    ids: Ints
    types: Ints
    column: Column

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.at)

    def take(self, index: Any) -> Rows:
        """The rows at positions, of a slice, or where a mask is true."""
        return Rows(self.at[index], self.ids[index], self.types[index], self.column.take(index))


@dataclass(frozen=True, slots=True)
class BasicWindow:
    """The rows of one cell, in order of time and id."""

    cell: int
    rows: Rows


Ring = tuple[BasicWindow, ...]
"""The basic windows of a window that have rows, the oldest first."""


def in_order(rows: Rows) -> Rows:
    """The rows by time, those of one time by id: an order that does not depend on how they came."""
    order = np.lexsort((rows.ids, rows.at))
    return rows if np.array_equal(order, np.arange(len(rows))) else rows.take(order)


def joined_up(parts: Sequence[Rows]) -> Rows:
    """The rows of all parts, one after the other; parts without rows are left out, of which there may be all but one."""
    full = [p for p in parts if len(p)] or parts[:1]
    if len(full) == 1:
        return full[0]
    at, ids, types = (np.concatenate(c) for c in zip(*((p.at, p.ids, p.types) for p in full), strict=True))
    return Rows(at, ids, types, concat([p.column for p in full]))


def inserted(grid: Grid, ring: Ring, rows: Rows) -> Ring:
    """The ring with these rows in it, in any order, of any basic windows. Other basic windows are the objects they were."""
    if not len(rows):
        return ring
    rows = in_order(rows)
    cells, starts = np.unique(grid.cells(rows.at), return_index=True)
    known = {bw.cell: bw for bw in ring}
    bounds = [*starts.tolist(), len(rows)]
    for i, cell in enumerate(cells.tolist()):
        new = rows.take(slice(bounds[i], bounds[i + 1]))
        old = known.get(cell)
        known[cell] = BasicWindow(cell, new if old is None else in_order(joined_up((old.rows, new))))
    return tuple(known[cell] for cell in sorted(known))


def evicted(grid: Grid, ring: Ring, horizon: int) -> Ring:
    """The ring without the basic windows in which nothing is live for a probe at ``horizon`` or later."""
    oldest = (horizon - grid.origin) // grid.bw_length - grid.n_bw
    return ring if not ring or ring[0].cell > oldest else tuple(bw for bw in ring if bw.cell > oldest)


def live(grid: Grid, stored: Ints, at: Ints, ties: bool) -> tuple[Ints, Ints]:
    """The stretch of stored rows that is live at each time in each basic window: from, up to; ``[times, n_bw]`` both.

    ``stored``: times of all rows of the ring, rising; a stretch is of positions in it. Live is what came before and is at
    most ``length`` old. ``ties``: rows of the same time came before, too.
    """
    newest, which = np.unique(grid.cells(at), return_inverse=True)
    # The bounds of the cells, from the end of the newest backwards.
    edges = grid.origin + (newest[:, None] + 1 - np.arange(grid.n_bw + 1)) * grid.bw_length
    places = np.searchsorted(stored, edges)[which]
    first = np.searchsorted(stored, at - grid.length)[:, None]
    last = np.searchsorted(stored, at, side="right" if ties else "left")[:, None]
    return np.clip(places[:, 1:], first, last), np.clip(places[:, :-1], first, last)
