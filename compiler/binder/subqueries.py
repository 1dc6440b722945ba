"""``[NOT] IN (query)`` and ``[NOT] EXISTS (query)`` in WHERE, as joins with what the query gives.

::

    x IN (q)          ->  JOIN (SELECT DISTINCT c FROM q) ON x = c
    x NOT IN (q)      ->  LEFT JOIN q ON x = c OR x IS NULL OR c IS NULL, rows without a counterpart
    EXISTS (q)        ->  JOIN (SELECT DISTINCT the columns that q compares with ours) ON those comparisons
    NOT EXISTS (q)    ->  LEFT JOIN q ON its comparisons with ours, rows without a counterpart

``NOT IN`` is true only where neither side is NULL, as in SQL: an empty query lets every row pass.
"""

from __future__ import annotations

from collections.abc import Iterable

from streamq.compiler.binder.catalog import identity
from streamq.compiler.binder.context import is_unknown
from streamq.compiler.binder.expressions import ExpressionBinder
from streamq.compiler.binder.relations import Environment, bind_from, reject_aggregates
from streamq.compiler.binder.scope import Entry, Scope
from streamq.compiler.ir import expr as ir
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.expr import Column, Expr
from streamq.dsl import ast
from streamq.dsl.ast import JoinKind
from streamq.dsl.diagnostics import Abort, Diagnostic
from streamq.dsl.records import replace
from streamq.dsl.source import Span
from streamq.dsl.types import BOOLEAN

MARK = "there"


def bind_where(
    where: ast.Expr, plan: lg.Logical, binder: ExpressionBinder, env: Environment
) -> lg.Logical:
    """The rows that pass: first the tests that read one row, then those that ask a query."""
    plain: list[ast.Expr] = []
    asked: list[tuple[ast.InQuery | ast.Exists, bool]] = []
    for part in _conjuncts(where):
        found = _question(part)
        if found is None:
            plain.append(part)
        else:
            asked.append(found)
    if not asked:
        plain = [where]
    for part in plain:
        predicate = binder.bind_condition(part, "WHERE")
        reject_aggregates(predicate, "WHERE", env.context)
        plan = lg.Filter(plan, predicate, owner=env.owner, origin=part.span)
    for question, negated in asked:
        if isinstance(question, ast.InQuery):
            plan = _bind_in(question, negated, plan, binder, env)
        else:
            plan = _bind_exists(question, negated, plan, binder, env)
    return plan


def _conjuncts(node: ast.Expr) -> Iterable[ast.Expr]:
    stack = [node]
    while stack:
        top = stack.pop()
        if isinstance(top, ast.Binary) and top.op == "AND":
            stack.extend((top.right, top.left))
        else:
            yield top


def _question(node: ast.Expr) -> tuple[ast.InQuery | ast.Exists, bool] | None:
    """The subquery test that a condition is, and whether it is negated."""
    negated = False
    while isinstance(node, ast.Unary) and node.op == "NOT":
        node, negated = node.operand, not negated
    if isinstance(node, ast.InQuery):
        return node, negated != node.negated
    return (node, negated) if isinstance(node, ast.Exists) else None


def _bind_in(
    node: ast.InQuery, negated: bool, plan: lg.Logical, binder: ExpressionBinder, env: Environment
) -> lg.Logical:
    inner = env.bind_query(node.query, env)
    if len(inner.schema) != 1:
        raise Abort(Diagnostic(
            code="SQ0305", span=node.query.span,
            message=f"IN compares one value, and this query gives {len(inner.schema)} columns",
            help="select one column",
        ))
    _fits(plan, inner, "IN (query)", node.span)
    name = f"{_prefix(node.span)}.{inner.schema[0].name}"
    inner = _renamed(inner, {inner.schema[0].name: name}, env, node.span)
    field = inner.schema[0]
    column = Column(name=name, type=field.type, nullable=field.nullable, origin=node.query.span)
    operand = binder.bind(node.operand)
    if is_unknown(operand):
        return plan
    equal = binder.compare("=", operand, column, node.span)
    if is_unknown(equal):
        return plan
    if not negated:
        return _meets(plan, inner, equal, env, node.span)
    unknowns = tuple(
        ir.IsNull(operand=e, type=BOOLEAN, nullable=False, origin=node.span)
        for e in (operand, column) if e.nullable
    )
    test = equal if not unknowns else ir.Op(
        op="OR", args=(equal, *unknowns), type=BOOLEAN, origin=node.span
    )
    return _misses(plan, inner, test, env, node.span)


def _bind_exists(
    node: ast.Exists, negated: bool, plan: lg.Logical, binder: ExpressionBinder, env: Environment
) -> lg.Logical:
    select = node.query.body
    simple = isinstance(select, ast.Select) and not (
        node.query.ctes or node.query.order_by or node.query.limit
        or select.group_by or select.having
    )
    if not isinstance(select, ast.Select) or select.from_ is None or not simple:
        raise Abort(Diagnostic(
            code="SQ0501", span=node.span,
            message="EXISTS of more than SELECT … FROM … WHERE cannot be run yet",
            help="give the inner query a name in WITH, and select from it here",
        ))
    inner, scope = bind_from(select.from_, env)
    _fits(plan, inner, "EXISTS (query)", node.span)
    prefix = _prefix(node.span)
    names = {f.name: f"{prefix}.{f.name}" for f in inner.schema}
    inner = _renamed(inner, names, env, node.span)
    scope = Scope(tuple(_moved(entry, names) for entry in scope.entries))
    both = replace(binder, scope=_nested(scope, binder.scope))
    between: list[Expr] = []
    for part in _conjuncts(select.where) if select.where is not None else ():
        bound = both.bind_condition(part, "WHERE")
        reject_aggregates(bound, "WHERE", env.context)
        if is_unknown(bound):
            return plan
        if ir.columns_of(bound) <= set(names.values()):
            inner = lg.Filter(inner, bound, owner=env.owner, origin=part.span)
        else:
            between.append(bound)
    if negated:
        test = ir.conjunction(tuple(between))
        return _misses(plan, inner, test, env, node.span)
    read = ir.columns_of(ir.conjunction(tuple(between)) or _true(node.span)) & set(names.values())
    if any(not _is_equality(part, read) for part in between) or not between:
        raise Abort(Diagnostic(
            code="SQ0501", span=node.span,
            message="EXISTS without an equality for each comparison with the outer row cannot be run yet",
            help="write it as a join with SELECT DISTINCT, or compare with `=` only",
        ))
    items = tuple((n, e) for n, e in identity(inner.schema) if n in read)
    inner = lg.Project(inner, items, owner=env.owner, origin=node.span)
    return _meets(plan, inner, ir.conjunction(tuple(between)), env, node.span)


def _nested(inner: Scope, outer: Scope) -> Scope:
    """The inner query's columns before those of the row outside."""
    taken = {e.alias.casefold() for e in inner.entries}
    known = frozenset(n.casefold() for e in inner.entries for n, _ in e.columns)
    beyond = (
        replace(e, hidden=e.hidden | known) for e in outer.entries
        if e.alias.casefold() not in taken
    )
    return Scope((*inner.entries, *beyond))


def _is_equality(part: Expr, inner: frozenset[str]) -> bool:
    """True for ``ours = theirs``, where theirs is a bare column: then DISTINCT leaves one partner."""
    if not (isinstance(part, ir.Op) and part.op == "="):
        return False
    a, b = part.args
    return any(
        isinstance(theirs, Column) and theirs.name in inner and not ir.columns_of(ours) & inner
        for theirs, ours in ((a, b), (b, a))
    )


def _fits(plan: lg.Logical, inner: lg.Logical, what: str, span: Span) -> None:
    """A table, or results of the very windows that the outer rows are in."""
    same = isinstance(inner.window, lg.Sliding) and inner.window == plan.window
    if inner.change is lg.Change.STATIC or (
        same and inner.change is lg.Change.FINAL and plan.change is lg.Change.FINAL
    ):
        return
    raise Abort(Diagnostic(
        code="SQ0501", span=span,
        message=f"{what} over a stream needs the same window as the rows outside",
        help="put the same window, for example [TUMBLE 1 MINUTE], after both streams",
    ))


def _prefix(span: Span) -> str:
    return f"__q{span.start}"


def _renamed(
    plan: lg.Logical, names: dict[str, str], env: Environment, span: Span
) -> lg.Logical:
    items = tuple((names[n], e) for n, e in identity(plan.schema))
    return lg.Project(plan, items, owner=env.owner, origin=span)


def _moved(entry: Entry, names: dict[str, str]) -> Entry:
    columns = tuple((n, replace(f, name=names[f.name])) for n, f in entry.columns)
    return replace(entry, columns=columns)


def _true(span: Span) -> Expr:
    return ir.Literal(value=True, type=BOOLEAN, nullable=False, origin=span)


def _meets(
    plan: lg.Logical, inner: lg.Logical, test: Expr | None, env: Environment, span: Span
) -> lg.Logical:
    once = lg.Distinct(inner, owner=env.owner, origin=span)
    joined = lg.Join(plan, once, JoinKind.INNER, test, owner=env.owner, origin=span)
    return lg.Project(joined, identity(plan.schema), owner=env.owner, origin=span)


def _misses(
    plan: lg.Logical, inner: lg.Logical, test: Expr | None, env: Environment, span: Span
) -> lg.Logical:
    name = f"{_prefix(span)}.{MARK}"
    while any(f.name == name for f in inner.schema):
        name += "_"
    marked = lg.Project(
        inner, (*identity(inner.schema), (name, _true(span))), owner=env.owner, origin=span
    )
    joined = lg.Join(
        plan, marked, JoinKind.LEFT, test or _true(span), owner=env.owner, origin=span
    )
    mark = Column(name=name, type=BOOLEAN, origin=span)
    alone = ir.IsNull(operand=mark, type=BOOLEAN, nullable=False, origin=span)
    left = lg.Filter(joined, alone, owner=env.owner, origin=span)
    return lg.Project(left, identity(plan.schema), owner=env.owner, origin=span)
