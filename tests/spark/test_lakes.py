"""Sinks of Delta and Iceberg: what is said without their jars, and how Spark is asked, tried with a format that it has."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from streamq.runtime.spark import lakes
from tests.support.sink_runs import SinkRuns, rows


@pytest.fixture
def runs(spark: SparkSession, tmp_path: Path) -> SinkRuns:
    return SinkRuns(spark, tmp_path)


@pytest.mark.parametrize("connector", ["delta", "iceberg"])
def test_without_jars(runs: SinkRuns, connector: str) -> None:
    runs.add(*rows(1))
    code, text = runs.refused(f"CREATE SINK lake WITH (connector = '{connector}', path = 'out'); INSERT INTO lake SELECT n FROM numbers;")
    assert code == "SQ0811", text
    assert f"connector `{connector}` needs jars that are not in Spark's session" in text


def test_path_partitions_and_restart(runs: SinkRuns, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(lakes.FORMATS, "delta", "parquet")
    program = "CREATE SINK lake WITH (connector = 'delta', path = 'out', partition_by = 'k'); INSERT INTO lake SELECT k, n FROM numbers;"
    runs.add(*rows(1, 2), *rows(3, key="x y"))
    assert runs.done(program).totals[0].rows_out == 3
    runs.add(*rows(4))
    runs.done(program)
    assert sorted(map(tuple, runs.spark.read.parquet(str(runs.folder / "out")).select("k", "n").collect())) == [
        ("k", 1), ("k", 2), ("k", 4), ("x y", 3),
    ]


def test_table_by_name(runs: SinkRuns, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(lakes.FORMATS, "iceberg", "parquet")
    runs.spark.sql(f"CREATE TABLE lake_table (n BIGINT) USING parquet LOCATION '{runs.folder / 'table'}'")
    try:
        runs.add(*rows(1, 2))
        runs.done("CREATE SINK lake WITH (connector = 'iceberg', table = 'lake_table'); INSERT INTO lake SELECT n FROM numbers;")
        assert sorted(n for (n,) in runs.spark.table("lake_table").collect()) == [1, 2]
    finally:
        runs.spark.sql("DROP TABLE lake_table")
