"""``streamq_nexmark``: the NEXMark generator as a Spark data source of Arrow record batches.

As a stream it offers events at a rate of wall-clock time: the offset is how many events are due since the
query first started, whether or not the query keeps up. As a batch it gives the first ``events`` events.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from streamq.runtime.spark.nexmark_arrow import check_schema, record_batch
from streamq.stdlib.nexmark import (
    EVENT_TABLE,
    EVENT_TYPE,
    KINDS,
    TABLES,
    TIME,
    NexmarkConfig,
    events_due,
)

Offset = dict[str, int]
"""``n``: events so far; ``since``: when the query first started, in microseconds since 1970."""

BATCH_ROWS = 65_536
LEAST_EVENTS_PER_PARTITION = 10_000
"""Below this the cost of a task is more than that of its rows."""


@dataclass(frozen=True, slots=True)
class NexmarkOptions:
    """The options of the source, read and checked.

    ``events``: how many there are, of all kinds; 0 never ends. ``max_events``: the most in one micro-batch, or
    None. ``partitions``: tasks of a batch, at most. ``first``: where a table of events begins.
    """

    table: str
    config: NexmarkConfig
    events: int
    max_events: int | None
    partitions: int
    first: int = 0


class EventRange(InputPartition):
    """The events that arrive in positions [start, stop): the work of one task."""

    def __init__(self, start: int, stop: int) -> None:
        super().__init__((start, stop))
        self.start = start
        self.stop = stop


class NexmarkSource(DataSource):
    """The data source; its options are those of ``CREATE STREAM … WITH (connector = 'nexmark', …)``.

    A schema given with ``.schema(…)`` may name any of the table's columns, ``dateTime`` also as ``ts``, and a
    wider type for a number; only those columns are made.
    """

    @classmethod
    def name(cls) -> str:
        return "streamq_nexmark"

    def schema(self) -> str:
        return table_ddl(read_options(self.options).table)

    def reader(self, schema: StructType) -> NexmarkReader:
        return NexmarkReader(read_options(self.options), schema)

    def streamReader(self, schema: StructType) -> NexmarkStreamReader:
        return NexmarkStreamReader(read_options(self.options), schema)


class NexmarkReader(DataSourceReader):
    """The events up to ``events`` as a table."""

    def __init__(self, options: NexmarkOptions, schema: StructType) -> None:
        if options.events <= 0:
            raise ValueError("a table of nexmark events needs the option events")
        self.options = options
        self.schema = arrow_schema(options.table, schema)

    def partitions(self) -> list[EventRange]:
        return split(self.options.first, self.options.events, self.options.partitions)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return batches(self.options, self.schema, partition)


class NexmarkStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The stream: offers what is due, or up to the read limit."""

    def __init__(self, options: NexmarkOptions, schema: StructType) -> None:
        self.options = options
        self.schema = arrow_schema(options.table, schema)
        self._since: int | None = None
        self._now: int | None = None

    def initialOffset(self) -> Offset:
        self._since = _wall_micros()
        return {"n": 0, "since": self._since}

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        self._since = start["since"]
        latest = max(start["n"], self._due(start["since"]))
        if isinstance(limit, ReadMaxRows):
            latest = min(latest, start["n"] + limit.max_rows)
        return {"n": latest, "since": start["since"]}

    def getDefaultReadLimit(self) -> ReadLimit:
        most = self.options.max_events
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    def reportLatestOffset(self) -> Offset | None:
        if self._since is None:
            return None
        return {"n": self._due(self._since), "since": self._since}

    def prepareForTriggerAvailableNow(self) -> None:
        self._now = _wall_micros()

    def partitions(self, start: Offset, end: Offset) -> list[EventRange]:
        return split(start["n"], end["n"], self.options.partitions)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return batches(self.options, self.schema, partition)

    def _due(self, since: int) -> int:
        """Events offered by now. A run over what is available has all of a bounded stream at once."""
        if self._now is not None and self.options.events:
            return self.options.events
        now = _wall_micros() if self._now is None else self._now
        due = events_due(self.options.config, (now - since) / 1e6)
        return min(due, self.options.events) if self.options.events else due


def read_options(options: Mapping[str, str]) -> NexmarkOptions:
    """Spark's options, which are strings, in their types. Raises ``ValueError`` for what has no meaning."""
    given = {key.lower(): value for key, value in options.items()}
    table = given.pop("table", "")
    if table != EVENT_TABLE and table not in TABLES:
        raise ValueError(f"nexmark has no table {table!r}")
    config: dict[str, Any] = {}
    for name, read in _CONFIG_OPTIONS.items():
        if name in given:
            config["start_micros" if name == "start" else name] = read(given.pop(name))
    events = int(given.pop("events", 0))
    max_events = int(given.pop("max_events_per_trigger", 0))
    partitions = int(given.pop("num_partitions", 0)) or max(2, os.cpu_count() or 2)
    first = int(given.pop("first", 0))
    if given:
        raise ValueError(f"nexmark has no option {', '.join(sorted(given))}")
    return NexmarkOptions(table, NexmarkConfig(**config), events, max_events or None, partitions, first)


def table_ddl(table: str) -> str:
    """All columns of a table, as Spark reads a schema."""
    if table != EVENT_TABLE:
        return ", ".join(f"{name} {sql_type}" for name, sql_type in TABLES[table])
    structs = (f"{kind.name} STRUCT<{table_ddl(kind.name)}>" for kind in KINDS)
    return f"{EVENT_TYPE} INT, {', '.join(structs)}, {TIME} TIMESTAMP"


def arrow_schema(table: str, schema: StructType) -> pa.Schema:
    """The schema that Spark expects of each record batch, held against what the table has."""
    wanted = to_arrow_schema(schema, timezone="UTC")
    check_schema(table, wanted)
    return wanted


def split(start: int, stop: int, most: int) -> list[EventRange]:
    """[start, stop) in at most ``most`` ranges of nearly the same size; none where it is empty."""
    count = max(1, min(most, (stop - start) // LEAST_EVENTS_PER_PARTITION))
    bounds = [start + (stop - start) * i // count for i in range(count + 1)]
    return [EventRange(low, high) for low, high in pairwise(bounds) if low < high]


def batches(
    options: NexmarkOptions, schema: pa.Schema, partition: InputPartition
) -> Iterator[pa.RecordBatch]:
    """The record batches of one task, of about ``BATCH_ROWS`` rows each."""
    start, stop = partition.value
    step = _events_for(options.table, BATCH_ROWS)
    for low in range(start, stop, step):
        yield record_batch(options.config, options.table, schema, low, min(low + step, stop))


def _events_for(table: str, rows: int) -> int:
    """How many events hold about that many rows of the table."""
    share = sum(kind.share for kind in KINDS if table in (kind.name, EVENT_TABLE))
    return rows * sum(kind.share for kind in KINDS) // share


def _seconds(millis: str) -> float:
    return float(millis) / 1000


def _micros(moment: str) -> int:
    parsed = datetime.fromisoformat(moment)
    zoned = parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)
    elapsed = zoned - datetime.fromtimestamp(0, UTC)
    return (elapsed.days * 86_400 + elapsed.seconds) * 1_000_000 + elapsed.microseconds


_CONFIG_OPTIONS: dict[str, Callable[[str], Any]] = {
    "seed": int,
    "rate": float,
    "peak_rate": float,
    "period": _seconds,
    "shape": str,
    "start": _micros,
    "out_of_order_group": int,
    "delay_probability": float,
    "delay": _seconds,
}


def _wall_micros() -> int:
    return time.time_ns() // 1000
