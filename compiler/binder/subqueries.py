"""``[NOT] IN (query)`` and ``[NOT] EXISTS (query)`` in WHERE, as joins with what the query gives.

::

    x IN (q)          ->  JOIN (SELECT DISTINCT c FROM q) ON x = c
    x NOT IN (q)      ->  LEFT JOIN q ON x = c OR x IS NULL OR c IS NULL, rows without a counterpart
    EXISTS (q)        ->  JOIN (SELECT DISTINCT the columns that q compares with ours) ON those comparisons
    NOT EXISTS (q)    ->  LEFT JOIN q ON its comparisons with ours, rows without a counterpart
    x > ALL (q)       ->  LEFT JOIN q ON NOT x > c OR x IS NULL OR c IS NULL, rows without a counterpart

``NOT IN`` is true only where neither side is NULL, as in SQL: an empty query lets every row pass.
"""

from __future__ import annotations

from collections.abc import Iterable

from streamq.compiler.binder.catalog import identity
from streamq.compiler.binder.context import is_unknown
from streamq.compiler.binder.expressions import ExpressionBinder
from streamq.compiler.binder.relations import Environment, bind_from, reject_aggregates
from streamq.compiler.binder.scalars import (
    EXTREME,
    beside,
    extreme_of,
    join_scalar,
    scalar_queries,
    without_scalars,
)
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
OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}

Question = ast.InQuery | ast.Exists | ast.Quantified


def bind_where(
    where: ast.Expr, plan: lg.Logical, binder: ExpressionBinder, env: Environment
) -> lg.Logical:
    """The rows that pass: first the tests that read one row, then those that ask a query."""
    plain: list[ast.Expr] = []
    asked: list[tuple[Question, bool]] = []
    for part in _conjuncts(where):
        found = _question(part)
        if found is None:
            plain.append(part)
        else:
            asked.append(found)
    if not asked:
        plain = [where]
    for part in plain:
        plan = _bind_test(part, plan, binder, env)
    for question, negated in asked:
        match question:
            case ast.InQuery():
                plan = _bind_in(question, negated, plan, binder, env)
            case ast.Quantified():
                plan = _bind_quantified(question, negated, plan, binder, env)
            case _:
                plan = _bind_exists(question, negated, plan, binder, env)
    return plan


def _bind_test(
    part: ast.Expr, plan: lg.Logical, binder: ExpressionBinder, env: Environment
) -> lg.Logical:
    """The rows that pass a test of their own values and of those of scalar subqueries."""
    before, known = plan, dict[Span, Expr]()
    for query in scalar_queries(part):
        plan, known[query.span] = join_scalar(plan, query, env)
    predicate = replace(binder, scalars=known).bind_condition(part, "WHERE")
    reject_aggregates(predicate, "WHERE", env.context)
    plan = lg.Filter(plan, predicate, owner=env.owner, origin=part.span)
    return without_scalars(plan, before, env, part.span) if known else plan


def _conjuncts(node: ast.Expr) -> Iterable[ast.Expr]:
    stack = [node]
    while stack:
        top = stack.pop()
        if isinstance(top, ast.Binary) and top.op == "AND":
            stack.extend((top.right, top.left))
        else:
            yield top


def _question(node: ast.Expr) -> tuple[Question, bool] | None:
    """The subquery test that a condition is, and whether it is negated."""
    negated = False
    while isinstance(node, ast.Unary) and node.op == "NOT":
        node, negated = node.operand, not negated
    if isinstance(node, ast.InQuery):
        return node, negated != node.negated
    return (node, negated) if isinstance(node, ast.Exists | ast.Quantified) else None


def _bind_quantified(
    node: ast.Quantified, negated: bool, plan: lg.Logical, binder: ExpressionBinder,
    env: Environment,
) -> lg.Logical:
    """``x op ALL (query)`` and ``x op ANY (query)``; NOT turns one into the other."""
    op, every = node.op, node.quantifier == "ALL"
    if negated:
        op, every = OPPOSITE[op], not every
    as_in = ast.InQuery(node.operand, node.query, span=node.span)
    if (op, every) in (("=", False), ("<>", True)):
        return _bind_in(as_in, every, plan, binder, env)
    if not every and op not in EXTREME:
        raise Abort(Diagnostic(
            code="SQ0501", span=node.span, message="<> ANY (query) cannot be run yet",
            help="write it with EXISTS",
        ))
    inner, operand, column = _compared(node.operand, node.query, node.span, binder, env)
    if is_unknown(operand):
        return plan
    if every:
        fails = binder.compare(OPPOSITE[op], operand, column, node.span)
        return plan if is_unknown(fails) else _misses(
            plan, inner, _or_unknown(fails, operand, column), env, node.span
        )
    least = extreme_of(inner, op, env, node.span)
    joined, value = beside(plan, least, node.span, env)
    test = binder.compare(op, operand, value, node.span)
    if is_unknown(test):
        return plan
    kept = lg.Filter(joined, test, owner=env.owner, origin=node.span)
    return without_scalars(kept, plan, env, node.span)


def _bind_in(
    node: ast.InQuery, negated: bool, plan: lg.Logical, binder: ExpressionBinder, env: Environment
) -> lg.Logical:
    inner, operand, column = _compared(node.operand, node.query, node.span, binder, env)
    if is_unknown(operand):
        return plan
    equal = binder.compare("=", operand, column, node.span)
    if is_unknown(equal):
        return plan
    if not negated:
        return _meets(plan, inner, equal, env, node.span)
    return _misses(plan, inner, _or_unknown(equal, operand, column), env, node.span)


def _compared(
    operand: ast.Expr, query: ast.Query, span: Span, binder: ExpressionBinder, env: Environment
) -> tuple[lg.Logical, Expr, Column]:
    """A query of one column, the value that is compared with it, and the column."""
    inner = env.bind_query(query, env)
    if len(inner.schema) != 1:
        raise Abort(Diagnostic(
            code="SQ0305", span=query.span,
            message=f"one value is compared, and this query gives {len(inner.schema)} columns",
            help="select one column",
        ))
    name = f"{_prefix(span)}.{inner.schema[0].name}"
    inner = _renamed(inner, {inner.schema[0].name: name}, env, span)
    field = inner.schema[0]
    column = Column(name=name, type=field.type, nullable=field.nullable, origin=query.span)
    return inner, binder.bind(operand), column


def _or_unknown(test: Expr, operand: Expr, column: Column) -> Expr:
    """The test, and true where a side is NULL."""
    unknowns = tuple(
        ir.IsNull(operand=e, type=BOOLEAN, nullable=False, origin=test.origin)
        for e in (operand, column) if e.nullable
    )
    if not unknowns:
        return test
    return ir.Op(op="OR", args=(test, *unknowns), type=BOOLEAN, origin=test.origin)


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
        return _not_missing(plan, inner, ir.conjunction(tuple(between)), env, node.span)
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


def _not_missing(
    plan: lg.Logical, inner: lg.Logical, test: Expr | None, env: Environment, span: Span
) -> lg.Logical:
    """EXISTS of any test: all rows but those without a counterpart."""
    if lg.Change.FINAL in (plan.change, inner.change) or inner.change is lg.Change.STATIC:
        raise Abort(Diagnostic(
            code="SQ0501", span=span,
            message="EXISTS without an equality for each comparison with the outer row cannot be run yet",
            help="write it as a join with SELECT DISTINCT, or compare with `=` only",
        ))
    alone = _misses(plan, inner, test, env, span)
    return lg.Compare(plan, alone, "EXCEPT", True, owner=env.owner, origin=span)


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
