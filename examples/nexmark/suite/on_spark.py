"""The answers on Spark, through the runtime as a user's program takes it; and how fast it runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from examples.nexmark.suite.bags import Bag, bag_of
from examples.nexmark.suite.events import Events
from examples.nexmark.suite.programs import TABLE_OF
from streamq.compiler.ir.physical import PhysicalPlan, SinkSpec
from streamq.runtime.metrics import ResultRows, RunReport
from streamq.runtime.run import RunOptions
from streamq.runtime.testing import StreamScript

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MEMORY = SinkSpec(name="memory", connector="memory")
NOWHERE = SinkSpec(name="nowhere", connector="noop")

CHANGE = "change"
"""The column of an output of changes that says what happens to the row."""


class RunFailed(Exception):
    """A run did not come to the end of its input; says why."""


def write_scripts(folder: Path, events: Events) -> None:
    """The input of every stream, for sources with the connector ``memory``."""
    for stream, table in TABLE_OF.items():
        script = StreamScript(folder / stream)
        for rows in events.rows(table):
            script.add(*rows)


def spark_answer(plan: PhysicalPlan, columns: int, scripts: Path, spark: SparkSession) -> Bag:
    """All elements of the answer where it is a stream, and its rows at the end where it is a relation.

    ``columns``: of the query. A query that writes files answers with what is in them.
    """
    with TemporaryDirectory(prefix="streamq-nexmark-") as scratch:
        files = Path(scratch) / "files"
        report = _run(
            _into(plan, MEMORY, files), spark, RunOptions(once=True, memory_dir=str(scripts))
        )
        (query,) = plan.queries
        if query.sink.connector == "file":
            return _written(files, [name for name, _ in query.columns])
        return _rows_at_the_end(report.memory.get(query.name, ()), columns)


def events_per_second(plan: PhysicalPlan, events: int, spark: SparkSession) -> float:
    """The events that the plan's generator gives, of all kinds, over the time of the micro-batches.

    Results go nowhere; those of a query that writes files into files.
    """
    with TemporaryDirectory(prefix="streamq-nexmark-") as scratch:
        files = Path(scratch) / "files"
        report = _run(_into(plan, NOWHERE, files), spark, RunOptions(once=True))
        (totals,) = report.totals
        return events / (totals.busy_ms / 1000)


def _into(plan: PhysicalPlan, sink: SinkSpec, files: Path) -> PhysicalPlan:
    """The plan with another sink in place of a console; a sink of files writes into another folder."""
    (query,) = plan.queries
    if query.sink.connector == "file":
        options = {**dict(query.sink.options), "path": str(files)}
        sink = replace(query.sink, options=tuple(options.items()))
    return replace(plan, queries=(replace(query, sink=sink),))


def _run(plan: PhysicalPlan, spark: SparkSession, options: RunOptions) -> RunReport:
    from streamq.runtime.spark.runner import run_plan

    report = run_plan(plan, options, session=spark)
    if report.diagnostics or report.ended_by != "finished":
        said = "; ".join(f"{d.code} {d.message}" for d in report.diagnostics)
        raise RunFailed(said or report.ended_by)
    return report


def _rows_at_the_end(batches: Sequence[ResultRows], columns: int) -> Bag:
    """All rows of a stream; of a relation those that are left when its changes are made one by one.

    ``columns``: of the query itself. A relation of which rows leave has one more, with + and -.
    """
    rows = [row for batch in batches for row in batch.rows]
    if not batches:
        return Bag()
    if CHANGE in batches[0].columns[columns:]:
        place = batches[0].columns.index(CHANGE)
        came = bag_of(row[:columns] for row in rows if row[place] == "+")
        return came - bag_of(row[:columns] for row in rows if row[place] == "-")
    if not batches[0].update:
        return bag_of(rows)
    places = [batches[0].columns.index(key) for key in batches[0].keys]
    return bag_of({tuple(row[i] for i in places): row for row in rows}.values())


def _written(folder: Path, columns: list[str]) -> Bag:
    """The rows of Parquet files whose folders are named after values, as text."""
    import pyarrow as pa
    from pyarrow import dataset

    parts = {f.name.partition("=")[0] for f in folder.rglob("*=*")}
    text = pa.schema([(name, pa.string()) for name in columns if name in parts])
    files = dataset.dataset(
        folder, format="parquet", partitioning=dataset.partitioning(text, flavor="hive")
    )
    table = files.to_table(columns=columns)
    for i, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(i, field.name, table.column(i).cast(pa.timestamp("us")))
    return bag_of(zip(*(column.to_pylist() for column in table.columns), strict=True))
