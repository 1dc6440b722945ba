"""Joins of two windows on Spark: every kind of condition against the reference evaluator, and what SHED JOIN leaves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

from streamq.compiler.driver import compile_program
from streamq.compiler.options import CompileOptions
from tests.support.streams import Rows, at, run_all, write_batches
from tests.unit.runtime.join_harness import (
    COLUMNS,
    DELAY_S,
    Batches,
    answer,
    by_definition,
    closed,
    compiled,
)
from tests.unit.runtime.test_window_join import conditions, drawn, query_of, steady

AT_ONCE = 4
SOURCES = "".join(
    f"CREATE STREAM {name} {COLUMNS}, WATERMARK FOR ts AS ts - INTERVAL {DELAY_S} SECONDS) "
    f"WITH (connector = 'file', path = '{name}', format = 'json', max_files_per_trigger = 1);\n"
    for name in "ab"
)
OVERLAPPING = """
SELECT ISTREAM(a.n, b.n AS m) FROM a [RANGE 20 SECONDS] JOIN b [RANGE 20 SECONDS] ON OVERLAP(a.tags, b.tags) >= 1
"""


def written(folder: Path, batches: Batches) -> None:
    for side, name in enumerate("ab"):
        write_batches(folder / name, [[{**row, "ts": at(row["ts"])} for row in batch[side]] for batch in closed(batches)])


def on_spark(spark: SparkSession, folder: Path, queries: Sequence[str]) -> list[Rows]:
    """The rows of each query, those of the batch that closes all windows left out."""
    text = SOURCES + "".join(f"CREATE QUERY q{i} AS {query};\n" for i, query in enumerate(queries))
    plan = compile_program(text, CompileOptions(base_dir=str(folder), verify=True)).require()
    outcomes = run_all(spark, [(q, folder, folder / "checkpoint") for q in plan.queries], AT_ONCE)
    return [[row for row in outcome.rows if -1 not in row] for outcome in outcomes]


@pytest.mark.parametrize("part", range(2))
def test_every_condition_gives_the_pairs_of_the_reference(spark: SparkSession, tmp_path: Path, part: int) -> None:
    random = np.random.default_rng([23, part])
    batches = drawn(random, 14, 25)
    written(tmp_path, batches)
    queries = [query_of(c, "[RANGE 15 SECONDS]", "[RANGE 20 SECONDS]") for c in conditions(random)[part::2]]
    for query, rows in zip(queries, on_spark(spark, tmp_path, queries), strict=True):
        expected = by_definition(compiled(query), batches)
        assert expected, query
        assert sorted((m, n) for m, n, *_ in rows) == expected, query


def test_what_is_above_such_a_join(spark: SparkSession, tmp_path: Path) -> None:
    """Windows over its pairs, aggregates of what is in both windows, pairs that go, and columns that tell pairs not apart."""
    batches = drawn(np.random.default_rng(31), 10, 15)
    written(tmp_path, batches)
    join = "FROM a [RANGE 15 SECONDS] JOIN b [RANGE 10 SECONDS] ON OVERLAP(a.tags, b.tags) >= 2"
    queries = [
        f"SELECT COUNT(*) AS c, MIN(n) AS first FROM (ISTREAM(SELECT a.n {join})) [TUMBLE 10 SECONDS] GROUP BY WINDOW_END",
        f"ISTREAM(SELECT COUNT(*) AS c, MAX(b.n) AS m {join})",
        f"DSTREAM(SELECT a.n, b.n AS m {join})",
        f"ISTREAM(SELECT a.k AS k, b.k AS l {join} AND a.k > 0 AND b.k > 0)",
    ]
    for query, rows in zip(queries, on_spark(spark, tmp_path, queries), strict=True):
        expected = [c.row for c in answer(compiled(query), batches).changes for _ in range(c.count) if -1 not in c.row]
        assert expected, query
        assert sorted(rows, key=repr) == sorted(expected, key=repr), query


def test_shedding_half_of_the_comparisons_loses_pairs_and_invents_none(spark: SparkSession, tmp_path: Path) -> None:
    batches = steady((6, 6), lambda n: [n % 3], seconds=60)
    written(tmp_path, batches)
    worth = "QOS UTILITY GREATEST(CASE WHEN a.k = 1 THEN 100 ELSE 0 END, 0 * b.v)"
    every, none, some, valued = on_spark(
        spark, tmp_path,
        [OVERLAPPING, f"{OVERLAPPING} SHED JOIN BY 0 PERCENT", f"{OVERLAPPING} SHED JOIN BASIC WINDOW 2 SECONDS BY 50 PERCENT",
         f"{OVERLAPPING} {worth} SHED JOIN BY 50 PERCENT"],
    )
    assert sorted(none) == sorted(every)
    for part in (some, valued):
        assert len(part) == len(set(part))
        assert set(part) < set(every)
        # Rows come evenly, so whatever is compared of which window is about half of all; full probes are a twentieth more.
        assert 0.4 < len(part) / len(every) < 0.65


def test_a_join_that_sheds_can_look_for_pairs_by_key_first(spark: SparkSession, tmp_path: Path) -> None:
    batches = steady((6, 6), lambda n: [n % 3], seconds=60)
    written(tmp_path, batches)
    keyed = f"{OVERLAPPING.strip()} AND a.k = b.k"
    every, none, some = on_spark(spark, tmp_path, [keyed, f"{keyed} SHED JOIN BY 0 PERCENT", f"{keyed} SHED JOIN BY 50 PERCENT"])
    assert sorted(none) == sorted(every)
    assert set(some) < set(every)
    assert 0.4 < len(some) / len(every) < 0.65


