"""Two streams of sets of tags in Parquet files, one of which lags behind the other: rows that are alike are some time apart."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from streamq.stdlib.joins.workload import Settings, arrivals, draw_sets

START_US = 1_700_000_000_000_000
WINDOW_S = 20
ITEMS, ZIPF = 100, 0.8

CYCLE_S, LAG_S = 2.0 * WINDOW_S, 1.25 * WINDOW_S
"""Of the paper: a cycle is twice the window, and the first stream lags by five eighths of it."""

COLUMNS = "(n BIGINT, k BIGINT, kw ARRAY<BIGINT>, ts TIMESTAMP, WATERMARK FOR ts)"


def streams(files_at_once: int | None) -> str:
    """The declarations of the streams ``a`` and ``b``, and of a sink; micro-batches of so many files of each, or of all."""
    batch = "" if files_at_once is None else f", max_files_per_trigger = {files_at_once}"
    return "".join(
        f"CREATE STREAM {name} {COLUMNS} WITH (connector = 'file', path = '{name}', format = 'parquet'{batch});\n"
        for name in "ab"
    ) + "CREATE SINK none WITH (connector = 'noop');\n"


def write(folder: Path, rate: float, seconds: int, per_file_s: int, keys: int = 1, seed: int = 0) -> None:
    """Files of ``per_file_s`` seconds each of both streams, in ``folder/a`` and ``folder/b``, with ``rate`` rows per second."""
    for number, name in enumerate("ab"):
        random = np.random.default_rng([seed, number])
        ts = arrivals(((float(seconds), rate),), 0.5 * number)
        sets = draw_sets(ts, Settings(ITEMS, zipf=ZIPF, cycle_s=CYCLE_S, shift_s=LAG_S * (1 - number)), random)
        table = pa.table({
            "n": np.arange(len(ts)), "k": random.integers(0, keys, len(ts)),
            "kw": pa.ListArray.from_arrays(pa.array(sets.offsets.astype(np.int32)), pa.array(sets.items)),
            "ts": pa.array(START_US + np.rint(ts * 1e6).astype(np.int64)).view(pa.timestamp("us", "UTC")),
        })
        (folder / name).mkdir(parents=True)
        cuts = np.searchsorted(ts, np.arange(0, seconds + per_file_s, per_file_s)).tolist()
        for file, (first, last) in enumerate(pairwise(cuts)):
            pq.write_table(table.slice(first, last - first), folder / name / f"{file:05}.parquet")
