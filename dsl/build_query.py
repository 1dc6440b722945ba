"""Queries and windows: grammar rules to nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from streamq.dsl import ast
from streamq.dsl.build import Build, tuple_of
from streamq.dsl.lexer import Token
from streamq.dsl.source import Span

# --- queries and set operations ------------------------------------------------------------------


def query(
    _b: Build,
    span: Span,
    ctes: tuple[ast.Cte, ...] | None,
    body: ast.SetExpr,
    order_by: tuple[ast.OrderItem, ...] | None,
    limit: int | None,
) -> ast.Query:
    """A query; parentheses around a whole query without clauses outside them mean nothing."""
    if isinstance(body, ast.Query) and not ctes and not order_by and limit is None:
        return body
    return ast.Query(body=body, ctes=ctes or (), order_by=order_by or (), limit=limit, span=span)


def bare_inner_query(
    b: Build,
    span: Span,
    body: ast.SetExpr,
    order_by: tuple[ast.OrderItem, ...] | None,
    limit: int | None,
) -> ast.Query:
    return query(b, span, None, body, order_by, limit)


def ordered_inner_query(
    b: Build,
    span: Span,
    inner: ast.Query,
    order_by: tuple[ast.OrderItem, ...],
    limit: int | None,
) -> ast.Query:
    return query(b, span, None, operand_query(b, inner.span, inner), order_by, limit)


def limited_inner_query(b: Build, span: Span, inner: ast.Query, limit: int) -> ast.Query:
    return query(b, span, None, operand_query(b, inner.span, inner), None, limit)


def operand_query(_b: Build, _span: Span, query: ast.Query) -> ast.SetExpr:
    """A query in parentheses as an operand: only its own clauses make it more than its body."""
    plain = not query.ctes and not query.order_by and query.limit is None
    return query.body if plain else query


def cte(
    b: Build, span: Span, name: Token, columns: tuple[ast.Ident, ...] | None, query: ast.Query
) -> ast.Cte:
    return ast.Cte(name=b.ident(name), columns=columns or (), query=query, span=span)


def order_item(
    _b: Build, span: Span, expr: ast.Expr, direction: bool | None, nulls: bool | None
) -> ast.OrderItem:
    return ast.OrderItem(expr=expr, descending=bool(direction), nulls_first=nulls, span=span)


def yes(_b: Build, _span: Span) -> bool:
    return True


def no(_b: Build, _span: Span) -> bool:
    return False


def limit(b: Build, _span: Span, number: Token) -> int:
    return b.whole(b.decimal(number), b.span_of(number), "LIMIT")


def set_op(
    _b: Build, span: Span, left: ast.SetExpr, op: tuple[str, bool], right: ast.SetExpr
) -> ast.SetExpr:
    name, all = op
    return ast.SetOp(op=name, all=all, left=left, right=right, span=span)


def union(_b: Build, _span: Span, all: bool | None) -> tuple[str, bool]:
    return "UNION", bool(all)


def except_(_b: Build, _span: Span, all: bool | None) -> tuple[str, bool]:
    return "EXCEPT", bool(all)


def intersect(_b: Build, _span: Span, all: bool | None) -> tuple[str, bool]:
    return "INTERSECT", bool(all)


def named_operand(b: Build, span: Span, name: Token) -> ast.SetExpr:
    return ast.NamedOperand(name=b.ident(name), span=span)


def streamed(_b: Build, span: Span, op: ast.R2S, query: ast.Query) -> ast.SetExpr:
    return ast.Streamed(op=op, query=query, span=span)


def istream(_b: Build, _span: Span) -> ast.R2S:
    return ast.R2S.ISTREAM


def dstream(_b: Build, _span: Span) -> ast.R2S:
    return ast.R2S.DSTREAM


def rstream(_b: Build, _span: Span) -> ast.R2S:
    return ast.R2S.RSTREAM


# --- one block -----------------------------------------------------------------------------------


def select(
    _b: Build,
    span: Span,
    distinct: ast.Distinct | None,
    items: tuple[ast.SelectItem, ...],
    from_: ast.FromItem | None,
    where: ast.Expr | None,
    group_by: tuple[ast.Expr, ...] | None,
    having: ast.Expr | None,
    approx: ast.Approx | None,
) -> ast.Select:
    return ast.Select(
        items=items,
        from_=from_,
        where=where,
        group_by=group_by or (),
        having=having,
        distinct=distinct or ast.Distinct.ALL,
        approx=approx,
        span=span,
    )


def streamed_select(
    b: Build,
    span: Span,
    distinct: ast.Distinct | None,
    op: ast.R2S,
    items: tuple[ast.SelectItem, ...],
    *clauses: Any,
) -> ast.SetExpr:
    """``SELECT ISTREAM(a, b) FROM …`` is ``ISTREAM(SELECT a, b FROM …)``."""
    block = select(b, span, distinct, items, *clauses)
    return ast.Streamed(op=op, query=ast.Query(body=block, span=span), span=span)


def distinct(_b: Build, _span: Span) -> ast.Distinct:
    return ast.Distinct.DISTINCT


def approx_distinct(_b: Build, _span: Span) -> ast.Distinct:
    return ast.Distinct.APPROX


def select_item(b: Build, span: Span, expr: ast.Expr, alias: Token | None = None) -> ast.SelectItem:
    return ast.SelectItem(expr=expr, alias=b.ident(alias) if alias else None, span=span)


def all_columns(_b: Build, span: Span, _star: Token) -> ast.SelectItem:
    return ast.SelectItem(expr=ast.Star(span=span), span=span)


def columns_of(b: Build, span: Span, name: Token, _star: Token) -> ast.SelectItem:
    return ast.SelectItem(expr=ast.Star(qualifier=b.ident(name), span=span), span=span)


# --- FROM ----------------------------------------------------------------------------------------


def table_ref(
    b: Build, span: Span, name: Token, window: ast.Window | None, alias: Token | None = None
) -> ast.FromItem:
    return ast.TableRef(
        name=b.ident(name), window=window, alias=b.ident(alias) if alias else None, span=span
    )


def subquery_ref(
    b: Build, span: Span, query: ast.Query, window: ast.Window | None, alias: Token | None = None
) -> ast.FromItem:
    return ast.SubqueryRef(
        query=query, window=window, alias=b.ident(alias) if alias else None, span=span
    )


def streamed_ref(
    b: Build,
    span: Span,
    streamed: ast.Streamed,
    window: ast.Window | None,
    alias: Token | None = None,
) -> ast.FromItem:
    """``FROM ISTREAM(query) w``, without parentheses around it."""
    query = ast.Query(body=streamed, span=streamed.span)
    return subquery_ref(b, span, query, window, alias)


def comma_join(_b: Build, span: Span, left: ast.FromItem, right: ast.FromItem) -> ast.FromItem:
    return ast.Join(kind=ast.JoinKind.CROSS, left=left, right=right, span=span)


def join_on(
    _b: Build, span: Span, left: ast.FromItem, kind: ast.JoinKind, right: ast.FromItem, on: ast.Expr
) -> ast.FromItem:
    return ast.Join(kind=kind, left=left, right=right, on=on, span=span)


def join_using(
    _b: Build,
    span: Span,
    left: ast.FromItem,
    kind: ast.JoinKind,
    right: ast.FromItem,
    using: tuple[ast.Ident, ...],
) -> ast.FromItem:
    return ast.Join(kind=kind, left=left, right=right, using=using, span=span)


def inner(_b: Build, _span: Span) -> ast.JoinKind:
    return ast.JoinKind.INNER


def left(_b: Build, _span: Span) -> ast.JoinKind:
    return ast.JoinKind.LEFT


def right(_b: Build, _span: Span) -> ast.JoinKind:
    return ast.JoinKind.RIGHT


def full(_b: Build, _span: Span) -> ast.JoinKind:
    return ast.JoinKind.FULL


# --- windows -------------------------------------------------------------------------------------


def now_window(_b: Build, span: Span) -> ast.Window:
    return ast.NowWindow(span=span)


def range_window(
    _b: Build, span: Span, range: ast.Duration, slide: ast.Duration | None
) -> ast.Window:
    return ast.RangeWindow(range=range, slide=slide, span=span)


def unbounded_window(_b: Build, span: Span, slide: ast.Duration | None) -> ast.Window:
    return ast.RangeWindow(range=None, slide=slide, span=span)


def tumble_window(_b: Build, span: Span, length: ast.Duration) -> ast.Window:
    return ast.RangeWindow(range=length, slide=length, span=span)


def rows_window(
    _b: Build,
    span: Span,
    partition: tuple[ast.Name, ...] | None,
    rows: int,
    range: ast.Duration | None,
    slide: int | None,
) -> ast.Window:
    return ast.RowsWindow(rows=rows, slide=slide, partition=partition or (), range=range, span=span)


def session_window(
    _b: Build, span: Span, gap: ast.Duration, partition: tuple[ast.Name, ...] | None
) -> ast.Window:
    return ast.SessionWindow(gap=gap, partition=partition or (), span=span)


QUERY_ACTIONS: dict[str, Callable[..., Any]] = {
    "all": yes,
    "all_columns": all_columns,
    "approx_distinct": approx_distinct,
    "ascending": no,
    "bare_inner_query": bare_inner_query,
    "columns_of": columns_of,
    "comma_join": comma_join,
    "cross_join": comma_join,
    "cte": cte,
    "ctes": tuple_of,
    "descending": yes,
    "distinct": distinct,
    "dstream": dstream,
    "except_": except_,
    "full": full,
    "inner": inner,
    "intersect": intersect,
    "istream": istream,
    "join_on": join_on,
    "join_using": join_using,
    "left": left,
    "limit": limit,
    "limited_inner_query": limited_inner_query,
    "named_operand": named_operand,
    "now_window": now_window,
    "nulls_first": yes,
    "nulls_last": no,
    "operand_query": operand_query,
    "order_by": tuple_of,
    "order_item": order_item,
    "ordered_inner_query": ordered_inner_query,
    "query": query,
    "range_window": range_window,
    "right": right,
    "rows_window": rows_window,
    "rstream": rstream,
    "select": select,
    "select_item": select_item,
    "select_items": tuple_of,
    "session_window": session_window,
    "set_op": set_op,
    "streamed": streamed,
    "streamed_ref": streamed_ref,
    "streamed_select": streamed_select,
    "subquery_ref": subquery_ref,
    "table_ref": table_ref,
    "tumble_window": tumble_window,
    "unbounded_window": unbounded_window,
    "union": union,
}
"""Rule or alias of the grammar to the function that makes its value."""
