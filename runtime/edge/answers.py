"""Answers to requests for shed values, of which as many go in one message as fit: each says to which request it is.

An answer that does not fit into a message goes in several parts. It takes less than the values would have: see ``pieces``.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from streamq.dsl.records import dataclass
from streamq.runtime.edge.frames import PREFIX, BadMessage, Frame, Kind
from streamq.runtime.edge.messages import Request, head_of_answers, stream_of
from streamq.runtime.edge.pieces import cut, pieces_of
from streamq.stdlib.recovery.columns import Bools, Ints
from streamq.stdlib.recovery.lookup import Status

MOST_PARTS = 4_096
"""Of a message."""

_PART = struct.Struct(">8sIIIBdI")


@dataclass(frozen=True, slots=True)
class Answer:
    """Values from the ``first`` asked for on, of ``total``.

    ``values``: NULL where NULL was shed and where nothing is recovered; ``status``: of ``Status``; ``stored_in``: the
    cycle in which each was stored, ``max_error_pct``: how far the shed value can be from it, NaN where nothing is recovered.
    ``known``: where the value is the one that who asks knows, and ``values`` has it not; None for nowhere.
    """

    id: bytes
    stream: str
    first: int
    total: int
    values: pa.Array
    status: Ints
    stored_in: Ints
    max_error_pct: Any
    known: Bools | None = None

    def slice(self, first: int, count: int) -> Answer:
        """A part of it."""
        at = slice(first, first + count)
        return Answer(
            self.id, self.stream, self.first + first, self.total, self.values.slice(first, count), self.status[at],
            self.stored_in[at], self.max_error_pct[at], None if self.known is None else self.known[at],
        )


@dataclass(frozen=True, slots=True)
class Part:
    """Values from the ``first`` asked for on, ``count`` of ``total``, as bytes that only who knows the request can read.

    ``bound``: the error of all that are not exact, in percent; ``data``: all of the part, as ``part_of`` takes it.
    """

    id: bytes
    first: int
    total: int
    count: int
    age_bytes: int
    bound: float
    data: memoryview

    @property
    def body(self) -> memoryview:
        """The pieces."""
        return self.data[_PART.size :]


def encoded_part(answer: Answer, asked: Request) -> bytes:
    """An answer to what was asked, or a part of one, as it stands in a message."""
    count = len(answer.status)
    at = slice(answer.first, answer.first + count)
    found = cut(
        asked.keys.slice(answer.first, count), asked.cycle_no[at], asked.knows[at], answer.values, answer.status,
        answer.stored_in,
    )
    bound = float(answer.max_error_pct[answer.status == Status.APPROXIMATE].max(initial=0.0))
    body = found.body()
    return _PART.pack(answer.id, answer.first, answer.total, count, found.age_bytes, bound, len(body)) + body


def encoded_answers(stream: str, parts: Sequence[bytes], revision: int) -> bytes:
    """The message of parts of answers. BadMessage for one that is too large."""
    return Frame(Kind.ANSWER, revision, head_of_answers(stream), b"".join(parts)).encoded()


def room_for(stream: str, most: int) -> int:
    """The bytes that parts have in a message of at most ``most`` bytes."""
    return most - PREFIX.size - len(head_of_answers(stream))


def parts_of(frame: Frame) -> tuple[Part, ...]:
    """The parts of a message. BadMessage for anything else."""
    if len(frame.head) != len(head_of_answers(stream_of(frame))):
        raise BadMessage("answers have nothing more to say")
    rest = memoryview(frame.body)
    found: list[Part] = []
    while rest:
        if len(found) == MOST_PARTS:
            raise BadMessage(f"a message has at most {MOST_PARTS} answers")
        size = _size(rest)
        found.append(part_of(rest[:size]))
        rest = rest[size:]
    if not found:
        raise BadMessage("the message has no answers")
    return tuple(found)


def part_of(data: bytes | memoryview) -> Part:
    """The part that bytes are. BadMessage for anything else."""
    if _size(memoryview(data)) != len(data):
        raise BadMessage("the answer is not as long as it says")
    id_, first, total, count, age_bytes, bound, _ = _PART.unpack_from(data)
    return Part(id_, first, total, count, age_bytes, bound, memoryview(data))


def decoded_part(part: Part, asked: Request, type_: pa.DataType) -> Answer:
    """A part of an answer to what was asked, with values of this type. BadMessage for anything else."""
    if (part.id, part.total) != (asked.id, len(asked.cycle_no)):
        raise BadMessage("the answer is to another request")
    if part.first + part.count > part.total:
        raise BadMessage("the answer is to more than was asked for")
    if not 0 <= part.bound <= 100:
        raise BadMessage("the answer has an error that cannot be")
    at = slice(part.first, part.first + part.count)
    keys, known = asked.keys.slice(part.first, part.count), asked.knows[at]
    found = pieces_of(part.body, known, part.age_bytes, type_).joined(keys, asked.cycle_no[at], known)
    status = found.status
    error = np.where(status > Status.APPROXIMATE, np.nan, np.where(status == Status.APPROXIMATE, part.bound, 0.0))
    return Answer(
        part.id, asked.stream, part.first, part.total, found.values, status, found.stored_in, error, found.known
    )


def _size(data: memoryview) -> int:
    """Of the part at the beginning of some bytes."""
    if len(data) < _PART.size:
        raise BadMessage("the answer is cut off")
    size = _PART.size + int(_PART.unpack_from(data)[-1])
    if size > len(data):
        raise BadMessage("the answer is cut off")
    return size
