"""NEXMark bids in Parquet files: the input of the benchmarks, the same in every run."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from streamq.runtime.spark.nexmark_arrow import record_batch
from streamq.stdlib.nexmark import BID, GROUP, TABLES, NexmarkConfig

ARROW = {
    "BIGINT": pa.int64(), "STRING": pa.string(), "TIMESTAMP": pa.timestamp("us", tz="UTC"),
}
COLUMNS = TABLES["bid"]
DDL = ", ".join(f"{name} {sql_type}" for name, sql_type in COLUMNS)

_FIRST_STAMP = 1_700_000_000


def write_bids(folder: Path, rows: int, files: int) -> int:
    """Writes at least ``rows`` bids, evenly over ``files`` files in order of time; returns how many.

    10,000 events per second of event time, of which 46 in 50 are bids.
    """
    folder.mkdir(parents=True)
    config = NexmarkConfig(rate=10_000.0)
    schema = pa.schema([(name, ARROW[sql_type]) for name, sql_type in COLUMNS])
    events = -(-rows // BID.share) * GROUP
    written = 0
    for i in range(files):
        start, stop = events * i // files, events * (i + 1) // files
        batch = record_batch(config, "bid", schema, start, stop)
        file = folder / f"bids-{i:03}.parquet"
        pq.write_table(pa.Table.from_batches([batch]), file, row_group_size=128 * 1024)
        os.utime(file, (_FIRST_STAMP + i, _FIRST_STAMP + i))
        written += batch.num_rows
    return written
