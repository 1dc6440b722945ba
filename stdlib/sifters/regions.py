"""The regions of a sifter: boxes that tile the domain, and the tree of cuts that finds a row's region."""

from __future__ import annotations

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.sifters.boxes import Floats, Ints


@dataclass(frozen=True, slots=True)
class Cuts:
    """The tree, a row of each for a cut: ``attribute``, ``cut``, and where rows below it and the others go, ``below``
    and ``above``: to the cut of that number, or to the region ``-1 - number``.
    """

    attribute: Ints
    cut: Floats
    below: Ints
    above: Ints

    def find(self, rows: Floats) -> Ints:
        """The region of each row, ``[rows, attributes]``. Rows outside of the domain are in the nearest at its edge."""
        place = np.full(len(rows), 0 if len(self.cut) else -1, dtype=np.int64)
        going = np.arange(len(rows)) if len(self.cut) else np.empty(0, dtype=np.int64)
        flat, width = np.ascontiguousarray(rows).ravel(), rows.shape[1]
        children = np.stack([self.below, self.above], axis=1).ravel()
        while len(going):
            at = place[going]
            is_above = flat[going * width + self.attribute[at]] >= self.cut[at]
            after = children[2 * at + is_above]
            place[going] = after
            going = going[after >= 0]
        return -1 - place

    def bounds(self, lo: Floats, hi: Floats) -> tuple[Floats, Floats]:
        """The bounds of all regions, ``[regions, attributes]``, of the domain from ``lo`` to ``hi``."""
        lows, highs = np.tile(lo, (len(self.cut) + 1, 1)), np.tile(hi, (len(self.cut) + 1, 1))
        todo = [(0, lo, hi)] if len(self.cut) else []
        while todo:
            node, low, high = todo.pop()
            at = int(self.attribute[node])
            under, over = high.copy(), low.copy()
            under[at] = over[at] = self.cut[node]
            for child, one, other in ((int(self.below[node]), low, under), (int(self.above[node]), over, high)):
                if child >= 0:
                    todo.append((child, one, other))
                else:
                    lows[-1 - child], highs[-1 - child] = one, other
        return lows, highs


@dataclass(frozen=True, slots=True)
class Regions:
    """``lo``, ``hi``: the bounds, ``[regions, attributes]``, half open; the last in an attribute takes its upper face."""

    lo: Floats
    hi: Floats
    cuts: Cuts

    def __len__(self) -> int:
        return len(self.lo)

    def find(self, rows: Floats) -> Ints:
        """The region of each row, ``[rows, attributes]``."""
        return self.cuts.find(rows)

    def shares(self, rows: Floats) -> Floats:
        """The share of rows that each region has, ``[regions]``; zero of all where there are none."""
        counts = np.bincount(self.find(rows), minlength=len(self)).astype(np.float64)
        return counts / max(1, len(rows))


class Tree:
    """A tree of cuts that grows, from one region, the whole domain: each cut makes two regions of one.

    The region below a cut keeps the number of the one that was cut.
    """

    def __init__(self, attributes: int) -> None:
        self._lo: list[Floats] = [np.zeros(attributes)]
        self._hi: list[Floats] = [np.ones(attributes)]
        self._cuts: list[tuple[int, float]] = []
        self._children: list[list[int]] = []
        self._parent: list[tuple[int, int] | None] = [None]

    def __len__(self) -> int:
        return len(self._lo)

    def bounds(self, region: int) -> tuple[Floats, Floats]:
        return self._lo[region], self._hi[region]

    def split(self, region: int, attribute: int, cut: float) -> int:
        """Cuts a region; the number of the one above the cut."""
        above = len(self._lo)
        node = len(self._cuts)
        self._cuts.append((attribute, cut))
        self._children.append([-1 - region, -1 - above])
        parent = self._parent[region]
        if parent is not None:
            self._children[parent[0]][parent[1]] = node
        self._parent[region] = (node, 0)
        self._parent.append((node, 1))
        lo, hi = self._lo[region].copy(), self._hi[region].copy()
        lo[attribute] = hi[attribute] = cut
        self._lo.append(lo)
        self._hi.append(self._hi[region])
        self._hi[region] = hi
        return above

    def regions(self, lines: int | None = None) -> Regions:
        """The regions; with ``lines`` each cut is at the next of so many equal steps of the domain, or at one."""
        lo, hi = np.array(self._lo), np.array(self._hi)
        at = np.array([cut for _, cut in self._cuts], dtype=np.float64)
        if lines is not None:
            lo, hi, at = (np.ceil(v * lines - TOLERANCE) / lines + 0.0 for v in (lo, hi, at))
        children = np.array(self._children, dtype=np.int64).reshape(-1, 2)
        attributes = np.array([a for a, _ in self._cuts], dtype=np.int64)
        return Regions(lo, hi, Cuts(attributes, at, children[:, 0].copy(), children[:, 1].copy()))


TOLERANCE = 1e-9
"""A cut this near to a line, in steps, is at it: coordinates are rounded."""
