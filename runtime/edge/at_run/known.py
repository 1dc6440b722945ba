"""What the central side knows of the synopsis of an edge: of each key the last stored value that an answer told.

A request says which value is known of each key, and the answer leaves that one out. Nothing of it is on disk: after a restart
nothing is known, and all is told again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from streamq.dsl.records import dataclass, field, replace
from streamq.runtime.edge.answers import Answer
from streamq.runtime.edge.keying import coded_keys, key_columns, keys_of
from streamq.stdlib.recovery.columns import Floats, Ints
from streamq.stdlib.recovery.keys import Keys
from streamq.stdlib.recovery.lookup import Status
from streamq.stdlib.recovery.synopsis import MOST_KEYS

MOST_STORES = 16
"""Of which something is known: of an edge there is one, unless its disk is lost."""


@dataclass(frozen=True, slots=True)
class Known:
    """Stored values of one attribute, of each key or of each value that is asked for.

    ``stored_in``: in which cycle, 0 where none is known; ``max_error_pct``: how far other values that are recovered from it can
    be from it, the largest that was told.
    """

    values: pa.Array
    stored_in: Ints
    max_error_pct: Floats

    @classmethod
    def nothing(cls, size: int, type_: pa.DataType) -> Known:
        """Of so many."""
        return cls(pa.nulls(size, type_), np.zeros(size, dtype=np.int64), np.zeros(size))

    def take(self, codes: Ints) -> Known:
        """Of each of some keys; nothing of those that are unknown, or came later."""
        there = (codes >= 0) & (codes < len(self.stored_in))
        # The last one is nothing.
        place = np.where(there, codes, len(self.stored_in))
        return Known(
            self.values.take(pa.array(place, mask=~there)), np.append(self.stored_in, 0)[place],
            np.append(self.max_error_pct, 0.0)[place],
        )

    def filled(self, answer: Answer) -> Answer:
        """An answer to what is known of each value asked for, with the values that it left out."""
        if answer.known is None:
            return answer
        place = np.arange(len(answer.status)) + np.where(answer.known, len(answer.status), 0)
        approximate = answer.known & (answer.status == Status.APPROXIMATE)
        wider = np.maximum(answer.max_error_pct, self.max_error_pct)
        return replace(
            answer, values=pa.concat_arrays([answer.values, self.values]).take(pa.array(place)),
            max_error_pct=np.where(approximate, wider, answer.max_error_pct), known=None,
        )

    def after(self, codes: Ints, answer: Answer, keys: int) -> Known:
        """With the last stored values that an answer without gaps tells, of keys, ``[asked]``, of which there are so many."""
        told = np.flatnonzero((answer.status <= Status.APPROXIMATE) & (codes >= 0))[::-1]
        which, last = np.unique(codes[told], return_index=True)
        rows = told[last]
        more = keys - len(self.stored_in)
        stored_in, error = np.append(self.stored_in, np.zeros(more, dtype=np.int64)), np.append(self.max_error_pct, np.zeros(more))
        newer = answer.stored_in[rows] >= stored_in[which]
        which, rows = which[newer], rows[newer]
        again = answer.stored_in[rows] == stored_in[which]
        place = np.arange(keys)
        place[which] = keys + np.arange(len(rows))
        error[which] = np.maximum(answer.max_error_pct[rows], np.where(again, error[which], 0.0))
        stored_in[which] = answer.stored_in[rows]
        parts = [self.values, pa.nulls(more, self.values.type), answer.values.take(pa.array(rows))]
        return Known(pa.concat_arrays(parts).take(pa.array(place)), stored_in, error)


@dataclass(slots=True)
class Memory:
    """Of one store. ``key``: the columns of its cycle key; ``keys``: those that came, at most ``MOST_KEYS``.

    Of others nothing is known.
    """

    key: tuple[str, ...]
    keys: Keys
    _known: dict[str, Known] = field(default_factory=dict)

    def codes(self, keys: pa.RecordBatch, count: int) -> Ints:
        """The keys of so many rows as whole numbers, the same for the same key."""
        self.keys, codes = coded_keys(self.keys, key_columns(keys, self.key, count), MOST_KEYS)
        return codes

    def of(self, attribute: str, codes: Ints, type_: pa.DataType) -> Known:
        """What is known of each of some keys."""
        return (self._known.get(attribute) or Known.nothing(0, type_)).take(codes)

    def learn(self, attribute: str, codes: Ints, answer: Answer) -> None:
        """Remembers what an answer without gaps tells of keys, ``[asked]``."""
        before = self._known.get(attribute) or Known.nothing(0, answer.values.type)
        self._known[attribute] = before.after(codes, answer, len(self.keys))


@dataclass(slots=True)
class Memories:
    """Of the stores of a stream, by origin: the one of which nothing was asked for longest goes first."""

    _of: dict[bytes, Memory] = field(default_factory=dict)

    def of(self, origin: bytes, key: Sequence[str]) -> Memory:
        """Of a store. What is known of other cycle keys is forgotten."""
        found = self._of.pop(origin, None)
        if found is None or found.key != tuple(key):
            found = Memory(tuple(key), keys_of(key))
        self._of[origin] = found
        while len(self._of) > MOST_STORES:
            del self._of[next(iter(self._of))]
        return found
