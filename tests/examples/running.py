"""Compiles the programs under ``examples/`` and runs them to the end of their input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from streamq.compiler.driver import CompileResult, compile_program
from streamq.compiler.ir.physical import PhysicalPlan, SinkSpec
from streamq.compiler.options import CompileOptions
from streamq.dsl.source import SourceFile
from streamq.runtime.metrics import RunReport
from streamq.runtime.run import RunOptions
from streamq.runtime.spark.runner import run_plan

EXAMPLES = Path(__file__).parents[2] / "examples"

Row = Mapping[str, Any]


def compile_file(file: Path) -> CompileResult:
    """Compiles a program with its folder as the base of its paths and includes."""
    folder = file.parent

    def read_text(name: str) -> str:
        return (folder / name).read_text(encoding="utf-8")

    source = SourceFile(file.name, read_text(file.name))
    return compile_program(source, CompileOptions(base_dir=str(folder), verify=True), read_text)


def into_memory(plan: PhysicalPlan) -> PhysicalPlan:
    """The plan with its consoles replaced by memory sinks."""
    memory = SinkSpec(name="memory", connector="memory")
    return replace(plan, queries=tuple(
        replace(q, sink=memory) if q.sink.connector == "console" else q for q in plan.queries
    ))


def run_to_end(plan: PhysicalPlan, spark: SparkSession) -> RunReport:
    """Runs all queries over what their sources hold; fails on any diagnostic."""
    report = run_plan(plan, RunOptions(once=True), session=spark)
    assert not report.diagnostics, [d.message for d in report.diagnostics]
    assert report.ended_by == "finished"
    return report
