"""What the tables of databases ask of the columns of a result: names and types that they can have."""

from __future__ import annotations

from collections.abc import Iterator

from streamq.compiler.binder.context import BindContext
from streamq.compiler.ir.logical import Field
from streamq.dsl.source import Span
from streamq.dsl.types import INTERVAL, Array, Map, Struct, Type, with_article
from streamq.stdlib.sink_options import LONGEST_NAME

_OF_THE_SYSTEM = frozenset({"tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"})


def check_columns(schema: tuple[Field, ...], connector: str, span: Span, context: BindContext) -> None:
    """Reports columns that a table of PostgreSQL or DuckDB cannot have; ``span`` names the sink."""
    for column in schema:
        for problem, help in _problems(column, connector):
            context.error("SQ0502", problem, span, help=help)


def _problems(column: Field, connector: str) -> Iterator[tuple[str, str]]:
    name = column.name
    if connector == "postgres" and len(name.encode()) > LONGEST_NAME:
        yield f"`{name}` is longer than the {LONGEST_NAME} bytes that a name of PostgreSQL has", "give the column a shorter name with AS"
    if connector == "postgres" and name in _OF_THE_SYSTEM:
        yield f"every table of PostgreSQL has a column `{name}` of its own", "give the column another name with AS"
    if connector == "duckdb" and column.type != INTERVAL and _holds_interval(column.type):
        yield f"a table of DuckDB cannot take `{name}`, which is {with_article(column.type)}", "select parts of the column, or their texts"


def _holds_interval(t: Type) -> bool:
    match t:
        case Array(element=element):
            return _holds_interval(element)
        case Map(key=key, value=value):
            return _holds_interval(key) or _holds_interval(value)
        case Struct(fields=fields):
            return any(_holds_interval(f) for _, f in fields)
        case _:
            return t == INTERVAL
