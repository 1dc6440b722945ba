"""Rows as they land: all columns of the stream, those of bounds, and which columns were shed of each row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from streamq.runtime.edge.answers import Answer
from streamq.runtime.edge.at_run.bounds import exact, numeric
from streamq.runtime.edge.at_run.incoming import Incoming
from streamq.runtime.edge.at_run.recovering import Asked, Column, recovered, sent, was_shed
from streamq.runtime.edge.at_run.references import References
from streamq.runtime.edge.messages import Rows
from streamq.runtime.metrics import Received


def landed_rows(
    incoming: Incoming, messages: Sequence[Rows], asked: Sequence[Asked], answers: Sequence[Answer | None],
    references: References,
) -> tuple[pa.Table, Received]:
    """The rows of messages of one edge, with what answers say; None for an answer that did not come in time.

    ``references`` see the messages, each after its own shed values were taken from them.
    """
    schema = incoming.plan.schema
    near = _near(incoming, messages, references)
    counts = Received(
        rows=sum(message.rows.num_rows for message in messages), messages=len(messages),
        dropped=sum(message.dropped for message in messages),
        shed=sum(message.rows.num_rows * len(_shed(incoming, message)) for message in messages),
        late=sum(len(one.rows) for one, answer in zip(asked, answers, strict=True) if answer is None),
    )
    arrays: list[pa.Array] = []
    bounds: list[pa.Array] = []
    for f in schema:
        values = sent(messages, f.name, f.type)
        if f.name in near:
            column = _nearest(values, near[f.name], int(was_shed(messages, f.name).sum()))
        else:
            came = zip(asked, answers, strict=True)
            of = [(one, answer) for one, answer in came if answer is not None and one.attribute == f.name]
            column = recovered(values, of, incoming.plan.denominator)
        arrays.append(column.values)
        if f.name in incoming.bounds and column.bounds is not None:
            bounds += column.bounds.arrays()
        counts += Received(recovered=column.recovered, not_retained=column.lost)
    return pa.Table.from_arrays([*arrays, *bounds, _shed_columns(incoming, messages)], schema=incoming.schema), counts


def _near(incoming: Incoming, messages: Sequence[Rows], references: References) -> dict[str, pa.Array]:
    """Of columns that are recovered by nearness the values of all rows, NULL where they were sent."""
    schema = incoming.plan.schema
    parts: dict[str, list[pa.Array]] = {name: [] for name in incoming.nearest}
    for message in messages:
        for name, found in parts.items():
            shed = name in message.plan.attrs
            nothing = pa.nulls(message.rows.num_rows, schema.field(name).type)
            found.append(references.values(message, name) if shed else nothing)
        references.see(message)
    return {name: pa.concat_arrays(found) for name, found in parts.items()}


def _nearest(values: pa.Array, near: pa.Array, shed: int) -> Column:
    """A column with what was found by nearness, of which nothing is sure."""
    found = len(near) - near.null_count
    place = np.arange(len(values))
    there = np.flatnonzero(near.is_valid().to_numpy(zero_copy_only=False))
    place[there] += len(values)
    bounds = exact(values) if numeric(values.type) else None
    return Column(pa.concat_arrays([values, near]).take(pa.array(place)), bounds, found, shed - found)


def _shed_columns(incoming: Incoming, messages: Sequence[Rows]) -> pa.Array:
    """Of each row the names of the columns that were shed."""
    names = pa.array([_shed(incoming, message) for message in messages], pa.list_(pa.string()))
    return names.take(pa.array(np.repeat(np.arange(len(messages)), [message.rows.num_rows for message in messages])))


def _shed(incoming: Incoming, message: Rows) -> list[str]:
    """The columns that were shed; what nobody reads is not."""
    return [name for name in message.plan.attrs if name not in incoming.plan.unread]
