"""Each lowered construct on Spark against the answers of ``tests/contract/cases.py``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.contract.cases import CASES, PRELUDE, R, S, T
from tests.support.streams import Outcome, at, run_once, write_batches


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("lowering")
    write_batches(
        base / "s", [[{"k": k, "v": v, "x": x, "ts": at(t)} for k, v, x, t in batch] for batch in S]
    )
    write_batches(base / "r", [[{"k": k, "w": w, "ts": at(t)} for k, w, t in b] for b in R])
    write_batches(base / "t", T)
    return base


def run(spark: SparkSession, query: str, base: Path) -> Outcome:
    return run_once(spark, f"{PRELUDE}{query};", base)["query"]


@pytest.mark.parametrize("name", CASES)
def test_construct(name: str, spark: SparkSession, data: Path) -> None:
    query, expected = CASES[name]
    assert run(spark, query, data).rows == sorted(expected, key=repr)


def test_malformed_rows_are_counted_and_left_out(spark: SparkSession, tmp_path: Path) -> None:
    good = {"k": "a", "v": 1, "x": 1.0, "ts": at(1)}
    write_batches(
        tmp_path / "s",
        [[good, "{broken", {**good, "v": "many"}, {**good, "ts": None}, '{"k": "a"}', good]],
    )
    found = run(spark, "SELECT k, v FROM s", tmp_path)
    assert found.rows == [("a", 1), ("a", 1)]
    # Spark has to say of all six that it read them, so that the rest of them is malformed.
    assert (found.observed["s.intake@query"], found.rows_in) == ({"well_formed": 2}, 6)
    twice = run(spark, "SELECT k, v FROM s UNION ALL SELECT k, v FROM s WHERE v > 1", tmp_path)
    assert twice.rows == [("a", 1), ("a", 1)]
    scans = {name: seen for name, seen in twice.observed.items() if "intake" in name}
    assert list(scans.values()) == [{"malformed": 4}, {"malformed": 4}]


def test_late_rows_do_not_reach_closed_windows(spark: SparkSession, tmp_path: Path) -> None:
    def row(second: int) -> dict[str, Any]:
        return {"k": "a", "v": 1, "x": 1.0, "ts": at(second)}

    # Spark measures lateness by the watermark of the batch before: the second row at 2 is late by
    # the watermark 25 of the first batch, the one at 3 comes a batch too early for that.
    batches = [[row(1), row(30)], [row(3), row(31)], [row(2), row(32)], [row(100)]]
    write_batches(tmp_path / "s", batches)
    found = run(spark, "SELECT COUNT(*) AS n, WINDOW_END FROM s [TUMBLE 10 SECONDS]", tmp_path)
    assert found.rows == sorted([(2, 10), (3, 40)], key=repr)
    assert found.late == 1


def test_shedding_by_key_keeps_or_drops_whole_keys(spark: SparkSession, tmp_path: Path) -> None:
    keys = [f"k{i % 200}" for i in range(4000)]
    write_batches(
        tmp_path / "s",
        [[{"k": k, "v": i, "x": 0.0, "ts": at(i / 100)} for i, k in enumerate(keys)]],
    )
    found = run(spark, "SELECT k, v FROM s SHED RANDOM BY KEY (k) BY 50 PERCENT", tmp_path)
    kept = {k for k, _ in found.rows}
    assert len(found.rows) == 20 * len(kept)
    # 200 independent keys kept with probability 1/2: 100 +- 4.9 standard deviations of 7.07.
    assert 65 <= len(kept) <= 135
    assert found.observed["query.shed@query"] == {"kept": len(found.rows)}


def test_shedding_keeps_the_share_and_the_same_rows(spark: SparkSession, tmp_path: Path) -> None:
    write_batches(
        tmp_path / "s", [[{"k": "a", "v": i, "x": i * 0.5, "ts": at(i / 100)} for i in range(5000)]]
    )
    query = "SELECT v FROM s SHED RANDOM BY 30 PERCENT"
    first, second = run(spark, query, tmp_path), run(spark, query, tmp_path)
    assert first.rows == second.rows
    # Binomial(5000, 0.7): 3500 +- 5 standard deviations of 32.4.
    assert 3338 <= len(first.rows) <= 3662
