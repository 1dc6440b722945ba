"""What edge and central side say to each other: rows, questions for work, and requests for shed values. Answers: ``answers``.

Every message of rows says which columns are shed (a mask, in the order of the stream, with the number of the plan), so
that a column that is left out is told from NULL, and which columns the cycle key has, perhaps none. Each row has the number of its key's
cycle: rows of a key are counted at the source, so a row that is missing, late or there twice changes nothing for others.
Numbers of cycles are sent as what they are above the least of them, as narrow as that goes.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from streamq.dsl.records import dataclass
from streamq.runtime.edge.columns import fingerprint
from streamq.runtime.edge.frames import BadMessage, Frame, Kind, OtherColumns, batch_of, body_of
from streamq.runtime.edge.pieces import WIDTHS
from streamq.stdlib.attributes.shed_plan import ShedPlan, shed_by
from streamq.stdlib.recovery.columns import Ints

CYCLE, KNOWN = "__cycle_no", "__known"
MOST_ASKED = 1 << 16
"""Values that are asked for at once."""

_ROWS = struct.Struct(">8sQ8sIQQBdQ")
_POLL = struct.Struct(">8sd")
_REQUEST = struct.Struct(">8s8s8s")
_MOST_CYCLE = 1 << 40
_MOST_SEQ = 1 << 63

ORIGIN_BYTES = 8


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows that are sent. ``origin``: eight bytes that tell the store of the edge from any other, ``seq``: from 1, without gaps.

    ``plan``: what is shed of them; ``key``: the columns of the cycle key; ``rows``: the other columns, in the order of
    the stream; ``cycle_no``: ``[rows]``, the number of each row among those of its key. ``offered_kbps``: how fast the stream
    came at the source when they were read, before anything was shed. ``dropped``: rows that were dropped
    at the source since the message before this one; the numbers that they had are missing.
    """

    stream: str
    origin: bytes
    seq: int
    plan: ShedPlan
    key: tuple[str, ...]
    rows: pa.RecordBatch
    cycle_no: Ints
    offered_kbps: float = 0.0
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class Poll:
    """A question for work. ``origin``: of the store of the edge; ``offered_kbps``: how fast its stream comes now."""

    stream: str
    origin: bytes
    offered_kbps: float


@dataclass(frozen=True, slots=True)
class Request:
    """Which values are asked for: of an attribute, in cycles, ``[asked]``, of keys, ``[asked]`` of each column of the key.

    The columns of the key are in the order of the stream; rows in any order, of which that by key and cycle has the
    smallest answer. ``origin``: the store that counted the cycles; no other has them. ``known``: ``[asked]``, in which cycle
    the value was stored that is known of the key, 0 for none: of the first value of each key, where it says the most. None:
    nothing is known.
    """

    id: bytes
    origin: bytes
    stream: str
    attribute: str
    keys: pa.RecordBatch
    cycle_no: Ints
    known: Ints | None = None

    @property
    def knows(self) -> Ints:
        """``known``, 0 everywhere where nothing is."""
        return np.zeros(len(self.cycle_no), dtype=np.int64) if self.known is None else self.known


def stream_of(frame: Frame) -> str:
    """Of which stream a message says that it is. BadMessage where it says none."""
    fixed = {Kind.ROWS: _ROWS.size, Kind.POLL: _POLL.size, Kind.REQUEST: _REQUEST.size, Kind.ANSWER: 0}
    return _name(frame.head, fixed[frame.kind])[0]


def encoded_poll(message: Poll, revision: int) -> bytes:
    """A question for work."""
    head = _POLL.pack(message.origin, message.offered_kbps) + _named(message.stream)
    return Frame(Kind.POLL, revision, head).encoded()


def decoded_poll(frame: Frame) -> Poll:
    """What a question says of its edge. BadMessage for anything else."""
    stream, rest = _name(frame.head, _POLL.size)
    origin, offered = _POLL.unpack_from(frame.head)
    if rest or len(frame.body):
        raise BadMessage("a question for work has nothing more to say")
    return Poll(stream, origin, _rate(offered))


def encoded_rows(message: Rows, schema: pa.Schema, revision: int) -> bytes:
    """``schema``: of the stream, before anything is shed. BadMessage for a message that is too large."""
    base = int(message.cycle_no.min(initial=_MOST_CYCLE))
    above = (message.cycle_no - base).astype(np.uint64)
    narrow = np.min_scalar_type(int(above.max(initial=0)))
    head = _ROWS.pack(
        message.origin, message.seq, fingerprint(schema), message.plan.plan_id, message.plan.effective_from_cycle, base,
        narrow.itemsize, message.offered_kbps, message.dropped,
    )
    masks = _mask(message.plan.attrs, schema) + _mask(message.key, schema)
    rows = pa.RecordBatch.from_arrays(
        [*message.rows.columns, pa.array(above.astype(narrow))], [*message.rows.schema.names, CYCLE]
    )
    return Frame(Kind.ROWS, revision, head + _named(message.stream) + masks, body_of(rows)).encoded()


def decoded_rows(frame: Frame, schema: pa.Schema) -> Rows:
    """The rows of a message of a stream with this schema. BadMessage for anything else."""
    stream, rest = _name(frame.head, _ROWS.size)
    origin, seq, told, plan_id, since, base, width, offered, dropped = _ROWS.unpack_from(frame.head)
    if told != fingerprint(schema):
        raise OtherColumns("the message is of a stream with other columns")
    if not 1 <= seq < _MOST_SEQ or since < 1 or width not in WIDTHS or not 1 <= base <= _MOST_CYCLE or dropped > _MOST_CYCLE:
        raise BadMessage("the message has a number that cannot be")
    size = _mask_bytes(schema)
    if len(rest) != 2 * size:
        raise BadMessage("the message does not say of each column whether it is shed")
    shed, key = (_names(rest[at : at + size], schema) for at in (0, size))
    if set(shed) & set(key):
        raise BadMessage("the message sheds its key")
    sent = [field for field in schema if field.name not in shed]
    width_type = pa.from_numpy_dtype(WIDTHS[width])
    found = batch_of(frame.body, pa.schema([*sent, (CYCLE, width_type)]))
    above = found.column(len(sent))
    if above.null_count:
        raise BadMessage("a row of the message has no cycle")
    cycle_no = above.to_numpy(zero_copy_only=False).astype(np.uint64)
    if len(cycle_no) and int(cycle_no.max()) > _MOST_CYCLE:
        raise BadMessage("a row of the message has a cycle that cannot be")
    # Not of its columns: where all are shed, there are rows all the same.
    rows = found.select([field.name for field in sent])
    plan = ShedPlan(plan_id, since, shed)
    return Rows(stream, origin, seq, plan, key, rows, cycle_no.astype(np.int64) + base, _rate(offered), dropped)


def encoded_request(request: Request, schema: pa.Schema, revision: int) -> bytes:
    """``schema``: of the stream. BadMessage for one that is too large."""
    head = _REQUEST.pack(request.id, request.origin, fingerprint(schema))
    head += _named(request.stream) + _named(request.attribute)
    head += _mask(request.keys.schema.names, schema)
    rows = pa.RecordBatch.from_arrays(
        [*request.keys.columns, pa.array(request.cycle_no, pa.int64()), pa.array(request.knows, pa.int64())],
        [*request.keys.schema.names, CYCLE, KNOWN],
    )
    return Frame(Kind.REQUEST, revision, head, body_of(rows)).encoded()


def decoded_request(frame: Frame, schema: pa.Schema) -> Request:
    """A request to the edge of a stream with this schema. BadMessage for anything else."""
    stream, rest = _name(frame.head, _REQUEST.size)
    attribute, rest = _name(rest, 0)
    id_, origin, told = _REQUEST.unpack_from(frame.head)
    if told != fingerprint(schema) or len(rest) != _mask_bytes(schema):
        raise BadMessage("the request is of a stream with other columns")
    key = _names(rest, schema)
    if attribute not in schema.names or attribute in key:
        raise BadMessage("the request is for an attribute that is not shed")
    fields = [schema.field(name) for name in key]
    found = batch_of(frame.body, pa.schema([*fields, (CYCLE, pa.int64()), (KNOWN, pa.int64())]))
    if found.num_rows > MOST_ASKED:
        raise BadMessage(f"a request is for at most {MOST_ASKED} values")
    if any(array.null_count for array in found.columns):
        raise BadMessage("a request names keys and cycles, without NULL")
    cycle_no, known = (found.column(len(fields) + at).to_numpy() for at in (0, 1))
    if np.any((known < 0) | (known > _MOST_CYCLE)):
        raise BadMessage("a request knows values of cycles that cannot be")
    return Request(id_, origin, stream, attribute, found.select(key), cycle_no, known)


def requested_origin(frame: Frame) -> bytes:
    """To which store a message is a request. BadMessage where it is too short to say so."""
    _name(frame.head, _REQUEST.size)
    return bytes(_REQUEST.unpack_from(frame.head)[1])


def head_of_answers(stream: str) -> bytes:
    """What a message of answers says before them."""
    return _named(stream)


def _rate(kbps: float) -> float:
    """A rate that was told."""
    if not 0 <= kbps < math.inf:
        raise BadMessage("the message has a rate that cannot be")
    return kbps


def _mask_bytes(schema: pa.Schema) -> int:
    return (len(schema) + 7) // 8


def _mask(names: Sequence[str], schema: pa.Schema) -> bytes:
    """A bit for each column of the stream, set for those named; the last bit is that of the first column."""
    return ShedPlan(attrs=tuple(names)).mask(schema.names).to_bytes(_mask_bytes(schema), "big")


def _names(mask: bytes, schema: pa.Schema) -> tuple[str, ...]:
    try:
        return shed_by(int.from_bytes(mask, "big"), schema.names)
    except ValueError:
        raise BadMessage("the message names columns that there are not") from None


def _named(name: str) -> bytes:
    """A name with its length before it."""
    text = name.encode("utf-8")
    return struct.pack(">H", len(text)) + text


def _name(head: bytes, start: int) -> tuple[str, bytes]:
    """A name, and what comes after it."""
    if len(head) < start + 2:
        raise BadMessage("the head of the message is cut off")
    (size,) = struct.unpack_from(">H", head, start)
    text, rest = head[start + 2 : start + 2 + size], head[start + 2 + size :]
    try:
        name = text.decode("utf-8")
    except UnicodeDecodeError:
        raise BadMessage("a name in the message is no text") from None
    if len(text) != size or not name:
        raise BadMessage("the head of the message is cut off")
    return name, rest


