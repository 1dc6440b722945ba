"""What a sink asks of the rows that it gets: partition columns, and names and types that it can hold."""

from __future__ import annotations

from streamq.compiler.binder.context import BindContext
from streamq.compiler.binder.table_outputs import check_columns
from streamq.compiler.ir.logical import Field, SinkDecl
from streamq.dsl.diagnostics import did_you_mean
from streamq.dsl.source import Span
from streamq.dsl.types import BINARY, Array, Map, Struct, Type, with_article
from streamq.stdlib.kafka_columns import check_record
from streamq.stdlib.sink_options import LAKES


def check_output(
    schema: tuple[Field, ...], sink: SinkDecl, span: Span, context: BindContext
) -> None:
    """Reports what the sink cannot take of a result with these columns; ``span`` names the sink."""
    if sink.connector in ("postgres", "duckdb"):
        check_columns(schema, sink.connector, span, context)
    if sink.connector == "kafka":
        for problem in check_record([(f.name, f.type) for f in schema], dict(sink.options), sink.name):
            context.error(problem.code, problem.message, span, help=problem.help)
    if sink.connector != "file" and sink.connector not in LAKES:
        return
    options = dict(sink.options)
    names = [n.strip() for n in str(options.get("partition_by", "")).split(",") if n.strip()]
    _check_partitions(schema, names, sink, span, context)
    if options.get("format") == "csv":
        folders = {n.casefold() for n in names}
        for column in schema:
            if column.name.casefold() not in folders and not csv_holds(column.type):
                context.error(
                    "SQ0502", f"a csv file cannot hold `{column.name}`, which is "
                    f"{with_article(column.type)}", span,
                    label="writes csv", help="use format 'json', or select parts of the column",
                )


def csv_holds(t: Type) -> bool:
    """True where a value of the type is one field of a line, and is read back as what it was."""
    return not isinstance(t, Array | Map | Struct) and t != BINARY


def _check_partitions(
    schema: tuple[Field, ...], names: list[str], sink: SinkDecl, span: Span, context: BindContext
) -> None:
    known = {f.name.casefold(): f for f in schema}
    for name in names:
        column = known.get(name.casefold())
        if column is None:
            context.error(
                "SQ0202", f"sink `{sink.name}` is partitioned by `{name}`, which is not in the result",
                span, help=did_you_mean(name, [f.name for f in schema])
                or f"add `{name}` to the select list",
            )
        elif isinstance(column.type, Array | Map | Struct):
            context.error(
                "SQ0502", f"`{name}` is {with_article(column.type)}, which cannot name a folder",
                span,
                help="partition by a column of plain values",
            )
    if names and {n.casefold() for n in names} >= known.keys():
        context.error(
            "SQ0502", f"sink `{sink.name}` is partitioned by all columns, so its files hold none",
            span, help="leave one column out of partition_by",
        )

