"""The plan of a run as a test runs it: rows from files of the test, nothing shed, the input closed at the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count

from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from streamq.compiler.ir.physical import (
    ControlRelation,
    Observe,
    OptionValue,
    Parse,
    PhysicalQuery,
    ScanStream,
    ScanTable,
    Select,
    SinkSpec,
    Step,
    UnionAll,
    Where,
    WithWatermark,
    inputs_of,
    with_inputs,
)
from streamq.compiler.lowering.sql import string
from streamq.compiler.lowering.values import END_OF_OBJECT, OBJECT
from streamq.runtime.reference.values import Instant
from streamq.runtime.spark.emit import EmitContext, build_frame
from streamq.runtime.spark.names import quoted
from streamq.runtime.spark.progress import CLOSING_METRIC
from streamq.stdlib.avro_schema import END

CLOSING_COLUMN = "closing"


@dataclass(frozen=True, slots=True)
class Folders:
    """Where the Parquet files of a test lie, by stream or table; ``closing`` holds the row that ends the input."""

    sources: Mapping[str, str]
    closing: str


def as_fixture(
    query: PhysicalQuery, folders: Folders, closing: Instant | None, spark: SparkSession
) -> PhysicalQuery:
    """The query over the files of a test, which keeps its rows in memory.

    ``closing``: the instant to which the last row moves the watermarks; that row goes no further.
    """
    controls = tuple(_keep_all(control) for control in query.controls)
    query = replace(
        query, sink=SinkSpec(None, "memory"), controls=controls,
        root=_over_files(query.root, folders.sources), dropped=(), dropped_sink=None,
    )
    return query if closing is None else closed(query, folders.closing, closing, EmitContext(spark))


def closed(query: PhysicalQuery, folder: str, at: Instant, context: EmitContext) -> PhysicalQuery:
    """The query with its input closed by the one row in the files of a folder, at the instant ``at``."""
    return replace(query, root=_Closer(query, folder, at, context).closed(query.root))


def _keep_all(control: ControlRelation) -> ControlRelation:
    return replace(control, knobs=tuple(replace(knob, initial=knob.most) for knob in control.knobs))


def _over_files(step: Step, folders: Mapping[str, str]) -> Step:
    """The same steps over other sources; malformed text, which Parquet does not have, is a column of NULL."""
    match step:
        case ScanStream(schema=schema, corrupt_column=corrupt):
            if corrupt is not None and corrupt not in dict(schema):
                schema = (*schema, (corrupt, "STRING"))
            return replace(
                step, connector="file", options=_options(folders[step.stream]), schema=schema,
                corrupt_column=None,
            )
        case Parse(input=below):
            items = (*((name, quoted(name)) for name in step.passed), (step.into, quoted(step.column)))
            return Select(_over_files(_with_value(below, step), folders), items, id=step.id)
        case ScanTable():
            options = _options(folders[step.table])
            return replace(step, connector="file", options=options)
        case _:
            return with_inputs(step, tuple(_over_files(below, folders) for below in inputs_of(step)))


def _with_value(step: Step, parse: Parse) -> Step:
    """The steps below one that reads values, over rows that hold what is in them as columns: each value is a struct of those."""
    if not isinstance(step, ScanStream):
        return with_inputs(step, tuple(_with_value(below, parse) for below in inputs_of(step)))
    held = tuple(n for n, _ in step.schema if n != parse.column)
    fields = tuple(n for n, _ in parse.fields)
    of_value = ", ".join(f"{string(n)}, {quoted(n)}" for n in fields)
    if parse.format == "json":
        of_value = f"{string(OBJECT)}, named_struct({of_value}), {string(END_OF_OBJECT)}, TRUE"
    read = f"X'{END.hex()}'" if parse.format == "avro" else "CAST(NULL AS STRING)"
    value = f"named_struct({of_value}, {string(parse.corrupt)}, {read})"
    files = replace(step, schema=(*(i for i in step.schema if i[0] != parse.column), *parse.fields))
    return Select(files, (*((n, quoted(n)) for n in held), (parse.column, value)), id=step.id)


def _options(folder: str) -> tuple[tuple[str, OptionValue], ...]:
    return (("path", folder), ("format", "parquet"), ("max_files_per_trigger", 1))


@dataclass(slots=True)
class _Closer:
    """Lets a last row move every watermark of a query, and keeps it from all that is above."""

    query: PhysicalQuery
    folder: str
    at: Instant
    context: EmitContext
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def closed(self, step: Step) -> Step:
        step = with_inputs(step, tuple(self.closed(below) for below in inputs_of(step)))
        return self._closed_mark(step) if isinstance(step, WithWatermark) else step

    def _closed_mark(self, mark: WithWatermark) -> Step:
        """Spark moves tests that do not ask for the event time below a watermark, but not below an Observe."""
        name = f"closing{next(self._numbers)}"
        below = replace(self.query, root=mark.input)
        schema = build_frame(below, self.context).schema
        last: Step = ScanStream(
            stream=name, connector="file", schema=((CLOSING_COLUMN, "TIMESTAMP"),),
            options=_options(self.folder), id=name,
        )
        items = tuple(
            (f.name, CLOSING_COLUMN if f.name == mark.column else f"CAST(NULL AS {_sql(f.dataType)})")
            for f in schema.fields
        )
        told = Observe(last, f"{name}.row", ((CLOSING_METRIC, "count(1)"),), id=name)
        both = UnionAll((mark.input, Select(told, items, id=name)), id=name)
        marked = replace(mark, input=both)
        test = f"coalesce({quoted(mark.column)} < timestamp_micros({self.at}), true)"
        return Observe(Where(marked, test, id=name), name, (("rows", "count(1)"),), id=name)


def _sql(data_type: DataType) -> str:
    """A type in Spark SQL, with the names of its fields quoted."""
    match data_type:
        case ArrayType():
            return f"ARRAY<{_sql(data_type.elementType)}>"
        case MapType():
            return f"MAP<{_sql(data_type.keyType)}, {_sql(data_type.valueType)}>"
        case StructType():
            fields = (f"{quoted(f.name)}: {_sql(f.dataType)}" for f in data_type.fields)
            return f"STRUCT<{', '.join(fields)}>"
        case _:
            return data_type.simpleString()
