"""``streamq_control``: the control relation of a query, a row of numbers that may change while it runs.

A shed expression reads it as an uncorrelated scalar subquery, which Spark runs anew in every micro-batch: then a
reader is asked once and looks at the file of knobs, so the plan stays the same while the numbers change. The
file is a JSON object, ``{"keep": 0.25}``; a controller replaces it atomically. A knob that is missing, not a
number or out of range has its default, and so has every knob where the file is missing or broken: a run must
not stop, nor drop rows, because a control file was lost.

Where the query has a goal, the number is decided here, in the moment in which it is asked for: Spark has written down
then what the micro-batch will read, and read none of it (``runtime/control/forward.py``).
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    Filter,
    GreaterThanOrEqual,
    InputPartition,
    IsNotNull,
)
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from streamq.runtime.control.decisions import Decided
from streamq.runtime.control.forward import Forward
from streamq.runtime.control.knobs import from_numbers
from streamq.runtime.control.sifting import axis_numbers, kept_of_cells, looked_at, stored
from streamq.runtime.supervise.letters import to_come
from streamq.stdlib.overload.hash_steps import HASH_STEPS
from streamq.stdlib.overload.ranks import cut_of

SCHEMA = (
    "keep DOUBLE, threshold BIGINT, coverage DOUBLE, late BIGINT, "
    "cut DOUBLE, at BIGINT, sample BIGINT, newest BIGINT, steps ARRAY<STRUCT<since BIGINT, threshold BIGINT>>, "
    "axes ARRAY<STRUCT<lower DOUBLE, scale DOUBLE, curved BOOLEAN, salt BIGINT>>, cells ARRAY<INT>"
)

ASKED_WHEN_PLANNED = "spark.sql.python.filterPushdown.enabled"
"""The setting of Spark without which no reader is offered a filter."""

ALWAYS: tuple[Filter, ...] = (IsNotNull(("threshold",)), GreaterThanOrEqual(("threshold",), 0))
"""Filters that hold for each threshold."""

Row = dict[str, Any]

KNOB_RANGES: dict[str, tuple[float, float]] = {"keep": (0.0, 1.0)}
"""Knob to (least, most)."""

KNOB_DEFAULTS: dict[str, float] = {"keep": 1.0}


class ControlSource(DataSource):
    """Options: ``path`` of the file; a knob's name, or ``defaults`` (a JSON object), for its default.

    With ``throttle``, the goal in the form of ``runtime/control/knobs.py``: ``checkpoint``, the folder of the query, and
    ``rows_per_unit``, a JSON list with a number for each of its sources, ``spared``, one that says which of them keep all
    rows, ``trigger_ms``, the least time between two micro-batches, and ``started_ms``, when the run began.

    With ``aside``, the folder of the query's checkpoint: nothing is kept of a micro-batch whose input was put aside.

    Columns: ``keep``, the share of rows to keep, and ``threshold``, the same in steps of the row's hash; ``coverage``,
    the share of rows that was kept in the last seconds, and ``late``, how many rows were late so far. Where some rows go
    first: ``cut``, the rank above which a row is kept (NULL: ranks do not matter), ``at``, how many of the hashes are
    kept of those that have it, ``sample``, how many are looked at, and ``newest``, the latest event time so far. Where
    whole windows go: ``steps``, the threshold of the windows that start at a time or later. Where a sifter says which:
    ``axes`` of its attributes, and ``cells``, how many of the hashes each cell of its grid keeps (NULL: there is none yet). With ``may_be_empty``, there
    is no row where all rows are kept; whoever reads it has to filter by the threshold then.
    """

    @classmethod
    def name(cls) -> str:
        return "streamq_control"

    def schema(self) -> str:
        return SCHEMA

    def reader(self, schema: StructType) -> ControlReader:
        reader = PlannedReader if self.options.get("may_be_empty") == "true" else ControlReader
        if "throttle" in self.options:
            first = from_numbers(json.loads(self.options["throttle"]))
            assert first is not None
            forward = Forward(
                Path(self.options["checkpoint"]), first,
                tuple(json.loads(self.options["rows_per_unit"])), _now_ms, float(self.options["trigger_ms"]),
                float(self.options.get("started_ms", "0")), tuple(json.loads(self.options.get("spared", "[]"))),
            )
            return reader(partial(row_of_decision, forward), schema)
        if "aside" in self.options:
            return reader(partial(row_of_aside, Path(self.options["aside"])), schema)
        path, defaults = self.options.get("path"), read_defaults(self.options)
        return reader(partial(row_of_file, Path(path) if path else None, defaults), schema)


class ControlReader(DataSourceReader):
    """Asks for the numbers when a micro-batch reads them, not before. Spark plans such a relation once for a query."""

    def __init__(self, row: Callable[[], Row], schema: StructType) -> None:
        self.row = row
        self.schema = to_arrow_schema(schema, timezone="UTC")

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(None)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        row = self.row() if partition.value is None else partition.value
        yield pa.RecordBatch.from_pylist([row], schema=self.schema)


class PlannedReader(ControlReader):
    """Asks when a micro-batch is planned: where there is a filter Spark offers it to the reader, and plans it anew.

    Where all rows are kept there is no partition, and no job to read it, which takes longer than all else.
    """

    planned: Row | None = None

    def pushFilters(self, filters: list[Filter]) -> list[Filter]:
        """Takes those that hold for each threshold, and leaves the others to Spark."""
        allow_no_partition()
        self.planned = self.row()
        return [one for one in filters if one not in ALWAYS]

    def partitions(self) -> list[InputPartition]:
        if self.planned is not None and keeps_all(self.planned):
            return []
        return [InputPartition(self.planned)]


def allow_no_partition() -> None:
    """Lets pyspark hand on an empty list of partitions of ours as it is, in the process in which it plans.

    By itself it puts one without a value in its place, which ``read`` takes for a question: the same numbers, with a job.
    """
    planner: Any = sys.modules.get("pyspark.sql.worker.data_source_pushdown_filters")
    names = ("write_read_func_and_partitions", "pickleSer", "write_int")
    if not all(hasattr(planner, name) for name in names) or hasattr(planner, "streamq_plan_others"):
        return
    planner.streamq_plan_others = planner.write_read_func_and_partitions

    def plan(outfile: IO[bytes], *, reader: DataSourceReader, **rest: object) -> None:
        if isinstance(reader, PlannedReader) and not reader.partitions():
            planner.pickleSer._write_with_length(None, outfile)
            planner.write_int(0, outfile)
        else:
            planner.streamq_plan_others(outfile, reader=reader, **rest)

    planner.write_read_func_and_partitions = plan


def row_of_file(path: Path | None, defaults: Mapping[str, float]) -> Row:
    """The columns for what the file of knobs says."""
    keep = read_knobs(path, defaults)["keep"]
    return control_row(keep, keep)


def row_of_decision(forward: Forward) -> Row:
    """The columns for what holds for the planned micro-batch."""
    return row_of(forward.decided(), forward.checkpoint)


def row_of_aside(checkpoint: Path) -> Row:
    """The columns for the planned micro-batch: none of its rows passes where its input was put aside."""
    keep = 0.0 if to_come(checkpoint) else 1.0
    return control_row(keep, keep)


def keeps_all(row: Row) -> bool:
    """True where no row goes: by the share, and by those of windows that are open still."""
    steps = row["steps"] if isinstance(row["steps"], list) else []
    return row["keep"] == 1.0 and all(step["threshold"] == HASH_STEPS for step in steps)


def row_of(decided: Decided, checkpoint: Path) -> Row:
    """The columns for a decision; ``checkpoint``: the folder of the query, where its sifters are."""
    throttle, keep = decided.throttle, decided.decision.keep
    row = control_row(keep, throttle.coverage, throttle.late)
    cut = cut_of(throttle.ranks, keep)
    if cut is not None:
        row |= {"cut": cut.rank, "at": round(cut.at * HASH_STEPS)}
    if throttle.newest is not None:
        row["newest"] = int(throttle.newest)
    if throttle.steps:
        row["steps"] = [{"since": s.since, "threshold": round(s.share * HASH_STEPS)} for s in throttle.steps]
    sampled = looked_at(decided, 1.0 if throttle.sampled is None else throttle.sampled)
    if throttle.sifter is not None and (sifter := stored(checkpoint, throttle.sifter)) is not None:
        row |= {"axes": [axis_numbers(a) for a in sifter.axes], "cells": kept_of_cells(sifter, keep, sampled)}
    elif throttle.sampled is not None:
        # Nothing is known yet of what the query wants; rows that are looked at are kept.
        row["threshold"] = round(max(keep, throttle.needed, sampled) * HASH_STEPS)
    return row | {"sample": round(sampled * HASH_STEPS)}


def _now_ms() -> float:
    return time.time() * 1000


def control_row(keep: float, coverage: float, late: int = 0) -> Row:
    """The columns of the relation."""
    return {
        "keep": keep, "threshold": round(keep * HASH_STEPS), "coverage": coverage, "late": late,
        "cut": None, "at": 0, "sample": 0, "newest": None, "steps": None, "axes": None, "cells": None,
    }


def read_knobs(path: Path | None, defaults: Mapping[str, float]) -> dict[str, float]:
    """The knobs of the file, each with its default where the file has no usable value for it."""
    stored: object = None
    if path is not None:
        try:
            stored = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError):
            stored = None
    given = stored if isinstance(stored, dict) else {}
    return {
        name: value if (value := _in_range(name, given.get(name))) is not None else default
        for name, default in defaults.items()
    }


def read_defaults(options: Mapping[str, str]) -> dict[str, float]:
    """The defaults that the options give. Raises ``ValueError`` for a value out of range."""
    defaults = dict(KNOB_DEFAULTS)
    given = {**json.loads(options.get("defaults", "{}"))}
    for name in KNOB_DEFAULTS:
        if name in options:
            given[name] = float(options[name])
    for name, stated in given.items():
        value = _in_range(name, stated)
        if value is None:
            raise ValueError(f"control knob {name} cannot be {stated!r}")
        defaults[name] = value
    return defaults


def _in_range(name: str, value: object) -> float | None:
    """The value as a float if it is a number that the knob may have, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or name not in KNOB_RANGES:
        return None
    least, most = KNOB_RANGES[name]
    return float(value) if math.isfinite(value) and least <= value <= most else None
