"""Relations that move: what is kept between micro-batches outlives a restart, late rows are counted."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from streamq.compiler.driver import compile_program
from streamq.compiler.ir.physical import PhysicalQuery
from streamq.compiler.options import CompileOptions
from streamq.runtime.reference.engine import EvaluateOptions, evaluate
from streamq.runtime.spark.emit import EmitContext, build_frame, state_store
from tests.support.streams import TIMEOUT_S, at, run_once, seconds, write_batches

PROGRAM = """
CREATE STREAM s (k STRING, v BIGINT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 2 SECONDS)
  WITH (connector = 'file', path = 's', format = 'json', max_files_per_trigger = 1);
CREATE STREAM r (k STRING, w BIGINT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 2 SECONDS)
  WITH (connector = 'file', path = 'r', format = 'json', max_files_per_trigger = 1);
CREATE QUERY means AS SELECT k, AVG(v) AS mean, COUNT(*) AS n FROM s [PARTITION BY k ROWS 3] GROUP BY k;
CREATE QUERY joined AS
  SELECT a.k, a.v, b.w FROM s [RANGE 5 SECONDS] a LEFT JOIN r [ROWS 2] b ON a.k = b.k AND a.v <= b.w;
"""
S = [
    [("a", 1, 1), ("b", 2, 2), (None, 7, 3), ("a", 2, 3)],
    [("a", 3, 6), ("b", 1, 7), ("a", None, 7)],
    [("b", 5, 11), ("a", 9, 9), ("a", 4, 12)],
    [("a", 1, 15), ("a", 9, 2), ("b", 6, 16)],
    [("z", 0, 100)],
]
R = [
    [("a", 2, 1), ("b", 2, 4)],
    [("a", 5, 8), ("a", 1, 8)],
    [("b", 9, 12)],
    [("a", 9, 14)],
    [("z", 0, 100)],
]
Changes = Counter[tuple[Any, ...]]


def moment(second: int) -> datetime:
    return datetime(2024, 1, 1) + timedelta(seconds=second)


def by_definition(query: str) -> Changes:
    """What comes (and goes, negative) of each row at each instant."""
    result = compile_program(PROGRAM)
    assert result.logical is not None
    inputs = {
        name: [[(*row[:-1], moment(row[-1])) for row in batch] for batch in batches]
        for name, batches in (("s", S), ("r", R))
    }
    options = EvaluateOptions(watermark=True, closed=False, behind=1)
    answer = evaluate(result.logical, inputs, options)[query]
    start = int(moment(0).timestamp() - datetime(1970, 1, 1).timestamp()) * 1_000_000
    return Counter({
        (*change.row, (change.at - start) // 1_000_000): change.count for change in answer.changes
    })


def write(base: Path, number: int) -> None:
    """The files of the first batches."""
    for name, batches, column in (("s", S, "v"), ("r", R, "w")):
        rows = [
            [{"k": k, column: v, "ts": at(t)} for k, v, t in batch] for batch in batches[:number]
        ]
        write_batches(base / name, rows)


def changes(rows: list[tuple[Any, ...]]) -> Changes:
    found: Changes = Counter()
    for *row, change, when in rows:
        found[*row, seconds(when)] += 1 if change == "+" else -1
    return Counter({key: n for key, n in found.items() if n})


def settled(found: Changes) -> Changes:
    """Without the last row of each stream, which only closes what is before it."""
    return Counter({key: n for key, n in found.items() if key[-1] < 90})


def test_state_outlives_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    for batches in (2, 5):
        write(tmp_path, batches)
        for query in compile_program(PROGRAM, CompileOptions(base_dir=str(tmp_path))).require().queries:
            run_into_files(spark, query, tmp_path)
    for name in ("means", "joined"):
        rows = spark.read.parquet(str(tmp_path / "out" / name)).collect()
        found = settled(changes([tuple(row) for row in rows]))
        assert found == settled(by_definition(name)), name
        assert found


def run_into_files(spark: SparkSession, query: PhysicalQuery, base: Path) -> None:
    frame = build_frame(query, EmitContext(spark, str(base)))
    writer = frame.writeStream.format("parquet").trigger(availableNow=True)
    writer = writer.option("checkpointLocation", str(base / "checkpoint" / query.name))
    spark.conf.set("spark.sql.shuffle.partitions", 2)
    try:
        with state_store(query, spark):
            handle = writer.start(str(base / "out" / query.name))
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", 1)
    assert handle.awaitTermination(TIMEOUT_S)


def test_late_rows_are_counted(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, 5)
    outcome = run_once(spark, PROGRAM.split("CREATE QUERY joined")[0], tmp_path)["means"]
    # ("a", 9, 2) comes when the watermark has long passed it.
    assert outcome.late == 1
    assert settled(changes(outcome.rows)) == settled(by_definition("means"))
