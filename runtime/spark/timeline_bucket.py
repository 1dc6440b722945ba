"""One bucket of an operator over changes: its rows from Arrow to numpy and back, and its state (ADR 0008)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

from streamq.dsl.records import dataclass
from streamq.runtime.spark.pandas_rows import record_batch
from streamq.runtime.spark.pieces import pieces
from streamq.runtime.spark.state_codec import decode_state, encode_state
from streamq.runtime.spark.stateful import RESULT, TIME
from streamq.stdlib.sketches.seen import Seen
from streamq.stdlib.timelines.counts import Counts
from streamq.stdlib.timelines.folds import Fold
from streamq.stdlib.timelines.groups import Groups
from streamq.stdlib.timelines.moments import AtInstant
from streamq.stdlib.timelines.pairs import Pairs
from streamq.stdlib.timelines.rows import LastRows
from streamq.stdlib.timelines.table import CHANGE, Column, Index, State, Table, concat, length, take
from streamq.stdlib.timelines.timers import next_instant

if TYPE_CHECKING:
    import pandas as pd

MICROS = 1000
"""Microseconds per millisecond."""

ARROW: Mapping[str, pa.DataType] = {
    "long": pa.int64(), "double": pa.float64(), "text": pa.string(),
}


class Operator(Protocol):
    """What the operators of ``stdlib/timelines`` are."""

    def advance(self, state: State, rows: Table, upto: int) -> tuple[State, Table]:
        """The new state, and the changes of the result up to an instant in microseconds."""
        ...


def make_operator(name: str, params: Mapping[str, Any]) -> Operator:
    """The operator that a physical step names."""
    match name:
        case "at_instant":
            return AtInstant()
        case "counts":
            return Counts(**params)
        case "groups":
            folds = tuple(Fold(*fold) for fold in params["folds"])
            return Groups(**{**params, "folds": folds})
        case "pairs":
            return Pairs(**params)
        case "seen":
            return Seen(**params)
        case "rows":
            return LastRows(**params)
        case _:
            raise ValueError(f"unknown operator {name}")


@dataclass(frozen=True, slots=True)
class Bucket:
    """An operator, and the kinds of the values that it takes and gives: ``long``, ``double`` or ``text``.

    ``only``: the sign of the changes that are wanted, 1 or -1; 0 for both.
    """

    operator: Operator
    kinds: tuple[str, ...]
    results: tuple[str, ...]
    only: int = 0

    @staticmethod
    def of(
        name: str, params: Mapping[str, Any], kinds: tuple[str, ...], results: tuple[str, ...]
    ) -> Bucket:
        own = dict(params)
        only = own.pop("only", 0)
        return Bucket(make_operator(name, own), kinds, results, only)

    def advance(
        self, kept: bytes | None, batches: Iterator[pa.RecordBatch], watermark: int
    ) -> tuple[bytes, int | None, Iterator[pa.RecordBatch]]:
        """The state after new rows, when there will be something to do without any, and the changes.

        The watermark and the instant that is given are in milliseconds.
        """
        state = State() if kept is None else decode_state(kept)
        rows = concat(self._table(batch) for batch in batches)
        state, changes = self.operator.advance(state, rows, watermark * MICROS)
        coming = next_instant(state)
        due = None if coming is None else max(-(-coming // MICROS), watermark + 1)
        return encode_state(state), due, self._batches(changes)

    def from_pandas(self, frame: pd.DataFrame) -> pa.RecordBatch:
        """The rows that come in a data frame."""
        kinds = [(f"v{i}", ARROW[kind]) for i, kind in enumerate(self.kinds)]
        schema = pa.schema([*((name, pa.int64()) for name in CHANGE), *kinds])
        return record_batch(frame, schema)

    def _table(self, batch: pa.RecordBatch) -> Table:
        names = (*CHANGE, *(f"v{i}" for i in range(len(self.kinds))))
        return {name: batch.column(name).to_numpy(zero_copy_only=False) for name in names}

    def _batches(self, changes: Table) -> Iterator[pa.RecordBatch]:
        if self.only and length(changes):
            changes = take(changes, changes["sign"] == self.only)
        if not length(changes):
            return
        texts = [changes[f"v{i}"] for i, kind in enumerate(self.results) if kind == "text"]
        for start, stop in pieces(sum((_lengths(column) for column in texts), np.zeros(length(changes), dtype=np.int64))):
            yield self._batch({name: column[start:stop] for name, column in changes.items()})

    def _batch(self, changes: Table) -> pa.RecordBatch:
        columns = {TIME: pa.array(changes["at"]).view(pa.timestamp("us", "UTC"))}
        columns |= {name: pa.array(changes[name]) for name in RESULT}
        columns |= {
            f"v{i}": pa.array(changes[f"v{i}"], ARROW[kind]) for i, kind in enumerate(self.results)
        }
        return pa.RecordBatch.from_pydict(columns)


def _lengths(texts: Column) -> Index:
    """Characters of each text; none where there is None."""
    found = np.zeros(len(texts), dtype=np.int64)
    there = np.flatnonzero(texts.astype(bool))
    found[there] = np.fromiter(map(len, texts[there]), dtype=np.int64, count=len(there))
    return found
