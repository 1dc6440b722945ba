"""Starts a query, for the first time or again after a failure."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from streamq.compiler.ir.goals import Goal
from streamq.compiler.ir.physical import PhysicalPlan, PhysicalQuery
from streamq.dsl.diagnostics import Abort, Diagnostic
from streamq.runtime import checkpoint
from streamq.runtime.control.steering import Steering
from streamq.runtime.disk import of_error
from streamq.runtime.paths import is_remote, resolve
from streamq.runtime.run import RunOptions
from streamq.runtime.sink_errors import SinkRefused
from streamq.runtime.spark.emit import EmitContext, build_frame, source_names
from streamq.runtime.spark.errors import text_of, to_diagnostic
from streamq.runtime.spark.gate import create_gate
from streamq.runtime.spark.own_session import is_alive
from streamq.runtime.spark.sinks import RowFeed, SinkContext, start_query
from streamq.runtime.spark.spool import Spool
from streamq.runtime.steered import interval_ms
from streamq.runtime.supervise.kinds import kind_of
from streamq.runtime.supervise.letters import put_aside, to_come
from streamq.runtime.supervise.policy import Kind


class NotStarted(Exception):
    """A query that did not start, or failed: why, and what that says of the next try. ``refused``: its sink refused rows."""

    def __init__(self, diagnostic: Diagnostic, kind: Kind, refused: bool = False) -> None:
        self.diagnostic, self.kind, self.refused = diagnostic, kind, refused
        super().__init__(diagnostic.message)


@dataclass(slots=True)
class Starter:
    """What all starts of a run share. ``root``: the folder of all checkpoints; ``goals``: what queries are steered for.

    ``since``: of each query, when it was first started with its checkpoint. What lives on over a restart is made once:
    the ``spools`` and the controllers in ``steering``.
    """

    plan: PhysicalPlan
    options: RunOptions
    spark: SparkSession
    root: Path
    feed: RowFeed
    goals: Mapping[str, Goal | None]
    steering: Steering
    spools: dict[str, Spool] = field(default_factory=dict)
    since: dict[str, float] = field(default_factory=dict)
    _steered: set[str] = field(default_factory=set)

    @property
    def context(self) -> EmitContext:
        return EmitContext(self.spark, self.plan.base_dir, self.options.memory_dir)

    def folder(self, query: PhysicalQuery) -> Path:
        """The folder of a query's checkpoint."""
        return checkpoint.folder_of(self.root, query.name)

    def start(self, query: PhysicalQuery) -> StreamingQuery:
        """Starts the query where its checkpoint says; NotStarted where that fails."""
        folder = self.folder(query)
        spool = self.spools.get(query.name)
        fresh = spool is None and bool(query.dropped)
        try:
            partitions = int(self.spark.conf.get("spark.sql.shuffle.partitions") or 0)
            self.since[query.name] = checkpoint.record(query, folder, self.options.texts.get(query.name, ""), partitions)
            if fresh:
                spool = Spool(query, self.context, folder)
                spool.prepare()
        except OSError as error:
            raise NotStarted(of_error(error, f"query `{query.name}`", folder, query.origin), Kind.AWAY) from error
        interval = interval_ms(self.options, self.plan, self.goals[query.name])
        self._steer(query, folder, interval)
        # Each has a pool of its own, where pools get equal parts of the machine (``plan_session.py``).
        self.spark.sparkContext.setLocalProperty("spark.scheduler.pool", query.name)
        try:
            gate = create_gate(self.spark, query.name, folder) if to_come(folder) else ""
            named = checkpoint.has_names(query, folder)
            with source_names(self.spark, named):
                frame = build_frame(query, replace(self.context, control_dir=folder, trigger_ms=interval, gate=gate, named=named))
                handle = start_query(query, frame, self._sink(query, folder, interval))
        except (PySparkException, Py4JError, Abort) as error:
            if not isinstance(error, Abort) and not is_alive(self.spark):
                raise
            raise self.failure(query, error, starting=True) from error
        except ConnectionError:
            raise  # to Spark
        except OSError as error:
            raise NotStarted(of_error(error, f"query `{query.name}`", folder, query.origin), Kind.AWAY) from error
        if fresh and spool is not None:
            self.spools[query.name] = spool
            spool.start()
        return handle

    def failure(self, query: PhysicalQuery, error: BaseException, *, starting: bool = False) -> NotStarted:
        """The failure that an error of the query is. ``starting``: what Spark refuses then it always does."""
        if isinstance(error, SinkRefused):
            return NotStarted(error.diagnostic, Kind.DATA, refused=True)
        if isinstance(error, Abort):
            return NotStarted(error.diagnostic, kind_of(error.diagnostic.code, ""))
        names = tuple(function.name for function in self.plan.functions)
        found = to_diagnostic(error, query, names, self._written(query))
        if starting and isinstance(error, AnalysisException):
            return NotStarted(found, Kind.FINAL)
        return NotStarted(found, kind_of(found.code, text_of(error)))

    def _steer(self, query: PhysicalQuery, folder: Path, interval: int) -> None:
        if query.name in self._steered:
            return
        self._steered.add(query.name)
        goal = self.goals[query.name]
        if goal is not None:
            sift = next((c.sift for c in query.controls if c.sift is not None), None)
            self.steering.add(query.name, goal, folder, sift, interval)
        self.steering.joins.join(query, folder)

    def _sink(self, query: PhysicalQuery, folder: Path, interval: int) -> SinkContext:
        once = self.options.once
        trigger = {"availableNow": True} if once else {"processingTime": f"{interval} milliseconds"}
        return SinkContext(
            folder, trigger, self.options.limit or self.options.rows_per_batch, self.feed, self.plan.base_dir,
            self.since[query.name], put_aside(folder),
        )

    def _written(self, query: PhysicalQuery) -> tuple[str, ...]:
        """The folders that the query writes to, the most particular first."""
        paths = [dict(sink.options).get("path") for sink in (query.sink, query.dropped_sink) if sink is not None]
        outputs = [resolve(self.plan.base_dir, str(path)) for path in paths if path]
        local = str(self.spark.conf.get("spark.local.dir", tempfile.gettempdir()))
        return (str(self.folder(query)), *(path for path in outputs if not is_remote(path)), local)
