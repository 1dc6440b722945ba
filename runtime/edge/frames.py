"""The frame of every message between an edge and the central side, and what is checked of one that comes.

A frame is ``SQED``, version, kind, revision of the plan, length of the head, length of the body, all big-endian, and then
both. Heads are of ``messages``; the body is one Arrow record batch as IPC has it, without its schema, which both sides know, or
``answers``.
Whoever can reach the port can send anything: lengths are checked before anything is made of them, Arrow's own check
comes before a value is read, and packed bodies, whose real size only they themselves tell, are refused.
"""

from __future__ import annotations

import struct
from enum import IntEnum

import pyarrow as pa

from streamq.dsl.records import dataclass
from streamq.runtime.edge.plan import MOST_BUCKET

VERSION = 1
MAGIC = b"SQED"
PREFIX = struct.Struct(">4sBBIHI")

MOST_MESSAGE = MOST_BUCKET
"""Bytes of a message: none is larger than a bucket."""

MOST_HEAD = 4_096

MOST_REVISION = 1 << 31
"""Revisions in messages are below: a plan has room for as many that follow the last of them."""


class Kind(IntEnum):
    """What a message is: rows; a question whether there is anything to do; a request for shed values; answers to such."""

    ROWS = 1
    POLL = 2
    REQUEST = 3
    ANSWER = 4


class BadMessage(ValueError):
    """A message that is not what it should be: says in a sentence what is wrong, and nothing of what is in it."""


class OtherColumns(BadMessage):
    """A message of a stream of this name that had other columns when it was made."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A message with its ``head`` and ``body`` as bytes. ``revision``: of the plan that its sender knows."""

    kind: Kind
    revision: int
    head: bytes
    body: bytes | pa.Buffer = b""

    def encoded(self) -> bytes:
        """All of it as bytes. BadMessage for what no receiver would take."""
        size = len(self.body)
        if len(self.head) > MOST_HEAD or PREFIX.size + len(self.head) + size > MOST_MESSAGE:
            raise BadMessage(f"a message has at most {MOST_MESSAGE} bytes")
        prefix = PREFIX.pack(MAGIC, VERSION, self.kind, self.revision, len(self.head), size)
        return b"".join((prefix, self.head, memoryview(self.body)))


def framed(data: bytes) -> Frame:
    """The frame that bytes are. BadMessage where they are none, are cut off, or have something after their end."""
    if len(data) > MOST_MESSAGE:
        raise BadMessage(f"a message has at most {MOST_MESSAGE} bytes")
    if len(data) < PREFIX.size:
        raise BadMessage("the message is cut off in its first bytes")
    magic, version, kind, revision, head, body = PREFIX.unpack_from(data)
    if magic != MAGIC:
        raise BadMessage("this is no message of an edge")
    if version != VERSION:
        raise BadMessage(f"the message has version {version}, and not {VERSION}")
    if kind not in set(Kind):
        raise BadMessage(f"there is no message of kind {kind}")
    if revision >= MOST_REVISION:
        raise BadMessage("the message is of a plan that cannot be")
    if head > MOST_HEAD:
        raise BadMessage(f"the head of a message has at most {MOST_HEAD} bytes")
    if len(data) != PREFIX.size + head + body:
        raise BadMessage("the message is not as long as it says")
    start = PREFIX.size + head
    return Frame(Kind(kind), revision, data[PREFIX.size : start], data[start:])


def body_of(rows: pa.RecordBatch) -> pa.Buffer:
    """A record batch as a body."""
    return rows.serialize()


def batch_of(body: bytes | pa.Buffer, schema: pa.Schema) -> pa.RecordBatch:
    """The record batch of a body, all of which has been checked. BadMessage for anything else."""
    try:
        message = pa.ipc.read_message(pa.BufferReader(body))
        if message.type != "record batch":
            raise BadMessage("the body of the message is no record batch")
        if _packed(memoryview(message.metadata)):
            raise BadMessage("the body of the message is packed")
        found = pa.ipc.read_record_batch(message, schema)
        found.validate(full=True)
    except (pa.ArrowException, OSError, EOFError, ValueError, MemoryError, OverflowError) as error:
        if isinstance(error, BadMessage):
            raise
        raise BadMessage("the body of the message is no record batch of its stream") from None
    if message.body.size > MOST_MESSAGE or found.num_rows > MOST_MESSAGE:
        raise BadMessage("the message has more rows than bytes")
    return found


def _packed(metadata: memoryview) -> bool:
    """Whether a record batch says that its buffers are compressed: its fourth field, in the table that a message holds.

    Arrow's reader has checked that offsets lie inside.
    """
    try:
        (message,) = struct.unpack_from("<I", metadata, 0)
        header = _field(metadata, message, 2)
        if header is None:
            return False
        (to_batch,) = struct.unpack_from("<I", metadata, header)
        return _field(metadata, header + to_batch, 3) is not None
    except struct.error:
        raise BadMessage("the body of the message is no record batch of its stream") from None


def _field(metadata: memoryview, table: int, number: int) -> int | None:
    """Where a field of a flatbuffers table is; None where it is left out."""
    (to_vtable,) = struct.unpack_from("<i", metadata, table)
    vtable = table - to_vtable
    if vtable < 0:
        raise BadMessage("the body of the message is no record batch of its stream")
    (size,) = struct.unpack_from("<H", metadata, vtable)
    place = 4 + 2 * number
    if place + 2 > size:
        return None
    (offset,) = struct.unpack_from("<H", metadata, vtable + place)
    return table + offset if offset else None
