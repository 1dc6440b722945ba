"""Rows and answers as messages that fit in the bucket, and what messages take beside the attributes of their rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from streamq.dsl.records import dataclass, replace
from streamq.runtime.edge.answers import MOST_PARTS, Answer, encoded_answers, encoded_part, room_for
from streamq.runtime.edge.frames import MOST_MESSAGE, BadMessage
from streamq.runtime.edge.messages import Request, Rows, encoded_rows

FULL = 0.95
"""How full messages are made that rows are cut into: rows differ in size."""


COLUMN_BYTES = 48
"""What a message says of each of its columns; it goes where the column is shed."""


@dataclass(frozen=True, slots=True)
class Overhead:
    """Bytes of messages beside attributes, ``per_row``, and how many ``rows`` a message has.

    What a message says of a column is counted as of that column: what is left is the same whatever is shed, or plans
    would swing between two sizes.
    """

    per_row: float
    rows: float

    @classmethod
    def of(cls, offered: int, sent: pa.RecordBatch, messages: Sequence[bytes], extra: int) -> Overhead:
        """As it was with so many rows, of which not all were sent. ``extra``: bytes that the transport adds to each message."""
        count, rows = len(messages), max(offered, 1)
        size = sum(map(len, messages)) + (extra - COLUMN_BYTES * sent.num_columns) * count
        return cls(max(size - sum(array.nbytes for array in sent.columns), 0) / rows, rows / max(count, 1))

    @classmethod
    def guessed(cls, rows: int, extra: int) -> Overhead:
        """Before there are any: of a message for each cycle."""
        return cls((256 + extra) / max(rows, 1) + 1, max(rows, 1))

    @property
    def per_column(self) -> float:
        """Bytes by the row that a column has beside its values."""
        return COLUMN_BYTES / self.rows


def packed(message: Rows, schema: pa.Schema, revision: int, most: int) -> tuple[tuple[bytes, ...], int]:
    """Messages of at most ``most`` bytes with consecutive numbers, and how many rows are too wide for any, which are left out.

    A row that alone is wider than ``most`` has a message of its own, which may be as large as a message can be.
    """
    whole = _encoded(message, schema, revision, most)
    if whole is not None:
        return (whole,), 0
    rows = len(message.cycle_no)
    per_row = sum(array.nbytes for array in message.rows.columns) / max(rows, 1) + 2
    each = min(max(int((FULL * most - 256 - 64 * len(schema)) / per_row), 1), max(rows // 2, 1))
    found: list[bytes] = []
    lost = 0
    for first in range(0, rows, each):
        if rows == 1:
            alone = _encoded(message, schema, revision, MOST_MESSAGE)
            return ((), 1) if alone is None else ((alone,), 0)
        part = replace(
            message, seq=message.seq + len(found), dropped=0 if found else message.dropped, rows=message.rows.slice(first, each),
            cycle_no=message.cycle_no[first : first + each],
        )
        more, wide = packed(part, schema, revision, most)
        found += more
        lost += wide
    return tuple(found), lost


def parts(answer: Answer, asked: Request, most: int) -> tuple[bytes, ...]:
    """An answer to what was asked in parts, each of which fits into a message of at most ``most`` bytes.

    Each has at least one value.
    """
    count = len(answer.status)
    found = encoded_part(answer, asked)
    if count <= 1 or len(found) <= room_for(answer.stream, most):
        return (found,)
    half = count // 2
    first, second = answer.slice(0, half), answer.slice(half, count - half)
    return parts(first, asked, most) + parts(second, asked, most)


def packed_answers(stream: str, waiting: Iterable[bytes], revision: int, most: int) -> tuple[bytes, int]:
    """A message of the first parts of answers, as many as fit into ``most`` bytes, and how many these are, at least one."""
    room = room_for(stream, most)
    found: list[bytes] = []
    for part in waiting:
        room -= len(part)
        if found and (room < 0 or len(found) == MOST_PARTS):
            break
        found.append(part)
    return encoded_answers(stream, found, revision), len(found)


def _encoded(message: Rows, schema: pa.Schema, revision: int, most: int) -> bytes | None:
    """The message, if it is small enough."""
    if sum(array.nbytes for array in message.rows.columns) > most:
        return None
    try:
        found = encoded_rows(message, schema, revision)
    except BadMessage:
        return None
    return found if len(found) <= most else None
