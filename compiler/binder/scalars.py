"""Scalar subqueries and ``ALL``/``ANY`` in WHERE.

::

    x > (SELECT MAX(c) FROM q)     ->  LEFT JOIN (SELECT MAX(c) FROM q) ON TRUE, then x > that column
    x > ANY (SELECT c FROM q)      ->  x > (SELECT MIN(c) FROM q), and the greatest for < and <=
    x > ALL (SELECT c FROM q)      ->  the rows without a counterpart in q for which NOT x > c

A scalar subquery gives one row or none at every instant: it has an aggregate and no GROUP BY.
"""

from __future__ import annotations

from collections.abc import Iterator

from streamq.compiler.binder.relations import Environment
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.expr import AggCall, Column, Expr
from streamq.dsl import ast
from streamq.dsl.ast import JoinKind
from streamq.dsl.diagnostics import Abort, Diagnostic
from streamq.dsl.printer import children
from streamq.dsl.records import replace
from streamq.dsl.source import Span
from streamq.stdlib.functions import FUNCTIONS

EXTREME = {">": "MIN", ">=": "MIN", "<": "MAX", "<=": "MAX"}
"""What of the values a comparison with ANY of them has to look at."""


def scalar_queries(node: ast.Node) -> Iterator[ast.ScalarQuery]:
    """The scalar subqueries of an expression, those inside other subqueries left out."""
    stack: list[ast.Node] = [node]
    while stack:
        top = stack.pop()
        if isinstance(top, ast.ScalarQuery):
            yield top
        elif not isinstance(top, ast.Query):
            stack.extend(children(top))


def join_scalar(
    plan: lg.Logical, node: ast.ScalarQuery, env: Environment
) -> tuple[lg.Logical, Column]:
    """The rows with the value of the subquery beside them, and the column that holds it."""
    inner = env.bind_query(node.query, env)
    if len(inner.schema) != 1:
        raise Abort(Diagnostic(
            code="SQ0305", span=node.query.span,
            message=f"a scalar subquery gives one value, and this one gives {len(inner.schema)} columns",
            help="select one column",
        ))
    if not _gives_one_row(inner):
        raise Abort(Diagnostic(
            code="SQ0305", span=node.query.span,
            message="a scalar subquery gives one row, and this one may give many",
            help="select an aggregate without GROUP BY, such as MAX(…)",
        ))
    return beside(plan, inner, node.span, env)


def extreme_of(inner: lg.Logical, op: str, env: Environment, span: Span) -> lg.Logical:
    """The least or greatest of the values, for a comparison with ANY of them."""
    column = inner.schema[0]
    name = EXTREME[op]
    value = Column(name=column.name, type=column.type, nullable=column.nullable, origin=span)
    call = AggCall(function=name, args=(value,), spec=FUNCTIONS[name], type=column.type, origin=span)
    return lg.Aggregate(inner, (), ((column.name, call),), owner=env.owner, origin=span)


def beside(
    plan: lg.Logical, inner: lg.Logical, span: Span, env: Environment
) -> tuple[lg.Logical, Column]:
    """The rows with the one value of another relation beside them, NULL where it has none."""
    field = inner.schema[0]
    name = f"__q{span.start}.{field.name}"
    items: tuple[tuple[str, Expr], ...] = (
        (name, Column(name=field.name, type=field.type, nullable=field.nullable, origin=span)),
    )
    named = lg.Project(inner, items, owner=env.owner, origin=span)
    joined = lg.Join(plan, named, JoinKind.LEFT, None, owner=env.owner, origin=span)
    return joined, Column(name=name, type=field.type, origin=span)


def without_scalars(joined: lg.Logical, plan: lg.Logical, env: Environment, span: Span) -> lg.Logical:
    """Only the columns that were there before."""
    items = tuple(
        (f.name, Column(name=f.name, type=f.type, nullable=f.nullable)) for f in plan.schema
    )
    return replace(lg.Project(joined, items, owner=env.owner), origin=span)


def _gives_one_row(node: lg.Logical) -> bool:
    while isinstance(node, lg.Project | lg.Filter):
        node = node.input
    return isinstance(node, lg.Aggregate) and not node.keys
