"""Joins of two windows on Spark: a stateful processor that keeps each basic window as a value of its own (ADR 0015).

For each operator of a query Spark starts a Python process that only asks what state there is, so this file imports
little; what works on rows is in ``join_bucket.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)
from pyspark.sql.types import BinaryType, IntegerType, LongType, StructField, StructType

from streamq.runtime.spark.stateful import BUCKET, TIME, TYPES, by_columns

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from streamq.runtime.spark.join_bucket import JoinBucket

_KEY = StructType([StructField("part", IntegerType()), StructField("cell", LongType())])
_VALUE = StructType([StructField("rows", BinaryType())])

Arguments = tuple[tuple[Any, ...], tuple[tuple[int, int], tuple[int, int]], tuple[str, ...], int, float | None, bool]
"""Those of the physical step: condition, grids, kinds, left, sampled, worths."""


def with_window_join(
    frame: DataFrame, condition: tuple[Any, ...], grids: tuple[tuple[int, int], tuple[int, int]], kinds: tuple[str, ...],
    left: int, sampled: float | None, worths: bool,
) -> DataFrame:
    """The pairs of a frame with the rows of both sides; the arguments are those of the physical step."""
    make = WindowJoinProcessor if by_columns(frame) else PandasWindowJoinProcessor
    columns = [f"{TIME} TIMESTAMP", "left_at BIGINT", "right_at BIGINT", "nulls BIGINT", "told STRING"]
    columns += [f"v{i} {TYPES[kind]}" for i, kind in enumerate(kinds)]
    return frame.groupBy(BUCKET).transformWithStateInPandas(
        make((condition, grids, kinds, left, sampled, worths)), ", ".join(columns), "append", "EventTime",
        eventTimeColumnName=TIME,
    )


class WindowJoinProcessor(StatefulProcessor):
    """Joins the rows of one bucket at a time, whenever some come.

    Takes and gives Arrow batches, as ``python_workers.py`` hands them over.
    """

    def __init__(self, arguments: Arguments) -> None:
        self._arguments = arguments

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._kept = handle.getMapState("windows", _KEY, _VALUE)
        self._bucket: JoinBucket | None = None

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: TimerValues) -> Iterator[Any]:
        yield from self._joined(int(key[0]), rows, timerValues)

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[Any]:
        """There are no timers."""
        del key, timerValues, expiredTimerInfo
        yield from ()

    def close(self) -> None:
        """Nothing to close."""

    def _joined(
        self, bucket: int, batches: Iterator[pa.RecordBatch], timer_values: TimerValues
    ) -> Iterator[pa.RecordBatch]:
        kept = {(int(part), int(cell)): data for (part, cell), (data,) in self._kept.iterator()}
        written = yield from self._operator().advance(bucket, kept, batches, timer_values.getCurrentWatermarkInMs())
        for place in written.gone:
            self._kept.removeKey(place)
        for place, data in written.data.items():
            self._kept.updateValue(place, (data,))

    def _operator(self) -> JoinBucket:
        if self._bucket is None:
            from streamq.runtime.spark.join_bucket import JoinBucket

            self._bucket = JoinBucket.of(*self._arguments)
        return self._bucket


class PandasWindowJoinProcessor(WindowJoinProcessor):
    """The same where Spark's own Python workers run: slower, as they go through the rows one by one."""

    def _joined(
        self, bucket: int, batches: Iterator[pd.DataFrame], timer_values: TimerValues
    ) -> Iterator[pd.DataFrame]:
        arrow = (self._operator().from_pandas(frame) for frame in batches)
        for batch in super()._joined(bucket, arrow, timer_values):
            yield batch.to_pandas()
