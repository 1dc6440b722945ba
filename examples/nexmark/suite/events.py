"""The events that all three answers are about: generated NEXMark events, in micro-batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pyarrow as pa

from streamq.runtime.spark.nexmark_arrow import record_batch
from streamq.stdlib.nexmark import TABLES, NexmarkConfig

ARROW = {"BIGINT": pa.int64(), "STRING": pa.string(), "TIMESTAMP": pa.timestamp("us")}

RATE = 400
"""Events per second of event time: enough that no auction is open for more than 10 seconds, which
``winning_bids.cql`` rests on, and that 20,000 events are 5 windows of 10 seconds long."""

BATCHES = 2
"""Micro-batches of generated events."""

SILENCE = timedelta(days=2)
"""From the last generated event to the rows that close all windows, of which the longest is a day."""

NOBODY = {"id": 0, "auction": 1, "bidder": 2, "seller": 3}
"""Ids in those rows: they belong to no other row, nor to each other."""

MIDNIGHT = datetime(2015, 7, 15)
MORNING = datetime(2015, 7, 15, 8)
"""At eight in the morning q14 begins to speak of the day."""

Row = dict[str, object]


@dataclass(frozen=True, slots=True)
class Events:
    """``batches``: of each table its rows by micro-batch. ``closed``: windows up to here get an answer."""

    batches: Mapping[str, tuple[pa.RecordBatch, ...]]
    closed: datetime

    def table(self, name: str) -> pa.Table:
        """All rows of ``person``, ``auction`` or ``bid``."""
        return pa.Table.from_batches(self.batches[name])

    def rows(self, name: str) -> Iterator[list[Row]]:
        """The rows of each micro-batch."""
        return (batch.to_pylist() for batch in self.batches[name])


def make_events(count: int, middle: datetime = MIDNIGHT, seed: int = 0) -> Events:
    """``count`` generated events, half of them before ``middle``; in a last batch one row of each table.

    The last rows come so much later that all windows before them close.
    """
    start = middle - timedelta(seconds=count / RATE / 2)
    since_1970 = start.replace(tzinfo=UTC) - datetime.fromtimestamp(0, UTC)
    config = NexmarkConfig(
        seed=seed, rate=float(RATE), start_micros=since_1970 // timedelta(microseconds=1)
    )
    bounds = [count * i // BATCHES for i in range(BATCHES + 1)]
    end = start + timedelta(seconds=count / RATE) + SILENCE
    batches = {}
    for name, columns in TABLES.items():
        schema = pa.schema([(column, ARROW[sql_type]) for column, sql_type in columns])
        made = [record_batch(config, name, schema, low, high) for low, high in pairwise(bounds)]
        batches[name] = (*made, _last(made[-1], end))
    return Events(batches, end - timedelta(minutes=1))


def _last(generated: pa.RecordBatch, at: datetime) -> pa.RecordBatch:
    """A row like the last generated one, which belongs to no other."""
    (row,) = generated.slice(generated.num_rows - 1).to_pylist()
    row |= {name: value for name, value in NOBODY.items() if name in row}
    row["dateTime"] = at
    if "expires" in row:
        row["expires"] = at + timedelta(seconds=1)
    return pa.RecordBatch.from_pylist([row], schema=generated.schema)
