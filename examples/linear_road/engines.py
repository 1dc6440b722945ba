"""The answers of ``linear_road.cql`` as bags of rows: by definition, on Spark, and from the check's tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from examples.linear_road.simulation import Traffic
from streamq.compiler.driver import CompileResult, compile_program
from streamq.compiler.ir.logical import LogicalPlan
from streamq.compiler.ir.physical import PhysicalPlan, PhysicalQuery, SinkSpec
from streamq.compiler.options import CompileOptions
from streamq.dsl.source import SourceFile
from streamq.runtime.metrics import ResultRows
from streamq.runtime.reference.engine import EvaluateOptions, evaluate
from streamq.runtime.run import RunOptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROGRAM = Path(__file__).parent / "linear_road.cql"
MEMORY = SinkSpec(name="memory", connector="memory")

CHANGE = ("change", "changed_at")
"""What a result of changes says beside its own columns: ``+`` or ``-``, and since when."""

Bag = Counter[tuple[object, ...]]
"""How often each row is there."""


class RunFailed(Exception):
    """Spark did not come to the end of the input; says why."""


def compiled(folder: Path) -> CompileResult:
    """The program with its data in ``folder / "data"``; what is wrong with it is in the result."""

    def read_text(name: str) -> str:
        return PROGRAM.with_name(name).read_text("utf-8")

    source = SourceFile(PROGRAM.name, read_text(PROGRAM.name))
    return compile_program(source, CompileOptions(base_dir=str(folder)), read_text)


def bag_of(rows: Iterable[Sequence[object]]) -> Bag:
    return Counter(tuple(map(_plain, row)) for row in rows)


def bag_of_table(table: pd.DataFrame) -> Bag:
    """The rows of a table of the check."""
    return bag_of(_rows(table))


def difference(found: Bag, expected: Bag) -> tuple[Bag, Bag]:
    """The rows that are missing, and those that are too much."""
    return expected - found, found - expected


def reference_answers(plan: LogicalPlan, traffic: Traffic) -> dict[str, Bag]:
    """The answers by definition. As on Spark, windows that are not over have none."""
    inputs = {
        "reports": _batches(traffic.reports),
        "trips": _batches(traffic.trips),
        "segments": [_rows(traffic.segments)],
        "history": [_rows(traffic.history)],
    }
    answers = evaluate(plan, inputs, EvaluateOptions(watermark=True, closed=False, behind=1))
    return {name: bag_of(answer.rows().elements()) for name, answer in answers.items()}


def spark_answer(plan: PhysicalPlan, query: PhysicalQuery, session: SparkSession) -> Bag:
    """The answer of one query on Spark; raises ``RunFailed``."""
    from streamq.runtime.spark.runner import run_plan

    alone = replace(plan, queries=(replace(query, sink=MEMORY),))
    report = run_plan(alone, RunOptions(once=True), session=session)
    if report.diagnostics or report.ended_by != "finished":
        said = "; ".join(f"{d.code} {d.message}" for d in report.diagnostics)
        raise RunFailed(said or report.ended_by)
    return _at_the_end(report.memory.get(query.name, ()))


def _at_the_end(batches: Iterable[ResultRows]) -> Bag:
    """All rows of a stream; of a relation the rows that it ends with."""
    bag: Bag = Counter()
    latest: dict[object, tuple[object, ...]] = {}
    for batch in batches:
        for row in batch.to_dicts():
            change = row.get(CHANGE[0])
            values = tuple(_plain(v) for name, v in row.items() if name not in CHANGE)
            if batch.update:
                latest[tuple(row[key] for key in batch.keys)] = values
            else:
                bag[values] += -1 if change == "-" else 1
    bag.update(latest.values())
    return +bag


def _batches(stream: pd.DataFrame) -> list[list[tuple[Any, ...]]]:
    """The rows of each file."""
    return [_rows(rows.drop(columns="file")) for _, rows in stream.groupby("file")]


def _rows(table: pd.DataFrame) -> list[tuple[Any, ...]]:
    """The rows of a table, in values of Python."""
    columns = [
        [v.to_pydatetime() for v in c] if c.dtype.kind == "M" else c.tolist()
        for _, c in table.items()
    ]
    return list(zip(*columns, strict=True))


def _plain(value: object) -> object:
    """Floats to nine digits, for engines add in any order; times without their zone, which is UTC."""
    match value:
        case float():
            return float(f"{value:.9g}")
        case datetime():
            return value.replace(tzinfo=None)
        case _:
            return value
