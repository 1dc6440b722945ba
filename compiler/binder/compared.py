"""A value that is compared with the rows of a query: what IN, ALL and ANY have in common."""

from __future__ import annotations

from streamq.compiler.binder.arithmetic import comparison_type
from streamq.compiler.binder.catalog import identity
from streamq.compiler.binder.context import is_unknown, unknown
from streamq.compiler.binder.correlation import (
    Correlated,
    Equality,
    beside,
    divide,
    equal_keys,
    equalities,
    plain_select,
    refuse_outside,
)
from streamq.compiler.binder.expressions import ExpressionBinder
from streamq.compiler.binder.relations import Environment, bind_from
from streamq.compiler.binder.semi_joins import renamed
from streamq.compiler.ir import expr as ir
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.expr import AggCall, Column, Expr
from streamq.dsl import ast
from streamq.dsl.diagnostics import Abort, Diagnostic
from streamq.dsl.records import dataclass, replace
from streamq.dsl.source import Span
from streamq.dsl.types import BIGINT, BOOLEAN
from streamq.stdlib.functions import FUNCTIONS
from streamq.stdlib.signatures import Signature, match_call

OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}

EXTREMES = {">": ("MIN",), ">=": ("MIN",), "<": ("MAX",), "<=": ("MAX",), "<>": ("MIN", "MAX")}
"""What of the values a comparison with ANY of them has to look at."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A value and the column of a query that it is compared with, and what else must hold for both rows.

    The column has the type in which both are compared: other values may be equal in it.
    """

    operand: Expr
    inner: lg.Logical
    column: Column
    tests: tuple[Expr, ...]

    def and_(self, test: Expr) -> Expr | None:
        return ir.conjunction((test, *self.tests))


def compare_with(
    operand: ast.Expr, query: ast.Query, span: Span, binder: ExpressionBinder, env: Environment
) -> Compared:
    """A value and a query of one column, which may compare itself with the row outside by equalities."""
    select = plain_select(query)
    parts = None
    if select is not None and select.from_ is not None:
        parts = divide(select, bind_from(select.from_, env), binder.scope)
        refuse_outside(parts, binder.scope, (*(i.expr for i in select.items), *parts.groups))
    pairs: tuple[Equality, ...] = ()
    if parts is None:
        inner = env.bind_query(query, env)
    else:
        pairs = equalities(parts, binder)
        inner = env.bind_block(parts.select, env, parts.bound, beside(pairs))
    shown = len(inner.schema) - len(pairs)
    if shown != 1:
        raise Abort(Diagnostic(
            code="SQ0305", span=query.span,
            message=f"one value is compared, and this query gives {shown} columns",
            help="select one column",
        ))
    if pairs and _is_one_group(parts, inner):
        raise Abort(Diagnostic(
            code="SQ0501", span=query.span,
            message="an aggregate that is compared with the row outside cannot be a list of values yet",
            help="it is one value: compare with it by `=`, without IN, ALL or ANY",
        ))
    inner = renamed(inner, span, env)
    field, *keys = inner.schema
    column = Column(name=field.name, type=field.type, nullable=field.nullable, origin=query.span)
    bound = binder.bind(operand)
    common = None if is_unknown(bound, column) else comparison_type(bound.type, column.type)
    if common is not None and common != column.type:
        items = ((column.name, binder.coerce(column, common)), *identity(tuple(keys)))
        inner = lg.Project(inner, items, owner=env.owner, origin=span)
        column = replace(column, type=common)
    return Compared(bound, inner, column, equal_keys(keys, pairs, binder))


def _is_one_group(parts: Correlated | None, inner: lg.Logical) -> bool:
    if parts is None or parts.select.group_by:
        return False
    while isinstance(inner, lg.Distinct | lg.Filter):
        inner = inner.input
    below = inner.input if isinstance(inner, lg.Project) else inner
    while isinstance(below, lg.Filter | lg.Join):
        below = below.inputs[0]
    return isinstance(below, lg.Aggregate)


def or_unknown(test: Expr, found: Compared) -> Expr:
    """The test, and true where a side is NULL."""
    unknowns = tuple(
        ir.IsNull(operand=e, type=BOOLEAN, nullable=False, origin=test.origin)
        for e in (found.operand, found.column) if e.nullable
    )
    if not unknowns:
        return test
    return ir.Op(op="OR", args=(test, *unknowns), type=BOOLEAN, origin=test.origin)


def extremes_of(
    found: Compared, op: str, span: Span, binder: ExpressionBinder
) -> tuple[tuple[tuple[str, AggCall], ...], Expr]:
    """The least or greatest of the values, or both, and whether the comparison holds for ANY of them."""
    calls = tuple(
        (f"{found.column.name}_{name.lower()}", aggregate_of(name, found.column, span))
        for name in EXTREMES[op]
    )
    tests = tuple(
        binder.compare(op, found.operand, Column(name=n, type=c.type, origin=span), span)
        for n, c in calls
    )
    if is_unknown(*tests):
        return calls, unknown(span)
    test = tests[0] if len(tests) == 1 else ir.Op(op="OR", args=tests, type=BOOLEAN, origin=span)
    return calls, test


def aggregate_of(name: str, value: Expr | None, span: Span) -> AggCall:
    """MIN, MAX or COUNT of a value; COUNT(*) of None."""
    args = () if value is None else (value,)
    matched = match_call(FUNCTIONS[name], tuple(arg.type for arg in args))
    counts = value is None or name == "COUNT"
    return AggCall(
        function=name, args=args, type=BIGINT if value is None or counts else value.type,
        spec=matched.spec if isinstance(matched, Signature) else FUNCTIONS[name],
        nullable=not counts, origin=span,
    )
