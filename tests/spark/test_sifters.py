"""Sifters on Spark: what queries want is kept, counted and scaled right; what goes goes again in the same way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from streamq.compiler.driver import compile_program
from streamq.compiler.options import CompileOptions
from streamq.runtime.control.decisions import DecisionLog
from streamq.runtime.control.forward import DECISIONS
from streamq.runtime.control.sifting import FOLDER, kept_of_cells, stored
from streamq.runtime.metrics import QueryTotals, RunReport
from streamq.runtime.run import RunOptions
from streamq.runtime.spark.runner import run_plan

ROWS, FILES = 20_000, 6
SECOND = 1_000_000
START = 1_704_067_200 * SECOND
WORDS = np.array(["bike", "bus", "car", "tram", None], dtype=object)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``in``: files of Parquet; prices are even in their logarithm, some are NULL or NaN."""
    root = tmp_path_factory.mktemp("sifters")
    (root / "in").mkdir()
    rng = np.random.default_rng(11)
    for file in range(FILES):
        n = np.arange(file * ROWS, (file + 1) * ROWS)
        price = 100 * 10 ** (4 * rng.random(ROWS))
        price[::97] = np.nan
        table = pa.table({
            "n": n, "price": pa.array(price, mask=n % 101 == 0), "kind": pa.array(WORDS[rng.integers(0, 5, ROWS)], pa.string()),
            "ts": pa.array(START + (n * 50 * SECOND) // (FILES * ROWS), pa.timestamp("us", tz="UTC")),
        })
        pq.write_table(table, root / "in" / f"{file}.parquet")
    return root


def run(spark: SparkSession, folder: Path, queries: str, checkpoint: Path | None = None) -> RunReport:
    text = f"""
    CREATE STREAM s (n BIGINT, price DOUBLE, kind STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts)
    WITH (connector = 'file', format = 'parquet', path = 'in', max_files_per_trigger = 1);
    CREATE SINK kept WITH (connector = 'memory');
    {queries}
    """
    result = compile_program(text, CompileOptions(base_dir=str(folder)))
    assert result.ok, result.diagnostics
    report = run_plan(result.require(), RunOptions(once=True, checkpoint=checkpoint), session=spark)
    assert not report.failed, report.diagnostics
    return report


def totals(report: RunReport, query: str) -> QueryTotals:
    return next(t for t in report.totals if t.query == query)


def rows_of(report: RunReport, query: str) -> list[tuple[object, ...]]:
    return [row for rows in report.memory[query] for row in rows.rows]


TWO = """
CREATE QUERY dear INTO kept AS SELECT n, price FROM s WHERE price > 300000 SHED SIFTER ON (price, kind) BY 60 PERCENT;
CREATE QUERY cars INTO kept AS SELECT n, price FROM s WHERE kind = 'car' AND price < 1000
  SHED SIFTER ON (price, kind) BY 60 PERCENT;
"""


def test_queries_that_share_a_sifter_keep_what_they_want(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    report = run(spark, folder, TWO, tmp_path)
    for name in ("dear", "cars"):
        found = totals(report, name)
        assert found.rows_in == found.kept + found.shed == FILES * ROWS
        # The first micro-batches go at random; then whatever nobody wants goes, and that is more than is asked.
        assert 0.2 < found.kept / found.rows_in < 0.42
    table = pa.concat_tables(pq.read_table(f) for f in sorted((folder / "in").glob("*.parquet"))).to_pandas()
    late = table[table.n >= 3 * ROWS]
    wanted = {
        # NaN is above all numbers; a price that is NULL is none.
        "dear": set(late[late.price > 300_000].n) | set(late[(late.n % ROWS % 97 == 0) & (late.n % 101 != 0)].n),
        "cars": set(late[(late.kind == "car") & (late.price < 1000)].n),
    }
    for name, all_of_them in wanted.items():
        got = {row[0] for row in rows_of(report, name)} & all_of_them
        assert len(got) > 0.95 * len(all_of_them)  # at random 0.4 of them
    versions = {name: DecisionLog(tmp_path / name / DECISIONS).find(FILES - 1) for name in ("dear", "cars")}
    assert all(found is not None and found.throttle.sifter is not None for found in versions.values())
    texts = [{f.name: f.read_text() for f in (tmp_path / name / FOLDER).iterdir()} for name in ("dear", "cars")]
    assert texts[0] == texts[1]


def test_what_spark_keeps_is_what_the_sifter_says(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    """The cells of Spark's arithmetic are those of numpy's: each has the share of its rows that its threshold keeps."""
    query = "CREATE QUERY q INTO kept AS SELECT n, price, kind FROM s SHED SIFTER ON (price, kind) SAMPLE 0.1 PERCENT BY 50 PERCENT;"
    weighted = "CREATE QUERY w INTO kept AS SELECT n FROM s WHERE price < 3000 SHED SIFTER ON (price, kind) SAMPLE 0.1 PERCENT BY 50 PERCENT;"
    report = run(spark, folder, query + weighted, tmp_path)
    last = FILES - 1
    decided = DecisionLog(tmp_path / "q" / DECISIONS).find(last)
    assert decided is not None
    assert decided.throttle.sifter is not None
    sifter = stored(tmp_path / "q", decided.throttle.sifter)
    assert sifter is not None
    table = pq.read_table(folder / "in" / f"{last}.parquet")
    price = table["price"].to_numpy(zero_copy_only=False).astype(float)
    null = np.array(table["price"].is_null())
    columns = [np.where(null, -np.inf, np.where(np.isnan(price), np.inf, price)), np.array(table["kind"].to_pylist(), dtype=object)]
    first, second = (a.cells(c) for a, c in zip(sifter.axes, columns, strict=True))
    kept = np.array(kept_of_cells(sifter, decided.decision.keep, 0.001))[first * 64 + second] / (1 << 20)
    held = np.isin(table["n"].to_numpy(), [row[0] for row in rows_of(report, "q")])
    least = kept.min()  # those that are looked at
    assert least == round(0.001 * (1 << 20)) / (1 << 20)
    assert held[kept == 1].all()
    region = sifter.find(columns)
    for number in np.unique(region):
        some = region == number
        share = kept[some].mean()
        # Within four standard errors; of few rows the counts of rare ones are one or two more than such an error says.
        assert held[some].mean() == pytest.approx(share, abs=2 / some.sum() + 4 * np.sqrt(share * (1 - share) / some.sum()))


def test_estimates_count_each_row_by_its_region(spark: SparkSession, folder: Path) -> None:
    query = (
        "CREATE QUERY q INTO kept AS SELECT COUNT(*) AS n, SUM(price) AS total, WINDOW_END AS until FROM s [TUMBLE 5 SECONDS] "
        "WHERE price < 20000 SHED SIFTER ON (price) BY 70 PERCENT RECOVER ESTIMATE;"
        "CREATE QUERY other INTO kept AS SELECT n FROM s WHERE price > 5000 SHED SIFTER ON (price) BY 70 PERCENT;"
    )
    report = run(spark, folder, query)
    names = ("n", "n_lo", "n_hi", "total", "total_lo", "total_hi")
    table = pa.concat_tables(pq.read_table(f) for f in sorted((folder / "in").glob("*.parquet"))).to_pandas()
    table = table[table.price < 20_000]
    window = (table.ts.astype("int64") // 1_000 - START) // (5 * SECOND) if table.ts.dt.unit == "ns" else (table.ts.astype("int64") - START) // (5 * SECOND)
    truth = table.groupby(window).price.agg(["size", "sum"])
    within = []
    for row in rows_of(report, "q"):
        found = dict(zip(names, row, strict=False))
        place = int((row[-1].timestamp() * SECOND - START) // (5 * SECOND)) - 1  # type: ignore[attr-defined]
        within += [
            found["n_lo"] <= truth["size"][place] <= found["n_hi"],
            found["total_lo"] <= truth["sum"][place] <= found["total_hi"],
        ]
    assert len(within) >= 12
    # Of 18 bounds at 95 % four miss with a chance of 1 %.
    assert np.sum(~np.array(within, dtype=bool)) <= 4


def test_a_micro_batch_that_is_run_again_is_sifted_in_the_same_way(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    first = run(spark, folder, TWO, tmp_path)
    # As after a crash before the last micro-batch was noted as done.
    for name in ("dear", "cars"):
        for file in (tmp_path / name / "commits").glob(f"*{FILES - 1}*"):
            file.unlink()
    again = run(spark, folder, TWO, tmp_path)
    for name in ("dear", "cars"):
        before, after = ({n for n, *_ in rows_of(report, name)} for report in (first, again))
        assert after == {n for n in before if n >= (FILES - 1) * ROWS} != set()  # type: ignore[operator]


@pytest.mark.parametrize(("drop", "most"), [("COUNTER", 12.0), ("HASH", 400.0)])
def test_rows_that_go_by_their_number_leave_just_the_share_asked_for(
    spark: SparkSession, folder: Path, drop: str, most: float
) -> None:
    """Of 20,000 rows 30 percent, in each micro-batch; by hashes it is 20,000 times 0.3 but for a deviation of 65 rows."""
    query = f"CREATE QUERY q INTO kept AS SELECT n FROM s SHED SIFTER ON (kind) REGIONS 1 DROP {drop} BY 70 PERCENT;"
    report = run(spark, folder, query)
    found = np.array(sorted(row[0] for row in rows_of(report, "q")))
    by_file = np.bincount(found // ROWS, minlength=FILES)
    off = np.abs(by_file - 0.3 * ROWS)
    assert off.max() < most
    if drop == "COUNTER":
        # Of each stretch of rows too, and of every seventh row.
        assert np.abs(np.histogram(found, np.arange(0, FILES * ROWS + 1, 500))[0] - 150).max() <= 12
        assert abs(len(found[found % 7 == 0]) - 0.3 * FILES * ROWS / 7) < 60
    else:
        assert off.max() > 12
