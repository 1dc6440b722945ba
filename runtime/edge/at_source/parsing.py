"""Lines to rows: JSON and CSV by Arrow, a block at a time. Lines that are none are counted, and never stop the others.

A block in which something is wrong is parsed again in halves, until what is wrong is alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.json as pa_json

from streamq.dsl.records import dataclass
from streamq.runtime.edge.plan import EdgePlan

WRONG = (pa.ArrowInvalid, pa.ArrowNotImplementedError, UnicodeDecodeError)
"""What Arrow raises of lines; the last one where it cannot even say which text is wrong."""

SHOWN = 120
"""Bytes of a wrong line that are told."""

Parse = Callable[[bytes], pa.Table]


@dataclass(frozen=True, slots=True)
class Parsed:
    """Rows with all columns of the stream, in order, and how many lines were none. ``wrong``: the first of them, cut off."""

    rows: pa.RecordBatch
    malformed: int = 0
    wrong: bytes = b""


def parsed(lines: bytes, plan: EdgePlan, header: tuple[str, ...] | None = None) -> Parsed:
    """The rows of whole lines. ``header``: the columns of a CSV file in order, else they are those of the stream.

    Missing columns are NULL, others are not looked at.
    """
    schema = plan.schema
    parse = _json(schema) if plan.format == "json" else _csv(schema, header or tuple(schema.names))
    tables, wrong = _salvaged(lines, parse, plan.format == "json")
    table = pa.concat_tables([schema.empty_table(), *tables])
    rows = table.combine_chunks().to_batches()
    return Parsed(rows[0] if rows else _no_rows(schema), len(wrong), wrong[0][:SHOWN] if wrong else b"")


def _no_rows(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], schema=schema)


def _json(schema: pa.Schema) -> Parse:
    # Arrow takes dates of JSON for numbers.
    read_as = pa.schema([(f.name, pa.string() if pa.types.is_temporal(f.type) else f.type) for f in schema])
    parsing = pa_json.ParseOptions(
        explicit_schema=read_as, newlines_in_values=False, unexpected_field_behavior="ignore"
    )

    def parse(lines: bytes) -> pa.Table:
        reading = pa_json.ReadOptions(use_threads=False, block_size=len(lines) + 1)
        table = pa_json.read_json(pa.BufferReader(lines), read_options=reading, parse_options=parsing)
        # It takes texts as they are, in UTF-8 or not.
        table.validate(full=True)
        return _timed(table.select(schema.names), schema)

    return parse


def _csv(schema: pa.Schema, header: tuple[str, ...]) -> Parse:
    converting = pa_csv.ConvertOptions(
        column_types=pa.schema([(f.name, pa.string() if pa.types.is_timestamp(f.type) else f.type) for f in schema]), include_columns=schema.names, include_missing_columns=True,
        null_values=["", "NULL", "null"], strings_can_be_null=True, quoted_strings_can_be_null=False,
    )

    def parse(lines: bytes) -> pa.Table:
        reading = pa_csv.ReadOptions(use_threads=False, block_size=len(lines) + 1, column_names=list(header))
        table = pa_csv.read_csv(pa.BufferReader(lines), read_options=reading, convert_options=converting)
        return _timed(table.select(schema.names), schema)

    return parse


def _timed(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """With times of texts, to the microsecond: UTC where no zone is said, midnight where no time is. ArrowInvalid for others."""
    for place, field in enumerate(schema):
        if pa.types.is_timestamp(field.type) and field.type.tz is not None:
            text = pc.replace_substring_regex(table.column(place), r"(\.\d{6})\d+", r"\1")
            text = pc.if_else(pc.match_substring(text, ":"), text, pc.binary_join_element_wise(text, "00:00:00", " "))
            zoned = pc.match_substring_regex(text, r":.*([zZ]|[+-]\d\d(:?\d\d)?)\s*$")
            table = table.set_column(place, field.name, pc.if_else(zoned, text, pc.binary_join_element_wise(text, "Z", "")))
    return table.cast(schema)


def _salvaged(lines: bytes, parse: Parse, as_json: bool) -> tuple[list[pa.Table], list[bytes]]:
    """The tables of all parts that can be parsed, in order, and the lines that cannot."""
    if not lines.strip():
        return [], []
    try:
        return [parse(lines)], []
    except WRONG:
        each = [line for line in lines.split(b"\n") if line.strip()]
    good = [line for line in each if _is_object(line)] if as_json else each
    tables, wrong = _halved(good, parse)
    return tables, [*wrong, *(line for line in each if as_json and not _is_object(line))]


def _halved(lines: list[bytes], parse: Parse) -> tuple[list[pa.Table], list[bytes]]:
    if not lines:
        return [], []
    try:
        return [parse(b"\n".join(lines) + b"\n")], []
    except WRONG:
        if len(lines) == 1:
            return [], lines
    middle = len(lines) // 2
    first, second = _halved(lines[:middle], parse), _halved(lines[middle:], parse)
    return first[0] + second[0], first[1] + second[1]


def _is_object(line: bytes) -> bool:
    """Whether a line is a JSON object by itself, which is quickly told."""
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def shown(line: bytes) -> str:
    """A line made harmless, for a message."""
    return "".join(c if c.isprintable() else "?" for c in line.decode("utf-8", "replace"))
