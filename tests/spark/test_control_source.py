"""The control relation: what it reads, and that a running query follows it from batch to batch."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from streamq.runtime.spark.control_source import (
    HASH_STEPS,
    SCHEMA,
    ControlSource,
    control_row,
    read_defaults,
    read_knobs,
)
from streamq.runtime.spark.nexmark_source import NexmarkSource
from tests.support.waiting import wait_for_progress

DEFAULTS = {"keep": 0.75}


def publish(path: Path, text: str) -> None:
    """Replaces the file at once, as a controller does."""
    aside = path.with_suffix(".draft")
    aside.write_text(text, "utf-8")
    os.replace(aside, path)


@pytest.mark.parametrize(
    ("text", "keep"),
    [
        ('{"keep": 0.25}', 0.25),
        ('{"keep": 0}', 0.0),
        ('{"keep": 1, "other": 3}', 1.0),
        ("{}", 0.75),
        ("", 0.75),
        ('{"keep": 0.2', 0.75),
        ("[0.5]", 0.75),
        ('{"keep": 1.5}', 0.75),
        ('{"keep": -0.1}', 0.75),
        ('{"keep": NaN}', 0.75),
        ('{"keep": "0.5"}', 0.75),
        ('{"keep": true}', 0.75),
        ('{"keep": null}', 0.75),
        ("\ufffe\u0000", 0.75),
    ],
)
def test_a_file_that_says_nothing_usable_leaves_the_default(
    tmp_path: Path, text: str, keep: float
) -> None:
    path = tmp_path / "knobs.json"
    publish(path, text)
    assert read_knobs(path, DEFAULTS) == {"keep": keep}


def test_without_a_file_there_are_the_defaults(tmp_path: Path) -> None:
    assert read_knobs(None, DEFAULTS) == DEFAULTS
    assert read_knobs(tmp_path / "none.json", DEFAULTS) == DEFAULTS
    assert read_knobs(tmp_path, DEFAULTS) == DEFAULTS
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    assert read_knobs(tmp_path / "bytes.json", DEFAULTS) == DEFAULTS


def test_threshold_is_keep_in_steps_of_the_hash() -> None:
    unranked = {"cut": None, "at": 0, "sample": 0, "newest": None, "steps": None, "axes": None, "cells": None}
    assert control_row(1.0, 0.5, 7) == {
        "keep": 1.0, "threshold": HASH_STEPS, "coverage": 0.5, "late": 7, **unranked
    }
    assert control_row(0.0, 1.0) == {"keep": 0.0, "threshold": 0, "coverage": 1.0, "late": 0, **unranked}
    assert control_row(0.3, 1.0)["threshold"] == round(0.3 * 2**20)


def test_defaults_come_from_the_options() -> None:
    assert read_defaults({}) == {"keep": 1.0}
    assert read_defaults({"keep": "0.5"}) == {"keep": 0.5}
    assert read_defaults({"defaults": '{"keep": 0.25}'}) == {"keep": 0.25}
    for wrong in ({"keep": "2"}, {"defaults": '{"keep": "x"}'}, {"defaults": '{"kept": 1}'}):
        with pytest.raises(ValueError, match="ke"):
            read_defaults(wrong)


def jobs_of(spark: SparkSession, query: str) -> tuple[list[int], int]:
    """The one column of a query's rows, and how many jobs of Spark it took."""
    group = uuid4().hex
    spark.sparkContext.setJobGroup(group, group)
    rows = [row[0] for row in spark.sql(query).collect()]
    spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    tracker = spark.sparkContext.statusTracker()
    ran = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    return rows, sum(1 for info in ran if info is not None and len(info.stageIds))


@pytest.mark.parametrize(("keep", "may_be_empty", "jobs"), [(1.0, True, 0), (1.0, False, 1), (0.999, True, 1)])
def test_where_all_rows_are_kept_there_is_no_row_and_no_job(
    spark: SparkSession, tmp_path: Path, keep: float, may_be_empty: bool, jobs: int
) -> None:
    """Each time that a plan is made of it: what is asked for is what the file says then."""
    spark.dataSource.register(ControlSource)
    options = {"path": str(tmp_path / "knobs.json"), "may_be_empty": may_be_empty}
    spark.read.format(ControlSource.name()).options(**options).load().createOrReplaceTempView("planned")
    query = "SELECT coalesce((SELECT threshold FROM planned WHERE threshold >= 0), 1048576L)"
    _, without = jobs_of(spark, "SELECT 1L")
    for share, more in ((keep, jobs), (0.5, 1), (keep, jobs)):
        publish(tmp_path / "knobs.json", json.dumps({"keep": share}))
        assert jobs_of(spark, query) == ([round(share * HASH_STEPS)], without + more)
    assert spark.sql("SELECT threshold FROM planned WHERE threshold < 7").collect() == []


def test_a_relation_that_is_not_asked_when_it_is_planned_is_asked_when_it_is_read(spark: SparkSession) -> None:
    reader = ControlSource({"may_be_empty": "true"}).reader(spark.createDataFrame([], SCHEMA).schema)
    (partition,) = reader.partitions()
    (batch,) = reader.read(partition)
    assert batch.column("threshold").to_pylist() == [HASH_STEPS]


def test_a_running_query_follows_the_file_without_a_restart(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "knobs.json"
    spark.dataSource.register(NexmarkSource)
    spark.dataSource.register(ControlSource)
    control = spark.read.format(ControlSource.name()).option("path", str(path))
    control.options(keep=1.0, may_be_empty=True).load().createOrReplaceTempView("control_of_test")
    source = spark.readStream.format(NexmarkSource.name()).options(table="bid", rate="50000")
    source.schema("auction BIGINT, price BIGINT, url STRING").load().createOrReplaceTempView("bids")
    kept = spark.sql(
        "SELECT (xxhash64(auction, price, url, 42) & 1048575L)"
        " < coalesce((SELECT threshold FROM control_of_test WHERE threshold >= 0), 1048576L) AS keep FROM bids"
    ).observe("shed", F.count(F.lit(1)).alias("arrived"), F.count_if("keep").alias("kept"))
    writer = kept.where("keep").writeStream.format("noop")
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()

    def share(progress: dict[str, Any]) -> float | None:
        counts = progress["observedMetrics"].get("shed")
        return (
            None
            if counts is None or counts["arrived"] < 1_000
            else counts["kept"] / counts["arrived"]
        )

    def near(progress: dict[str, Any], expected: float) -> bool:
        """Within five standard deviations of a share of ``arrived`` distinct hashes."""
        found = share(progress)
        if found is None:
            return False
        arrived = progress["observedMetrics"]["shed"]["arrived"]
        bound = 5 * math.sqrt(max(expected * (1 - expected), 1e-9) / arrived)
        return abs(found - expected) <= bound

    first = wait_for_progress(query, lambda p: near(p, 1.0))
    previous = first["batchId"]
    for text, expected in (
        (json.dumps({"keep": 0.25}), 0.25),
        (json.dumps({"keep": 0.0}), 0.0),
        ("broken", 1.0),
    ):
        publish(path, text)
        # At the latest the batch after the one that may be running now reads the new file.
        written = query.lastProgress["batchId"] if query.lastProgress else previous
        after = wait_for_progress(
            query,
            lambda p, written=written: p["batchId"] >= written + 2 and share(p) is not None,  # type: ignore[misc]
        )
        assert near(after, expected), after["observedMetrics"]
        assert after["runId"] == first["runId"]
    query.stop()
