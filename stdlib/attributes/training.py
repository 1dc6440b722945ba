"""The rows from which a cycle is learned have to be right: sets of them that are not are discarded (Ahuja 2006, 3.1.1).

They are sent with a code that corrects errors (``hamming``); one row that cannot be corrected is enough, and the next set
is used. After that rows are sent as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.attributes.hamming import STATES, Bits, Codec


@dataclass(frozen=True, slots=True)
class Training:
    """Rows that are right: ``corrected`` of them were made so. ``discarded``: how many sets before were of no use."""

    rows: tuple[bytes, ...]
    corrected: int
    discarded: int


def row_bits(rows: Sequence[bytes]) -> Bits:
    """Rows as bits, ``[rows, 8 · bytes of the longest]``; shorter ones end with zeros. ValueError for one that does itself."""
    if not rows or max(map(len, rows)) == 0 or any(row.endswith(b"\0") for row in rows):
        raise ValueError("rows are bytes that do not end with zero")
    stacked = np.array(rows, dtype=np.bytes_)
    return np.unpackbits(stacked.view(np.uint8).reshape(len(rows), -1), axis=1)


def rows_of(bits: Bits) -> tuple[bytes, ...]:
    """The rows of bits, without zeros at their ends. ValueError for what is no bytes."""
    if bits.shape[1] % 8:
        raise ValueError("bits come by eight")
    packed = np.ascontiguousarray(np.packbits(bits, axis=1))
    return tuple(packed.view(f"S{packed.shape[1]}").ravel().tolist())


def first_usable(sets: Iterable[Bits], codec: Codec) -> Training:
    """The first set of received words, ``[rows, code bits]``, that can be corrected. ValueError where none can."""
    discarded = 0
    for words in sets:
        decoded = codec.decode(words)
        if decoded.usable:
            corrected = int(np.count_nonzero(decoded.state == STATES.index("CORRECTED")))
            return Training(rows_of(decoded.data), corrected, discarded)
        discarded += 1
    raise ValueError(f"none of {discarded} sets of training rows can be corrected")
