"""Answers as they go over the wire: a bit for each value asked for, and each stored value once for all that it stands for.

Values that are asked for one after the other are often recovered from the same stored value, as not every cycle stores one:
they are one piece. Any order can be asked for; by key and cycle there are the fewest pieces.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamq.dsl.records import dataclass
from streamq.runtime.edge.frames import BadMessage, batch_of, body_of
from streamq.stdlib.recovery.columns import Bools, Ints
from streamq.stdlib.recovery.lookup import Status
from streamq.stdlib.recovery.synopsis import MOST_CYCLES

WIDTHS: dict[int, Any] = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
"""Whole numbers from 0 by the bytes that they take."""

_NAMES = ["value", "status", "age"]
_ALIGNED = 8


@dataclass(frozen=True, slots=True)
class Pieces:
    """``same``: ``[asked]``, whether a value is of the same stored one as that before it.

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
        """The bits, filled up to whole words, and a record batch of the pieces."""
        bits = np.packbits(self.same, bitorder="little").tobytes()
        columns = [
            self.values, pa.array(self.status.astype(np.uint8)), pa.array(self.age.astype(WIDTHS[self.age_bytes]))
        ]
        rows = body_of(pa.RecordBatch.from_arrays(columns, _NAMES))
        return b"".join((bits, bytes(-len(bits) % _ALIGNED), memoryview(rows)))

    def joined(self, cycle_no: Ints) -> tuple[pa.Array, Ints, Ints]:
        """Value, status and the cycle of its storing of each cycle asked for. BadMessage for what cannot have been stored."""
        place = np.cumsum(~self.same) - 1
        starts = np.flatnonzero(~self.same)
        kind = self.status[place]
        found = kind <= Status.APPROXIMATE
        stored_in = np.where(found, (cycle_no[starts] - self.age)[place], 0)
        status = np.where(found, np.where(stored_in == cycle_no, Status.EXACT, Status.APPROXIMATE), kind)
        early = found & ((stored_in < 1) | (stored_in > cycle_no))
        told = np.where(self.status <= Status.APPROXIMATE, self.age > 0, self.status)
        empty = self.values.is_null().to_numpy(zero_copy_only=False) | (self.status <= Status.APPROXIMATE)
        if early.any() or np.any(told != self.status) or not empty.all():
            raise BadMessage("the answer has a value that cannot have been recovered so")
        return self.values.take(pa.array(place)), status, stored_in


def cut(keys: pa.RecordBatch, cycle_no: Ints, values: pa.Array, status: Ints, stored_in: Ints) -> Pieces:
    """The pieces of values of keys in cycles, ``[asked]`` each: ``joined`` with the cycles gives them back."""
    found = status <= Status.APPROXIMATE
    kind = np.where(found, int(Status.EXACT), status)
    other = stored_in[1:] != stored_in[:-1]
    for array in keys.columns:
        other |= pc.not_equal(array[1:], array[:-1]).to_numpy(zero_copy_only=False)
    same = np.zeros(len(cycle_no), dtype=bool)
    same[1:] = (kind[1:] == kind[:-1]) & ~(found[1:] & other)
    starts = np.flatnonzero(~same)
    age = np.where(found[starts], cycle_no[starts] - stored_in[starts], 0)
    return Pieces(same, values.take(pa.array(starts)), status[starts], age)


def pieces_of(body: bytes | pa.Buffer, asked: int, age_bytes: int, type_: pa.DataType) -> Pieces:
    """The pieces of so many values of a type. BadMessage for anything else."""
    size = (asked + 8 * _ALIGNED - 1) // (8 * _ALIGNED) * _ALIGNED
    if age_bytes not in WIDTHS or len(body) < size:
        raise BadMessage("the answer does not say of each value where it is from")
    bits = np.unpackbits(np.frombuffer(body, np.uint8, size), bitorder="little").astype(bool)
    same = bits[:asked]
    if bits[asked:].any() or same[:1].any():
        raise BadMessage("the answer does not say of each value where it is from")
    types = (type_, pa.uint8(), pa.from_numpy_dtype(WIDTHS[age_bytes]))
    found = batch_of(memoryview(body)[size:], pa.schema(list(zip(_NAMES, types, strict=True))))
    values, status, age = found.columns
    if status.null_count or age.null_count or found.num_rows != int(np.count_nonzero(~same)):
        raise BadMessage("the answer does not say how a value was recovered")
    known, ages = status.to_numpy().astype(np.int64), age.to_numpy()
    if np.any(known > max(Status)) or int(ages.max(initial=0)) >= MOST_CYCLES:
        raise BadMessage("the answer has a value that was recovered in no known way")
    return Pieces(same, values, known, ages.astype(np.int64))
