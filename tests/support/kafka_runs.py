"""Programs over topics, run in the session of a test."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamq.compiler.driver import compile_program
from streamq.compiler.options import CompileOptions
from streamq.runtime.metrics import QueryTotals, RunReport
from streamq.runtime.run import RunListener, RunOptions
from tests.support.topics import Topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def try_run(
    program: str, spark: SparkSession, base: Path, listener: RunListener | None = None, **asked: Any
) -> RunReport:
    """Reads what is there, unless said otherwise."""
    from streamq.runtime.spark.runner import run_plan

    result = compile_program(program, CompileOptions(verify=True, base_dir=str(base)))
    assert result.plan is not None, [d.message for d in result.diagnostics]
    return run_plan(result.plan, RunOptions(**({"once": True} | asked)), listener, session=spark)


def run(program: str, spark: SparkSession, base: Path, listener: RunListener | None = None, **asked: Any) -> RunReport:
    """The same, of a run in which all goes well."""
    report = try_run(program, spark, base, listener, **asked)
    assert not report.diagnostics, [(d.message, d.notes) for d in report.diagnostics]
    return report


def where(topics: Topics, topic: str, **options: str) -> str:
    given = {"bootstrap_servers": topics.broker.address, "topic": topic, **options}
    listed = ", ".join(f"{name} = '{value}'" for name, value in given.items())
    return f"WITH (connector = 'kafka', {listed})"


def counted(totals: QueryTotals) -> tuple[int, int, int, int]:
    """Rows in, kept, shed and malformed, which add up."""
    assert totals.rows_in == totals.kept + totals.shed + totals.malformed
    return totals.rows_in, totals.kept, totals.shed, totals.malformed
