"""Finds connectors, checks the options given to one, and the columns declared over a generator."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePosixPath

from streamq.dsl.diagnostics import InternalError, did_you_mean
from streamq.dsl.types import Type, converts_silently
from streamq.stdlib.connector_specs import CONNECTORS
from streamq.stdlib.edge_options import check_edge
from streamq.stdlib.kafka_columns import check_columns
from streamq.stdlib.kafka_options import check_kafka, own_options
from streamq.stdlib.notation import parse_schema
from streamq.stdlib.options import OptionValue, Problem, fold_key, read_options, utc_moment
from streamq.stdlib.registry import ConnectorSpec
from streamq.stdlib.sink_options import LAKES, OWN_WRITERS, check_lake, check_sink


def find_connector(name: str, role: str) -> ConnectorSpec | None:
    """The connector of a name (in any case) for ``stream``, ``table`` or ``sink``, or None."""
    fold = name.casefold()
    return next((c for c in CONNECTORS if c.name == fold and role in c.roles), None)


def connector_names(role: str) -> tuple[str, ...]:
    """The connectors that can stand in a role, for messages."""
    return tuple(c.name for c in CONNECTORS if role in c.roles)


def validate_options(
    spec: ConnectorSpec, options: Mapping[str, OptionValue], role: str
) -> tuple[dict[str, OptionValue], list[Problem]]:
    """The options as the run needs them, complete, and every problem with those that were given.

    ``role`` is ``stream``, ``table`` or ``sink``; the spec must have it. Problems carry SQ0701
    (unknown, or without a meaning here), SQ0702 (missing) or SQ0703 (wrong value).
    """
    if role not in spec.roles:
        raise InternalError(f"connector {spec.name} was asked for as a {role}")
    if spec.name == "kafka":
        ours, theirs, problems = own_options(options)
        found, more = read_options(spec, ours)
        check_kafka(found, ours, role, more)
        return found | theirs, problems + more
    found, problems = read_options(spec, options)
    match spec.name:
        case "file":
            _check_file(found, options, role, problems)
        case "nexmark":
            _check_nexmark(found, options, problems)
        case "edge":
            check_edge(found, options, problems)
        case name if name in OWN_WRITERS:
            check_sink(spec, found, options, problems)
        case name if name in LAKES:
            check_lake(spec, found, options, problems)
        case _:
            pass
    return found, problems


ENDINGS = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet"}
"""File endings that tell a format; everything else is json."""

_ONLY_FOR = {
    "header": ("csv",),
    "delimiter": ("csv",),
    "quote": ("csv",),
    "escape": ("csv",),
    "comment": ("csv",),
    "null_value": ("csv",),
    "timestamp_format": ("csv", "json"),
    "date_format": ("csv", "json"),
    "encoding": ("csv", "json"),
    "multi_line": ("csv", "json"),
    "on_error": ("csv", "json"),
}
_PACKED = {".gz", ".bz2", ".zst", ".snappy"}


def format_of(path: str) -> str:
    """The format that a path's ending tells: ``csv`` of ``a.csv``, ``b.csv.gz`` and ``*.csv``."""
    endings = [s for s in PurePosixPath(path.casefold()).suffixes if s not in _PACKED]
    return ENDINGS.get(endings[-1], "json") if endings else "json"


def _check_file(
    found: dict[str, OptionValue],
    given: Mapping[str, OptionValue],
    role: str,
    problems: list[Problem],
) -> None:
    named = {fold_key(key): key for key in given}
    if "format" in named and "format" not in found:
        return
    path = str(found.get("path", ""))
    kind = str(found.setdefault("format", format_of(path)))
    for name, formats in _ONLY_FOR.items():
        if kind in formats:
            continue
        key = named.get(fold_key(name))
        if key is not None:
            message = f"option `{name}` has no meaning for format '{kind}'"
            help = f"leave it out, or write format = '{formats[0]}'"
            problems.append(Problem("SQ0701", key, message, help))
        found.pop(name, None)
    if kind == "csv":
        _check_csv(found, named, problems)
    if "max_files_per_trigger" in found and "max_bytes_per_trigger" in found:
        key = named["maxbytespertrigger"]
        message = "options `max_files_per_trigger` and `max_bytes_per_trigger` exclude each other"
        problems.append(Problem("SQ0703", key, message, "keep one of them"))
    if role == "sink":
        _check_packing(found, kind, named, problems)


def _check_csv(
    found: dict[str, OptionValue], named: dict[str, str], problems: list[Problem]
) -> None:
    tabs = ".tsv" in PurePosixPath(str(found.get("path", "")).casefold()).suffixes
    if tabs and "delimiter" not in named:
        found["delimiter"] = "\t"
    if found.get("delimiter") == "\\t":
        found["delimiter"] = "\t"
    for name in ("delimiter", "quote", "escape", "comment"):
        value = str(found.get(name, ""))
        if name in named and len(value) != 1:
            message = f"option `{name}` must be one character, not '{value}'"
            problems.append(Problem("SQ0703", named[name], message, f"write {name} = ';'"))


_PACKINGS = {
    "csv": ("none", "gzip"),
    "json": ("none", "gzip"),
    "parquet": ("none", "gzip", "snappy", "zstd"),
}


def _check_packing(
    found: dict[str, OptionValue], kind: str, named: dict[str, str], problems: list[Problem]
) -> None:
    packing = str(found.setdefault("compression", "snappy" if kind == "parquet" else "none"))
    if packing not in _PACKINGS[kind]:
        message = f"format '{kind}' cannot be packed with '{packing}'"
        help = f"take one of {', '.join(_PACKINGS[kind])}"
        problems.append(Problem("SQ0703", named["compression"], message, help))
    if "partition_by" in found:
        columns = [c.strip() for c in str(found["partition_by"]).split(",")]
        if not all(columns):
            message = "option `partition_by` must name columns, with commas between them"
            help = "write partition_by = 'city, day'"
            problems.append(Problem("SQ0703", named["partitionby"], message, help))
        found["partition_by"] = ",".join(columns)


def _check_nexmark(
    found: dict[str, OptionValue], given: Mapping[str, OptionValue], problems: list[Problem]
) -> None:
    named = {fold_key(key): key for key in given}
    if found.get("shape") == "constant":
        for name in ("peak_rate", "period"):
            found.pop(name, None)
            key = named.get(fold_key(name))
            if key is not None:
                message = f"option `{name}` has no meaning for shape 'constant'"
                problems.append(Problem("SQ0701", key, message, "add shape = 'square' or 'sine'"))
    start = utc_moment(str(found.get("start", "")))
    if "start" in found and start is None:
        message = f"option `start` must be a time, not '{found['start']}'"
        help = "write start = '2015-07-15 00:00:00'"
        problems.append(Problem("SQ0703", named.get("start", ""), message, help))
    elif start is not None:
        found["start"] = start


# --- columns -------------------------------------------------------------------------------------

EVENT_TIME = {"nexmark": "dateTime", "rate": "timestamp"}
"""Generators to the column that a program may also declare by the name ``ts``."""


def source_columns(
    spec: ConnectorSpec, options: Mapping[str, OptionValue]
) -> tuple[tuple[str, str], ...]:
    """The fixed columns that the options ask for, as (name, SQL type); empty where any will do."""
    return spec.columns.get(str(options.get("table", "")), ())


def match_columns(
    spec: ConnectorSpec,
    options: Mapping[str, OptionValue],
    declared: Sequence[tuple[str, Type]],
) -> tuple[tuple[str, ...], list[Problem]]:
    """For each declared column the column of the generator that it reads, and what does not fit.

    A program may declare any of the columns, in any order and case; ``ts`` reads the event time; a
    type may be wider than the generator's (``price DOUBLE`` over BIGINT). Where the connector has
    no fixed columns, or a column does not fit, the name stands for itself. Problems are SQ0707.
    """
    fixed = source_columns(spec, options)
    if spec.name == "kafka":
        return tuple(name for name, _ in declared), check_columns(options, declared)
    if not fixed:
        return tuple(name for name, _ in declared), []
    known = {name.casefold(): (name, t) for name, t in fixed}
    if spec.name in EVENT_TIME:
        known.setdefault("ts", known[EVENT_TIME[spec.name].casefold()])
    what = " ".join(str(p) for p in (spec.name, options.get("table", "")) if p)
    sources: list[str] = []
    problems: list[Problem] = []
    for name, t in declared:
        source, has = known.get(name.casefold(), (name, ""))
        sources.append(source)
        if not has:
            listed = ", ".join(n for n, _ in fixed)
            help = did_you_mean(name, [n for n, _ in fixed]) or f"its columns are {listed}"
            problems.append(Problem("SQ0707", name, f"{what} has no column `{name}`", help))
        elif not converts_silently(parse_schema(has), t):
            message = f"column `{name}` of {what} is {has}, which is no {t}"
            problems.append(Problem("SQ0707", name, message, f"declare it as {has}"))
    return tuple(sources), problems


def tells_rows_apart(connector: str, options: Mapping[str, object], columns: Collection[str]) -> bool:
    """True where the source numbers its rows, the same whenever they are read: without looking into them.

    Spark has the numbers of the rows of a file in ``_metadata``, unless ``columns`` of the file's own have that name.
    """
    if connector in ("nexmark", "edge", "kafka"):
        return True
    own = any(name.casefold() == "_metadata" for name in columns)
    return connector == "file" and options.get("format") == "parquet" and not own
