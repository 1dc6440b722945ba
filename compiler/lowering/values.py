"""Values of records as Spark SQL: read as columns, and made of them. What runs a plan and what prints it share this."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from streamq.compiler.ir import physical as ph
from streamq.compiler.lowering.sql import options_map, quote, string
from streamq.dsl.diagnostics import InternalError
from streamq.dsl.records import dataclass
from streamq.stdlib.avro_schema import END, schema_of
from streamq.stdlib.connector_specs import SPARK_OPTIONS
from streamq.stdlib.kafka_columns import parts_of
from streamq.stdlib.notation import parse_schema
from streamq.stdlib.written import JSON_OPTIONS

ROW_OF_RECORD = "(xxhash64(`topic`, `partition`) ^ `offset`)"
"""Records that follow each other have numbers that do, or nearly."""

QUERY_HEADER, RUN_HEADER, BATCH_HEADER = "streamq-query", "streamq-run", "streamq-batch"
"""Headers of each record of a sink, by which who reads it can drop what comes again after a restart."""

RUN, BATCH = "__run", "__batch"
"""The columns of a micro-batch that hold them as text: the id that Spark keeps with the checkpoint, and a number."""

HEADER_BYTES = 5
"""What a registry of schemas puts before a value."""

OBJECT, END_OF_OBJECT = "__object", "__end_of_object"
"""Of an object that is put around a value in JSON: the value, and what says that it ended where it should."""

_OF_RECORD = {
    "timestamp": "`timestamp`", "partition": "`partition`", "offset": "`offset`", "topic_column": "`topic`",
    "__value": "`value`", "__at": "`timestamp`", "__row": ROW_OF_RECORD,
}


def record_items(scan: ph.ScanStream) -> tuple[ph.Named, ...]:
    """The columns of a scan of Kafka, made of those that Spark has for a record."""
    parts = parts_of(dict(scan.options), [n for n, _ in scan.schema if not n.startswith("__")])
    return tuple((name, _of_record(parts.get(name, name), sql_type)) for name, sql_type in scan.schema)


def _of_record(part: str, sql_type: str) -> str:
    match part:
        case "key" | "value":
            return quote(part) if sql_type == "BINARY" else f"CAST({quote(part)} AS STRING)"
        case "headers" if sql_type.endswith("BINARY>"):
            return "map_from_entries(`headers`)"
        case "headers":
            return "transform_values(map_from_entries(`headers`), (k, v) -> CAST(v AS STRING))"
        case _:
            return _OF_RECORD[part]


def asks_headers(scan: ph.ScanStream) -> bool:
    """Whether a scan reads headers, which Kafka's connector leaves out unless asked."""
    return any(name == dict(scan.options).get("headers") for name, _ in scan.schema)


def parse_sql(step: ph.Parse) -> str:
    """How a value becomes a struct, for formats of text; a record without value has NULL in all fields."""
    text, nothing, items = f"CAST({quote(step.column)} AS STRING)", "", step.fields
    if step.format == "json":
        # Alone, a value would be read up to the end of its object, and what stands behind that lost without a word.
        before, behind = f'{{"{OBJECT}":', f',"{END_OF_OBJECT}":true}}'
        text, nothing = f"concat({string(before)}, {text}, {string(behind)})", f"{before}{{}}{behind}"
        inner = ", ".join(f"{quote(n)}: {t}" for n, t in step.fields)
        items = ((OBJECT, f"STRUCT<{inner}>"), (END_OF_OBJECT, "BOOLEAN"))
    fields = ", ".join(f"{quote(n)} {t}" for n, t in (*items, (step.corrupt, "STRING")))
    mode = {"mode": "FAILFAST"} if step.fails else {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": step.corrupt}
    options = options_map(mode | text_options(step.options))
    return f"from_{step.format}(coalesce({text}, {string(nothing)}), {string(fields)}, {options})"


def avro_bytes(step: ph.Parse) -> str:
    """The bytes of a value in Avro, without what a registry puts before them, and with a mark where they end."""
    value = quote(step.column)
    body = f"substring({value}, {HEADER_BYTES + 1})" if dict(step.options).get("wire_header") else value
    return f"concat({body}, X'{END.hex()}')"


@dataclass(frozen=True, slots=True)
class RecordShape:
    """Which columns of a result become what of a record. ``schema``: of values in Avro, made of the columns."""

    key: tuple[str, ...]
    headers: str
    value: tuple[str, ...]
    schema: str = ""


def shape_of(
    columns: Sequence[ph.Named], keys: Sequence[str], options: Mapping[str, ph.OptionValue]
) -> RecordShape:
    """The shape for a result with these columns, (name, CQL type), and the keys that its relation has.

    Where values are one column as it is, that of the keys has no place in them; else all columns but the headers have.
    """
    by_fold = {name.casefold(): name for name, _ in columns}
    asked = [by_fold[name.casefold()] for name in names_of(options, "key")]
    key = tuple(asked or keys)
    headers = by_fold.get(str(options.get("headers", "")).casefold(), "")
    raw = options["format"] == "raw"
    value = tuple(name for name, _ in columns if name != headers and not (raw and name in key))
    if options["format"] != "avro" or "schema_file" in options:
        return RecordShape(key, headers, value)
    types = [(name, parse_schema(t), True) for name, t in columns if name in value]
    return RecordShape(key, headers, value, schema_of(types))


def names_of(options: Mapping[str, ph.OptionValue], option: str) -> tuple[str, ...]:
    """The columns that an option names, with commas."""
    return tuple(name.strip() for name in str(options.get(option, "")).split(",") if name.strip())


def value_sql(shape: RecordShape, options: Mapping[str, ph.OptionValue]) -> str:
    """A record's value made of columns, in a format of text, or of the one column as it is."""
    whole = whole_sql(shape)
    texts = text_options(tuple(options.items()))
    match options["format"]:
        case "json":
            return f"CAST(to_json({whole}, {options_map(JSON_OPTIONS | texts)}) AS BINARY)"
        case "csv":
            return f"CAST(to_csv({whole}, {options_map(texts)}) AS BINARY)"
        case "raw":
            return f"CAST({quote(shape.value[0])} AS BINARY)"
        case other:
            raise InternalError(f"{other} is no format of text")


def whole_sql(shape: RecordShape) -> str:
    """All columns of a value as a struct."""
    return f"struct({', '.join(map(quote, shape.value))})"


def key_sql(shape: RecordShape, columns: Sequence[ph.Named]) -> str:
    """A record's key: one column as it is, or as text where it is no bytes; several as JSON."""
    if len(shape.key) > 1:
        return f"CAST(to_json(struct({', '.join(map(quote, shape.key))}), {options_map(JSON_OPTIONS)}) AS BINARY)"
    key = quote(shape.key[0])
    return key if dict(columns)[shape.key[0]] == "BINARY" else f"CAST(CAST({key} AS STRING) AS BINARY)"


def headers_sql(shape: RecordShape, query: str) -> str:
    """The headers of a record: whose it is, of which run and micro-batch, and those of the result's own column."""
    told = ((QUERY_HEADER, string(query)), (RUN_HEADER, quote(RUN)), (BATCH_HEADER, quote(BATCH)))
    ours = f"array({', '.join(f'struct({string(name)} AS key, CAST({text} AS BINARY) AS value)' for name, text in told)})"
    if not shape.headers:
        return ours
    # Those of a topic that StreamQ wrote, passed on, would tell of another query's micro-batches.
    names = ", ".join(string(name) for name, _ in told)
    entries = f"filter(map_entries({quote(shape.headers)}), e -> e.key NOT IN ({names}))"
    theirs = f"transform({entries}, e -> struct(e.key AS key, CAST(e.value AS BINARY) AS value))"
    return f"concat({ours}, coalesce({theirs}, array()))"


def text_options(options: Sequence[tuple[str, ph.OptionValue]]) -> dict[str, str]:
    """The options of text by the names that Spark has for them."""
    return {
        SPARK_OPTIONS[n]: str(v) for n, v in options
        if n in ("delimiter", "quote", "escape", "null_value", "timestamp_format", "date_format")
    }
