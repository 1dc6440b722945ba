"""Subqueries in expressions, as values beside each row: scalar ones, and IN, EXISTS, ALL and ANY as truth values.

::

    EXISTS (q)     ->  LEFT JOIN (SELECT DISTINCT the columns that q compares with ours), then: is one there
    x IN (q)       ->  LEFT JOIN (SELECT DISTINCT c FROM q) ON x = c, then: is c there, and what a NULL leaves open
    x > ANY (q)    ->  LEFT JOIN (SELECT MIN(c) FROM q), then: x > that one, and what a NULL leaves open

As conditions of WHERE they are joins that need not know what is false and what unknown (``subqueries.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from streamq.compiler.binder.catalog import identity
from streamq.compiler.binder.compared import (
    OPPOSITE,
    Compared,
    aggregate_of,
    compare_with,
    extremes_of,
)
from streamq.compiler.binder.context import is_unknown, unknown
from streamq.compiler.binder.correlation import (
    Equality,
    beside,
    divide,
    equal_keys,
    equalities,
    has_aggregate,
    nested,
    plain_select,
    refuse_outside,
)
from streamq.compiler.binder.expressions import ExpressionBinder
from streamq.compiler.binder.relations import Environment, bind_from
from streamq.compiler.binder.scalars import Value, bind_scalar
from streamq.compiler.binder.semi_joins import MARK, constant, prefix, renamed
from streamq.compiler.ir import expr as ir
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.expr import AggCall, Column, Expr
from streamq.dsl import ast
from streamq.dsl.diagnostics import Abort, Diagnostic
from streamq.dsl.printer import children
from streamq.dsl.records import replace
from streamq.dsl.source import Span
from streamq.dsl.types import BIGINT, BOOLEAN

Asked = ast.ScalarQuery | ast.InQuery | ast.Exists | ast.Quantified


def bind_values(
    nodes: Iterable[ast.Expr], binder: ExpressionBinder, env: Environment
) -> dict[Span, Value]:
    """The subqueries of expressions, by where they stand."""
    asked = [query for node in nodes for query in _asked(node)]
    values = env.context.gather(*(partial(_bind_value, q, binder, env) for q in asked))
    return {value.span: value for value in values}


def bind_unread(
    items: Iterable[ast.SelectItem], binder: ExpressionBinder, env: Environment
) -> None:
    """Reports what is wrong with a select list that nothing reads, as that of EXISTS."""
    for item in items:
        if isinstance(item.expr, ast.Star):
            binder.scope.expand(item.expr.qualifier, binder.context)
            continue
        values = bind_values((item.expr,), binder, env)
        known = {span: value.expr for span, value in values.items()}
        replace(binder, scalars=known).bind(item.expr)


def _asked(node: ast.Node) -> Iterator[Asked]:
    """The subqueries of an expression, those inside other subqueries left out."""
    stack: list[ast.Node] = [node]
    while stack:
        top = stack.pop()
        if isinstance(top, Asked):
            yield top
        else:
            stack.extend(children(top))


def _bind_value(node: Asked, binder: ExpressionBinder, env: Environment) -> Value:
    env = env.inside(binder.scope)
    match node:
        case ast.ScalarQuery():
            return bind_scalar(node, binder, env)
        case ast.Exists():
            return _exists(node, binder, env)
        case ast.InQuery():
            value = _in(node.operand, node.query, node.span, binder, env)
            return _not(value) if node.negated else value
        case ast.Quantified(op=op, quantifier=quantifier):
            every = quantifier == "ALL"
            test = OPPOSITE[op] if every else op
            if test == "=":
                value = _in(node.operand, node.query, node.span, binder, env)
            else:
                value = _any(test, node.operand, node.query, node.span, binder, env)
            return _not(value) if every else value


def _not(value: Value) -> Value:
    if is_unknown(value.expr):
        return value
    negated = ir.Op(
        op="NOT", args=(value.expr,), type=BOOLEAN, nullable=value.expr.nullable, origin=value.span
    )
    return replace(value, expr=negated)


def _exists(node: ast.Exists, binder: ExpressionBinder, env: Environment) -> Value:
    """True where the query gives a row, else false."""
    select = plain_select(node.query)
    pairs: tuple[Equality, ...] = ()
    if select is None or select.from_ is None:
        inner = env.bind_query(node.query, env)
    else:
        parts = divide(select, bind_from(select.from_, env), binder.scope)
        refuse_outside(parts, binder.scope, parts.groups)
        is_group = has_aggregate(select, env)
        if is_group and not select.group_by and parts.between:
            raise Abort(Diagnostic(
                code="SQ0501", span=node.span,
                message="EXISTS of an aggregate that is compared with the row outside cannot be run here yet",
                help="compare the aggregate itself, as a query in parentheses",
            ))
        pairs = equalities(parts, binder)
        chosen = parts.select
        if not (is_group or select.group_by or select.having):
            both = replace(binder, scope=nested(parts.bound[1], binder.scope))
            bind_unread(select.items, both, env)
            one = ast.SelectItem(ast.Bool(True, span=node.span), span=node.span)
            chosen = replace(chosen, items=(one,))
        inner = env.bind_block(chosen, env, parts.bound, beside(pairs))
    inner = renamed(inner, node.span, env)
    keys = inner.schema[len(inner.schema) - len(pairs) :]
    tests = equal_keys(keys, pairs, binder)
    if is_unknown(*tests):
        return Value((), unknown(node.span), node.span)
    mark = (f"{prefix(node.span)}.{MARK}", constant(True, node.span))
    marked = lg.Project(inner, (*identity(keys), mark), owner=env.owner, origin=node.span)
    once = lg.Distinct(marked, owner=env.owner, origin=node.span)
    there = _not_null(Column(name=mark[0], type=BOOLEAN, origin=node.span))
    return Value(((once, ir.conjunction(tests)),), there, node.span)


def _in(
    operand: ast.Expr, query: ast.Query, span: Span, binder: ExpressionBinder, env: Environment
) -> Value:
    """True where an equal value is there; else unknown where a NULL might be equal, else false."""
    found = compare_with(operand, query, span, binder, env)
    equal = binder.compare("=", found.operand, found.column, span)
    if is_unknown(found.operand, equal, *found.tests):
        return Value((), unknown(span), span)
    once = lg.Distinct(found.inner, owner=env.owner, origin=span)
    join = (once, found.and_(equal))
    there = _not_null(replace(found.column, nullable=True))
    if not (found.operand.nullable or found.column.nullable):
        return Value((join,), there, span)
    counted, test = _summary(found, (), span, env)
    return Value((join, (counted, test)), _or_left_open(there, found, span), span)


def _any(
    op: str, operand: ast.Expr, query: ast.Query, span: Span, binder: ExpressionBinder, env: Environment
) -> Value:
    """True where the test holds for one value; else unknown where it does for a NULL, else false."""
    found = compare_with(operand, query, span, binder, env)
    calls, there = extremes_of(found, op, span, binder)
    if is_unknown(found.operand, *found.tests, there):
        return Value((), unknown(span), span)
    join = _summary(found, calls, span, env)
    return Value((join,), _or_left_open(there, found, span), span)


def _summary(
    found: Compared, calls: tuple[tuple[str, AggCall], ...], span: Span, env: Environment
) -> tuple[lg.Logical, Expr | None]:
    """How many rows and values the query gives, and some more of them; with what it is joined on."""
    names = {f.name: f"{f.name}_of" for f in found.inner.schema if f.name != found.column.name}

    def moved(e: Expr) -> Expr | None:
        return replace(e, name=names[e.name]) if isinstance(e, Column) and e.name in names else None

    keys = tuple((names[n], e) for n, e in identity(found.inner.schema) if n in names)
    counts = (
        (_rows(found), aggregate_of("COUNT", None, span)),
        (_known(found), aggregate_of("COUNT", found.column, span)),
    )
    summary = lg.Aggregate(found.inner, keys, (*counts, *calls), owner=env.owner, origin=span)
    test = ir.conjunction(found.tests)
    return summary, None if test is None else ir.transform(test, moved)


def _or_left_open(there: Expr, found: Compared, span: Span) -> Expr:
    """The test where it is true; unknown where a NULL of either side leaves it open; else false."""
    rows, known = (
        Column(name=name, type=BIGINT, origin=span) for name in (_rows(found), _known(found))
    )
    zero = ir.Literal(value=0, type=BIGINT, nullable=False, origin=span)
    nothing = ir.Literal(value=None, type=BOOLEAN, origin=span)

    def either(a: Expr, op: str, left: Expr, right: Expr) -> Expr:
        b = ir.Op(op=op, args=(left, right), type=BOOLEAN, origin=span)
        return ir.Op(op="OR", args=(a, b), type=BOOLEAN, origin=span)

    return ir.Case(
        whens=(
            (there, constant(True, span)),
            (either(_is_null(rows), "=", rows, zero), constant(False, span)),
            (either(_is_null(found.operand), ">", rows, known), nothing),
        ),
        default=constant(False, span), type=BOOLEAN, origin=span,
    )


def _rows(found: Compared) -> str:
    return f"{found.column.name}_rows"


def _known(found: Compared) -> str:
    return f"{found.column.name}_known"


def _is_null(e: Expr) -> Expr:
    return ir.IsNull(operand=e, type=BOOLEAN, nullable=False, origin=e.origin)


def _not_null(e: Expr) -> Expr:
    return ir.Op(op="NOT", args=(_is_null(e),), type=BOOLEAN, nullable=False, origin=e.origin)
