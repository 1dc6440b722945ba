"""How fast the sources are, into a sink that keeps nothing; CSV and JSON against Spark's own readers.

The races are over equal work: rows that cannot be read, or have no event time, stay out of the answer (by
default) or end the run (``on_error = 'fail'``). What the default costs against a reader that turns such rows
into NULLs without a word is printed as well, and judged by nobody.

Run from the root of the repository::

    python -m tests.benchmarks.sources [--rows 3000000] [--text-rows 3000000] [--repeat 5]

Ends with 1 where ``nexmark`` or Parquet give less than 300,000 rows per second, or a text format
reaches less than 0.95 of the throughput of Spark's reader on the same files for the same rows.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamReader

from streamq.compiler.driver import compile_program
from streamq.compiler.options import CompileOptions
from streamq.runtime.spark.emit import EmitContext, build_frame
from streamq.runtime.spark.session import create_session
from tests.benchmarks.bids import DDL, write_bids
from tests.benchmarks.measure import folder_size, print_races, run_race, run_stream

WANTED_ROWS_PER_S = 300_000
FILES = 12
TEXT_FILES = 6
"""Of 500,000 rows: what Spark needs for a micro-batch of any size is little beside reading them."""

FILES_PER_BATCH = 4
TEXT_FORMATS = ("csv", "json")

ALL_COLUMNS = "auction, bidder, price, channel, url, dateTime, extra"
NARROW = "auction, price, dateTime"


def program(connector: str, select: str) -> str:
    """A query that passes the columns on, over all columns of the stream."""
    return f"""
        CREATE STREAM bid ({DDL}, WATERMARK FOR dateTime AS dateTime - INTERVAL 4 SECONDS)
        WITH ({connector});
        CREATE SINK nowhere WITH (connector = 'noop');
        INSERT INTO nowhere SELECT {select} FROM bid;
    """


def from_files(data_format: str, *, on_error: str = "") -> str:
    options = (
        f"connector = 'file', format = '{data_format}', path = '{data_format}', "
        f"max_files_per_trigger = {FILES_PER_BATCH}"
    )
    return f"{options}, on_error = '{on_error}'" if on_error else options


def from_generator(events: int) -> str:
    return f"connector = 'nexmark', table = 'bid', events = {events}"


def compiled(spark: SparkSession, text: str, folder: Path) -> DataFrame:
    plan = compile_program(text, CompileOptions(base_dir=str(folder))).require()
    return build_frame(plan.queries[0], EmitContext(spark, plan.base_dir))


def bare(spark: SparkSession, data_format: str, folder: Path) -> DataFrame:
    """The files as Spark reads them by itself: what it cannot read becomes NULL."""
    return _reader(spark, data_format).load(str(folder / data_format))


def failing(spark: SparkSession, data_format: str, folder: Path) -> DataFrame:
    """The good rows; a malformed one ends the run."""
    reader = _reader(spark, data_format).option("mode", "FAILFAST")
    return reader.load(str(folder / data_format)).where("dateTime IS NOT NULL")


def tolerant(spark: SparkSession, data_format: str, folder: Path) -> DataFrame:
    """The good rows; malformed ones are told apart by the column that Spark has for them."""
    reader = _reader(spark, data_format, f"{DDL}, _corrupt_record STRING")
    frame = reader.load(str(folder / data_format))
    return frame.where("_corrupt_record IS NULL AND dateTime IS NOT NULL").drop("_corrupt_record")


def _reader(spark: SparkSession, data_format: str, schema: str = DDL) -> DataStreamReader:
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", FILES_PER_BATCH)
    return reader.format(data_format).option("header", True)


def report_speed(
    spark: SparkSession, name: str, rows: int, text: str, folder: Path, repeat: int
) -> float:
    """Prints and returns the best throughput, after a run to warm up."""
    run_stream(spark, compiled(spark, text, folder), "append")
    best = min(
        run_stream(spark, compiled(spark, text, folder), "append").wall for _ in range(repeat)
    )
    print(f"{name:28}{rows / best:14,.0f} rows/s", flush=True)
    return rows / best


def main() -> int:
    parser = argparse.ArgumentParser(description="Throughput of the sources.")
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--text-rows", type=int, default=3_000_000)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    spark = create_session({"spark.master": "local[2]"}, app="streamq-benchmark")
    with TemporaryDirectory(prefix="streamq-benchmark-") as scratch:
        folder = Path(scratch)
        speeds = _binary_sources(spark, folder, options.rows, options.repeat)
        races, costs = [], []
        for data_format in TEXT_FORMATS:
            files = _write_text(spark, folder, data_format, options.text_rows)
            rows = options.text_rows // len(files)
            counting = program(from_files(data_format), ALL_COLUMNS)
            strict = program(from_files(data_format, on_error="fail"), ALL_COLUMNS)
            for label, text, other, results in (
                ("malformed rows counted", counting, tolerant, races),
                ("malformed rows fail", strict, failing, races),
                ("counted, not NULL", counting, bare, costs),
            ):
                results.append(run_race(
                    spark, f"{data_format}, {label}", rows, files, partial(compiled, spark, text),
                    partial(other, spark, data_format), repeat=options.repeat,
                ))
            shutil.rmtree(folder / data_format)
        good = print_races(races, "Spark's")
        print("\nWhat counting malformed rows costs (not judged):")
        print_races(costs, "bare", wanted=0.0)
    spark.stop()
    slow = [name for name, speed in speeds.items() if speed < WANTED_ROWS_PER_S]
    if slow:
        print(f"below {WANTED_ROWS_PER_S:,} rows/s: {', '.join(slow)}", file=sys.stderr)
    return 0 if good and not slow else 1


def _binary_sources(
    spark: SparkSession, folder: Path, rows: int, repeat: int
) -> dict[str, float]:
    speeds = {}
    bids = rows * 46 // 50
    for name, columns in (("all columns", ALL_COLUMNS), ("3 columns", NARROW)):
        text = program(from_generator(rows), columns)
        label = f"nexmark, {name}"
        speeds[label] = report_speed(spark, label, bids, text, folder, repeat)
    written = write_bids(folder / "parquet", rows, FILES)
    for name, columns in (("all columns", ALL_COLUMNS), ("3 columns", NARROW)):
        text = program(from_files("parquet"), columns)
        label = f"parquet, {name}"
        speeds[label] = report_speed(spark, label, written, text, folder, repeat)
    shutil.rmtree(folder / "parquet")
    return speeds


def _write_text(spark: SparkSession, folder: Path, data_format: str, rows: int) -> list[Path]:
    """The same bids as text, written by Spark from Parquet that is removed again."""
    source, made = folder / "source", folder / data_format
    written = write_bids(source, rows, TEXT_FILES)
    frame = spark.read.schema(DDL).parquet(str(source)).repartition(TEXT_FILES)
    writer = frame.write.option("header", True) if data_format == "csv" else frame.write
    writer.format(data_format).save(str(made))
    shutil.rmtree(source)
    print(f"{written:,} bids as {data_format}, {folder_size(made) / 1e6:,.0f} MB", flush=True)
    return sorted(made.glob("part-*"))


if __name__ == "__main__":
    raise SystemExit(main())
