"""Runs programs into sinks that are servers or databases, once or again, over rows that a test gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from streamq.compiler.driver import compile_program
from streamq.compiler.options import CompileOptions
from streamq.runtime.metrics import RunReport
from streamq.runtime.run import RunOptions
from streamq.runtime.spark.runner import run_plan
from streamq.runtime.testing import StreamScript

NUMBERS = """\
CREATE STREAM numbers (k STRING, n BIGINT, ts TIMESTAMP, WATERMARK FOR ts) WITH (connector = 'memory');
"""


@dataclass(frozen=True, slots=True)
class SinkRuns:
    """Runs in one folder; ``add`` gives a micro-batch to the stream ``numbers``."""

    spark: SparkSession
    folder: Path

    def add(self, *rows: Mapping[str, Any]) -> None:
        StreamScript(self.folder / "numbers").add(*rows)

    def run(self, program: str, checkpoint: str = "checkpoint") -> RunReport:
        """Reads what is there and ends."""
        result = compile_program(NUMBERS + program, CompileOptions(base_dir=str(self.folder)))
        options = RunOptions(once=True, checkpoint=self.folder / checkpoint)
        return run_plan(result.require(), options, session=self.spark)

    def done(self, program: str, checkpoint: str = "checkpoint") -> RunReport:
        """A run that must go well."""
        report = self.run(program, checkpoint)
        assert report.diagnostics == (), report.diagnostics
        assert report.ended_by == "finished"
        return report

    def refused(self, program: str, checkpoint: str = "checkpoint") -> tuple[str, str]:
        """The code of a run that must fail, and all that is said."""
        report = self.run(program, checkpoint)
        assert len(report.diagnostics) == 1, report.diagnostics
        (found,) = report.diagnostics
        return found.code, "\n".join((found.message, *found.notes, found.help))


def rows(*numbers: int, key: str = "k") -> list[dict[str, Any]]:
    """A row of the stream for each number."""
    return [{"k": key, "n": n, "ts": f"2024-01-01T00:00:{n % 60:02}Z"} for n in numbers]
