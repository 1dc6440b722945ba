"""Are estimates right? COUNT, SUM and AVG of windows from one row in five, against all rows, on Spark.

For each of 1,200 windows of about 2,500 bids: does the value over all rows lie within its 95 % bounds, and how far
off is the estimate. The standard error of a coverage of 95 % over so many windows is 0.6 %.

Run from the root of the repository::

    python -m tests.benchmarks.estimates [--rows 3000000] [--percent 80]

Ends with 1 where a coverage is not between 93 and 97 %, or the mean relative error of COUNT or SUM is 1 % or more.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from pyspark.sql import SparkSession

from streamq.compiler.driver import compile_program
from streamq.compiler.options import CompileOptions
from streamq.runtime.run import RunOptions
from streamq.runtime.spark.runner import run_plan
from streamq.runtime.spark.session import create_session
from tests.benchmarks.bids import DDL, write_bids
from tests.benchmarks.measure import completed

NAMES = ("n", "total", "mean")


def windows(spark: SparkSession, folder: Path, policy: str) -> dict[Any, dict[str, Any]]:
    text = f"""
        CREATE STREAM bid ({DDL}, WATERMARK FOR dateTime AS dateTime - INTERVAL 4 SECONDS)
        WITH (connector = 'file', format = 'parquet', path = 'bids');
        CREATE SINK results WITH (connector = 'memory');
        CREATE QUERY q INTO results AS
          SELECT COUNT(*) AS n, SUM(price) AS total, AVG(price) AS mean, COMPLETENESS() AS c, WINDOW_END AS until
          FROM bid [TUMBLE 250 MILLISECONDS] {policy};
    """
    plan = compile_program(text, CompileOptions(base_dir=str(folder))).require()
    with TemporaryDirectory() as checkpoint:
        report = run_plan(plan, RunOptions(once=True, checkpoint=Path(checkpoint)), session=spark)
    completed(report)
    return {row["until"]: row for row in report.rows("q")}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--percent", type=float, default=80.0)
    args = parser.parse_args()
    spark = create_session({"spark.master": "local[2]"}, app="streamq-benchmark")
    with TemporaryDirectory(prefix="streamq-benchmark-") as scratch:
        folder = Path(scratch)
        write_bids(folder / "bids", args.rows, 12)
        whole = windows(spark, folder, "")
        found = windows(spark, folder, f"SHED RANDOM BY {args.percent:g} PERCENT RECOVER ESTIMATE CONFIDENCE 95 PERCENT")
    spark.stop()
    both = sorted(set(whole) & set(found))
    print(f"{len(both)} windows of {np.mean([whole[w]['n'] for w in both]):,.0f} rows, {args.percent:g} % of them shed")
    print(f"{'':8}{'coverage':>10}{'mean error':>12}{'spread':>9}")
    good = len(both) >= 200
    for name in NAMES:
        truth = np.array([float(whole[w][name]) for w in both])
        low, high, value = (np.array([float(found[w][name + end]) for w in both]) for end in ("_lo", "_hi", ""))
        coverage = float(np.mean((low <= truth) & (truth <= high)))
        error = value / truth - 1
        print(f"{name:8}{coverage:10.3f}{error.mean():+12.4f}{error.std():9.4f}")
        good = good and 0.93 <= coverage <= 0.97 and (name == "mean" or abs(error.mean()) < 0.01)
    completeness = np.array([found[w]["c"] for w in both])
    print(f"COMPLETENESS() is {completeness.mean():.4f} on average")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
