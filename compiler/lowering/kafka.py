"""Streams from Kafka: records with the parts that are wanted, their values read in a step of its own, malformed ones counted.

A shedder that needs nothing of the values stands below that step.
"""

from __future__ import annotations

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir import physical as ph
from streamq.compiler.lowering.shedders import lower_shed
from streamq.compiler.lowering.sql import MALFORMED_ROW, quote, spark_type
from streamq.compiler.lowering.state import LowerContext, Lowered
from streamq.compiler.lowering.values import END_OF_OBJECT, OBJECT
from streamq.dsl.diagnostics import InternalError
from streamq.dsl.records import dataclass, replace
from streamq.stdlib.avro_schema import END, READ, schema_of
from streamq.stdlib.kafka_columns import parts_of

BYTES, READ_AS, CORRUPT, AT = "__value", "__read", "__corrupt", "__at"
"""A record's value as it came, the struct that it is read as, in that the text that could not be; and the record's time."""

OLDEST, YOUNGEST = "oldest_record", "youngest_record"
"""What is observed of the times of records, in microseconds since 1970."""

_OF_FORMAT = (
    "delimiter", "quote", "escape", "null_value", "timestamp_format", "date_format", "schema_file", "wire_header",
)


@dataclass(frozen=True, slots=True)
class _Records:
    """A scan of Kafka, with the columns that are ``wanted``; ``own``: those that are parts of a record, each with the part."""

    node: lg.Scan
    own: dict[str, str]
    wanted: frozenset[str]

    @property
    def source(self) -> lg.SourceDecl:
        return self.node.source

    @property
    def options(self) -> dict[str, lg.OptionValue]:
        return dict(self.source.options)

    @property
    def required(self) -> frozenset[str]:
        """The columns without which a row is malformed."""
        time = self.source.event_time
        return frozenset(f.name for f in self.source.fields if not f.nullable or f.name == time)

    def columns(self, own: bool) -> tuple[lg.Field, ...]:
        """The columns of the record that are looked at, or those of its value."""
        names = self.wanted | self.required
        return tuple(f for f in self.source.fields if (f.name in self.own) == own and f.name in names)

    @property
    def read(self) -> tuple[lg.Field, ...]:
        """The columns that the value is read for: all where they have no names in it, and where none is wanted none."""
        some = self.columns(own=False)
        whole = self.options.get("format") in ("csv", "avro")
        return tuple(f for f in self.source.fields if f.name not in self.own) if some and whole else some


def lower_records(node: lg.Scan, wanted: tuple[str, ...], context: LowerContext) -> Lowered:
    """The wanted columns of a stream from Kafka."""
    records = _records(node, wanted)
    return _read(records, _scan(records, lg.ROW in wanted, context), wanted, context, "malformed")


def lower_unread(node: lg.Shed, context: LowerContext) -> Lowered:
    """A shedder over records, and the wanted columns of those that it keeps.

    A watermark on the record's own time stands below it, so that records that go move event time too.
    """
    mark = node.input if isinstance(node.input, lg.Watermark) else None
    below = node.input if mark is None else mark.input
    scan = below.input if isinstance(below, lg.Project) else below
    if not isinstance(scan, lg.Scan):
        raise InternalError(f"a shedder of `{node.query}` stands over {type(scan).__name__}, not over records")
    wanted = tuple(f.name for f in below.schema)
    records = _records(scan, wanted)
    came = _scan(records, not node.keys, context)
    if mark is not None:
        step = ph.WithWatermark(
            came.step, mark.column, mark.delay_ms, id=context.step_id(mark, "watermark"), origin=mark.origin
        )
        came = replace(came.over(step), times=frozenset({mark.column}))
    kept = lower_shed(node, came, context)
    weights = (node.weight,) if node.weight else ()
    return _read(records, kept, (*wanted, *weights), context, "unreadable")


def _records(node: lg.Scan, wanted: tuple[str, ...]) -> _Records:
    own = parts_of(dict(node.source.options), [f.name for f in node.source.fields])
    return _Records(node, own, frozenset(wanted))


def _scan(records: _Records, rows: bool, context: LowerContext) -> Lowered:
    """The records, with the parts that are looked at and, where anybody reads it, their value."""
    source, node = records.source, records.node
    schema = tuple((f.name, spark_type(f.type)) for f in records.columns(own=True))
    if records.read:
        schema = (*schema, (BYTES, "BINARY"))
    if records.options.get("age_by_timestamp") or not schema:
        schema = (*schema, (AT, "TIMESTAMP"))
    if rows:
        schema = (*schema, (lg.ROW, "BIGINT"))
    scan = ph.ScanStream(
        stream=source.name, connector=source.connector, schema=schema, options=source.options,
        id=context.step_id(node, "scan"), origin=node.origin,
    )
    return Lowered(scan, tuple(name for name, _ in schema))


def _read(
    records: _Records, below: Lowered, wanted: tuple[str, ...], context: LowerContext, counted: str
) -> Lowered:
    """The columns of the value, and what is counted.

    Without the count in between Spark would test what is malformed below the step that reads values, and so read each twice.
    """
    node, fields = records.node, records.read
    step, name = below.step, records.source.name
    passed = tuple(n for n in below.names if n != BYTES)
    if fields:
        step = _parse(records, step, passed, context)
    missing = _malformed(records)
    counts: tuple[ph.Named, ...] = ()
    if missing:
        counts = ((counted, f"count(IF({missing}, '', NULL))"),)
    if AT in passed and records.options.get("age_by_timestamp"):
        at = f"unix_micros({quote(AT)})"
        counts = (*counts, (OLDEST, f"min({at})"), (YOUNGEST, f"max({at})"))
    if counts:
        observed = f"{context.step_id(node, 'intake')}@{context.query}"
        step = ph.Observe(step, observed, counts, id=f"{name}.intake", origin=node.origin)
    if missing:
        test, unread = f"NOT ({missing})", _unreadable(records)
        if unread and records.options.get("on_error") == "fail":
            test = f"IF({unread}, CAST({MALFORMED_ROW} AS BOOLEAN), {test})"
        step = ph.Where(step, test, id=f"{name}.well_formed", origin=node.origin)
    types = {f.name: spark_type(f.type) for f in fields}
    items = tuple((n, _column(n, types.get(n), records)) for n in wanted)
    step = ph.Select(step, items, id=context.step_id(node, "columns"), origin=node.origin)
    return below.over(step, wanted)


def _parse(records: _Records, step: ph.Step, passed: tuple[str, ...], context: LowerContext) -> ph.Parse:
    kind, fields = str(records.options["format"]), records.read
    options = {n: v for n, v in records.options.items() if n in _OF_FORMAT}
    if kind == "avro" and "schema_file" not in options:
        options["schema"] = schema_of([(f.name, f.type, f.nullable) for f in fields])
    return ph.Parse(
        step, BYTES, kind, tuple((f.name, spark_type(f.type)) for f in fields), tuple(sorted(options.items())),
        READ_AS, passed, READ if kind == "avro" else CORRUPT, records.options.get("on_error") == "fail",
        id=context.step_id(records.node, "values"), origin=records.node.origin,
    )


def _malformed(records: _Records) -> str:
    """SQL that is true for a record that is no row of the stream; empty where each is. A record without value has NULL in its place."""
    unread = _unreadable(records)
    lacks = [
        f"{_column(name, None, records)} IS NULL" for name in sorted(records.required)
        if records.own.get(name) not in ("timestamp", "partition", "offset", "topic_column")
    ]
    return " OR ".join([*([unread] if unread else []), *lacks])


def _unreadable(records: _Records) -> str:
    """SQL that is true for a record whose value could not be read; empty where nobody reads it."""
    if not records.read:
        return ""
    read = quote(READ_AS)
    match records.options["format"]:
        case "json":
            return f"{read}.{quote(OBJECT)} IS NULL OR {read}.{quote(END_OF_OBJECT)} IS NULL OR {read}.{quote(CORRUPT)} IS NOT NULL"
        case "csv":
            return f"{read}.{quote(CORRUPT)} IS NOT NULL"
        case _:
            return f"({read} IS NOT NULL AND NOT ({read}.{quote(READ)} <=> X'{END.hex()}'))"


def _column(name: str, cast: str | None, records: _Records) -> str:
    """A column of a row that was read; what an Avro schema says of its type may be another one than declared."""
    if name in records.own or name not in {f.name for f in records.source.fields}:
        return quote(name)
    read = f"{quote(READ_AS)}.{quote(OBJECT)}" if records.options["format"] == "json" else quote(READ_AS)
    field = f"{read}.{quote(name)}"
    return f"CAST({field} AS {cast})" if cast is not None and records.options["format"] == "avro" else field


