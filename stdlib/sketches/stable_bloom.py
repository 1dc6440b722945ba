"""The Stable Bloom filter: whether an element came before, in memory that does not grow with the stream (Deng 2007, chapter 3:
the thesis).

Cells are lowered at random as elements come, so old elements fade: some duplicates are missed, the more the longer ago
they were, and the share of new elements that are taken for duplicates stays below a bound for ever.

There is no merge. What is in a filter depends on the order of elements, and the larger of two filters' cells leaves z*² of
them 0 where one filter leaves z*: at K=2, P=5 false positives go from 8 % to 24 %. A stream is split by key instead
(``membership_plan.part_of``).
"""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from streamq.stdlib.sketches.hashing import Keys, unsigned
from streamq.stdlib.sketches.membership_measures import first_occurrences
from streamq.stdlib.sketches.membership_plan import StablePlan
from streamq.stdlib.sketches.planes import pack, unpack
from streamq.stdlib.sketches.probes import probe_cells, run_starts
from streamq.stdlib.sketches.stable_kernel import Values, block_length, observe_block

_HEADER = struct.Struct("<4sBBHQQQQ")
_KIND, _VERSION = b"SQSB", 1


class StableBloom:
    """A filter and how many elements it saw; ``values``: of its cells, ``[m]``, of 0 .. ``plan.max_value``."""

    __slots__ = ("plan", "seed", "seen", "values")

    def __init__(self, plan: StablePlan, seed: int) -> None:
        self.plan = plan
        self.seed = seed
        self.seen = 0
        self.values: Values = np.zeros(plan.cells, np.uint8)

    def observe(self, keys: Keys) -> NDArray[np.bool_]:
        """Whether each element came before, ``[n]``, as far as is remembered; then remembers it.

        In the order of ``keys``. The same stream in other batches is answered the same.
        """
        plan = self.plan
        found = np.empty(len(keys), np.bool_)
        length = block_length(plan.hashes, plan.decrements)
        for begin in range(0, len(keys), length):
            part = keys[begin : begin + length]
            probed = probe_cells(part, plan.hashes, plan.cells, self.seed)
            starts = run_starts(self.seen, len(part), plan.cells, self.seed)
            found[begin : begin + len(part)] = observe_block(
                self.values, probed, starts, plan.decrements, plan.max_value
            )
            self.seen += len(part)
        return found

    def observe_once(self, keys: Keys) -> NDArray[np.bool_]:
        """As ``observe``, ``[n]``, but only the first of equal keys in the batch goes to the filter; others are duplicates.

        A key that is a large part of the stream does not wear the cells of others out then. Answers depend on batches.
        """
        first = first_occurrences(keys)
        found = np.ones(len(keys), np.bool_)
        found[first] = self.observe(keys[first])
        return found

    def to_bytes(self) -> bytes:
        """A header, and the cells at as many bits as their values need."""
        return _header(self.plan, self.seed, self.seen) + pack(
            self.values, self.plan.max_value.bit_length()
        )

    @classmethod
    def from_bytes(cls, stored: bytes, plan: StablePlan, seed: int) -> StableBloom:
        """What ``to_bytes`` gave. ValueError where it is of another plan, seed or version, or not whole."""
        made = cls(plan, seed)
        if len(stored) < _HEADER.size or stored[:5] != _KIND + bytes([_VERSION]):
            raise ValueError(
                "these are not the bytes of a Stable Bloom filter of this version: start without them"
            )
        made.seen = _HEADER.unpack_from(stored)[-1]
        if stored[: _HEADER.size] != _header(plan, seed, made.seen):
            raise ValueError(
                "the filter was stored with other cells, hashes, decrements or seed: keep them, or start anew"
            )
        made.values = unpack(stored[_HEADER.size :], plan.cells, plan.max_value.bit_length())
        return made


def _header(plan: StablePlan, seed: int, seen: int) -> bytes:
    return _HEADER.pack(
        _KIND,
        _VERSION,
        plan.max_value,
        plan.hashes,
        plan.cells,
        plan.decrements,
        unsigned(seed),
        seen,
    )
