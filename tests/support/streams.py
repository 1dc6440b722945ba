"""Runs a small program over rows given in a test, on Spark, and gives the rows of every query."""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from streamq.compiler.driver import compile_program
from streamq.compiler.ir.physical import PhysicalQuery
from streamq.compiler.options import CompileOptions
from streamq.runtime.spark.emit import EmitContext, build_frame, state_store

Rows = list[tuple[Any, ...]]
TIMEOUT_S = 120


def at(second: float) -> str:
    """A timestamp that many seconds after the first instant of 2024, as JSON text."""
    moment = datetime.fromtimestamp(1_704_067_200 + second, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds(value: Any) -> Any:
    """Timestamps back as seconds after the first instant of 2024, arrays as tuples, all else as it is."""
    if isinstance(value, list):
        return tuple(map(seconds, value))
    if isinstance(value, datetime):
        number = (value - datetime(2024, 1, 1)).total_seconds()
        return int(number) if number == int(number) else number
    return value


@dataclass(frozen=True)
class Outcome:
    """Rows of a query as a sorted bag, and the counts that Spark observed on the way."""

    rows: Rows
    observed: dict[str, dict[str, int]]
    late: int
    rows_in: int


def write_batches(folder: Path, batches: Sequence[Sequence[Mapping[str, Any] | str]]) -> None:
    """One JSON-lines file per batch; a string stands for a line as it is.

    Spark takes files in the order of their modification times, so these are a second apart.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for i, batch in enumerate(batches):
        lines = [row if isinstance(row, str) else json.dumps(row) for row in batch]
        file = folder / f"{i:04}.json"
        file.write_text("".join(f"{line}\n" for line in lines))
        os.utime(file, (1_700_000_000 + i, 1_700_000_000 + i))


def run_once(
    spark: SparkSession, program: str, base: Path, *, checkpoint: Path | None = None,
    at_once: int = 1,
) -> dict[str, Outcome]:
    """Compiles, reads what is there, and gives each query's rows; fails on any error.

    ``at_once``: queries that run side by side; much of a short query's time is waiting.
    """
    result = compile_program(program, CompileOptions(base_dir=str(base), verify=True))
    folder = checkpoint or base / f"checkpoint-{uuid4().hex[:8]}"
    queries = result.require().queries
    outcomes = run_all(spark, [(query, base, folder) for query in queries], at_once)
    return {query.name: outcome for query, outcome in zip(queries, outcomes, strict=True)}


def run_all(
    spark: SparkSession, queries: Sequence[tuple[PhysicalQuery, Path, Path]], at_once: int
) -> list[Outcome]:
    """Queries with the folders of their input and their checkpoints; the outcomes in the same order."""
    running: deque[_Started] = deque()
    found: list[Outcome] = []
    for query, base, checkpoint in queries:
        if len(running) == at_once:
            found.append(_finish(spark, running.popleft()))
        running.append(_start(spark, query, base, checkpoint))
    return found + [_finish(spark, started) for started in running]


@dataclass(frozen=True)
class _Started:
    name: str
    table: str
    handle: StreamingQuery


def _start(spark: SparkSession, query: PhysicalQuery, base: Path, checkpoint: Path) -> _Started:
    table = f"t{uuid4().hex}"
    frame = build_frame(query, EmitContext(spark, str(base)))
    with state_store(query, spark):
        handle = (
            frame.writeStream.format("memory").queryName(table).outputMode(query.mode)
            .option("checkpointLocation", str(checkpoint / query.name))
            .trigger(availableNow=True).start()
        )
    return _Started(query.name, table, handle)


def _finish(spark: SparkSession, started: _Started) -> Outcome:
    assert started.handle.awaitTermination(TIMEOUT_S), f"{started.name} did not end"
    found = spark.sql(f"SELECT * FROM {started.table}").collect()
    spark.catalog.dropTempView(started.table)
    rows = sorted((tuple(seconds(v) for v in row) for row in found), key=repr)
    observed: dict[str, dict[str, int]] = {}
    late = rows_in = 0
    for progress in started.handle.recentProgress:
        rows_in += progress.numInputRows
        late += sum(s.numRowsDroppedByWatermark for s in progress.stateOperators)
        for name, values in (progress.observedMetrics or {}).items():
            total = observed.setdefault(name, {})
            for key, value in values.asDict().items():
                if isinstance(value, list):
                    continue  # samples and tellings, not counts
                total[key] = total.get(key, 0) + (value or 0)
    return Outcome(rows, observed, late, rows_in)
