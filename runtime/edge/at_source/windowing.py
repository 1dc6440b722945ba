"""Rows of a stream as whole cycles: what is more than that is carried over to what comes next."""

from __future__ import annotations

import pyarrow as pa


def whole_cycles(
    carried: pa.RecordBatch | None, rows: pa.RecordBatch, length: int
) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """As many whole cycles of ``length`` rows as there are in what was carried and what came, and the rest."""
    both = rows if carried is None or not carried.num_rows else joined([carried, rows])
    whole = both.num_rows // length * length
    return both.slice(0, whole), both.slice(whole)


def joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    """The rows of all batches, at least one, of one schema."""
    return pa.concat_batches(batches)
