"""Statements: grammar rules to nodes."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from streamq.dsl import ast
from streamq.dsl.build import Build, name_text, string_text, tuple_of
from streamq.dsl.build_policy import kbit_per_s, report_twice
from streamq.dsl.lexer import Token
from streamq.dsl.source import Span
from streamq.dsl.types import Type

Element = ast.ColumnDef | ast.WatermarkDef | tuple[ast.Ident, ...]
"""What may stand in the parentheses of CREATE STREAM and CREATE TABLE; the tuple is a key."""


def create_stream(
    b: Build,
    span: Span,
    name: Token,
    elements: tuple[Element, ...],
    policies: tuple[ast.Policy, ...],
    options: tuple[ast.Option, ...] | None,
) -> ast.Statement:
    watermarks = [e for e in elements if isinstance(e, ast.WatermarkDef)]
    report_twice(b, (("WATERMARK", w.span) for w in watermarks))
    return ast.CreateStream(
        name=b.ident(name),
        columns=tuple(e for e in elements if isinstance(e, ast.ColumnDef)),
        watermark=watermarks[0] if watermarks else None,
        policies=policies,
        options=options or (),
        span=span,
    )


def create_table(
    b: Build,
    span: Span,
    name: Token,
    elements: tuple[Any, ...],
    options: tuple[ast.Option, ...] | None,
) -> ast.Statement:
    columns: list[ast.ColumnDef] = []
    keys: list[tuple[ast.Ident, ...]] = []
    for element in elements:
        match element:
            case ast.ColumnDef():
                columns.append(element)
            case (ast.ColumnDef() as column, key):
                columns.append(column)
                keys.append(key)
            case key:
                keys.append(key)
    report_twice(b, (("PRIMARY KEY", key[0].span) for key in keys))
    return ast.CreateTable(
        name=b.ident(name),
        columns=tuple(columns),
        primary_key=keys[0] if keys else (),
        options=options or (),
        span=span,
    )


def key_column(
    _b: Build, _span: Span, column: ast.ColumnDef
) -> tuple[ast.ColumnDef, tuple[ast.Ident, ...]]:
    return column, (column.name,)


def column(
    b: Build,
    span: Span,
    name: Token,
    type: Type | None,
    not_null: bool | None,
    computed: ast.Expr | None,
) -> ast.ColumnDef:
    return ast.ColumnDef(
        name=b.ident(name), type=type, not_null=bool(not_null), computed=computed, span=span
    )


def computed_column(
    b: Build, span: Span, name: Token, not_null: bool | None, computed: ast.Expr
) -> ast.ColumnDef:
    return column(b, span, name, None, not_null, computed)


def not_null(_b: Build, _span: Span) -> bool:
    return True


def watermark(
    b: Build, span: Span, name: Token, value: tuple[Token, ast.Duration | None] | None
) -> ast.WatermarkDef:
    zero = ast.Duration(ms=0, span=span)
    if value is None:
        return ast.WatermarkDef(column=b.ident(name), delay=zero, span=span)
    source, delay = value
    if name_text(source).casefold() != name_text(name).casefold():
        b.report(
            "SQ0101",
            f"unexpected `{source.text}`, expected `{name.text}`",
            b.span_of(source),
            f"a watermark is its own column less a delay: AS {name.text} - INTERVAL 5 SECONDS",
        )
    return ast.WatermarkDef(column=b.ident(name), delay=delay or zero, span=span)


def watermark_value(
    _b: Build, _span: Span, name: Token, delay: ast.Duration | None
) -> tuple[Token, ast.Duration | None]:
    return name, delay


def option(_b: Build, span: Span, key: str, value: str | int | float | bool) -> ast.Option:
    return ast.Option(key=key, value=value, span=span)


def with_options(b: Build, _span: Span, *options: ast.Option) -> tuple[ast.Option, ...]:
    report_twice(b, ((f"option `{o.key.casefold()}`", o.span) for o in options))
    return options


def option_key(_b: Build, _span: Span, *words: Token) -> str:
    if words[0].kind == "STRING":
        return string_text(words[0])
    return ".".join(name_text(word) for word in words)


def string_value(_b: Build, _span: Span, text: Token) -> str:
    return string_text(text)


def number_value(_b: Build, _span: Span, value: Decimal) -> int | float:
    return int(value) if value.as_tuple().exponent == 0 else float(value)


def true_value(_b: Build, _span: Span) -> bool:
    return True


def false_value(_b: Build, _span: Span) -> bool:
    return False


def create_view(
    b: Build, span: Span, name: Token, columns: tuple[ast.Ident, ...] | None, query: ast.Query
) -> ast.Statement:
    return ast.CreateView(name=b.ident(name), columns=columns or (), query=query, span=span)


def create_sink(
    b: Build, span: Span, name: Token, options: tuple[ast.Option, ...]
) -> ast.Statement:
    return ast.CreateSink(name=b.ident(name), options=options, span=span)


def create_channel(
    b: Build, span: Span, name: Token, capacity: Decimal, unit: str, split: str | None
) -> ast.Statement:
    return ast.CreateChannel(name=b.ident(name), kbps=kbit_per_s(capacity, unit), split=split, span=span)


def create_function(
    b: Build,
    span: Span,
    name: Token,
    parameters: tuple[ast.Parameter, ...] | None,
    returns: Type,
    target: Token,
) -> ast.Statement:
    return ast.CreateFunction(
        name=b.ident(name),
        parameters=parameters or (),
        returns=returns,
        target=string_text(target),
        span=span,
    )


def parameter(b: Build, span: Span, name: Token, type: Type) -> ast.Parameter:
    return ast.Parameter(name=b.ident(name), type=type, span=span)


def create_query(
    b: Build,
    span: Span,
    name: Token,
    sink: Token | None,
    query: ast.Query,
    policies: tuple[ast.Policy, ...],
) -> ast.Statement:
    return ast.CreateQuery(
        name=b.ident(name),
        sink=b.ident(sink) if sink else None,
        query=query,
        policies=policies,
        span=span,
    )


def insert(
    b: Build, span: Span, sink: Token, query: ast.Query, policies: tuple[ast.Policy, ...]
) -> ast.Statement:
    return ast.CreateQuery(name=None, sink=b.ident(sink), query=query, policies=policies, span=span)


def bare_query(
    _b: Build, span: Span, query: ast.Query, policies: tuple[ast.Policy, ...]
) -> ast.Statement:
    return ast.CreateQuery(name=None, sink=None, query=query, policies=policies, span=span)


def set_option(_b: Build, span: Span, key: str, value: str | int | float | bool) -> ast.Statement:
    return ast.SetOption(key=key, value=value, span=span)


def include(_b: Build, span: Span, path: Token) -> ast.Statement:
    return ast.Include(path=string_text(path), span=span)


def idents(b: Build, _span: Span, *names: Token) -> tuple[ast.Ident, ...]:
    return tuple(b.ident(name) for name in names)


STATEMENT_ACTIONS: dict[str, Callable[..., Any]] = {
    "bare_query": bare_query,
    "column": column,
    "computed_column": computed_column,
    "create_channel": create_channel,
    "create_function": create_function,
    "create_query": create_query,
    "create_sink": create_sink,
    "create_stream": create_stream,
    "create_table": create_table,
    "create_view": create_view,
    "false_value": false_value,
    "idents": idents,
    "include": include,
    "insert": insert,
    "key_column": key_column,
    "not_null": not_null,
    "number_value": number_value,
    "option": option,
    "option_key": option_key,
    "parameter": parameter,
    "parameters": tuple_of,
    "set_option": set_option,
    "stream_elements": tuple_of,
    "string_value": string_value,
    "table_elements": tuple_of,
    "true_value": true_value,
    "watermark": watermark,
    "watermark_value": watermark_value,
    "with_options": with_options,
}
"""Rule or alias of the grammar to the function that makes its value."""
