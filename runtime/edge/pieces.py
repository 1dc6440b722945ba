"""Answers as they go over the wire: a bit for each value asked for, and each stored value once for all that it stands for.

Values that are asked for one after the other are often recovered from the same stored value, as not every cycle stores one:
they are one piece. Where who asks knows already the stored value that the first of a key is of, it goes with the piece of
that one, of which nothing else is sent. Any order can be asked for; by key and cycle there are the fewest pieces.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamq.dsl.records import dataclass
from streamq.runtime.edge.frames import BadMessage
from streamq.runtime.edge.raw_values import raw, values_of
from streamq.stdlib.recovery.columns import Bools, Ints
from streamq.stdlib.recovery.lookup import Status
from streamq.stdlib.recovery.synopsis import MOST_CYCLES

WIDTHS: dict[int, Any] = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
"""Whole numbers from 0 by the bytes that they take."""

_NULL = 4
"""The bit of a status that says that the value is NULL; those below it are the status."""


@dataclass(frozen=True, slots=True)
class Joined:
    """Of each value asked for, ``[asked]``: the value, how it was recovered, and the cycle of its storing.

    ``known``: whether it is the one that who asks knows; ``values`` has NULL there.
    """

    values: pa.Array
    status: Ints
    stored_in: Ints
    known: Bools


@dataclass(frozen=True, slots=True)
class Pieces:
    """``same``: ``[asked]``, whether a value is of the same stored one as that before it, or of the known one if one is known.

    ``values``, ``status``, ``age``: ``[pieces]``, of the first value of each: ``age``: how many cycles before the one asked for
    it was stored, 0 where nothing is recovered.
    """

    same: Bools
    values: pa.Array
    status: Ints
    age: Ints

    @property
    def age_bytes(self) -> int:
        """How wide an age is at least."""
        return np.min_scalar_type(int(self.age.max(initial=0))).itemsize

    def body(self) -> bytes:
        """The bits, then of the pieces each status with whether there is NULL, each age, and the values without NULL."""
        found = self.status <= Status.APPROXIMATE
        null = self.values.is_null().to_numpy(zero_copy_only=False)
        status = self.status + np.where(found & null, _NULL, 0)
        bits = np.packbits(self.same, bitorder="little").tobytes()
        age = self.age.astype(np.dtype(WIDTHS[self.age_bytes]).newbyteorder("<"))
        return b"".join((bits, status.astype(np.uint8).tobytes(), age.tobytes(), raw(self.values.drop_null())))

    def joined(self, keys: pa.RecordBatch, cycle_no: Ints, known: Ints) -> Joined:
        """What was asked for, as ``cut`` had it. BadMessage for what cannot have been stored."""
        of_known = self.same & (known > 0)
        start = np.maximum.accumulate(np.where(~self.same | of_known, np.arange(len(cycle_no)), 0))
        is_known = of_known[start]
        # The last one, which is none, is of those that are known.
        place = np.where(is_known, len(self.age), (np.cumsum(~self.same) - 1)[start])
        kind, age = np.append(self.status, int(Status.EXACT))[place], np.append(self.age, 0)[place]
        found = kind <= Status.APPROXIMATE
        stored_in = np.where(found, np.where(is_known, known[start], cycle_no[start] - age), 0)
        status = np.where(found, np.where(stored_in == cycle_no, Status.EXACT, Status.APPROXIMATE), kind)
        early = found & ((stored_in < 1) | (stored_in > cycle_no))
        other = found & self.same & ~of_known & _other_keys(keys, len(cycle_no))
        told = (self.age > 0) != (self.status == Status.APPROXIMATE)
        if early.any() or other.any() or told.any():
            raise BadMessage("the answer has a value that cannot have been recovered so")
        return Joined(self.values.take(pa.array(place, mask=is_known)), status, stored_in, is_known)


def cut(keys: pa.RecordBatch, cycle_no: Ints, known: Ints, values: pa.Array, status: Ints, stored_in: Ints) -> Pieces:
    """The pieces of values of keys in cycles, ``[asked]`` each: ``joined`` with the same gives them back.

    ``known``: in which cycle the value was stored that is known of the key, 0 for none, or where it goes without saying.
    """
    found = status <= Status.APPROXIMATE
    kind = np.where(found, int(Status.EXACT), status)
    other = _other_keys(keys, len(cycle_no))
    other[1:] |= stored_in[1:] != stored_in[:-1]
    same = np.zeros(len(cycle_no), dtype=bool)
    same[1:] = (kind[1:] == kind[:-1]) & ~(found & other)[1:]
    same = np.where(known > 0, found & (stored_in == known), same)
    starts = np.flatnonzero(~same)
    age = np.where(found[starts], cycle_no[starts] - stored_in[starts], 0)
    return Pieces(same, values.take(pa.array(starts)), status[starts], age)


def pieces_of(body: memoryview, known: Ints, age_bytes: int, type_: pa.DataType) -> Pieces:
    """The pieces of values of a type. ``known``: ``[asked]``, as for ``cut``. BadMessage for anything else."""
    asked = len(known)
    size = (asked + 7) // 8
    if age_bytes not in WIDTHS or len(body) < size:
        raise BadMessage("the answer does not say of each value where it is from")
    bits = np.unpackbits(np.frombuffer(body, np.uint8, size), bitorder="little").astype(bool)
    same = bits[:asked]
    if bits[asked:].any() or np.any(same[:1] & (known[:1] <= 0)):
        raise BadMessage("the answer does not say of each value where it is from")
    pieces = int(np.count_nonzero(~same))
    ages_at, values_at = size + pieces, size + pieces * (1 + age_bytes)
    if len(body) < values_at:
        raise BadMessage("the answer does not say how a value was recovered")
    told = np.frombuffer(body, np.uint8, pieces, size).astype(np.int64)
    status, null = told & (_NULL - 1), (told & _NULL) > 0
    ages = np.frombuffer(body, np.dtype(WIDTHS[age_bytes]).newbyteorder("<"), pieces, ages_at)
    found = status <= Status.APPROXIMATE
    if np.any(told >= 2 * _NULL) or np.any(null & ~found) or int(ages.max(initial=0)) >= MOST_CYCLES:
        raise BadMessage("the answer has a value that was recovered in no known way")
    there = found & ~null
    values = values_of(body[values_at:], int(np.count_nonzero(there)), type_)
    return Pieces(same, values.take(pa.array(np.cumsum(there) - 1, mask=~there)), status, ages.astype(np.int64))


def _other_keys(keys: pa.RecordBatch, asked: int) -> Bools:
    """Whether a value is of another key than that before it, ``[asked]``; the first one is not."""
    other = np.zeros(asked, dtype=bool)
    for array in keys.columns:
        other[1:] |= pc.not_equal(array[1:], array[:-1]).to_numpy(zero_copy_only=False)
    return other
