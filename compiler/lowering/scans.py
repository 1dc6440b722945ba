"""Sources: scans with only the columns that are read, and malformed rows counted."""

from __future__ import annotations

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir import physical as ph
from streamq.compiler.ir.edges import landed_path
from streamq.compiler.ir.expr import Column
from streamq.compiler.ir.rewrite import walk, with_inputs
from streamq.compiler.lowering.sql import quote, spark_type
from streamq.compiler.lowering.state import LowerContext, Lowered
from streamq.dsl.records import replace
from streamq.dsl.types import BIGINT

CORRUPT = "__corrupt"
ROW_OF_FILE = "(xxhash64(_metadata.file_name, _metadata.file_size) ^ _metadata.row_index)"
"""Spark has all of it without looking into a row; rows that follow each other have numbers that do, or nearly."""


def lower_scan(node: lg.Scan, wanted: tuple[str, ...], context: LowerContext) -> Lowered:
    """A scan of the wanted columns.

    CSV rows are positional, so a CSV scan asks for the whole declared schema. Rows that cannot be parsed, that
    have no event time or NULL in a NOT NULL column are malformed: counted and left out. Rows of a table
    are not counted, nor are Parquet rows without event time: a count costs a third of such a scan.
    """
    source = node.source if node.source.connector != "edge" else _landed(node.source)
    options = dict(source.options)
    checked = source.connector == "file"
    text = checked and not source.is_table and options.get("format") in ("json", "csv")
    required = required_columns(source)
    counts = text and options.get("on_error") != "fail"
    whole = options.get("format") == "csv"
    names = set(wanted) | (required if checked else set())
    if (counts or lg.ROW in names) and names <= {lg.ROW}:
        names.add(source.fields[0].name)
    schema = tuple(
        (f.name, spark_type(f.type)) for f in source.fields if whole or f.name in names
    )
    if lg.ROW in wanted and source.connector == "nexmark":
        schema = (*schema, (lg.ROW, "BIGINT"))
    step_id = context.step_id(node, "scan")
    if source.is_table:
        table = ph.ScanTable(
            table=source.name, connector=source.connector, schema=schema, options=source.options,
            id=step_id, origin=node.origin, path=source.path,
        )
        kept: ph.Step = table
        if checked and required:
            test = " AND ".join(f"{quote(n)} IS NOT NULL" for n in sorted(required))
            kept = ph.Where(table, test, id=f"{source.name}.well_formed", origin=node.origin)
        return Lowered(_narrow(kept, schema, wanted, node, context), wanted)
    scan = ph.ScanStream(
        stream=source.name, connector=source.connector, schema=schema, options=source.options,
        corrupt_column=CORRUPT if counts else None, id=step_id, origin=node.origin, path=source.path,
    )
    missing = missing_tests(required) if checked else []
    step: ph.Step = scan
    if counts or missing:
        step = _drop_malformed(scan, counts, missing, node, context)
    return Lowered(_narrow(step, schema, wanted, node, context, bool(counts)), wanted)


def _landed(source: lg.SourceDecl) -> lg.SourceDecl:
    """A stream from an edge as Spark reads it: files of the rows that came."""
    given = dict(source.options)
    options: dict[str, lg.OptionValue] = {"format": "parquet", "path": landed_path(str(given["folder"]), source.name)}
    options |= {"latest_first": False, "multi_line": False, "recursive": False}
    options |= {k: v for k, v in given.items() if k == "max_files_per_trigger"}
    return replace(source, connector="file", options=tuple(sorted(options.items())))


def gives_event_time(node: lg.Watermark) -> bool:
    """True where every row of the source has an event time when it comes to the watermark."""
    source = next((n.source for n in walk(node) if isinstance(n, lg.Scan)), None)
    if source is None:
        return False
    text = source.connector == "file" and dict(source.options).get("format") in ("json", "csv")
    own = any(f.name == node.column for f in source.fields)
    return own and (text or source.connector in ("nexmark", "rate", "kafka"))


def _narrow(
    step: ph.Step, schema: tuple[ph.Named, ...], wanted: tuple[str, ...], node: lg.Scan,
    context: LowerContext, extra: bool = False,
) -> ph.Step:
    if not extra and tuple(n for n, _ in schema) == wanted:
        return step
    made = frozenset(n for n, _ in schema)
    items = tuple((n, ROW_OF_FILE if n == lg.ROW and n not in made else quote(n)) for n in wanted)
    return ph.Select(step, items, id=context.step_id(node, "columns"), origin=node.origin)


def _drop_malformed(
    step: ph.ScanStream, corrupt: bool, missing: list[str], node: lg.Scan, context: LowerContext
) -> ph.Step:
    """Lets what is well-formed pass, and counts.

    A marker is NULL for a good row. It reads a column beside the malformed text, which Spark refuses to read alone.
    Spark interprets what is observed row by row, and an expression costs more than a row: where all that Spark
    says it read comes from this scan, the rows that pass are counted, and what is malformed is the rest. That takes a
    test that Spark does not move into the reader, where rows that fail would not even be counted as input: one of the
    malformed text together with other columns. A test of NULL alone is moved there, so it stands above the count.
    """
    marker = malformed_marker(step.schema, missing, corrupt)
    name, step_id = f"{context.step_id(node, 'intake')}@{context.query}", f"{node.source.name}.intake"
    good, test = f"{node.source.name}.well_formed", f"{marker} IS NULL"
    if context.lone and corrupt:
        passed = ph.Where(step, test, id=good, origin=node.origin)
        return ph.Observe(passed, name, (("well_formed", "count(1)"),), id=step_id, origin=node.origin)
    counts = (("malformed", f"count({marker})"),)
    observed = ph.Observe(step, name, counts, id=step_id, origin=node.origin)
    return ph.Where(observed, test, id=good, origin=node.origin)


def required_columns(source: lg.SourceDecl) -> frozenset[str]:
    """The columns of a file without which a row is malformed: NOT NULL ones, and in a stream of text the event time."""
    text = not source.is_table and dict(source.options).get("format") in ("json", "csv")
    return frozenset(f.name for f in source.fields if not f.nullable or (text and f.name == source.event_time))


def missing_tests(required: frozenset[str]) -> list[str]:
    return [f"{quote(name)} IS NULL" for name in sorted(required)]


def malformed_marker(schema: tuple[ph.Named, ...], missing: list[str], corrupt: bool) -> str:
    """SQL that is NULL for a good row. ``missing``: tests that a bad one passes. ``corrupt``: Spark gives its text, too."""
    text = quote(CORRUPT)
    if corrupt and not missing:
        return f"coalesce({text}, IF({quote(schema[0][0])} IS NULL, NULL, {text}))"
    return f"IF({' OR '.join(missing)}, '', {text if corrupt else 'NULL'})"


def with_rows(node: lg.Shed, stream: lg.Logical) -> lg.Logical:
    """The stream below a shedder, with the column ROW where the hash of that decides."""
    return stream if node.spared or node.keys or node.window_ms is not None else _with_rows(stream)


def _with_rows(node: lg.Logical) -> lg.Logical:
    match node:
        case lg.Scan():
            return replace(node, rows=True)
        case lg.Project():
            item = (lg.ROW, Column(name=lg.ROW, type=BIGINT, nullable=False))
            return replace(node, input=_with_rows(node.input), items=(*node.items, item))
        case _:
            return with_inputs(node, tuple(_with_rows(i) for i in node.inputs))
