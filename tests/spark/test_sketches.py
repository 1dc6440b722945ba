"""Sketches on Spark: estimates between their bounds, pairs against all comparisons, APPROX DISTINCT against its own kernel."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession

from streamq.compiler.ir.physical import BUCKETS
from streamq.stdlib.sketches.kinds import SEED
from streamq.stdlib.sketches.lookalike import crawl, zipf
from streamq.stdlib.sketches.membership_plan import part_of, plan_stable
from streamq.stdlib.sketches.seen import Seen
from streamq.stdlib.timelines.table import FOREVER, State, Table
from tests.support.streams import Rows, at, run_once, write_batches

N, BATCHES = 12_000, 4
STREAM = """
CREATE STREAM s (k BIGINT, j BIGINT, name STRING, v INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS)
  WITH (connector = 'file', path = 's', format = 'json', max_files_per_trigger = 1);
"""


def drawn(skew: float, seed: int) -> list[dict[str, Any]]:
    """Rows with a skewed and a less skewed key, over a minute."""
    keys = zipf(N, 2000, skew, seed).tolist()
    others = zipf(N, 2000, skew / 2, seed + 1).tolist()
    return [
        {"k": k, "j": j, "name": f"n{k % 50}", "v": i, "ts": at(60 * i / N)}
        for i, (k, j) in enumerate(zip(keys, others, strict=True))
    ]


def written(folder: Path, rows: list[dict[str, Any]]) -> None:
    """The rows in four micro-batches, and one row far ahead that closes their window."""
    size = len(rows) // BATCHES
    parts = [rows[i : i + size] for i in range(0, len(rows), size)]
    write_batches(folder / "s", [*parts, [{"k": None, "j": None, "name": None, "v": -1, "ts": at(1000)}]])


def f2(values: list[Any]) -> int:
    return sum(n * n for n in Counter(values).values())


def queries(**texts: str) -> str:
    return STREAM + "".join(f"CREATE QUERY {name} AS {text};\n" for name, text in texts.items())


@pytest.mark.parametrize("skew", [0.5, 1.5])
def test_estimates_lie_between_their_bounds(spark: SparkSession, tmp_path: Path, skew: float) -> None:
    """At other skews other estimators serve. Bounds hold in 99 of 100 cases, and here there are five with a fixed seed."""
    rows = drawn(skew, 5)
    written(tmp_path, rows)
    window = "FROM s [TUMBLE 5 MINUTES] WHERE v >= 0"
    asked = "CONFIDENCE 99 PERCENT MEMORY 64 KB"
    found = run_once(spark, queries(
        sizes=f"SELECT SELF_JOIN_SIZE(k {asked}) AS a, SELF_JOIN_SIZE(j {asked}) AS b, JOIN_SIZE(k, j {asked}) AS c {window}",
        frequency=f"SELECT MAX_BY(k, v) AS last, APPROX_FREQUENCY(k, MAX_BY(k, v) {asked}) AS n {window}",
        groups=f"SELECT name, SELF_JOIN_SIZE(k MEMORY 8 KB) AS n {window} GROUP BY name",
        heavy=f"SELECT HEAVY_HITTERS(k, 0.01) AS busy {window}",
        so_far="SELECT SELF_JOIN_SIZE(k METHOD CM) AS n FROM s WHERE v >= 0",
        half=f"SELECT SELF_JOIN_SIZE(k {asked}) AS a, COUNT(*) AS n {window} SHED RANDOM BY 50 PERCENT RECOVER ESTIMATE",
        nulls=f"SELECT SELF_JOIN_SIZE(IF(v % 3 = 0, k, NULL) {asked}) AS a {window} SHED RANDOM BY 50 PERCENT RECOVER ESTIMATE",
        joined=f"SELECT JOIN_SIZE(x.k, y.j {asked}) AS a FROM s [TUMBLE 5 MINUTES] x, s [TUMBLE 5 MINUTES] y WHERE x.v >= 0 AND y.v >= 0 "
               "SHED RANDOM BY 50 PERCENT RECOVER ESTIMATE",
        heavy_half=f"SELECT HEAVY_HITTERS(k, 0.02) AS busy {window} SHED RANDOM BY 50 PERCENT RECOVER ESTIMATE",
    ), tmp_path, at_once=4)

    def values(name: str) -> list[Any]:
        return [row[name] for row in rows]

    (sizes,) = found["sizes"].rows
    k, j = Counter(values("k")), Counter(values("j"))
    truths = [f2(values("k")), f2(values("j")), sum(n * j[key] for key, n in k.items())]
    for (estimate, low, high), truth in zip((sizes[:3], sizes[3:6], sizes[6:]), truths, strict=True):
        assert low <= truth <= high
        assert low <= estimate <= high
        # 64 KB are 1170 columns in seven rows or more: a row's relative error is at most sqrt(2 / 1170) = 4 %.
        assert abs(estimate - truth) < 4 * 0.042 * max(truth, sqrt(truths[0] * truths[1]))

    (last, n, low, high), = found["frequency"].rows
    assert low <= k[last] <= high
    assert low <= n <= high

    by_name = {name: [row["k"] for row in rows if row["name"] == name] for name in set(values("name"))}
    assert len(found["groups"].rows) == len(by_name)
    for name, estimate, low, high in found["groups"].rows:
        assert low <= f2(by_name[name]) <= high
        assert low <= estimate <= high

    (busy,), = found["heavy"].rows
    assert {item for item, *_ in busy} >= {key for key, count in k.items() if count >= 0.01 * N}
    assert all(low <= k[item] <= high for item, _, low, high in busy)

    assert max(found["so_far"].rows)[0] >= f2(values("k")), "Count-Min is never too low"

    (a, low, high, count, *_), = found["half"].rows
    assert low <= f2(values("k")) <= high
    assert abs(count - N) < 5 * sqrt(N)
    # Without the surplus of weights it would be N too much, and without weights a quarter.
    assert abs(a - f2(values("k"))) < 0.25 * f2(values("k"))

    (_, low, high), = found["nulls"].rows
    assert low <= f2([row["k"] for row in rows if row["v"] % 3 == 0]) <= high
    (estimate, low, high), = found["joined"].rows
    assert low <= truths[2] <= high
    assert abs(estimate - truths[2]) < 0.25 * sqrt(truths[0] * truths[1])

    (busy,), = found["heavy_half"].rows
    clear = {key for key, count in k.items() if count >= 0.025 * N}
    assert {item for item, *_ in busy} >= clear
    # A count of a sampled value is off by sqrt(count), as each row stands for two.
    assert all(abs(count - k[item]) < 5 * sqrt(k[item]) for item, count, *_ in busy)
    # Bounds of 95 %, each of a value of its own: four deviations of how many may miss.
    missed = sum(not low <= k[item] <= high for item, _, low, high in busy)
    assert missed <= 0.05 * len(busy) + 4 * sqrt(0.05 * 0.95 * len(busy))
    assert all(low < count < high for _, count, low, high in busy)


def alike(rows: list[dict[str, Any]], least: int) -> int:
    return sum(
        sum(a[c] == b[c] for c in ("k", "j", "name")) >= least for a, b in combinations(rows, 2)
    )


def test_pairs_of_rows(spark: SparkSession, tmp_path: Path) -> None:
    rows = drawn(1.0, 9)[::12]
    written(tmp_path, rows)
    window = "FROM s [TUMBLE 5 MINUTES] WHERE v >= 0"
    found = run_once(spark, queries(
        exact=f"SELECT SIMILAR_PAIRS((k, j, name), 2) AS n, COUNT(*) AS rows {window}",
        kept=f"SELECT SIMILAR_PAIRS((k, j, name), 2 MEMORY 64 KB) AS n {window}",
        drawn=f"SELECT SIMILAR_PAIRS((k, j, name), 1 SAMPLE 50 PERCENT) AS n {window}",
        apart=f"SELECT SIMILAR_PAIRS((v, v + 0.5), 1) AS n {window} SHED RANDOM BY 50 PERCENT RECOVER ESTIMATE",
        half=f"SELECT SIMILAR_PAIRS((k, j, name), 2) AS n {window} SHED RANDOM BY 50 PERCENT RECOVER ESTIMATE",
    ), tmp_path, at_once=4)
    truth = alike(rows, 2)
    assert found["exact"].rows == [(float(truth), float(truth), float(truth), len(rows))]
    (estimate, low, high), = found["kept"].rows
    assert low <= truth <= high
    assert abs(estimate - truth) < 0.3 * truth
    (estimate, low, high), = found["drawn"].rows
    assert (low, high) == (None, None)
    # Two of three sets of one column and of two: pairs that share one count half or less, those that share two with half the rest.
    assert abs(estimate - alike(rows, 1)) < 0.15 * alike(rows, 1)
    # A pair stays with a chance of a quarter and counts four; rows with many partners stay or go with all of theirs.
    # Of rows that have nothing in common each is a pair with itself only, whatever it stands for.
    assert found["apart"].rows == [(0.0, None, None)]
    (estimate, low, high), = found["half"].rows
    assert (low, high) == (None, None)
    assert estimate == round(estimate)
    partners = np.array([sum(sum(a[c] == b[c] for c in ("k", "j", "name")) >= 2 for b in rows) - 1 for a in rows])
    deviation = sqrt(float((partners**2).sum()) + 3 * truth)
    assert abs(estimate - truth) < 4 * deviation


def expected(spark: SparkSession, batches: list[list[int]], seen: Seen) -> Rows:
    """What the kernel lets through in this process, bucket by bucket, of hashes that Spark computes."""
    every = sorted({value for batch in batches for value in batch})
    frame = spark.createDataFrame([(value,) for value in every], "v0 BIGINT")
    hashes = dict(zip(every, (row[0] for row in frame.selectExpr("xxhash64(v0, 0L)").collect()), strict=True))
    states = [State()] * BUCKETS
    found: Rows = []
    instant = 0
    for batch in batches:
        values = np.array(batch, np.int64)
        keys = np.array([hashes[v] for v in batch], np.int64)
        times = instant + np.arange(len(batch), dtype=np.int64)
        instant += len(batch)
        for bucket in range(BUCKETS):
            mine = keys % BUCKETS == bucket
            table: Table = {"sign": np.ones(mine.sum(), np.int64), "at": times[mine], "row": keys[mine], "v0": values[mine]}
            table["end"] = np.full(mine.sum(), FOREVER, np.int64)
            states[bucket], new = seen.advance(states[bucket], table, 0)
            found += [(v,) for v in new["v0"].tolist()] if new else []
    return sorted(found, key=repr)


def test_new_rows_are_those_of_the_kernel_and_few_are_lost(spark: SparkSession, tmp_path: Path) -> None:
    """A filter far too small for its stream: what it lets through is what the kernel does, to the row, and its rate holds."""
    keys = crawl(20_000, 0.7, seed=4).astype(np.int64).tolist()
    batches = [keys[i : i + 5000] for i in range(0, len(keys), 5000)]
    write_batches(tmp_path / "s", [
        [{"k": key, "ts": at((b * 5000 + i) / 1000)} for i, key in enumerate(batch)] for b, batch in enumerate(batches)
    ])
    outcome = run_once(spark, queries(q="SELECT APPROX DISTINCT k FROM s WITHIN FP 5 PERCENT MEMORY 2 KB"), tmp_path)["q"]
    plan = part_of(plan_stable(2048 * 8, 0.05), BUCKETS)
    seen = Seen(SEED, stable=(plan.cells, plan.hashes, plan.decrements, plan.max_value))
    assert outcome.rows == expected(spark, batches, seen)
    distinct = len(set(keys))
    lost = distinct - len({key for key, in outcome.rows})
    # A false positive loses a new key for good only if it does not come again: the rate of lost keys is at most that bound.
    assert lost <= plan.fp_bound * distinct + 4 * sqrt(plan.fp_bound * distinct)
    assert lost > 0, "the filter is small enough to lose some"
    assert len(outcome.rows) > distinct - lost, "and to forget some"


def test_a_window_of_time_forgets_and_misses_nothing_in_it(spark: SparkSession, tmp_path: Path) -> None:
    """Each key every 3 to 30 seconds, by key: those that come again within 10 s are told once, those after more than 11.25 s each time."""
    rows = [
        {"k": key, "ts": at(second)}
        for key, every in ((1, 3), (2, 10), (3, 12), (4, 30)) for second in range(0, 120, every)
    ]
    rows.sort(key=lambda row: str(row["ts"]))
    write_batches(tmp_path / "s", [rows[: len(rows) // 2], rows[len(rows) // 2 :]])
    found = run_once(spark, queries(q="SELECT APPROX DISTINCT k FROM s [RANGE 10 SECONDS]"), tmp_path)["q"]
    assert Counter(key for key, in found.rows) == {1: 1, 2: 1, 3: 10, 4: 4}


def test_a_window_that_slides(spark: SparkSession, tmp_path: Path) -> None:
    """Each row is in three windows; what stands beside the sketch is as without it, rows that are late for some of them too."""
    rows = drawn(1.0, 21)
    written(tmp_path, rows)
    window = "FROM s [RANGE 30 SECONDS SLIDE 10 SECONDS] WHERE v >= 0"
    others = "COUNT(*) AS n, AVG(v) AS m, MAX_BY(name, v) AS last, MIN(k) AS least"
    found = run_once(spark, queries(
        sketched=f"SELECT WINDOW_END AS w, {others}, HEAVY_HITTERS(k, 0.05) AS busy, SELF_JOIN_SIZE(k CONFIDENCE 99 PERCENT) AS a {window}",
        plain=f"SELECT WINDOW_END AS w, {others} {window}",
        half=f"SELECT WINDOW_END AS w, SELF_JOIN_SIZE(k CONFIDENCE 99 PERCENT) AS a, COUNT(*) AS n {window} "
             "SHED RANDOM BY 50 PERCENT RECOVER ESTIMATE",
    ), tmp_path, at_once=3)
    assert [row[:5] for row in found["sketched"].rows] == found["plain"].rows
    assert len(found["plain"].rows) == 8
    keys = {end: [r["k"] for r in rows if end - 30 <= 60 * r["v"] / N < end] for end in range(10, 90, 10)}
    for end, *_, busy, estimate, low, high in found["sketched"].rows:
        assert low <= f2(keys[end]) <= high
        assert low <= estimate <= high
        assert {item for item, *_ in busy} >= {k for k, n in Counter(keys[end]).items() if n >= 0.05 * len(keys[end])}
    for end, _, low, high, *_ in found["half"].rows:
        assert low <= f2(keys[end]) <= high
