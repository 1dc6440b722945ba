"""From the physical plan to DataFrames: one call per step, no decisions."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from streamq.compiler.ir.physical import (
    Aggregate,
    AssignWindow,
    ControlRelation,
    DropDuplicates,
    Join,
    Named,
    Observe,
    Parse,
    PhysicalQuery,
    ScanStream,
    ScanTable,
    Select,
    Stateful,
    Step,
    UnionAll,
    Where,
    WindowJoin,
    WithWatermark,
    walk,
)
from streamq.runtime.control.knobs import to_numbers
from streamq.runtime.control.offsets import Span
from streamq.runtime.control.throttle import first_throttle
from streamq.runtime.spark.names import quoted
from streamq.runtime.spark.sources import SourceContext, read_again, read_stream, read_table
from streamq.stdlib.row_units import rows_per_unit

_ANY_ROW = "__any_row"
STATE_STORE = "spark.sql.streaming.stateStore.providerClass"
SOURCE_NAMES = "spark.sql.streaming.queryEvolution.enableSourceEvolution"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
"""The state store that operators in Python need; Spark's own are faster with the default one."""


@dataclass(frozen=True, slots=True)
class EmitContext:
    """``base_dir``: where relative paths start. ``memory_dir``: has a folder per memory source.

    ``control_dir``: holds a file per control relation; None fixes the knobs at their first values. ``trigger_ms``: the
    least time between two micro-batches. ``span``: what of a stream is read again, in place of all that comes. ``gate``: a
    condition under which rows of streams pass (``gate.py``). ``named``: Spark knows sources by their names; build and start
    the query under ``source_names`` then.
    """

    spark: SparkSession
    base_dir: str = ""
    memory_dir: str = ""
    control_dir: Path | None = None
    trigger_ms: int = 0
    span: Span | None = None
    gate: str = ""
    named: bool = False

    @property
    def sources(self) -> SourceContext:
        return SourceContext(self.spark, self.base_dir, self.memory_dir, self.named)


def build_frame(query: PhysicalQuery, context: EmitContext) -> DataFrame:
    """The streaming DataFrame of a query; its control relations become temporary views first.

    Start it under ``state_store``.
    """
    for control in query.controls:
        _create_control(control, query, context)
    if query.readers:
        from streamq.runtime.spark.functions import register_functions

        register_functions(context.spark, query.readers, context.base_dir, ours=True)
    return _emit(query.root, context)


def build_again(step: Step, span: Span, context: EmitContext) -> DataFrame:
    """The rows of a step over what its stream gave to one micro-batch."""
    return _emit(step, replace(context, span=span))


def _emit(step: Step, context: EmitContext) -> DataFrame:
    match step:
        case ScanStream() if context.span is not None:
            return read_again(step, context.span, context.sources)
        case ScanStream() if context.gate:
            from streamq.runtime.spark.gate import read_gated

            return read_gated(step, context.gate, context.sources)
        case ScanStream():
            return read_stream(step, context.sources)
        case ScanTable():
            return read_table(step, context.sources)
        case Parse(input=below):
            from streamq.runtime.spark.kafka import parsed

            return parsed(_emit(below, context), step, context.base_dir)
        case Select(input=below, items=items):
            return _emit(below, context).select(*_columns(items))
        case Where(input=below, condition=condition):
            return _emit(below, context).where(F.expr(condition))
        case Observe(input=below, name=name, metrics=metrics):
            return _emit(below, context).observe(name, *_columns(metrics))
        case WithWatermark(input=below, column=column, delay_ms=delay):
            return _emit(below, context).withWatermark(quoted(column), f"{delay} milliseconds")
        case AssignWindow(input=below, column=column):
            window = F.window(
                F.col(quoted(step.ts)),
                f"{step.range_ms} milliseconds",
                f"{step.slide_ms} milliseconds",
            )
            return _emit(below, context).withColumn(column, window)
        case Aggregate():
            return _aggregate(step, context)
        case DropDuplicates(input=below, columns=columns):
            return _emit(below, context).dropDuplicates(list(columns))
        case Join():
            return _join(step, context)
        case Stateful(input=below):
            from streamq.runtime.spark.stateful import with_operator

            return with_operator(
                _emit(below, context), step.operator, dict(step.params), step.kinds, step.results
            )
        case WindowJoin(input=below):
            from streamq.runtime.spark.window_join import with_window_join

            return with_window_join(
                _emit(below, context), step.condition, step.grids, step.kinds, step.left, step.sampled, step.worths
            )
        case UnionAll(inputs=inputs):
            return reduce(DataFrame.union, [_emit(below, context) for below in inputs])
        case _:
            raise TypeError(f"not a physical step: {type(step).__name__}")


@contextmanager
def source_names(spark: SparkSession, named: bool) -> Iterator[None]:
    """While a query is built and started, Spark asks for names of its sources, or takes none."""
    before = spark.conf.get(SOURCE_NAMES, "false")
    spark.conf.set(SOURCE_NAMES, named)
    try:
        yield
    finally:
        spark.conf.set(SOURCE_NAMES, str(before))


@contextmanager
def state_store(query: PhysicalQuery, spark: SparkSession) -> Iterator[None]:
    """The state store that a query needs is the session's while the query starts; then the one before."""
    if not any(isinstance(step, Stateful | WindowJoin) for step in walk(query.root)):
        yield
        return
    before = spark.conf.get(STATE_STORE, None)
    spark.conf.set(STATE_STORE, ROCKSDB)
    try:
        yield
    finally:
        if before is None:
            spark.conf.unset(STATE_STORE)
        else:
            spark.conf.set(STATE_STORE, before)


def _aggregate(step: Aggregate, context: EmitContext) -> DataFrame:
    keys = _columns(step.keys)
    if step.session is not None:
        column, ts, gap = step.session
        keys.append(F.session_window(F.col(quoted(ts)), f"{gap} microseconds").alias(column))
    grouped = _emit(step.input, context).groupBy(*keys)
    if step.aggregates:
        return grouped.agg(*_columns(step.aggregates))
    return grouped.agg(F.expr("count(1)").alias(_ANY_ROW)).drop(_ANY_ROW)


def _join(step: Join, context: EmitContext) -> DataFrame:
    left, right = _emit(step.left, context), _emit(step.right, context)
    if step.broadcast_right:
        right = F.broadcast(right)
    if step.kind == "cross":
        return left.crossJoin(right)
    return left.join(right, F.expr(step.condition), step.kind)


def _columns(items: tuple[Named, ...]) -> list[Column]:
    return [F.expr(sql).alias(name) for name, sql in items]


def _create_control(control: ControlRelation, query: PhysicalQuery, context: EmitContext) -> None:
    """The relation of one row, or of none, that the shed expressions read anew in every micro-batch."""
    from streamq.runtime.spark.control_source import ASKED_WHEN_PLANNED, ControlSource

    context.spark.dataSource.register(ControlSource)
    reader = context.spark.read.format(ControlSource.name())
    folder = context.control_dir
    if folder is not None and control.goal is not None:
        units = [rows_per_unit(s.connector, dict(s.options)) for s in scans_of(query)]
        reader = reader.options(
            throttle=json.dumps(to_numbers(first_throttle(control.goal))), checkpoint=str(folder),
            rows_per_unit=json.dumps(units), trigger_ms=str(context.trigger_ms), started_ms=str(time.time() * 1000),
            spared=json.dumps([s.stream in control.spared for s in scans_of(query)]),
        )
    elif folder is not None:
        reader = reader.option("path", str(folder / "control.json"))
    for knob in control.knobs:
        reader = reader.option(knob.name, knob.initial)
    # Spark ends a query whose reader takes filters where that is not allowed.
    allowed = str(context.spark.conf.get(ASKED_WHEN_PLANNED)).lower() == "true"
    reader.option("may_be_empty", control.may_be_empty and allowed).load().createOrReplaceTempView(quoted(control.view))


def scans_of(query: PhysicalQuery) -> tuple[ScanStream, ...]:
    """The streams that a query reads, each once, in the order of the plan."""
    return tuple(dict.fromkeys(s for s in walk(query.root) if isinstance(s, ScanStream)))
