"""Bloom filters in turn: none missed of the last elements, or of the last panes of time, and older ones forgotten whole.

The window-model variant of Bloom filters that Deng 2007, chapter 2 (the thesis) names for jumping windows: a filter for each
generation, an element is a duplicate where any has it, and the oldest is cleared for the next.
"""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from streamq.stdlib.sketches.bloom import AT_ONCE, Bloom, Flags
from streamq.stdlib.sketches.hashing import Keys, unsigned
from streamq.stdlib.sketches.membership_plan import RotatingPlan
from streamq.stdlib.sketches.planes import pack, unpack
from streamq.stdlib.sketches.probes import Cells

LEAST_AT_ONCE = 1024

_HEADER = struct.Struct("<4sB?HHQQQQq")
_KIND, _VERSION = b"SQRB", 1


class RotatingBloom:
    """``generations[i]`` is of a pane whose number modulo the generations is ``i``; ``held``: distinct elements of each.

    ``newest``: the number of the newest pane; without panes, of the generation that takes elements. ``overfull``: the
    elements that were not remembered, as their generation was full or gone.
    """

    __slots__ = ("generations", "held", "newest", "overfull", "plan", "seed")

    def __init__(self, plan: RotatingPlan, seed: int) -> None:
        self.plan = plan
        self.seed = seed
        self.generations = [
            Bloom(plan.bits_each, plan.hashes, seed) for _ in range(plan.generations)
        ]
        self.held = [0] * plan.generations
        self.newest: int | None = None
        self.overfull = 0

    def observe(self, keys: Keys, panes: NDArray[np.int64] | None = None) -> Flags:
        """Whether each element came before, ``[n]``, as far as is remembered; then remembers it.

        ``panes``: of the elements, ``[n]``, in any order; lower panes of a batch are handled first. An element of pane p
        finds those of panes p - (generations - 1) on for sure, while nothing is ``overfull``. None: a generation ends
        when there is a new element and it is full, and an element is found for sure while at most ``capacity`` distinct
        ones, or (generations - 1) * ``capacity`` elements, came since. A filter is used in one of the ways only.
        ValueError where there are not as many panes as keys.
        """
        found = np.empty(len(keys), np.bool_)
        if panes is None:
            for begin in range(0, len(keys), AT_ONCE):
                part = keys[begin : begin + AT_ONCE]
                found[begin : begin + len(part)] = self._by_count(
                    self.generations[0].cells_of(part)
                )
            return found
        if len(panes) != len(keys):
            raise ValueError(f"each key has a pane: {len(keys)} keys, {len(panes)} panes")
        order = np.argsort(panes, kind="stable")
        ordered = panes[order]
        ends = np.append(np.flatnonzero(ordered[1:] != ordered[:-1]) + 1, len(ordered))
        first = 0
        for end in ends.tolist() if len(ordered) else ():
            pane = int(ordered[first])
            self._open(pane)
            for begin in range(first, end, AT_ONCE):
                at = order[begin : min(begin + AT_ONCE, end)]
                found[at] = self._by_pane(self.generations[0].cells_of(keys[at]), pane)
            first = end
        return found

    def _by_count(self, cells: Cells) -> Flags:
        n = cells.shape[1]
        found = np.zeros(n, np.bool_)
        done = 0
        while done < n:
            if self.newest is None:
                self.newest = 0
            now = self.newest % self.plan.generations
            room = self.plan.capacity - self.held[now]
            # No more than can rotate about once: what is looked at and not taken is looked at again.
            part = cells[:, done : done + max(2 * room, LEAST_AT_ONCE)]
            own, new = self.generations[now].observe_cells(part, room)
            taken = len(own)
            # The one that there is no room for is looked for before the oldest are forgotten.
            elsewhere = self._elsewhere(part[:, : taken + 1], now)
            found[done : done + len(elsewhere)] |= elsewhere
            found[done : done + taken] |= own
            self.held[now] += new
            done += taken
            if taken < part.shape[1]:
                self._open(self.newest + 1)
        return found

    def _by_pane(self, cells: Cells, pane: int) -> Flags:
        assert self.newest is not None
        now = pane % self.plan.generations
        if pane <= self.newest - self.plan.generations:
            found = self._elsewhere(cells, None)
            self.overfull += len(found)
            return found
        found = self._elsewhere(cells, now)
        own, new = self.generations[now].observe_cells(cells, self.plan.capacity - self.held[now])
        self.held[now] += new
        found[: len(own)] |= own
        rest = self.generations[now].has_cells(cells[:, len(own) :])
        found[len(own) :] |= rest
        self.overfull += len(rest) - int(np.count_nonzero(rest))
        return found

    def _elsewhere(self, cells: Cells, but: int | None) -> Flags:
        """Whether generations other than ``but`` have each element, ``[n]``."""
        found = np.zeros(cells.shape[1], np.bool_)
        for i, generation in enumerate(self.generations):
            if i != but and self.held[i]:
                found |= generation.has_cells(cells)
        return found

    def _open(self, pane: int) -> None:
        """Makes a pane the newest if it is; clears generations for it and for those that were left out."""
        if self.newest is not None:
            for later in range(max(self.newest, pane - self.plan.generations) + 1, pane + 1):
                self.generations[later % self.plan.generations].values[:] = 0
                self.held[later % self.plan.generations] = 0
        self.newest = pane if self.newest is None else max(self.newest, pane)

    def to_bytes(self) -> bytes:
        """A header, how much each generation holds, and eight cells a byte."""
        return (
            _header(self.plan, self.seed, self.overfull, self.newest)
            + np.array(self.held, "<u8").tobytes()
            + b"".join(pack(generation.values, 1) for generation in self.generations)
        )

    @classmethod
    def from_bytes(cls, stored: bytes, plan: RotatingPlan, seed: int) -> RotatingBloom:
        """What ``to_bytes`` gave. ValueError where it is of another plan, seed or version, or not whole."""
        made = cls(plan, seed)
        each = -(-plan.bits_each // 8)
        begin = _HEADER.size + 8 * plan.generations
        if stored[:5] != _KIND + bytes([_VERSION]) or len(stored) < begin:
            raise ValueError(
                "these are not the bytes of a rotating Bloom filter of this version: start without them"
            )
        _, _, opened, *_, made.overfull, newest = _HEADER.unpack_from(stored)
        made.newest = newest if opened else None
        if stored[: _HEADER.size] != _header(plan, seed, made.overfull, made.newest):
            raise ValueError(
                "the filter was stored with other bits, generations, capacity or seed: keep them, or start anew"
            )
        if len(stored) != begin + each * plan.generations:
            raise ValueError(
                f"the filter is {begin + each * plan.generations} bytes, and there are {len(stored)}"
            )
        made.held = np.frombuffer(stored, "<u8", plan.generations, _HEADER.size).tolist()
        for i, generation in enumerate(made.generations):
            generation.values = unpack(
                stored[begin + i * each : begin + (i + 1) * each], plan.bits_each, 1
            )
        return made


def _header(plan: RotatingPlan, seed: int, overfull: int, newest: int | None) -> bytes:
    return _HEADER.pack(
        _KIND,
        _VERSION,
        newest is not None,
        plan.hashes,
        plan.generations,
        plan.bits_each,
        plan.capacity,
        unsigned(seed),
        overfull,
        newest or 0,
    )
