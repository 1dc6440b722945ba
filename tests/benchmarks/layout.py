"""What it costs that a query that sheds has one layout of its state, with RECOVER ESTIMATE and without.

Run from the root of the repository::

    python -m tests.benchmarks.layout [--rows 3600000] [--pairs 33]

Each query runs as it is compiled, and beside it without the test that makes Spark keep what nothing reads (ADR 0021).
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame, SparkSession

from streamq.compiler.driver import compile_program
from streamq.compiler.ir.physical import Step, Where, inputs_of, with_inputs
from streamq.compiler.options import CompileOptions
from streamq.dsl.records import replace
from streamq.runtime.spark.emit import EmitContext, build_frame
from streamq.runtime.spark.session import create_session
from tests.benchmarks.bids import write_bids
from tests.benchmarks.lowering import DECLARATIONS
from tests.benchmarks.measure import print_races, run_race

FILES = 12
COUNT = "SELECT auction, COUNT(*) AS bids, WINDOW_END FROM bid [TUMBLE 10 SECONDS] GROUP BY auction"
SUMS = COUNT.replace("COUNT(*) AS bids", "COUNT(*) AS bids, SUM(price) AS total, AVG(price) AS mean")
SHEDS = "SHED RANDOM BY 0 PERCENT"
QUERIES = {
    "a count": f"{COUNT} {SHEDS}",
    "count, sum and mean": f"{SUMS} {SHEDS}",
    "an estimated count": f"{COUNT} {SHEDS} RECOVER ESTIMATE",
    "all three estimated": f"{SUMS} {SHEDS} RECOVER ESTIMATE",
}


def frame(spark: SparkSession, text: str, spare: bool, folder: Path) -> DataFrame:
    """The compiled query over a folder; without ``spare``, Spark keeps only what is read."""
    plan = compile_program(f"{DECLARATIONS}\nINSERT INTO nowhere {text};", CompileOptions(base_dir=str(folder))).require()
    query = plan.queries[0]
    return build_frame(query if spare else replace(query, root=_as_read(query.root)), EmitContext(spark, plan.base_dir))


def _as_read(step: Step) -> Step:
    if isinstance(step, Where) and step.id.endswith(".layout"):
        return _as_read(step.input)
    return with_inputs(step, tuple(map(_as_read, inputs_of(step))))


def main() -> int:
    parser = argparse.ArgumentParser(description="One layout of state, against what is read alone.")
    parser.add_argument("--rows", type=int, default=3_600_000)
    parser.add_argument("--pairs", type=int, default=33, help="how often each side reads a file, at least")
    options = parser.parse_args()
    spark = create_session({"spark.master": "local[2]"}, app="streamq-benchmark")
    with TemporaryDirectory(prefix="streamq-benchmark-") as scratch:
        bids = Path(scratch) / "bids"
        rows = write_bids(bids, options.rows, FILES)
        for name, text in QUERIES.items():
            print_races([run_race(
                spark, name, rows // FILES, sorted(bids.iterdir()), partial(frame, spark, text, True), partial(frame, spark, text, False),
                repeat=-(-options.pairs // (FILES - 1)),
            )], "as read")
    spark.stop()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
