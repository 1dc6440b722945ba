"""The Spark session of a plan: its settings, its secrets, the libraries of its connectors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from streamq.compiler.ir.physical import OptionValue, PhysicalPlan
from streamq.runtime.control.decisions import KEPT_FILES
from streamq.runtime.run import RunOptions
from streamq.runtime.secrets import reveal_settings
from streamq.runtime.spark.jars import given_jars, jar_settings, starts_with_libraries
from streamq.runtime.spark.own_session import own_session
from streamq.runtime.spark.stopping import STOP_S
from streamq.runtime.steered import goals_of


@contextmanager
def plan_session(plan: PhysicalPlan, options: RunOptions, app: str, help: str) -> Iterator[SparkSession]:
    """A session that ends with the block; Abort where it does not start, with ``help``."""
    settings = session_settings(plan)
    settings |= jar_settings(plan.queries, given_jars(options.jars), tuple(settings))
    session = own_session(settings, app=app, fast_start=options.fast_start, log_file=options.log_file, help=help)
    with starts_with_libraries(plan.queries, settings, session) as spark:
        yield spark


def session_settings(plan: PhysicalPlan) -> dict[str, OptionValue]:
    """The program's settings by the names that Spark has for them, secrets in the open."""
    settings = reveal_settings(dict(plan.settings), plan.base_dir)
    partitions = settings.pop("shuffle_partitions", None)
    if partitions is not None:
        settings["spark.sql.shuffle.partitions"] = partitions
    if any(goal is not None and goal.worth is not None for goal in goals_of(plan.queries).values()):
        settings.setdefault("spark.scheduler.mode", "FAIR")
    if any(query.dropped for query in plan.queries):
        # What micro-batches read is to be known until the rows that they shed are written.
        settings.setdefault("spark.sql.streaming.minBatchesToRetain", KEPT_FILES)
    settings.setdefault("spark.sql.streaming.stopTimeout", f"{STOP_S:.0f}s")
    return settings
