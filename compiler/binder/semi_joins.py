"""Rows that have a counterpart in another relation, and rows that have none, as joins."""

from __future__ import annotations

from streamq.compiler.binder.catalog import identity
from streamq.compiler.binder.relations import Environment
from streamq.compiler.ir import expr as ir
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.expr import Column, Expr
from streamq.dsl.ast import JoinKind
from streamq.dsl.diagnostics import Abort, Diagnostic
from streamq.dsl.source import Span
from streamq.dsl.types import BOOLEAN

MARK = "there"
PREFIX = "__q"
"""Begins the names of all columns of subqueries that are conditions or values."""


def prefix(span: Span) -> str:
    """Stands before the columns of the subquery at a place."""
    return f"{PREFIX}{span.start}"


def renamed(plan: lg.Logical, span: Span, env: Environment) -> lg.Logical:
    """A subquery's rows under names that no column outside has."""
    items = tuple(
        (f"{prefix(span)}.{f.name}",
         Column(name=f.name, type=f.type, nullable=f.nullable, origin=span))
        for f in plan.schema
    )
    return lg.Project(plan, items, owner=env.owner, origin=span)


def as_before(joined: lg.Logical, plan: lg.Logical, env: Environment, span: Span) -> lg.Logical:
    """Only the columns that were there before."""
    return lg.Project(joined, identity(plan.schema), owner=env.owner, origin=span)


def meets(
    plan: lg.Logical, inner: lg.Logical, test: Expr | None, env: Environment, span: Span
) -> lg.Logical:
    """The rows with a counterpart; the test leaves at most one of different counterparts."""
    once = lg.Distinct(inner, owner=env.owner, origin=span)
    joined = lg.Join(plan, once, JoinKind.INNER, test, owner=env.owner, origin=span)
    return as_before(joined, plan, env, span)


def misses(
    plan: lg.Logical, inner: lg.Logical, test: Expr | None, env: Environment, span: Span
) -> lg.Logical:
    """The rows without a counterpart."""
    name = f"{prefix(span)}.{MARK}"
    while any(f.name == name for f in inner.schema):
        name += "_"
    marked = lg.Project(
        inner, (*identity(inner.schema), (name, constant(True, span))), owner=env.owner, origin=span
    )
    joined = lg.Join(
        plan, marked, JoinKind.LEFT, test or constant(True, span), anti=True, owner=env.owner,
        origin=span,
    )
    mark = Column(name=name, type=BOOLEAN, origin=span)
    alone = ir.IsNull(operand=mark, type=BOOLEAN, nullable=False, origin=span)
    left = lg.Filter(joined, alone, owner=env.owner, origin=span)
    return as_before(left, plan, env, span)


def refuse_table(plan: lg.Logical, inner: lg.Logical, span: Span) -> None:
    """Refuses to ask of a table's rows what a stream may yet give."""
    if plan.change is lg.Change.STATIC and inner.change is not lg.Change.STATIC:
        raise Abort(Diagnostic(
            code="SQ0502", span=span,
            message="this asks a stream about every row of a table, and the answer is never certain",
            label="a stream inside, a table outside",
            help="put the stream outside and the table inside, or keep only the rows with an equal "
            "one: IN, or EXISTS with `=`",
        ))


def while_any(
    plan: lg.Logical, inner: lg.Logical, negated: bool, env: Environment, span: Span
) -> lg.Logical:
    """All rows while the other relation has a row, or while it has none."""
    items: tuple[tuple[str, Expr], ...] = ((f"{prefix(span)}.{MARK}", constant(True, span)),)
    something = lg.Project(inner, items, owner=env.owner, origin=span)
    if not negated:
        return meets(plan, something, None, env, span)
    refuse_table(plan, inner, span)
    return misses(plan, lg.Distinct(something, owner=env.owner, origin=span), None, env, span)


def not_missing(
    plan: lg.Logical, inner: lg.Logical, test: Expr | None, env: Environment, span: Span
) -> lg.Logical:
    """The rows with a counterpart by any test: all but those without one."""
    refuse_table(plan, inner, span)
    if lg.Change.FINAL in (plan.change, inner.change) or inner.change is lg.Change.STATIC:
        raise Abort(Diagnostic(
            code="SQ0501", span=span,
            message="EXISTS without an equality for each comparison with the outer row cannot be run yet",
            help="write it as a join with SELECT DISTINCT, or compare with `=` only",
        ))
    alone = misses(plan, inner, test, env, span)
    return lg.Compare(plan, alone, "EXCEPT", True, owner=env.owner, origin=span)


def constant(value: bool, span: Span) -> Expr:
    return ir.Literal(value=value, type=BOOLEAN, nullable=False, origin=span)
