"""Files with schemas of Avro, looked at before Spark starts."""

from __future__ import annotations

from collections.abc import Iterator

from streamq.compiler.ir.physical import OptionValue, Parse, PhysicalPlan, PhysicalQuery, walk
from streamq.compiler.lowering.values import shape_of
from streamq.dsl.diagnostics import Diagnostic, did_you_mean
from streamq.dsl.source import Span
from streamq.runtime.paths import resolve
from streamq.stdlib.avro_schema import field_names, told_as_read


def check_schemas(plan: PhysicalPlan) -> Iterator[Diagnostic]:
    """SQ0705 for a file that is not there, SQ0703 for one that is no schema of a record, SQ0803 for a column that it lacks."""
    for query in plan.queries:
        for wanted, options, origin in _uses(query):
            if "schema_file" in options:
                yield from _check(wanted, str(options["schema_file"]), plan.base_dir, origin)


def _uses(query: PhysicalQuery) -> Iterator[tuple[tuple[str, ...], dict[str, OptionValue], Span]]:
    """The columns that a schema must have, and the options that name it."""
    for step in walk(query.root):
        if isinstance(step, Parse):
            yield tuple(name for name, _ in step.fields), dict(step.options), step.origin
    if query.sink.connector == "kafka":
        options = dict(query.sink.options)
        yield shape_of(query.columns, query.keys, options).value, options, query.sink.origin


def _check(wanted: tuple[str, ...], written: str, base_dir: str, origin: Span) -> Iterator[Diagnostic]:
    path = resolve(base_dir, written)
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        told_as_read(text)
        names = field_names(text)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        yield Diagnostic(
            "SQ0705", f"schema `{written}` cannot be read: {reason}", origin, help="correct schema_file; relative paths start from the program's folder",
            notes=(f"looked for {path}",),
        )
        return
    except (ValueError, KeyError, TypeError):
        yield Diagnostic("SQ0703", f"`{written}` holds no Avro schema of a record", origin, help="a schema is JSON: {\"type\": \"record\", …}")
        return
    known = {name.casefold() for name in names}
    for name in wanted:
        if name.casefold() not in known:
            yield Diagnostic(
                "SQ0803", f"column `{name}` is not in the schema `{written}`", origin, notes=(f"the schema has: {', '.join(names)}",),
                help=did_you_mean(name, names) or "take a name that the schema has",
            )
