"""Compiled plans against the PySpark that one would write by hand: same data, session and sink.

Run from the root of the repository::

    python -m tests.benchmarks.lowering [--rows 3600000] [--pairs 55] [--only q5,q7]

Ends with 1 where a compiled plan reaches less than 0.95 of the other's throughput.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from streamq.compiler.driver import compile_program
from streamq.compiler.options import CompileOptions
from streamq.runtime.spark.emit import EmitContext, build_frame
from streamq.runtime.spark.session import create_session
from tests.benchmarks.bids import DDL, write_bids
from tests.benchmarks.measure import folder_size, print_races, run_race

FILES, FEW_FILES = 12, 6
"""A file is a micro-batch; the first one is read before anything is timed. Queries that take little for a row get few
and large ones, of 600,000 rows: what Spark needs for a micro-batch of any size would hide a difference in the rest.
"""

FILES_PER_BATCH = 1
KEYS = 100
WARM_UPS = 1

DECLARATIONS = f"""
CREATE STREAM bid (
  auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING,
  dateTime TIMESTAMP, extra STRING,
  WATERMARK FOR dateTime AS dateTime - INTERVAL 4 SECONDS
) WITH (
  connector = 'file', format = 'parquet', path = 'bids', max_files_per_trigger = {FILES_PER_BATCH}
);
CREATE TABLE side_input (key BIGINT, value STRING)
  WITH (connector = 'file', format = 'csv', path = 'side_input.csv');
CREATE SINK nowhere WITH (connector = 'noop');
"""


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a hand-written query reads: the session and the folder of the data."""

    spark: SparkSession
    folder: Path

    def bids(self) -> DataFrame:
        """The stream as one would write it, without a watermark."""
        reader = self.spark.readStream.schema(DDL).option("maxFilesPerTrigger", FILES_PER_BATCH)
        return reader.parquet(str(self.folder / "bids"))

    def timed_bids(self) -> DataFrame:
        return self.bids().withWatermark("dateTime", "4 seconds")

    def side_input(self) -> DataFrame:
        reader = self.spark.read.schema("key BIGINT, value STRING").option("header", True)
        return reader.csv(str(self.folder / "side_input.csv"))


@dataclass(frozen=True, slots=True)
class Case:
    """A query in CQL and the same one in PySpark."""

    name: str
    cql: str
    by_hand: Callable[[Inputs], DataFrame]
    mode: str = "append"
    files: int = FILES


def euros(inputs: Inputs) -> DataFrame:
    return inputs.bids().where("mod(auction, 123) = 0 OR price > 1000").selectExpr(
        "auction", "bidder", "0.908 * price AS price", "dateTime", "extra"
    )


def hot_items(inputs: Inputs) -> DataFrame:
    window = F.window("dateTime", "10 seconds", "2 seconds")
    counts = inputs.timed_bids().groupBy(window, "auction").agg(F.count("*").alias("bids"))
    top = counts.groupBy("window").agg(
        F.expr("max_by(struct(auction, bids), struct(bids, auction), 3)").alias("top")
    )
    return top.select(F.explode("top").alias("t"), "window.end").select("t.*", "end")


def highest(inputs: Inputs) -> DataFrame:
    by_window = inputs.timed_bids().groupBy(F.window("dateTime", "10 seconds"))
    return by_window.agg(
        F.max("price").alias("price"), F.expr("max_by(bidder, price)").alias("bidder")
    ).select("price", "bidder", "window.end")


def visits(inputs: Inputs) -> DataFrame:
    session = F.session_window("dateTime", "10 seconds").alias("session")
    counts = inputs.timed_bids().groupBy(session, "bidder").agg(F.count("*").alias("bids"))
    return counts.select("bidder", "bids", "session.start", "session.end")


def enriched(inputs: Inputs) -> DataFrame:
    side = inputs.side_input()
    joined = inputs.bids().join(side, F.col("auction") % KEYS == side["key"])
    return joined.select("auction", "bidder", "price", "dateTime", "value")


def per_day(inputs: Inputs) -> DataFrame:
    day = F.date_format("dateTime", "yyyy-MM-dd").alias("day")
    return inputs.bids().groupBy("auction", day).agg(
        F.count("*").alias("total_bids"),
        F.expr("count(*) FILTER (WHERE price < 10000)").alias("rank1_bids"),
        F.expr("count(*) FILTER (WHERE price >= 1000000)").alias("rank3_bids"),
        F.min("price").alias("min_price"), F.max("price").alias("max_price"),
        F.avg("price").alias("avg_price"), F.sum("price").alias("sum_price"),
    )


CASES = (
    Case("q1/q2 filter, project", """
        SELECT auction, bidder, 0.908 * price AS price, dateTime, extra
        FROM bid WHERE MOD(auction, 123) = 0 OR price > 1000
    """, euros, files=FEW_FILES),
    Case("q5 hot items", """
        SELECT auction, COUNT(*) AS bids, WINDOW_END
        FROM bid [RANGE 10 SECONDS SLIDE 2 SECONDS]
        GROUP BY auction ORDER BY bids DESC LIMIT 3
    """, hot_items),
    Case("q7 highest per window", """
        SELECT MAX(price) AS price, MAX_BY(bidder, price) AS bidder, WINDOW_END
        FROM bid [TUMBLE 10 SECONDS]
    """, highest, files=FEW_FILES),
    Case("q11 sessions", """
        SELECT bidder, COUNT(*) AS bids, WINDOW_START, WINDOW_END
        FROM bid [SESSION 10 SECONDS PARTITION BY bidder] GROUP BY bidder
    """, visits),
    Case("q13 join with a table", """
        SELECT auction, bidder, price, dateTime, value
        FROM bid b JOIN side_input s ON MOD(b.auction, 100) = s.key
    """, enriched, files=FEW_FILES),
    Case("q17 per auction and day", """
        SELECT auction, DATE_FORMAT(dateTime, 'yyyy-MM-dd') AS day, COUNT(*) AS total_bids,
               COUNT(*) FILTER (WHERE price < 10000) AS rank1_bids,
               COUNT(*) FILTER (WHERE price >= 1000000) AS rank3_bids,
               MIN(price) AS min_price, MAX(price) AS max_price,
               AVG(price) AS avg_price, SUM(price) AS sum_price
        FROM bid GROUP BY auction, DATE_FORMAT(dateTime, 'yyyy-MM-dd')
    """, per_day, mode="update"),
)


def compiled(case: Case, inputs: Inputs) -> DataFrame:
    """The frame of the compiled query."""
    text = f"{DECLARATIONS}\nINSERT INTO nowhere {case.cql};"
    plan = compile_program(text, CompileOptions(base_dir=str(inputs.folder))).require()
    query = plan.queries[0]
    if query.mode != case.mode:
        raise SystemExit(f"{case.name}: compiled for mode {query.mode}, not {case.mode}")
    return build_frame(query, EmitContext(inputs.spark, plan.base_dir))


def _over(
    spark: SparkSession, side: Path, build: Callable[[Inputs], DataFrame], folder: Path
) -> DataFrame:
    """The frame over the bids in a folder, beside which the table is put."""
    os.link(side, folder / side.name)
    return build(Inputs(spark, folder))


def main() -> int:
    parser = argparse.ArgumentParser(description="Compiled plans against PySpark by hand.")
    parser.add_argument("--rows", type=int, default=3_600_000)
    parser.add_argument("--pairs", type=int, default=55, help="how often each side reads a file, at least")
    parser.add_argument("--only", default="", help="parts of names, with commas: q5,q7")
    options = parser.parse_args()
    wanted = [part for part in options.only.split(",") if part] or [""]
    cases = [case for case in CASES if any(part in case.name for part in wanted)]
    spark = create_session({"spark.master": "local[2]"}, app="streamq-benchmark")
    with TemporaryDirectory(prefix="streamq-benchmark-") as scratch:
        folder = Path(scratch)
        bids = {count: folder / str(count) / "bids" for count in sorted({case.files for case in cases})}
        rows = max(write_bids(made, options.rows, count) for count, made in bids.items())
        lines = "".join(f"{key},value {key}\n" for key in range(KEYS))
        side = folder / "side_input.csv"
        side.write_text(f"key,value\n{lines}", encoding="utf-8")
        size = folder_size(folder) / len(bids) / 1e6
        print(f"{rows:,} bids in {' or '.join(map(str, bids))} Parquet files, {size:,.0f} MB", flush=True)
        races = []
        for case in cases:
            races.append(run_race(
                spark, case.name, rows // case.files, sorted(bids[case.files].iterdir()),
                partial(_over, spark, side, partial(compiled, case)), partial(_over, spark, side, case.by_hand),
                mode=case.mode, repeat=-(-options.pairs // (case.files - 1)), warm_ups=WARM_UPS,
            ))
            print(f"{case.name}: {races[-1].ratio:.3f}", file=sys.stderr, flush=True)
    good = print_races(races, "by hand")
    spark.stop()
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
