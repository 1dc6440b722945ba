"""Rows that come in a data frame, where Spark's own Python workers run: pandas takes NaN for NULL, and here it is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    import pandas as pd


def record_batch(frame: pd.DataFrame, schema: pa.Schema) -> pa.RecordBatch:
    """The columns of a schema; doubles in them are never NULL, so what pandas calls so is NaN."""
    batch = pa.RecordBatch.from_pandas(frame[schema.names], schema, preserve_index=False)
    columns = [pc.fill_null(c, float("nan")) if pa.types.is_floating(c.type) else c for c in batch.columns]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
