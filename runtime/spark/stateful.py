"""Operators over changes on Spark: moves columns between Spark, numpy and the state store (ADR 0008)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from streamq.runtime.spark.state_codec import decode_state, encode_state
from streamq.stdlib.timelines.counts import Counts
from streamq.stdlib.timelines.folds import Fold
from streamq.stdlib.timelines.groups import Groups
from streamq.stdlib.timelines.pairs import Pairs
from streamq.stdlib.timelines.rows import LastRows
from streamq.stdlib.timelines.table import State, Table, concat, length
from streamq.stdlib.timelines.timers import next_instant

BUCKET, TIME = "__bucket", "__time"
MICROS = 1000
"""Microseconds per millisecond."""

_CHANGE = ("at", "sign", "end", "side", "key", "row", "nulls")
_RESULT = ("at", "sign", "end", "side", "nulls")
_TYPES = {"long": "BIGINT", "double": "DOUBLE", "text": "STRING"}
_ARRAYS: dict[str, Any] = {"long": np.int64, "double": np.float64, "text": object}


class Operator(Protocol):
    """What the operators of ``stdlib/timelines`` are."""

    def advance(self, state: State, rows: Table, upto: int) -> tuple[State, Table]:
        """The new state, and the changes of the result up to an instant in microseconds."""
        ...


def with_operator(
    frame: DataFrame, operator: str, params: Mapping[str, Any], kinds: tuple[str, ...],
    results: tuple[str, ...],
) -> DataFrame:
    """An operator over a frame of packed changes; the arguments are those of the physical step."""
    processor = TimelineProcessor(make_operator(operator, params), kinds, results)
    columns = [f"{TIME} TIMESTAMP", *(f"{name} BIGINT" for name in _RESULT)]
    columns += [f"v{i} {_TYPES[kind]}" for i, kind in enumerate(results)]
    return frame.groupBy(BUCKET).transformWithStateInPandas(
        processor, ", ".join(columns), "append", "EventTime", eventTimeColumnName=TIME
    )


def make_operator(name: str, params: Mapping[str, Any]) -> Operator:
    """The operator that a physical step names."""
    match name:
        case "counts":
            return Counts(**params)
        case "groups":
            folds = tuple(Fold(*fold) for fold in params["folds"])
            return Groups(**{**params, "folds": folds})
        case "pairs":
            return Pairs(**params)
        case "rows":
            return LastRows(**params)
        case _:
            raise ValueError(f"unknown operator {name}")


class TimelineProcessor(StatefulProcessor):
    """Runs an operator over one bucket at a time, whenever rows come or a known instant has passed."""

    def __init__(self, operator: Operator, kinds: tuple[str, ...], results: tuple[str, ...]) -> None:
        self._operator = operator
        self._kinds = kinds
        self._results = results

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._state = handle.getValueState("timeline", "state BINARY, timer BIGINT")
        self._done: dict[Any, int] = {}

    def handleInputRows(
        self, key: Any, rows: Iterator[Any], timerValues: TimerValues
    ) -> Iterator[pd.DataFrame]:
        table = concat(self._table(frame) for frame in rows)
        yield from self._advance(key, table, timerValues)

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[pd.DataFrame]:
        del expiredTimerInfo
        if self._done.get(key) != timerValues.getCurrentWatermarkInMs():
            yield from self._advance(key, {}, timerValues)

    def close(self) -> None:
        """Nothing to close."""

    def _advance(self, key: Any, rows: Table, timer_values: TimerValues) -> Iterator[pd.DataFrame]:
        watermark = timer_values.getCurrentWatermarkInMs()
        state, timer = State(), None
        kept = self._state.get() if self._state.exists() else None
        if kept is not None:
            state, timer = decode_state(kept[0]), kept[1]
        state, changes = self._operator.advance(state, rows, watermark * MICROS)
        timer = self._set_timer(state, timer, watermark)
        self._state.update((encode_state(state), timer))
        self._done[key] = watermark
        if length(changes):
            yield self._frame(changes)

    def _set_timer(self, state: State, set_for: int | None, watermark: int) -> int | None:
        """Asks to be called when the next known instant has passed; gives the earliest open timer."""
        coming = next_instant(state)
        still_set = set_for if set_for is not None and set_for > watermark else None
        if coming is None:
            return still_set
        wanted = max(-(-coming // MICROS), watermark + 1)
        if still_set is not None and still_set <= wanted:
            return still_set
        self._handle.registerTimer(wanted)
        return wanted

    def _table(self, frame: pd.DataFrame) -> Table:
        table: Table = {name: frame[name].to_numpy(np.int64) for name in _CHANGE}
        for i, kind in enumerate(self._kinds):
            table[f"v{i}"] = frame[f"v{i}"].to_numpy(_ARRAYS[kind])
        return table

    def _frame(self, changes: Table) -> pd.DataFrame:
        columns: dict[str, Any] = {TIME: pd.to_datetime(changes["at"], unit="us")}
        columns |= {name: changes[name] for name in _RESULT}
        columns |= {f"v{i}": changes[f"v{i}"] for i in range(len(self._results))}
        return pd.DataFrame(columns)
