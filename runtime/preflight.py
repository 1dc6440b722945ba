"""What is wrong with a plan's inputs and outputs before Spark starts: missing paths and columns."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from streamq.compiler.ir.physical import (
    OptionValue,
    PhysicalPlan,
    PhysicalQuery,
    ScanStream,
    ScanTable,
    SinkSpec,
    walk,
)
from streamq.dsl.diagnostics import Diagnostic, Severity, did_you_mean
from streamq.runtime.avro_files import check_schemas
from streamq.runtime.datafiles import FileColumns, columns_of
from streamq.runtime.disk import refuses_folders
from streamq.runtime.paths import data_files, exists, is_remote, partition_columns, resolve

_FILES_LOOKED_AT = 20
_PARTIAL = "only the first rows were looked at; where the column is absent, NULL is read"


def preflight(plan: PhysicalPlan) -> tuple[Diagnostic, ...]:
    """Findings about the paths and files of all scans and sinks, each source looked at once.

    Looks only at local files and writes nothing that stays. Codes: SQ0705 (path), SQ0803 (column),
    SQ0806 (sink), SQ0703 (schema).
    """
    found: list[Diagnostic] = []
    scans: dict[tuple[object, ...], ScanStream | ScanTable] = {}
    landing = {edge.stream for edge in plan.edges}
    for query in plan.queries:
        for step in walk(query.root):
            if isinstance(step, ScanStream) and step.stream in landing:
                continue  # the run makes its folder
            if isinstance(step, ScanStream | ScanTable) and step.connector == "file":
                scans.setdefault((step.schema, step.options, step.origin), step)
    for scan in scans.values():
        found.extend(_check_scan(scan, plan.base_dir))
    found.extend(_check_sinks(plan))
    found.extend(check_schemas(plan))
    return tuple(dict.fromkeys(found))


def output_taken(query: PhysicalQuery, base_dir: str) -> tuple[Diagnostic, ...]:
    """SQ0806 where a *new* run would write into the output folder of another one.

    Spark keeps the batch numbers that a folder holds beside the files and silently skips batches
    that are already there, so such a run would write nothing.
    """
    from streamq.runtime.dropped import holds_dropped
    from streamq.runtime.sink_log import has_batches

    found: list[Diagnostic] = []
    path = _option(query.sink.options, "path")
    if query.sink.connector == "file" and path and not is_remote(path) and has_batches(Path(resolve(base_dir, path))):
        found.append(_taken(path, "the results", query.sink))
    if query.dropped_sink is not None and holds_dropped(query, base_dir):
        found.append(_taken(_option(query.dropped_sink.options, "path"), "rows that were shed", query.dropped_sink))
    return tuple(found)


def _taken(path: str, what: str, sink: SinkSpec) -> Diagnostic:
    return Diagnostic(
        "SQ0806",
        f"output folder `{path}` holds {what} of another run",
        sink.origin,
        help="continue that run with its `--checkpoint`, or empty the folder, or choose another",
    )


def _check_scan(scan: ScanStream | ScanTable, base_dir: str) -> Iterator[Diagnostic]:
    written = _option(scan.options, "path")
    if not written:
        return
    path = resolve(base_dir, written)
    if is_remote(path):
        return
    if not exists(path):
        yield _missing_path(scan, written, path)
        return
    yield from _check_columns(scan, written, path)


def _missing_path(scan: ScanStream | ScanTable, written: str, path: str) -> Diagnostic:
    parent = Path(path).parent
    try:
        siblings = [entry.name for entry in parent.iterdir()]
    except OSError:
        siblings = []
    kind = "stream" if isinstance(scan, ScanStream) else "table"
    hint = did_you_mean(Path(path).name, siblings)
    return Diagnostic(
        "SQ0705",
        f"path `{written}` does not exist",
        scan.path,
        label=f"this {kind} reads it",
        help=f"in the path, {hint}" if hint else "create it, or correct it; relative paths start from the program's folder",
        notes=(f"looked for {path}",),
    )


def _check_columns(
    scan: ScanStream | ScanTable, written: str, path: str
) -> Iterator[Diagnostic]:
    """Holds the declared columns against the first files: a column must be in at least one."""
    options = dict(scan.options)
    data_format = str(options.get("format", ""))
    names: dict[str, None] = {}
    width: int | None = None
    whole, looked = True, 0
    try:
        files = tuple(islice(data_files(path, options), _FILES_LOOKED_AT))
    except OSError as error:
        yield _unreadable(scan, Path(str(error.filename or path)), data_format, error)
        return
    for file in files:
        try:
            columns = columns_of(file, data_format, options)
        except (OSError, ValueError) as error:
            yield _unreadable(scan, file, data_format, error)
            return
        if columns is None:
            continue
        looked += 1
        whole = whole and columns.whole
        names.update(dict.fromkeys((*columns.names, *partition_columns(path, file))))
        width = _widest(width, columns)
        if data_format == "csv":
            break
    if looked == 0:
        return
    declared = [name for name, _ in scan.schema if name != _corrupt(scan)]
    if names:
        fold = data_format != "json"
        known = {n.casefold() if fold else n for n in names}
        for name in declared:
            if (name.casefold() if fold else name) not in known:
                yield _missing_column(scan, written, name, tuple(names), whole)
    elif width is not None and width < len(declared):
        yield Diagnostic(
            "SQ0803",
            f"`{written}` has {width} columns, {len(declared)} are declared",
            scan.origin,
            help="declare the columns that the file has, in its order",
        )


def _missing_column(
    scan: ScanStream | ScanTable, written: str, name: str, names: tuple[str, ...], whole: bool
) -> Diagnostic:
    hint = did_you_mean(name, names)
    certain = whole or bool(hint)
    shown = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    return Diagnostic(
        "SQ0803",
        f"column `{name}` is not in `{written}`",
        scan.origin,
        help=hint or "declare a column that the data has, or correct the path",
        notes=(f"the data has: {shown}",) if certain else (f"the data has: {shown}", _PARTIAL),
        severity=Severity.ERROR if certain else Severity.WARNING,
    )


def _unreadable(
    scan: ScanStream | ScanTable, file: Path, data_format: str, error: Exception
) -> Diagnostic:
    likely = next((kind for kind in ("json", "csv", "parquet") if kind != data_format and kind in file.name.lower().split(".")), "")
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return Diagnostic(
        "SQ0804" if isinstance(error, ValueError) else "SQ0705",
        f"`{file.name}` cannot be read as {data_format}: {reason.lower()}",
        scan.path,
        help=f"is it `format = '{likely}'`? Else take the file away" if likely else "take the file away, or correct `format`",
    )


def _check_sinks(plan: PhysicalPlan) -> Iterator[Diagnostic]:
    writers: dict[str, list[PhysicalQuery]] = defaultdict(list)
    for query in plan.queries:
        for sink in (query.sink, *((query.dropped_sink,) if query.dropped_sink is not None else ())):
            path = _option(sink.options, "path")
            if sink.connector == "file" and path and not is_remote(path):
                target = resolve(plan.base_dir, path)
                writers[target].append(query)
                yield from _check_writable(sink, path, target)
            if sink.connector == "duckdb" and path and not is_remote(path):
                folder = os.path.dirname(resolve(plan.base_dir, path))
                yield from _check_writable(sink, os.path.dirname(path) or ".", folder)
    for queries in writers.values():
        for second in queries[1:]:
            first = queries[0]
            both = f"queries `{first.name}` and `{second.name}` write to the same folder"
            if first is second:
                both = f"query `{first.name}` writes its results and what it sheds to the same folder"
            yield Diagnostic(
                "SQ0806",
                both,
                second.origin,
                help="give each query a sink of its own, or join the queries with UNION ALL",
                notes=("Spark keeps one log of batches per output folder",),
            )


def _check_writable(sink: SinkSpec, written: str, target: str) -> Iterator[Diagnostic]:
    existing = Path(target)
    while not os.path.exists(existing):
        existing = existing.parent
    if not os.path.isdir(existing):
        reason = f"`{existing}` is a file"
    elif not os.access(existing, os.W_OK | os.X_OK):
        reason = f"no permission to write in `{existing}`"
    else:
        reason = refuses_folders(existing) if str(existing) != target else ""
    if not reason:
        return
    yield Diagnostic(
        "SQ0806",
        f"sink folder `{written}` cannot be written",
        sink.origin,
        help="choose a folder that you may write to",
        notes=(reason,),
    )


def _widest(width: int | None, columns: FileColumns) -> int | None:
    return columns.width if width is None else max(width, columns.width or 0)


def _corrupt(scan: ScanStream | ScanTable) -> str | None:
    return scan.corrupt_column if isinstance(scan, ScanStream) else None


def _option(options: tuple[tuple[str, OptionValue], ...], name: str) -> str:
    value = dict(options).get(name)
    return value if isinstance(value, str) else ""
