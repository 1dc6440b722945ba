"""Operators over changes on Spark: a stateful processor that runs any of them in buckets of its key (ADR 0008).

For each operator of a query Spark starts a Python process that only asks what state there is, so this file imports
little; what works on rows is in ``timeline_bucket.py``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)
from pyspark.sql.types import BinaryType, LongType, StructField, StructType

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from streamq.runtime.spark.timeline_bucket import Bucket

BUCKET, TIME = "__bucket", "__time"
RESULT = ("at", "sign", "end", "side", "nulls")
"""The columns of BIGINT that every result has, before its values."""

WORKERS = "streamq.runtime.spark.python_workers"
WORKERS_SETTING = "spark.python.daemon.module"

TYPES = {"long": "BIGINT", "double": "DOUBLE", "text": "STRING"}
_STATE = StructType([StructField("state", BinaryType()), StructField("timer", LongType())])


def with_operator(
    frame: DataFrame, operator: str, params: Mapping[str, Any], kinds: tuple[str, ...],
    results: tuple[str, ...],
) -> DataFrame:
    """An operator over a frame of packed changes; the arguments are those of the physical step."""
    make = TimelineProcessor if by_columns(frame) else PandasTimelineProcessor
    columns = [f"{TIME} TIMESTAMP", *(f"{name} BIGINT" for name in RESULT)]
    columns += [f"v{i} {TYPES[kind]}" for i, kind in enumerate(results)]
    return frame.groupBy(BUCKET).transformWithStateInPandas(
        make(operator, params, kinds, results), ", ".join(columns), "append", "EventTime",
        eventTimeColumnName=TIME,
    )


def by_columns(frame: DataFrame) -> bool:
    """Whether the workers of the frame's session hand operators their rows as Arrow batches."""
    settings = frame.sparkSession.sparkContext.getConf()
    return settings.get(WORKERS_SETTING) == WORKERS and os.name == "posix"


class TimelineProcessor(StatefulProcessor):
    """Runs an operator over one bucket at a time, whenever rows come or a known instant has passed.

    Takes and gives Arrow batches, as ``python_workers.py`` hands them over.
    """

    def __init__(
        self, operator: str, params: Mapping[str, Any], kinds: tuple[str, ...],
        results: tuple[str, ...],
    ) -> None:
        self._arguments = (operator, params, kinds, results)

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._state = handle.getValueState("timeline", _STATE)
        self._done: dict[Any, int] = {}
        self._bucket: Bucket | None = None

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: TimerValues) -> Iterator[Any]:
        yield from self._advance(key, rows, timerValues)

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[Any]:
        del expiredTimerInfo
        if self._done.get(key) != timerValues.getCurrentWatermarkInMs():
            yield from self._advance(key, iter(()), timerValues)

    def close(self) -> None:
        """Nothing to close."""

    def _advance(
        self, key: Any, batches: Iterator[pa.RecordBatch], timer_values: TimerValues
    ) -> Iterator[pa.RecordBatch]:
        bucket = self._operator()
        watermark = timer_values.getCurrentWatermarkInMs()
        # One call: state that is not there comes as None.
        kept = self._state.get()
        before, timer = (None, None) if kept is None else kept
        state, coming, changes = bucket.advance(before, batches, watermark)
        if timer is not None and timer <= watermark:
            timer = None
        if coming is not None and (timer is None or coming < timer):
            self._handle.registerTimer(coming)
            timer = coming
        self._state.update((state, timer))
        self._done[key] = watermark
        yield from changes

    def _operator(self) -> Bucket:
        if self._bucket is None:
            from streamq.runtime.spark.timeline_bucket import Bucket

            self._bucket = Bucket.of(*self._arguments)
        return self._bucket


class PandasTimelineProcessor(TimelineProcessor):
    """The same where Spark's own Python workers run: slower, as they go through the rows one by one."""

    def _advance(
        self, key: Any, batches: Iterator[pd.DataFrame], timer_values: TimerValues
    ) -> Iterator[pd.DataFrame]:
        arrow = (self._operator().from_pandas(frame) for frame in batches)
        for batch in super()._advance(key, arrow, timer_values):
            yield batch.to_pandas()
