"""``streamq malformed``: which streams of a program are read from files, and what makes a row of one malformed."""

from __future__ import annotations

from streamq.compiler.driver import CompileResult
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir import physical as ph
from streamq.compiler.ir.rewrite import walk
from streamq.compiler.lowering.scans import (
    CORRUPT,
    malformed_marker,
    missing_tests,
    required_columns,
)
from streamq.dsl.records import dataclass, replace


@dataclass(frozen=True, slots=True)
class FileStream:
    """A stream of files. ``scan``: of all columns that a query reads, malformed text collected where there is any.

    ``required``: columns without which a row is malformed. ``marker``: SQL that is NULL for a good row, None where
    every row is good.
    """

    scan: ph.ScanStream
    required: frozenset[str]
    marker: str | None


def file_streams(result: CompileResult) -> tuple[FileStream, ...]:
    """The streams of files that queries of a program without errors read, by name.

    In JSON only columns that are read are looked at: a row is malformed here that is so for one of the queries.
    """
    plan, logical = result.require(), result.logical
    assert logical is not None
    landed = {edge.stream for edge in plan.edges}
    declared = {n.source.name: n.source for q in logical.queries for n in walk(q.root) if isinstance(n, lg.Scan)}
    scans: dict[str, list[ph.ScanStream]] = {}
    for query in plan.queries:
        for step in ph.walk(query.root):
            if isinstance(step, ph.ScanStream) and step.connector == "file" and step.stream not in landed:
                scans.setdefault(step.stream, []).append(step)
    return tuple(_file_stream(declared[name], scans[name]) for name in sorted(scans) if name in declared)


def _file_stream(source: lg.SourceDecl, scans: list[ph.ScanStream]) -> FileStream:
    types = {column: sql_type for scan in scans for column, sql_type in scan.schema}
    schema = tuple((f.name, types[f.name]) for f in source.fields if f.name in types)
    text = dict(source.options).get("format") != "parquet"
    options = tuple((n, "count" if n == "on_error" else v) for n, v in scans[0].options)
    scan = replace(scans[0], schema=schema, options=options, corrupt_column=CORRUPT if text else None)
    required = required_columns(source)
    marker = malformed_marker(schema, missing_tests(required), text) if text or required else None
    return FileStream(scan, required, marker)
