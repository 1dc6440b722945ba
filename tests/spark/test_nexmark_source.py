"""The NEXMark source in Spark: as a table, as a stream, with limits, across restarts."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from pyspark.sql.types import StructType

from streamq.runtime.spark.nexmark_arrow import WrongColumn
from streamq.runtime.spark.nexmark_source import (
    LEAST_EVENTS_PER_PARTITION,
    NexmarkReader,
    NexmarkSource,
    NexmarkStreamReader,
    read_options,
    split,
    table_ddl,
)
from streamq.stdlib.nexmark import BASE_TIME_MICROS
from tests.support.waiting import wait_for_progress

NEXMARK = NexmarkSource.name()
DAY_MICROS = 86_400_000_000


@pytest.fixture(autouse=True)
def _registered(request: pytest.FixtureRequest) -> None:
    if "spark" in request.fixturenames:
        request.getfixturevalue("spark").dataSource.register(NexmarkSource)


def table(
    spark: SparkSession, name: str, events: int, schema: str = "", **options: str
) -> pa.Table:
    reader = spark.read.format(NEXMARK).options(table=name, events=str(events), **options)
    return (reader.schema(schema) if schema else reader).load().toArrow()


def stream(spark: SparkSession, name: str, schema: str = "", **options: str) -> DataFrame:
    reader = spark.readStream.format(NEXMARK).options(table=name, **options)
    return (reader.schema(schema) if schema else reader).load()


def run_to_end(frame: DataFrame, folder: Path) -> int:
    """Appends what is available to Parquet files; the number of micro-batches with rows."""
    writer = frame.writeStream.format("parquet").trigger(availableNow=True)
    query = writer.option("checkpointLocation", f"{folder}/checkpoint").start(f"{folder}/out")
    query.awaitTermination()
    return sum(progress["numInputRows"] > 0 for progress in query.recentProgress)


# --- as a table ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "rows"), [("person", 100), ("auction", 300), ("bid", 4_600)])
def test_a_table_has_the_rows_and_columns_of_its_kind(
    spark: SparkSession, name: str, rows: int
) -> None:
    made = table(spark, name, 5_000)
    assert made.num_rows == rows
    declared = ", ".join(
        f"{f.name} {f.dataType.simpleString().upper()}" for f in _schema(spark, name)
    )
    assert declared == table_ddl(name)
    assert all(column.null_count == 0 for column in made.columns)


def _schema(spark: SparkSession, name: str) -> StructType:
    return spark.read.format(NEXMARK).options(table=name, events="1").load().schema


def test_the_table_of_all_events_agrees_with_the_three(spark: SparkSession) -> None:
    events = table(spark, "event", 5_000)
    assert events.column("event_type").to_pylist()[:5] == [0, 1, 1, 1, 2]
    for code, name in enumerate(("person", "auction", "bid")):
        of_kind = events.filter(pc.equal(events["event_type"], code))
        assert of_kind.column(name).combine_chunks().flatten() == [
            column.combine_chunks() for column in table(spark, name, 5_000).columns
        ]
        assert of_kind["dateTime"] == table(spark, name, 5_000)["dateTime"]
        others = events.filter(pc.not_equal(events["event_type"], code))
        assert others.column(name).null_count == others.num_rows


def test_number_of_tasks_changes_nothing(spark: SparkSession) -> None:
    one = table(spark, "bid", 60_000, num_partitions="1").sort_by("dateTime")
    many = table(spark, "bid", 60_000, num_partitions="5").sort_by("dateTime")
    assert one == many


def test_a_declared_schema_picks_renames_and_widens(spark: SparkSession) -> None:
    native = table(spark, "bid", 5_000)
    schema = "ts TIMESTAMP, PRICE DOUBLE, bidder DECIMAL(25,2)"
    wide = table(spark, "bid", 5_000, schema)
    assert wide.column_names == ["ts", "PRICE", "bidder"]
    assert wide["ts"] == native["dateTime"]
    assert wide["PRICE"].to_pylist() == [float(v) for v in native["price"].to_pylist()]
    assert [int(v) for v in wide["bidder"].to_pylist()] == native["bidder"].to_pylist()


def test_a_number_with_more_digits_than_declared_is_null_as_in_a_cast(spark: SparkSession) -> None:
    native = table(spark, "bid", 5_000)["price"].to_pylist()
    short = table(spark, "bid", 5_000, "price DECIMAL(8,2)")["price"].to_pylist()
    assert short == [None if price >= 10**6 else price for price in native]
    assert 0 < short.count(None) < len(short)
    types = table(spark, "event", 500, "event_type DOUBLE")["event_type"].to_pylist()
    assert types[:5] == [0.0, 1.0, 1.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("name", "schema", "text"),
    [
        ("bid", "seller BIGINT", "table bid has no column seller"),
        ("bid", "price STRING", "price is BIGINT and cannot be string"),
        ("bid", "price INT", "price is BIGINT and cannot be int32"),
        ("event", "bid STRUCT<seller: BIGINT>", "table bid has no column seller"),
        ("event", "price BIGINT", "table event has no column price"),
    ],
)
def test_columns_that_do_not_exist_are_refused_by_name(
    spark: SparkSession, name: str, schema: str, text: str
) -> None:
    with pytest.raises(PySparkException, match=text):
        table(spark, name, 100, schema)


# --- as a stream ---------------------------------------------------------------------------------


def test_a_bounded_stream_is_the_table_in_limited_batches(
    spark: SparkSession, tmp_path: Path
) -> None:
    options = {"events": "50000", "max_events_per_trigger": "12000", "out_of_order_group": "7"}
    frame = stream(spark, "bid", **options)
    assert run_to_end(frame, tmp_path) == 5
    order = [("dateTime", "ascending"), ("auction", "ascending")]
    streamed = spark.read.parquet(f"{tmp_path}/out").toArrow().sort_by(order)
    assert streamed == table(spark, "bid", 50_000, out_of_order_group="7").sort_by(order)


def test_a_restart_goes_on_where_the_checkpoint_ends(spark: SparkSession, tmp_path: Path) -> None:
    run_to_end(stream(spark, "bid", events="20000"), tmp_path)
    run_to_end(stream(spark, "bid", events="50000"), tmp_path)
    assert run_to_end(stream(spark, "bid", events="50000"), tmp_path) == 0
    streamed = spark.read.parquet(f"{tmp_path}/out").toArrow().sort_by("dateTime")
    assert streamed == table(spark, "bid", 50_000).sort_by("dateTime")


def test_a_running_stream_offers_what_is_due_by_the_clock(
    spark: SparkSession, tmp_path: Path
) -> None:
    frame = stream(spark, "bid", "auction BIGINT", rate="20000")
    writer = frame.writeStream.format("noop").option("checkpointLocation", str(tmp_path))
    query = writer.start()
    progress = wait_for_progress(query, lambda p: p["batchId"] >= 2 and p["numInputRows"] > 0)
    query.stop()
    start, end, latest = (
        offset(progress, which) for which in ("startOffset", "endOffset", "latestOffset")
    )
    assert start["since"] == end["since"]
    # The batch's bids are those among its events: 46 in 50, and at most one group more or less.
    assert abs(progress["numInputRows"] - (end["n"] - start["n"]) * 46 / 50) <= 46
    # What was due at its start, and no more than was due at its end.
    began = _micros(progress["timestamp"])
    ended = began + progress["durationMs"]["triggerExecution"] * 1_000
    assert (began - end["since"]) * 0.02 - 20 <= end["n"] <= (ended - end["since"]) * 0.02 + 20
    # Progress also reports what is due by now: the backlog.
    assert latest["n"] >= end["n"]


def offset(progress: dict[str, Any], which: str) -> dict[str, int]:
    """An offset of the only source; Spark reports it as JSON text."""
    (source,) = progress["sources"]
    found: dict[str, int] = json.loads(source[which] or '{"n": 0}')
    return found


def _micros(moment: str) -> int:
    return round(datetime.fromisoformat(moment.replace("Z", "+00:00")).timestamp() * 1e6)


def test_a_bounded_stream_ends_while_the_query_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    frame = stream(spark, "bid", "auction BIGINT", rate="100000", events="5000")
    writer = frame.writeStream.format("noop").option("checkpointLocation", str(tmp_path))
    query = writer.start()
    last = wait_for_progress(query, lambda p: offset(p, "endOffset")["n"] == 5_000)
    assert offset(last, "latestOffset")["n"] == 5_000
    query.processAllAvailable()
    assert sum(p["numInputRows"] for p in query.recentProgress) == 4_600
    query.stop()


# --- the reader by itself --------------------------------------------------------------------------


def reader(**options: str) -> NexmarkStreamReader:
    schema = StructType().add("auction", "long")
    return NexmarkStreamReader(read_options({"table": "bid", **options}), schema)


def test_the_read_limit_bounds_a_batch_and_all_means_all() -> None:
    limited = reader(rate="1000000000", max_events_per_trigger="500")
    assert limited.getDefaultReadLimit() == ReadMaxRows(500)
    assert reader().getDefaultReadLimit() == ReadAllAvailable()
    start = {"n": 100, "since": BASE_TIME_MICROS}
    assert limited.latestOffset(start, ReadMaxRows(500)) == {**start, "n": 600}
    assert limited.latestOffset(start, ReadAllAvailable())["n"] > 10_000_000


def test_the_offset_never_goes_back() -> None:
    slow = reader(rate="1")
    ahead = {"n": 10**12, "since": BASE_TIME_MICROS}
    assert slow.latestOffset(ahead, ReadAllAvailable()) == ahead
    assert slow.partitions(ahead, ahead) == []


def test_available_now_stops_at_what_was_due_when_it_began() -> None:
    endless = reader(rate="1000000")
    start = {"n": 0, "since": BASE_TIME_MICROS + 10 * 365 * DAY_MICROS}
    endless.prepareForTriggerAvailableNow()
    first = endless.latestOffset(start, ReadAllAvailable())
    assert endless.latestOffset(start, ReadAllAvailable()) == first
    bounded = reader(rate="1", events="70")
    bounded.prepareForTriggerAvailableNow()
    assert bounded.latestOffset(bounded.initialOffset(), ReadAllAvailable())["n"] == 70


def test_small_batches_are_one_task() -> None:
    assert [p.value for p in split(10, 10, 4)] == []
    assert [p.value for p in split(10, 60, 4)] == [(10, 60)]
    ranges = [p.value for p in split(0, 3 * LEAST_EVENTS_PER_PARTITION, 2)]
    assert ranges == [(0, 15_000), (15_000, 30_000)]


def test_options_are_read_and_unknown_ones_refused() -> None:
    options = read_options(
        {
            "TABLE": "bid",
            "rate": "500",
            "peak_rate": "900",
            "shape": "sine",
            "period": "20000",
            "delay": "1500",
            "start": "2015-07-15 00:00:01.5",
            "seed": "9",
        }
    )
    config = options.config
    assert (config.rate, config.peak_rate, config.period, config.delay) == (500, 900, 20, 1.5)
    assert (config.start_micros, config.seed) == (BASE_TIME_MICROS + 1_500_000, 9)
    assert options.partitions >= 2
    with pytest.raises(ValueError, match="no option colour"):
        read_options({"table": "bid", "colour": "red"})
    with pytest.raises(ValueError, match="no table 'bids'"):
        read_options({"table": "bids"})


def test_an_endless_table_is_refused() -> None:
    with pytest.raises(ValueError, match="events"):
        NexmarkReader(read_options({"table": "bid"}), StructType().add("auction", "long"))
    with pytest.raises(WrongColumn, match="seller"):
        NexmarkStreamReader(read_options({"table": "bid"}), StructType().add("seller", "long"))
