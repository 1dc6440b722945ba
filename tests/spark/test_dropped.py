"""RECOVER DROPPED INTO: rows that go are in files, each once, and a backfill gives the answers that are missing."""

from __future__ import annotations

import shutil
from collections import Counter
from datetime import UTC
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from streamq.compiler.backfill import backfill_plan
from streamq.compiler.driver import CompileResult, compile_program
from streamq.compiler.options import CompileOptions
from streamq.runtime.dropped import Note, noted
from streamq.runtime.run import RunOptions, SilentListener
from streamq.runtime.spark.backfill import run_backfill
from streamq.runtime.spark.runner import run_plan
from tests.benchmarks.bids import DDL, write_bids
from tests.spark.test_overload import Heard

ROWS = 46_000
STREAM = f"CREATE STREAM bid ({DDL}, WATERMARK FOR dateTime AS dateTime - INTERVAL 4 SECONDS) WITH ({{source}});"
QUERY = """
CREATE SINK gone WITH (connector = 'file', format = '{kept_as}', path = 'gone');
CREATE SINK answers WITH (connector = 'memory');
CREATE QUERY q INTO answers AS {select} {policy} RECOVER DROPPED INTO gone;
"""
ROW = "SELECT auction, bidder, price, url, dateTime FROM bid"
SOURCES = {
    "nexmark": "connector = 'nexmark', table = 'bid', events = 50000, max_events_per_trigger = 20000",
    "parquet": "connector = 'file', format = 'parquet', path = 'bids', max_files_per_trigger = 1",
    "csv": "connector = 'file', format = 'csv', path = 'bids', max_files_per_trigger = 1",
}


def write_source(spark: SparkSession, folder: Path, source: str) -> None:
    if source == "nexmark":
        return
    write_bids(folder / ("bids" if source == "parquet" else "parquet"), ROWS, 3)
    if source == "csv":
        frame = spark.read.schema(DDL).parquet(str(folder / "parquet"))
        writer = frame.repartition(3).write.option("timestampFormat", "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX")
        writer.option("header", True).csv(str(folder / "bids"))


def compiled(folder: Path, source: str, select: str, policy: str, kept_as: str = "parquet") -> CompileResult:
    text = STREAM.format(source=SOURCES[source]) + QUERY.format(select=select, policy=policy, kept_as=kept_as)
    return compile_program(text, CompileOptions(base_dir=str(folder)))


def answers(spark: SparkSession, result: CompileResult, checkpoint: Path) -> list[tuple[object, ...]]:
    report = run_plan(result.require(), RunOptions(once=True, checkpoint=checkpoint), session=spark)
    assert not report.failed, report.diagnostics
    (totals,) = report.totals
    assert totals.shed > 0
    return [tuple(row.values()) for row in report.rows("q")]


def every_row(spark: SparkSession, folder: Path) -> list[tuple[object, ...]]:
    """The bids that each of the sources has, as ``ROW`` gives them."""
    written = folder / "every"
    write_bids(written, ROWS, 1)
    spark.read.schema(DDL).parquet(str(written)).createOrReplaceTempView("every_bid")
    rows = spark.sql("SELECT auction, bidder, price, url, dateTime FROM every_bid").collect()
    return [(*row[:-1], row[-1].replace(tzinfo=UTC)) for row in rows]


def backfilled(spark: SparkSession, result: CompileResult, folder: Path) -> list[tuple[object, ...]]:
    plan, found = backfill_plan(result, "q", "answers", str(folder / "gone" / "bid"), str(folder))
    assert plan is not None, found
    report = run_backfill(plan, RunOptions(once=True), SilentListener(), session=spark)
    assert not report.failed, report.diagnostics
    return [tuple(row.values()) for row in report.rows("q.backfill")]


@pytest.mark.parametrize(
    ("source", "kept_as", "policy"),
    [
        ("nexmark", "parquet", "SHED RANDOM BY 30 PERCENT"),
        ("parquet", "json", "QOS LATENCY 1 SECOND"),
        ("csv", "csv", "QOS LATENCY 1 SECOND"),
    ],
)
def test_kept_and_dropped_rows_are_all_rows(
    spark: SparkSession, tmp_path: Path, source: str, kept_as: str, policy: str
) -> None:
    """By a goal the first micro-batch is a probe of 10,000 rows, so that some of it goes."""
    write_source(spark, tmp_path, source)
    result = compiled(tmp_path, source, ROW, policy, kept_as)
    found = answers(spark, result, tmp_path / "checkpoint")
    missing = backfilled(spark, result, tmp_path)
    assert len(found) + len(missing) == ROWS
    assert 0.2 * ROWS < len(missing) < 0.95 * ROWS
    assert Counter(found + missing) == Counter(every_row(spark, tmp_path))


def test_a_backfill_gives_the_part_of_an_aggregate_that_is_missing(spark: SparkSession, tmp_path: Path) -> None:
    write_source(spark, tmp_path, "parquet")
    select = "SELECT channel, COUNT(*) AS bids, SUM(price) AS total, WINDOW_END AS until FROM bid [TUMBLE 1 SECOND] GROUP BY channel"
    result = compiled(tmp_path, "parquet", select, "SHED RANDOM BY 30 PERCENT")
    answers(spark, result, tmp_path / "checkpoint")
    gone = spark.read.parquet(str(tmp_path / "gone" / "bid" / "*"))
    whole = spark.read.parquet(str(tmp_path / "bids"))
    assert gone.columns == whole.columns
    assert gone.exceptAll(whole).count() == 0
    by_window = gone.groupBy("channel", F.window("dateTime", "1 second").end.alias("until"))
    wanted = by_window.agg(F.count("*").alias("bids"), F.sum("price").alias("total"))
    rows = wanted.select("channel", "bids", "total", F.date_format("until", "HH:mm:ss")).collect()
    found = [(*row[:-1], row[-1].strftime("%H:%M:%S")) for row in backfilled(spark, result, tmp_path)]
    assert Counter(found) == Counter(tuple(row) for row in rows)


def test_a_run_that_goes_on_writes_what_is_missing(spark: SparkSession, tmp_path: Path) -> None:
    """The note is taken back by two micro-batches: they are written again, over what is there."""
    write_source(spark, tmp_path, "parquet")
    result = compiled(tmp_path, "parquet", ROW, "SHED RANDOM BY 30 PERCENT")
    found = answers(spark, result, tmp_path / "checkpoint")
    place = tmp_path / "checkpoint" / "q"
    assert noted(place) == Note(2, {}, 0.7)
    Note(1, {0: 0.7}, 0.7).write(place)
    for batch in (0, 2):
        shutil.rmtree(tmp_path / "gone" / "bid" / f"batch-{batch}")
    report = run_plan(result.require(), RunOptions(once=True, checkpoint=tmp_path / "checkpoint"), session=spark)
    assert not report.failed
    assert noted(place) == Note(2, {}, 0.7)
    assert spark.read.parquet(str(tmp_path / "gone" / "bid" / "*")).count() + len(found) == ROWS


def test_a_file_that_is_gone_is_told_and_the_others_are_written(spark: SparkSession, tmp_path: Path) -> None:
    write_source(spark, tmp_path, "parquet")
    result = compiled(tmp_path, "parquet", ROW, "SHED RANDOM BY 30 PERCENT")
    answers(spark, result, tmp_path / "checkpoint")
    shutil.rmtree(tmp_path / "gone")
    sorted((tmp_path / "bids").iterdir())[1].unlink()
    Note(-1, {}, 0.7).write(tmp_path / "checkpoint" / "q")
    heard = Heard()
    run_plan(result.require(), RunOptions(once=True, checkpoint=tmp_path / "checkpoint"), heard, session=spark)
    assert len(heard.notices) == 1
    assert "could not be written" in heard.notices[0]
    assert noted(tmp_path / "checkpoint" / "q") == Note(2, {1: 0.7}, 0.7)
    assert {p.name for p in (tmp_path / "gone" / "bid").iterdir()} == {"batch-0", "batch-2"}


def test_a_new_run_does_not_write_over_what_another_kept(spark: SparkSession, tmp_path: Path) -> None:
    write_source(spark, tmp_path, "parquet")
    result = compiled(tmp_path, "parquet", ROW, "SHED RANDOM BY 30 PERCENT")
    answers(spark, result, tmp_path / "checkpoint")
    report = run_plan(result.require(), RunOptions(once=True), session=spark)
    assert [d.code for d in report.diagnostics] == ["SQ0806"]
