"""The pairs of a window join as Spark takes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamq.runtime.spark.join_rows import RowFormat
from streamq.runtime.spark.pieces import pieces
from streamq.runtime.spark.stateful import TIME
from streamq.stdlib.joins.selection import Ints


def pair_batches(form: RowFormat, tables: Sequence[pa.Table], places: Sequence[Ints]) -> Iterator[pa.RecordBatch]:
    """Pairs of rows of the left and of the right table, at ``places``, ``[pairs]`` of each, in pieces."""
    lengths = np.zeros(len(places[0]), dtype=np.int64)
    for table, which in zip(tables, places, strict=True):
        lengths += _text_lengths(table)[which]
    for first, last in pieces(lengths):
        left, right = (t.take(pa.array(which[first:last])) for t, which in zip(tables, places, strict=True))
        at = pc.max_element_wise(left["at"], right["at"]).combine_chunks()
        columns = {
            TIME: at.view(pa.timestamp("us", "UTC")), "left_at": left["at"].combine_chunks(),
            "right_at": right["at"].combine_chunks(), "nulls": pc.bit_wise_or(left["nulls"], right["nulls"]).combine_chunks(),
            "told": pa.nulls(len(at), pa.string()),
        }
        for side, table in enumerate((left, right)):
            columns |= {f"v{i}": table[f"v{i}"].combine_chunks() for i in form.values_of(side)}
        yield pa.RecordBatch.from_pydict(columns)


def telling(form: RowFormat, told: str, at: int) -> pa.RecordBatch:
    """A row that is no pair: what the operator tells, at an instant in microseconds."""
    kinds = form.incoming()
    columns: dict[str, pa.Array] = {TIME: pa.array([at]).view(pa.timestamp("us", "UTC"))}
    columns |= {name: pa.array([0]) for name in ("left_at", "right_at", "nulls")}
    columns["told"] = pa.array([told])
    columns |= {f"v{i}": pa.nulls(1, kinds.field(f"v{i}").type) for i in range(len(form.kinds))}
    return pa.RecordBatch.from_pydict(columns)


def _text_lengths(table: pa.Table) -> Ints:
    """Characters of all texts of each row."""
    found = np.zeros(len(table), dtype=np.int64)
    for field in table.schema:
        if field.name.startswith("v") and pa.types.is_string(field.type):
            found += pc.fill_null(pc.binary_length(table[field.name]), 0).to_numpy().astype(np.int64)
    return found
