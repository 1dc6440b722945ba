"""Runs a query over the rows that it shed: all that are there, and then the input ends, so that each window closes."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from streamq.compiler.ir.physical import PhysicalPlan
from streamq.runtime.metrics import RunReport
from streamq.runtime.run import RunListener, RunOptions
from streamq.runtime.spark.emit import EmitContext
from streamq.runtime.spark.fixture_plan import CLOSING_COLUMN, closed
from streamq.runtime.spark.functions import register_functions
from streamq.runtime.spark.plan_session import plan_session
from streamq.runtime.spark.runner import run_plan

END = datetime(9000, 1, 1, tzinfo=UTC)
"""Later than any row, and with room for any window behind it."""


def run_backfill(
    plan: PhysicalPlan, options: RunOptions, listener: RunListener, *, session: SparkSession | None = None
) -> RunReport:
    """The report of the run; Abort where Spark does not start. A session that is passed in is left running."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="streamq-backfill-"))
        if session is None:
            listener.preparing()
            session = stack.enter_context(plan_session(plan, options, "streamq backfill", "`streamq doctor` looks at Java"))
        end = pa.array([END], pa.timestamp("us", tz="UTC"))
        pq.write_table(pa.table({CLOSING_COLUMN: end}), Path(folder) / "end.parquet")
        register_functions(session, plan.functions, plan.base_dir)
        context, at = EmitContext(session, plan.base_dir), round(END.timestamp() * 1_000_000)
        queries = tuple(closed(query, folder, at, context) for query in plan.queries)
        return run_plan(replace(plan, queries=queries), options, listener, session=session)
