"""The Bloom filter: whether an element came before, with none missed, until it is full (Bloom 1970; Deng 2007, chapter 2: the
thesis)."""

from __future__ import annotations

import math
import struct

import numpy as np
from numpy.typing import NDArray

from streamq.stdlib.sketches.hashing import Keys, unsigned
from streamq.stdlib.sketches.planes import pack, unpack
from streamq.stdlib.sketches.probes import Cells, probe_cells

AT_ONCE = 1 << 15

_HEADER = struct.Struct("<4sBxHQQ")
_KIND, _VERSION = b"SQBL", 1

Flags = NDArray[np.bool_]


def bloom_hashes(bits: int, distinct: int) -> int:
    """The hashes with which least new elements are taken for duplicates after so many distinct ones. ValueError for none."""
    if distinct < 1:
        raise ValueError(f"a filter is planned for a distinct element at least: {distinct}")
    return max(1, round(math.log(2) * bits / distinct))


def bloom_fp_rate(bits: int, hashes: int, distinct: int) -> float:
    """The share of new elements that are taken for duplicates after so many distinct ones."""
    return float((1 - (1 - 1 / bits) ** (hashes * distinct)) ** hashes)


class Bloom:
    """A filter; ``values``: 1 for each cell that is set, ``[bits]``."""

    __slots__ = ("hashes", "seed", "values")

    def __init__(self, bits: int, hashes: int, seed: int) -> None:
        """ValueError where there is no bit or no hash."""
        if bits < 1 or hashes < 1:
            raise ValueError(
                f"a filter has a bit and a hash at least: {bits} bits, {hashes} hashes"
            )
        self.hashes = hashes
        self.seed = seed
        self.values = np.zeros(bits, np.uint8)

    def cells_of(self, keys: Keys) -> Cells:
        """The cells of each key, ``[hashes, n]``."""
        return probe_cells(keys, self.hashes, len(self.values), self.seed)

    @property
    def distinct(self) -> float:
        """Distinct elements that came, estimated (linear counting: Whang et al. 1990); infinite where no cell is left.

        An element sets K cells of m, each is 0 after n of them with a chance of e^(-Kn/m).
        """
        bits, zeros = len(self.values), int(np.count_nonzero(self.values == 0))
        return -bits / self.hashes * math.log(zeros / bits) if zeros else math.inf

    def has(self, keys: Keys) -> Flags:
        """Whether each key came before, ``[n]``; remembers nothing."""
        return self.has_cells(self.cells_of(keys))

    def has_cells(self, cells: Cells) -> Flags:
        """The same of the cells of keys, ``[hashes, n]``."""
        found: Flags = np.min(self.values.take(cells), axis=0) > 0
        return found

    def observe(self, keys: Keys) -> Flags:
        """Whether each element came before, in earlier batches or in this, ``[n]``; then remembers it."""
        found = np.empty(len(keys), np.bool_)
        for begin in range(0, len(keys), AT_ONCE):
            part = keys[begin : begin + AT_ONCE]
            found[begin : begin + len(part)] = self.observe_cells(self.cells_of(part))[0]
        return found

    def observe_cells(self, cells: Cells, room: int | None = None) -> tuple[Flags, int]:
        """The same of the cells of keys, ``[hashes, n]``, as long as there is ``room``: flags, and how many were new.

        There are as many flags as elements were taken: those before the first new one that there is no room for.
        """
        found = self._in_order(cells)
        new = len(found) - int(np.count_nonzero(found))
        if room is not None and new > room:
            found = found[: int(np.flatnonzero(~found)[room])]
            new = room
        self.values[cells[:, : len(found)].ravel()] = 1
        return found, new

    def _in_order(self, cells: Cells) -> Flags:
        """An element is new where it is the first to set any of its cells, ``[n]``."""
        n = cells.shape[1]
        found = np.ones(n, np.bool_)
        unset = np.flatnonzero(self.values.take(cells) == 0)
        if len(unset):
            bits = (n - 1).bit_length()
            ordered = (cells.ravel()[unset] << bits) | (unset % n)
            ordered.view(np.uint64).sort()
            cell = ordered >> bits
            first = ordered[np.append(True, cell[1:] != cell[:-1])]
            found[first & ((1 << bits) - 1)] = False
        return found

    def merged(self, other: Bloom) -> Bloom:
        """The filter of both streams. ValueError where bits, hashes or seed differ: the cells would be others'."""
        if (len(self.values), self.hashes, self.seed) != (
            len(other.values),
            other.hashes,
            other.seed,
        ):
            raise ValueError(
                f"filters of the same bits, hashes and seed can be merged: {len(self.values)}, {self.hashes}, {self.seed} "
                f"and {len(other.values)}, {other.hashes}, {other.seed}"
            )
        both = Bloom(len(self.values), self.hashes, self.seed)
        both.values = self.values | other.values
        return both

    def to_bytes(self) -> bytes:
        """A header and eight cells a byte."""
        return self._header() + pack(self.values, 1)

    @classmethod
    def from_bytes(cls, stored: bytes, bits: int, hashes: int, seed: int) -> Bloom:
        """What ``to_bytes`` gave. ValueError where it is of other bits, hashes, seed or version, or not whole."""
        made = cls(bits, hashes, seed)
        if stored[: _HEADER.size] != made._header():
            raise ValueError(
                "the filter was stored with other bits, hashes or seed, or by another version: start anew"
            )
        made.values = unpack(stored[_HEADER.size :], bits, 1)
        return made

    def _header(self) -> bytes:
        return _HEADER.pack(_KIND, _VERSION, self.hashes, len(self.values), unsigned(self.seed))
