"""Shed values on the central side: which are asked for of some messages, and where those that come back belong.

A request says what is known of its keys by earlier answers, and its answer leaves that out: see ``known``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamq.dsl.records import dataclass
from streamq.runtime.edge.answers import Answer
from streamq.runtime.edge.at_run.asking import Asking
from streamq.runtime.edge.at_run.bounds import Bounds, exact, numeric, within
from streamq.runtime.edge.at_run.known import Known, Memory
from streamq.runtime.edge.messages import MOST_ASKED, Rows
from streamq.runtime.edge.transport import MOST_REPLY
from streamq.stdlib.recovery.columns import Bools, Ints
from streamq.stdlib.recovery.intervals import Denominator
from streamq.stdlib.recovery.lookup import Status

MOST_BYTES = MOST_REPLY // 4
"""Of the keys of a request, and their cycles; with them it has to fit into a reply."""


@dataclass(frozen=True, slots=True)
class Asked:
    """An open request. ``rows``: ``[asked]``, which rows of the messages the values are of.

    ``codes``: ``[asked]``, their keys as the memory of the store has them, and ``known``: ``[asked]``, what it knew of them.
    """

    id: bytes
    attribute: str
    rows: Ints
    codes: Ints
    known: Known


@dataclass(frozen=True, slots=True)
class Column:
    """A column of some messages, ``[rows]``, with ``bounds`` where it has numbers, and how many of its values came back.

    ``lost``: those that an answer does not have.
    """

    values: pa.Array
    bounds: Bounds | None
    recovered: int = 0
    lost: int = 0


def asked(asking: Asking, messages: Sequence[Rows], attributes: Sequence[str], memory: Memory) -> tuple[Asked, ...]:
    """Asks for what was shed of attributes. ``messages``: of one edge, with one key; ``memory``: of its store. BadMessage; OSError.

    An answer is small where its values are asked for by key and cycle, as one is often the same as that before it.
    """
    found: list[Asked] = []
    try:
        for name in attributes:
            found += _asked(asking, messages, name, memory)
    except OSError:
        for one in found:
            asking.done(one.id)
        raise
    return tuple(found)


def sent(messages: Sequence[Rows], name: str, type_: pa.DataType) -> pa.Array:
    """The values of a column that came with messages, NULL where it was shed."""
    return pa.concat_arrays([
        pa.nulls(message.rows.num_rows, type_) if name in message.plan.attrs else message.rows.column(name)
        for message in messages
    ])


def was_shed(messages: Sequence[Rows], name: str) -> Bools:
    """Of which rows a column was shed."""
    return np.concatenate([np.full(message.rows.num_rows, name in message.plan.attrs) for message in messages])


def recovered(values: pa.Array, answers: Sequence[tuple[Asked, Answer]], denominator: Denominator) -> Column:
    """A column with what answers say of it. ``values``: those that were sent."""
    bounds = exact(values) if numeric(values.type) else None
    place, parts, count, lost = np.arange(len(values)), [values], len(values), 0
    for request, answer in answers:
        there = np.flatnonzero(answer.status <= Status.APPROXIMATE)
        some, rows = answer.values.take(pa.array(there)), request.rows[there]
        place[rows] = count + np.arange(len(rows))
        if bounds is not None:
            bounds.put(rows, within(some, answer.max_error_pct[there], denominator))
        parts.append(some)
        count += len(rows)
        lost += len(request.rows) - len(rows)
    return Column(pa.concat_arrays(parts).take(pa.array(place)), bounds, count - len(values), lost)


def _asked(asking: Asking, messages: Sequence[Rows], name: str, memory: Memory) -> Iterator[Asked]:
    of = [(message, rows) for message, rows in zip(messages, _rows(messages), strict=True) if name in message.plan.attrs]
    if not sum(len(rows) for _, rows in of):
        return
    rows, cycle_no = np.concatenate([rows for _, rows in of]), np.concatenate([message.cycle_no for message, _ in of])
    key = list(messages[0].key)
    keys = pa.concat_batches([message.rows.select(key) for message, _ in of]) if key else pa.record_batch([], names=[])
    codes, type_ = memory.codes(keys, len(rows)), asking.schema.field(name).type
    for at in _parts(keys, cycle_no, _by_key(keys, cycle_no)):
        some = keys.take(pa.array(at)) if key else keys
        known = memory.of(name, codes[at], type_)
        first = np.append(True, np.diff(codes[at]) != 0)
        id_ = asking.ask(messages[0].origin, name, some, cycle_no[at], np.where(first, known.stored_in, 0))
        yield Asked(id_, name, rows[at], codes[at], known)


def _rows(messages: Sequence[Rows]) -> list[Ints]:
    """The numbers of the rows of each message among those of all."""
    ends = np.cumsum([message.rows.num_rows for message in messages])
    return [np.arange(end - message.rows.num_rows, end) for end, message in zip(ends, messages, strict=True)]


def _by_key(keys: pa.RecordBatch, cycle_no: Ints) -> Ints:
    """The order of rows by key and then by cycle."""
    columns = [*keys.columns, pa.array(cycle_no)]
    named = pa.table(columns, names=[str(at) for at in range(len(columns))])
    order = pc.sort_indices(named, sort_keys=[(name, "ascending") for name in named.column_names])
    return np.asarray(order.to_numpy()).astype(np.int64)


def _parts(keys: pa.RecordBatch, cycle_no: Ints, order: Ints) -> Iterator[Ints]:
    """The rows of each request, none of which asks for too much."""
    size = 16 * len(order) + (keys.take(pa.array(order)).nbytes if keys.num_columns else 0)
    if len(order) > 1 and (len(order) > MOST_ASKED or size > MOST_BYTES):
        half = len(order) // 2
        yield from _parts(keys, cycle_no, order[:half])
        yield from _parts(keys, cycle_no, order[half:])
    else:
        yield order
