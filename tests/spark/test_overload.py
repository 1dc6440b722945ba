"""Goals, estimates and measures on Spark: what is kept, what is said of it, and what a repeated micro-batch does."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from streamq.compiler.driver import compile_program
from streamq.compiler.options import CompileOptions
from streamq.runtime.control.decisions import DecisionLog
from streamq.runtime.control.forward import DECISIONS, KNOBS
from streamq.runtime.control.knobs import published
from streamq.runtime.metrics import QuerySample, QueryTotals, RunReport
from streamq.runtime.run import RunOptions, SilentListener
from streamq.runtime.spark.control_source import ASKED_WHEN_PLANNED
from streamq.runtime.spark.runner import run_plan

ROWS, FILES, GROUPS = 40_000, 4, 20
SECOND = 1_000_000
START = 1_704_067_200 * SECOND


@dataclass
class Heard(SilentListener):
    """Remembers samples and notices."""

    samples: list[QuerySample] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)

    def sample(self, sample: QuerySample, totals: QueryTotals) -> None:
        self.samples.append(sample)

    def notice(self, query: str, text: str) -> None:
        self.notices.append(text)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``in``: files of Parquet, a row per number, in one minute of event time.

    ``seen`` is the same as ``ts`` for even numbers, and 100 seconds before it for odd ones. ``ended``: and a row that
    ends the minute. ``halves``: the same rows as ``in``, in twice as many files.
    """
    root = tmp_path_factory.mktemp("overload")
    for name in ("in", "ended", "halves"):
        (root / name).mkdir()
    rng = np.random.default_rng(7)
    for file in range(FILES):
        n = np.arange(file * ROWS, (file + 1) * ROWS)
        ts = START + (n * 50 * SECOND) // (FILES * ROWS)
        table = pa.table({
            "n": n, "g": n % GROUPS, "x": rng.gamma(2.0, 5.0, ROWS).round(3),
            "ts": pa.array(ts, pa.timestamp("us", tz="UTC")),
            "seen": pa.array(ts - 100 * SECOND * (n % 2), pa.timestamp("us", tz="UTC")),
        })
        for name in ("in", "ended"):
            pq.write_table(table, root / name / f"{file}.parquet")
        for part in (0, 1):
            pq.write_table(table.slice(part * ROWS // 2, ROWS // 2), root / "halves" / f"{file}_{part}.parquet")
    end = pa.table({
        "n": [-1], "g": [0], "x": [0.0], "ts": pa.array([START + 600 * SECOND], pa.timestamp("us", tz="UTC"))
    })
    pq.write_table(end, root / "ended" / f"{FILES}.parquet")
    return root


def run(
    spark: SparkSession, folder: Path, query: str, checkpoint: Path | None = None,
    listener: Heard | None = None, source: str = "in", time: str = "ts",
) -> RunReport:
    text = f"""
    CREATE STREAM s (n BIGINT, g BIGINT, x DOUBLE, {time} TIMESTAMP, WATERMARK FOR {time} AS {time})
    WITH (connector = 'file', format = 'parquet', path = '{source}', max_files_per_trigger = 1);
    CREATE SINK kept WITH (connector = 'memory');
    CREATE QUERY q INTO kept AS {query};
    """
    result = compile_program(text, CompileOptions(base_dir=str(folder)))
    assert result.ok, result.diagnostics
    report = run_plan(result.require(), RunOptions(once=True, checkpoint=checkpoint), listener, session=spark)
    assert not report.failed, report.diagnostics
    return report


def totals(report: RunReport) -> QueryTotals:
    (found,) = report.totals
    return found


def test_a_goal_in_reach_keeps_every_row_after_the_probe(spark: SparkSession, folder: Path) -> None:
    heard = Heard()
    found = totals(run(spark, folder, "SELECT n FROM s QOS LATENCY 10 MINUTES", listener=heard))
    assert found.rows_in == found.kept + found.shed == FILES * ROWS
    first, *others = heard.samples
    assert first.shed > ROWS / 3  # nothing is known of a first micro-batch, so it is a probe
    assert sum(s.shed for s in others[1:]) == 0
    assert heard.notices == []


def test_where_all_rows_are_kept_measures_of_the_whole_query_are_told(spark: SparkSession, folder: Path) -> None:
    query = "SELECT n, SOURCE_COVERAGE() AS covered, LATE() AS late FROM s QOS LATENCY 10 MINUTES COMPLETENESS >= 1"
    report = run(spark, folder, query)
    assert totals(report).kept == FILES * ROWS
    assert {row[1:] for rows in report.memory["q"] for row in rows.rows} == {(1.0, 0)}


def test_estimates_where_all_rows_are_kept_are_exact(spark: SparkSession, folder: Path) -> None:
    query = (
        "SELECT g, COUNT(*) AS n, WINDOW_END AS until FROM s [TUMBLE 1 MINUTE] GROUP BY g "
        "QOS LATENCY 10 MINUTES COMPLETENESS >= 1 RECOVER ESTIMATE"
    )
    report = run(spark, folder, query, source="ended")
    found = [row for rows in report.memory["q"] for row in rows.rows if row[0] is not None]
    assert {row[1] for row in found} == {FILES * ROWS / GROUPS}


def test_a_goal_where_spark_may_not_offer_filters(spark: SparkSession, folder: Path) -> None:
    spark.conf.set(ASKED_WHEN_PLANNED, "false")
    try:
        found = totals(run(spark, folder, "SELECT n FROM s QOS LATENCY 10 MINUTES COMPLETENESS >= 1"))
    finally:
        spark.conf.set(ASKED_WHEN_PLANNED, "true")
    assert found.kept == FILES * ROWS


def test_a_goal_out_of_reach_is_told_once_and_the_query_goes_on(spark: SparkSession, folder: Path) -> None:
    """Told after three micro-batches; more than one may be a probe, where Spark is late to say what the first took."""
    heard = Heard()
    query = "SELECT n FROM s QOS LATENCY 1 MILLISECOND"
    found = totals(run(spark, folder, query, listener=heard, source="halves"))
    assert found.rows_in == found.kept + found.shed == FILES * ROWS
    assert found.kept < ROWS
    assert [("out of reach" in text) for text in heard.notices] == [True]


def test_a_completeness_is_kept_up_whatever_that_means_for_the_age(spark: SparkSession, folder: Path) -> None:
    heard = Heard()
    query = "SELECT n FROM s QOS LATENCY 1 MILLISECOND COMPLETENESS >= 0.5"
    found = totals(run(spark, folder, query, listener=heard, source="halves"))
    assert found.rows_in == found.kept + found.shed == FILES * ROWS
    # The first ones are probes of 10,000 rows, or of what is taken for that many.
    for sample in heard.samples[FILES:]:
        assert 0.48 < sample.kept / sample.rows_in < 0.52
    assert [("completeness of 0.5" in text) for text in heard.notices] == [True]


def test_a_micro_batch_that_is_run_again_sheds_the_same_rows(
    spark: SparkSession, folder: Path, tmp_path: Path
) -> None:
    query = "SELECT n FROM s QOS LATENCY 1 MILLISECOND"
    first = run(spark, folder, query, tmp_path)
    last = max(int(p.name) for p in (tmp_path / "q" / "commits").iterdir() if p.name.isdecimal())
    before = {batch: DecisionLog(tmp_path / "q" / DECISIONS).find(batch) for batch in range(last + 1)}
    assert all(before.values())
    # As if the process had been killed before the micro-batch was committed, and all that was learned is lost.
    for name in (f"{last}", f".{last}.crc"):
        (tmp_path / "q" / "commits" / name).unlink(missing_ok=True)
    (tmp_path / "q" / KNOBS).write_text("{")
    again = run(spark, folder, query, tmp_path)
    original, repeated = (rows_of(report, last) for report in (first, again))
    assert repeated == original
    assert 0 < len(repeated) < ROWS / 10
    after = {batch: DecisionLog(tmp_path / "q" / DECISIONS).find(batch) for batch in range(last + 1)}
    assert after == before


def rows_of(report: RunReport, batch: int) -> list[tuple[Any, ...]]:
    return sorted(row for rows in report.memory["q"] if rows.batch == batch for row in rows.rows)


def test_rows_of_least_utility_go_first(spark: SparkSession, folder: Path) -> None:
    """A quarter of the rows is worth more, so of the others a third is kept.

    512 rows are looked at in each of at least two micro-batches: their share has a standard error of 1.4 %.
    """
    query = "SELECT n, g FROM s QOS UTILITY CASE WHEN g < 5 THEN 1 ELSE 0.25 END SHED BY UTILITY BY 50 PERCENT"
    report = run(spark, folder, query, source="halves")
    found = totals(report)
    assert found.rows_in == found.kept + found.shed == FILES * ROWS
    last = rows_of(report, 2 * FILES - 1)
    worth_more = [n for n, g in last if g < 5]
    assert len(worth_more) == ROWS // 2 // 4
    assert abs(len(last) / (ROWS / 2) - 0.5) < 4 * 0.014


def test_old_rows_go_first(spark: SparkSession, folder: Path) -> None:
    """Half of the rows is old, and half is to go; their share has a standard error of 1.6 %."""
    query = "SELECT n FROM s SHED OLDER THAN 20 SECONDS BY 50 PERCENT"
    report = run(spark, folder, query, source="halves", time="seen")
    last = [n for (n,) in rows_of(report, 2 * FILES - 1)]
    fresh = sum(n % 2 == 0 for n in last)
    assert fresh > (1 - 8 * 0.016) * ROWS / 4
    assert len(last) - fresh < 8 * 0.016 * ROWS / 4


def test_a_rate_bounds_the_rows_of_a_micro_batch(spark: SparkSession, folder: Path) -> None:
    heard = Heard()
    found = totals(run(spark, folder, "SELECT n FROM s SHED RANDOM TO RATE 2000 ROWS PER SECOND", listener=heard))
    assert found.rows_in == found.kept + found.shed == FILES * ROWS
    first = heard.samples[0]
    assert 0 < first.kept < 8 * 2000  # a second's worth, of a file whose rows are estimated from its size


GROUPED = "SELECT g, {} FROM s [TUMBLE 1 MINUTE] WHERE n >= 0 GROUP BY g"


def grouped(report: RunReport) -> dict[int, dict[str, Any]]:
    return {row["g"]: row for row in report.rows("q")}


def test_estimates_are_right_in_expectation_and_bounds_hold(spark: SparkSession, folder: Path) -> None:
    """20 groups of 8,000 rows, half of them kept: a count has a standard error of 89.4 rows.

    The sum over all groups then has one of 400 rows, 0.25 %. Of 60 bounds at 99.9 % that more than one fails has a
    probability of 0.0017.
    """
    items = "COUNT(*) AS n, SUM(x) AS total, AVG(x) AS mean, KEPT() AS kept, COMPLETENESS() AS c"
    whole = grouped(run(spark, folder, GROUPED.format(items), source="ended"))
    policy = " SHED RANDOM BY 50 PERCENT RECOVER ESTIMATE CONFIDENCE 99.9 PERCENT"
    found = grouped(run(spark, folder, GROUPED.format(items) + policy, source="ended"))
    assert set(found) == set(whole) == set(range(GROUPS))
    missed = [
        (g, name) for g in whole for name in ("n", "total", "mean")
        if not found[g][f"{name}_lo"] <= whole[g][name] <= found[g][f"{name}_hi"]
    ]
    assert len(missed) <= 1, missed
    arrived = sum(row["n"] for row in whole.values())
    assert abs(sum(row["n"] for row in found.values()) / arrived - 1) < 4 * 0.0025
    for row in found.values():
        assert row["n"] == 2 * row["kept"]
        assert row["c"] == pytest.approx(0.5)
        assert row["kept"] == pytest.approx(4000, abs=4 * 44.7)
    assert all((row["c"], row["kept"]) == (1.0, ROWS * FILES // GROUPS) for row in whole.values())


def test_of_whole_windows_those_that_are_left_are_exact(spark: SparkSession, folder: Path) -> None:
    """Ten windows of 5 seconds, of which evenly spread three go; more than one more or less cannot be."""
    query = "SELECT g, COUNT(*) AS n, SUM(x) AS x, COMPLETENESS() AS c, WINDOW_END FROM s [TUMBLE 5 SECONDS] WHERE n >= 0 GROUP BY g"
    whole = {(r["g"], r["WINDOW_END"]): r for r in run(spark, folder, query, source="ended").rows("q")}
    report = run(spark, folder, f"{query} SHED WINDOWS BY 30 PERCENT", source="ended")
    left = {(r["g"], r["WINDOW_END"]): r for r in report.rows("q")}
    assert all(row == whole[key] for key, row in left.items())
    assert len(whole) == 10 * GROUPS
    assert 6 <= len(left) / GROUPS <= 8
    lost = FILES * ROWS - sum(row["n"] for row in left.values())
    assert 0 <= totals(report).shed - lost <= 1  # the row that ends the minute may go too


@pytest.mark.parametrize("goal", ["QOS LATENCY 10 MILLISECONDS SHED WINDOWS", "SHED WINDOWS TO RATE 20000 ROWS PER SECOND"])
def test_whole_windows_under_a_goal_are_exact_whatever_share_follows(
    spark: SparkSession, folder: Path, tmp_path: Path, goal: str
) -> None:
    """Fifty windows of a second over files of 12.5 seconds each, so that a window has rows in two micro-batches."""
    query = "SELECT g, COUNT(*) AS n, SUM(x) AS x, WINDOW_END FROM s [TUMBLE 1 SECOND] WHERE n >= 0 GROUP BY g"
    whole = {(r["g"], r["WINDOW_END"]): r for r in run(spark, folder, query, source="ended").rows("q")}
    report = run(spark, folder, f"{query} {goal}", tmp_path, source="ended")
    left = {(r["g"], r["WINDOW_END"]): r for r in report.rows("q")}
    assert all(row == whole[key] for key, row in left.items())
    assert len(whole) == 50 * GROUPS
    assert 0 < len(left) < len(whole)
    log = DecisionLog(tmp_path / "q" / DECISIONS)
    steps = [d.throttle.steps for batch in range(FILES + 1) if (d := log.find(batch)) is not None]
    assert any(len(of) > 1 for of in steps), "the share changed on the way"


def test_an_error_of_estimates_says_how_much_is_kept(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    """Of 8,000 rows half is kept at first, so a count is right to 1.96 * sqrt(8000) / 8000 = 2.19 %.

    An error of 1.1 % takes 1 / (1 + (1.1 / 2.19)**2) = 0.80 of them, and three tenths of the way are gone at once.
    """
    query = GROUPED.format("COUNT(*) AS n") + " QOS LATENCY 1 MILLISECOND ERROR <= 1.1 PERCENT RECOVER ESTIMATE"
    found = totals(run(spark, folder, query, tmp_path, source="ended"))
    assert 0.48 < found.kept / found.rows_in < 0.52
    throttle = published(tmp_path / "q" / KNOBS)
    assert throttle is not None
    assert throttle.least == pytest.approx(0.59, abs=0.01)


def test_measures_of_changes_and_of_joins(spark: SparkSession, folder: Path) -> None:
    query = (
        "SELECT a.g, COUNT(*) AS n, KEPT() AS kept, SHED() AS lost FROM s [TUMBLE 1 MINUTE] a JOIN "
        "(SELECT g, MAX(x) AS most FROM s [TUMBLE 1 MINUTE] WHERE n >= 0 AND n < 200 GROUP BY g) b ON a.g = b.g "
        "WHERE a.n >= 0 AND a.n < 100 GROUP BY a.g"
    )
    found = run(spark, folder, query, source="ended").rows("q")
    assert len(found) == GROUPS
    for row in found:
        assert (row["n"], row["kept"], row["lost"]) == (5, 5 * 10, 0)


def joined(spark: SparkSession, folder: Path, query: str, checkpoint: Path) -> RunReport:
    """A query over the stream ``s`` and the same rows as ``r``."""
    streams = "".join(
        f"""CREATE STREAM {name} (n BIGINT, g BIGINT, x DOUBLE, ts TIMESTAMP, WATERMARK FOR ts AS ts)
        WITH (connector = 'file', format = 'parquet', path = 'ended', max_files_per_trigger = 1);""" for name in "sr"
    )
    text = f"{streams} CREATE SINK kept WITH (connector = 'memory'); CREATE QUERY q INTO kept AS {query};"
    result = compile_program(text, CompileOptions(base_dir=str(folder)))
    assert result.ok, result.diagnostics
    report = run_plan(result.require(), RunOptions(once=True, checkpoint=checkpoint), session=spark)
    assert not report.failed, report.diagnostics
    return report


def test_of_an_outer_join_no_row_seems_to_have_no_counterpart(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    """Each row has one. Of ``s`` rows go, of ``r`` none; each pair stands for as many as its row of ``s``."""
    query = (
        "SELECT COUNT(*) AS pairs, COUNT(r.n) AS partners, KEPT() AS kept, COMPLETENESS() AS part "
        "FROM s [TUMBLE 1 MINUTE] LEFT JOIN r [TUMBLE 1 MINUTE] ON s.n = r.n "
        "QOS LATENCY 1 MILLISECOND COMPLETENESS >= 0.25 RECOVER ESTIMATE"
    )
    report = joined(spark, folder, query, tmp_path)
    found = totals(report)
    rows = FILES * ROWS
    assert found.rows_in == 2 * (rows + 1)
    assert found.shed == found.rows_in - found.kept
    of_s = found.kept - (rows + 1)
    assert abs(of_s - rows / 4) < 4 * (rows * 0.25 * 0.75) ** 0.5
    (row,) = report.rows("q")
    assert row["pairs"] == row["partners"]
    assert row["pairs_lo"] < rows < row["pairs_hi"]
    assert row["pairs_hi"] - row["pairs_lo"] < 0.05 * rows
    assert row["part"] == pytest.approx(0.25)
    assert abs(row["kept"] - of_s) <= 1


def test_of_two_queries_the_one_that_is_worth_less_sheds_first(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    """The same dear work for both, of which the machine may do some within the goal: by squares shares are 81 to 1.

    How much it does depends on how fast it is: on one that can do nothing in time both have the same least share.
    """
    score = "CAST(n AS STRING)"
    for _ in range(64):
        score = f"SHA2({score}, 512)"
    text = f"""
    CREATE STREAM s (n BIGINT, g BIGINT, x DOUBLE, ts TIMESTAMP, WATERMARK FOR ts AS ts)
    WITH (connector = 'file', format = 'parquet', path = 'halves', max_files_per_trigger = 1);
    CREATE SINK kept WITH (connector = 'memory');
    CREATE QUERY cheap INTO kept AS SELECT n FROM s WHERE {score} <> '' QOS LATENCY 2 SECONDS;
    CREATE QUERY dear INTO kept AS SELECT n FROM s WHERE {score} <> '' QOS LATENCY 2 SECONDS WEIGHT 9 SHED AUTO;
    """
    plan = compile_program(text, CompileOptions(base_dir=str(folder))).require()
    report = run_plan(plan, RunOptions(once=True, checkpoint=tmp_path), session=spark)
    assert not report.failed, report.diagnostics
    cheap, dear = report.totals
    assert cheap.rows_in == cheap.kept + cheap.shed == dear.rows_in == dear.kept + dear.shed == FILES * ROWS
    shares = [published(tmp_path / name / KNOBS) for name in ("cheap", "dear")]
    first, last = (knobs.share for knobs in shares if knobs is not None and knobs.share is not None)
    assert first <= last
    assert last < 0.02 or last == 1 or first < last / 4
