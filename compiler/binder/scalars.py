"""Scalar subqueries, as joins that put their value beside each row.

::

    (SELECT MAX(c) FROM q)                    ->  LEFT JOIN (SELECT MAX(c) FROM q) ON TRUE
    (SELECT MAX(c) FROM q WHERE q.k = ours)   ->  LEFT JOIN (SELECT k, MAX(c) FROM q GROUP BY k) ON k = ours

A scalar subquery gives one row or none at every instant: it has an aggregate and no GROUP BY. Where a row has no
group its value is that of the aggregate over no rows: 0 for counts, NULL for all others.
"""

from __future__ import annotations

from collections.abc import Callable

from streamq.compiler.binder.context import is_unknown, unknown
from streamq.compiler.binder.correlation import (
    Correlated,
    beside,
    divide,
    equal_keys,
    equalities,
    plain_select,
    refuse_outside,
)
from streamq.compiler.binder.expressions import ExpressionBinder
from streamq.compiler.binder.relations import Environment, bind_from
from streamq.compiler.binder.semi_joins import PREFIX, refuse_table, renamed
from streamq.compiler.ir import expr as ir
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.expr import Column, Expr
from streamq.dsl import ast
from streamq.dsl.ast import JoinKind
from streamq.dsl.diagnostics import Abort, Diagnostic
from streamq.dsl.records import dataclass, replace
from streamq.dsl.source import Span
from streamq.dsl.types import BOOLEAN


@dataclass(frozen=True, slots=True)
class Value:
    """What a subquery puts beside a row: relations to join, each on a condition, and what is read of them."""

    joins: tuple[tuple[lg.Logical, Expr | None], ...]
    expr: Expr
    span: Span

    @property
    def tests(self) -> tuple[Expr, ...]:
        return tuple(test for _, test in self.joins if test is not None)

    @property
    def columns(self) -> frozenset[str]:
        return frozenset(f.name for inner, _ in self.joins for f in inner.schema)

    def rewritten(self, rewrite: Callable[[Expr], Expr]) -> Value:
        """The value for rows that are told in another way."""
        joins = tuple((inner, test and rewrite(test)) for inner, test in self.joins)
        return replace(self, joins=joins)


def bind_scalar(node: ast.ScalarQuery, binder: ExpressionBinder, env: Environment) -> Value:
    """The value of one subquery beside the rows that ``binder`` sees."""
    select = plain_select(node.query)
    if select is None or select.from_ is None:
        return _value_of(node, env.bind_query(node.query, env), env)
    parts = divide(select, bind_from(select.from_, env), binder.scope)
    refuse_outside(parts, binder.scope, (*(i.expr for i in select.items), *parts.groups))
    if not parts.between:
        return _value_of(node, env.bind_block(select, env, parts.bound, ()), env)
    return value_of_group(node, parts, binder, env)


def join_value(plan: lg.Logical, value: Value, env: Environment) -> lg.Logical:
    """The rows with the value beside them."""
    for inner, test in value.joins:
        if test is None or not is_unknown(test):
            refuse_table(plan, inner, value.span)
            plan = lg.Join(
                plan, inner, JoinKind.LEFT, test, owner=env.owner, origin=value.span
            )
    return plan


def _value_of(node: ast.ScalarQuery, inner: lg.Logical, env: Environment) -> Value:
    _one_column(node, inner.schema)
    if not _gives_one_row(inner):
        raise _many_rows(node)
    named = renamed(inner, node.span, env)
    found = named.schema[0]
    value = Column(name=found.name, type=found.type, origin=node.span)
    return Value(((named, None),), value, node.span)


def value_of_group(
    node: ast.ScalarQuery, parts: Correlated, binder: ExpressionBinder, env: Environment
) -> Value:
    """A subquery that compares with the row outside: one group for each value that it can be compared with."""
    pairs = equalities(parts, binder)
    if parts.select.group_by:
        raise _many_rows(node)
    select = _having_as_value(parts.select)
    grouped = env.bind_block(select, env, parts.bound, beside(pairs))
    _one_column(node, grouped.schema[: len(grouped.schema) - len(pairs)])
    named = renamed(grouped, node.span, env)
    field, *keys = named.schema
    tests = equal_keys(keys, pairs, binder)
    value = Column(name=field.name, type=field.type, origin=node.span)
    if is_unknown(value, *tests):
        return Value((), unknown(node.span), node.span)
    joins = ((named, ir.conjunction(tests)),)
    absent = ir.IsNull(
        operand=Column(name=keys[0].name, type=keys[0].type, origin=node.span), type=BOOLEAN,
        nullable=False, origin=node.span,
    )
    empty = _of_no_rows(node, grouped)
    if not _is_null(empty):
        value_or_empty = ir.Case(
            whens=((absent, empty),), default=value, type=value.type, origin=node.span
        )
        return Value(joins, value_or_empty, node.span)
    return Value(joins, value, node.span)


def _having_as_value(select: ast.Select) -> ast.Select:
    """The value is NULL where HAVING does not hold, as it is where the row is gone."""
    if select.having is None or len(select.items) != 1:
        return select
    (item,) = select.items
    when = ast.When(select.having, item.expr, span=item.expr.span)
    case = ast.Case(None, (when,), None, span=item.expr.span)
    return replace(select, items=(replace(item, expr=case),), having=None)


def _of_no_rows(node: ast.ScalarQuery, grouped: lg.Logical) -> Expr:
    """What the subquery gives where it has no rows: counts are 0 there, and all else is NULL."""
    below = grouped.input if isinstance(grouped, lg.Project) else grouped
    if isinstance(below, lg.Join):
        raise Abort(Diagnostic(
            code="SQ0501", span=node.query.span,
            message="a subquery inside one that is compared with the row outside cannot be run here yet",
            help="compute the inner one in a view, and join it in FROM",
        ))
    if not (isinstance(grouped, lg.Project) and isinstance(below, lg.Aggregate)):
        raise _many_rows(node)
    counts = {name for name, call in below.aggregates if call.function in ir.COUNTS}

    def without_rows(e: Expr) -> Expr | None:
        if not isinstance(e, Column):
            return None
        zero = 0 if e.name in counts else None
        return ir.Literal(value=zero, type=e.type, nullable=zero is None, origin=e.origin)

    return ir.transform(grouped.items[0][1], without_rows)


def _is_null(e: Expr) -> bool:
    """True for what is NULL whatever happens: a NULL, and sums and casts of one."""
    match e:
        case ir.Literal():
            return e.value is None
        case ir.Op() if e.op not in ("AND", "OR"):
            return any(_is_null(arg) for arg in e.args)
        case ir.Cast():
            return _is_null(e.operand)
        case _:
            return False


def _one_column(node: ast.ScalarQuery, shown: tuple[lg.Field, ...]) -> None:
    if len(shown) != 1:
        raise Abort(Diagnostic(
            code="SQ0305", span=node.query.span,
            message=f"a scalar subquery gives one value, and this one gives {len(shown)} columns",
            help="select one column",
        ))


def _many_rows(node: ast.ScalarQuery) -> Abort:
    return Abort(Diagnostic(
        code="SQ0305", span=node.query.span,
        message="a scalar subquery gives one row, and this one may give many",
        help="select an aggregate without GROUP BY, such as MAX(…)",
    ))


def _gives_one_row(node: lg.Logical) -> bool:
    """True for one row or none; what subqueries put beside a row never makes two of it."""
    stack = [node]
    while stack:
        top = stack.pop()
        if isinstance(top, lg.Project | lg.Filter | lg.Distinct):
            stack.append(top.input)
        elif isinstance(top, lg.Join) and top.kind in (JoinKind.INNER, JoinKind.LEFT):
            asked = all(f.name.startswith(PREFIX) for f in top.right.schema)
            stack.extend(top.inputs[:1] if asked else top.inputs)
        elif not isinstance(top, lg.Aggregate) or top.keys:
            return False
    return True
