"""``[NOT] IN (query)``, ``[NOT] EXISTS (query)``, ``ALL`` and ``ANY`` in WHERE, as joins with what the query gives.

::

    x IN (q)          ->  JOIN (SELECT DISTINCT c FROM q) ON x = c
    x NOT IN (q)      ->  LEFT JOIN q ON x = c OR x IS NULL OR c IS NULL, rows without a counterpart
    EXISTS (q)        ->  JOIN (SELECT DISTINCT the columns that q compares with ours) ON those comparisons
    NOT EXISTS (q)    ->  LEFT JOIN q ON its comparisons with ours, rows without a counterpart
    x > ALL (q)       ->  LEFT JOIN q ON NOT x > c OR x IS NULL OR c IS NULL, rows without a counterpart
    x > ANY (q)       ->  x > (SELECT MIN(c) FROM q), and the greatest for < and <=, both for <>

``NOT IN`` is true only where neither side is NULL, as in SQL: an empty query lets every row pass.
"""

from __future__ import annotations

from collections.abc import Sequence

from streamq.compiler.binder.catalog import identity
from streamq.compiler.binder.compared import (
    OPPOSITE,
    compare_with,
    extremes_of,
    or_unknown,
)
from streamq.compiler.binder.context import is_unknown
from streamq.compiler.binder.correlation import (
    Correlated,
    beside,
    conjuncts,
    divide,
    equal_keys,
    equalities,
    has_aggregate,
    nested,
    plain_select,
    refuse_outside,
)
from streamq.compiler.binder.expressions import ExpressionBinder
from streamq.compiler.binder.relations import Environment, bind_from, reject_aggregates
from streamq.compiler.binder.scalars import join_value, value_of_group
from streamq.compiler.binder.scope import Entry, Scope
from streamq.compiler.binder.semi_joins import (
    as_before,
    constant,
    meets,
    misses,
    not_missing,
    prefix,
    refuse_table,
    renamed,
    while_any,
)
from streamq.compiler.binder.values import bind_unread, bind_values
from streamq.compiler.ir import expr as ir
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.expr import Column, Expr
from streamq.dsl import ast
from streamq.dsl.ast import JoinKind
from streamq.dsl.records import replace
from streamq.dsl.source import Span
from streamq.dsl.types import BOOLEAN

Question = ast.InQuery | ast.Exists | ast.Quantified


def bind_where(
    where: ast.Expr, plan: lg.Logical, binder: ExpressionBinder, env: Environment
) -> lg.Logical:
    """The rows that pass: first the tests that read one row, then those that ask a query."""
    plain: list[ast.Expr] = []
    asked: list[tuple[Question, bool]] = []
    for test in conjuncts(where):
        found = _question(test)
        if found is None:
            plain.append(test)
        else:
            asked.append(found)
    if not asked:
        plain = [where]
    for test in plain:
        plan = _bind_test(test, plan, binder, env)
    env = env.inside(binder.scope)
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
    test: ast.Expr, plan: lg.Logical, binder: ExpressionBinder, env: Environment
) -> lg.Logical:
    """The rows that pass a test of their own values and of those of subqueries."""
    before, known = plan, dict[Span, Expr]()
    values = bind_values((test,), binder, env).values()
    for value in values:
        plan, known[value.span] = join_value(plan, value, env), value.expr
    predicate = replace(binder, scalars=known).bind_condition(test, "WHERE")
    for read in (predicate, *(test for value in values for test in value.tests)):
        if reject_aggregates(read, "WHERE", env.context):
            break
    plan = lg.Filter(plan, predicate, owner=env.owner, origin=test.span)
    return as_before(plan, before, env, test.span) if known else plan


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
    found = compare_with(node.operand, node.query, node.span, binder, env)
    reject_aggregates(found.operand, "WHERE", env.context)
    if is_unknown(found.operand, *found.tests):
        return plan
    refuse_table(plan, found.inner, node.span)
    if every:
        fails = binder.compare(OPPOSITE[op], found.operand, found.column, node.span)
        return plan if is_unknown(fails) else misses(
            plan, found.inner, found.and_(or_unknown(fails, found)), env, node.span
        )
    calls, test = extremes_of(found, op, node.span, binder)
    if is_unknown(test):
        return plan
    keys = tuple((n, e) for n, e in identity(found.inner.schema) if n != found.column.name)
    extremes = lg.Aggregate(found.inner, keys, calls, owner=env.owner, origin=node.span)
    joined = lg.Join(
        plan, extremes, JoinKind.LEFT, ir.conjunction(found.tests), owner=env.owner,
        origin=node.span,
    )
    kept = lg.Filter(joined, test, owner=env.owner, origin=node.span)
    return as_before(kept, plan, env, node.span)


def _bind_in(
    node: ast.InQuery, negated: bool, plan: lg.Logical, binder: ExpressionBinder, env: Environment
) -> lg.Logical:
    found = compare_with(node.operand, node.query, node.span, binder, env)
    reject_aggregates(found.operand, "WHERE", env.context)
    if is_unknown(found.operand, *found.tests):
        return plan
    equal = binder.compare("=", found.operand, found.column, node.span)
    if is_unknown(equal):
        return plan
    if not negated:
        return meets(plan, found.inner, found.and_(equal), env, node.span)
    refuse_table(plan, found.inner, node.span)
    return misses(plan, found.inner, found.and_(or_unknown(equal, found)), env, node.span)


def _bind_exists(
    node: ast.Exists, negated: bool, plan: lg.Logical, binder: ExpressionBinder, env: Environment
) -> lg.Logical:
    select = plain_select(node.query)
    if select is None or select.from_ is None:
        return while_any(plan, env.bind_query(node.query, env), negated, env, node.span)
    parts = divide(select, bind_from(select.from_, env), binder.scope)
    if select.group_by or has_aggregate(select, env):
        return _exists_group(node, negated, parts, plan, binder, env)
    if select.having is not None:
        env.bind_block(select, env, parts.bound, ())
        return plan
    inner, scope = parts.bound
    bind_unread(select.items, replace(binder, scope=nested(scope, binder.scope)), env)
    if parts.select.where is not None:
        inside = ExpressionBinder(scope, env.context, env.catalog.functions)
        inner = bind_where(parts.select.where, inner, inside, env)
    if not parts.between:
        return while_any(plan, inner, negated, env, node.span)
    names = {f.name: f"{prefix(node.span)}.{f.name}" for f in inner.schema}
    inner = renamed(inner, node.span, env)
    scope = Scope(tuple(_moved(entry, names) for entry in scope.entries))
    both = replace(binder, scope=nested(scope, binder.scope))
    between = [both.bind_condition(condition, "WHERE") for condition in parts.between]
    for bound in between:
        reject_aggregates(bound, "WHERE", env.context)
    if is_unknown(*between):
        return plan
    test = ir.conjunction(tuple(between))
    assert test is not None
    if negated:
        refuse_table(plan, inner, node.span)
        return misses(plan, inner, test, env, node.span)
    equal = _equal_sides(between, frozenset(names.values()), node.span)
    if equal is None:
        return not_missing(plan, inner, test, env, node.span)
    tests, items = equal
    inner = lg.Project(inner, items, owner=env.owner, origin=node.span)
    return meets(plan, inner, ir.conjunction(tests), env, node.span)


def _exists_group(
    node: ast.Exists, negated: bool, parts: Correlated, plan: lg.Logical,
    binder: ExpressionBinder, env: Environment,
) -> lg.Logical:
    """EXISTS of groups: of each that GROUP BY makes, or of the one that is there even without a row."""
    select = parts.select
    refuse_outside(parts, binder.scope, parts.groups)
    if not parts.between:
        inner = env.bind_block(select, env, parts.bound, ())
        return while_any(plan, inner, negated, env, node.span)
    if not select.group_by:
        return _exists_one_group(node, negated, parts, plan, binder, env)
    pairs = equalities(parts, binder)
    inner = env.bind_block(select, env, parts.bound, beside(pairs))
    inner = renamed(inner, node.span, env)
    keys = inner.schema[len(inner.schema) - len(pairs) :]
    tests = equal_keys(keys, pairs, binder)
    if is_unknown(*tests):
        return plan
    keys_only = lg.Project(inner, identity(keys), owner=env.owner, origin=node.span)
    if negated:
        refuse_table(plan, inner, node.span)
    join = misses if negated else meets
    return join(plan, keys_only, ir.conjunction(tests), env, node.span)


def _exists_one_group(
    node: ast.Exists, negated: bool, parts: Correlated, plan: lg.Logical,
    binder: ExpressionBinder, env: Environment,
) -> lg.Logical:
    """EXISTS of an aggregate without GROUP BY: it has its row wherever HAVING holds."""
    select = parts.select
    bind_unread(select.items, replace(binder, scope=nested(parts.bound[1], binder.scope)), env)
    having = select.having or ast.Bool(True, span=node.span)
    item = ast.SelectItem(having, span=having.span)
    asked = replace(parts, select=replace(parts.select, items=(item,), having=None))
    if select.having is None:
        env.bind_block(replace(select, items=(item,)), env, parts.bound, ())
        return lg.Filter(plan, constant(not negated, node.span), owner=env.owner, origin=node.span)
    value = value_of_group(ast.ScalarQuery(node.query, span=node.span), asked, binder, env)
    holds = binder.condition(value.expr, "HAVING", having.span)
    if is_unknown(holds):
        return plan
    joined = join_value(plan, value, env)
    if negated:
        fails = ir.Op(op="NOT", args=(holds,), type=BOOLEAN, origin=node.span)
        unknown = ir.IsNull(operand=holds, type=BOOLEAN, nullable=False, origin=node.span)
        holds = ir.Op(op="OR", args=(fails, unknown), type=BOOLEAN, origin=node.span)
    kept = lg.Filter(joined, holds, owner=env.owner, origin=node.span)
    return as_before(kept, plan, env, node.span)


def _equal_sides(
    between: Sequence[Expr], inner: frozenset[str], span: Span
) -> tuple[tuple[Expr, ...], tuple[tuple[str, Expr], ...]] | None:
    """The conditions over columns that hold the inner side of each; None where one is no equality.

    Other values of the inner side may be equal as what is compared, so that DISTINCT comes after.
    """
    items: dict[Expr, str] = {}
    tests = []
    for condition in between:
        if not (isinstance(condition, ir.Op) and condition.op == "="):
            return None
        a, b = condition.args
        pair = next((
            (ours, theirs) for ours, theirs in ((a, b), (b, a))
            if ir.columns_of(theirs) and ir.columns_of(theirs) <= inner
            and not ir.columns_of(ours) & inner
        ), None)
        if pair is None:
            return None
        ours, theirs = pair
        name = theirs.name if isinstance(theirs, Column) else f"{prefix(span)}.__by{len(items)}"
        name = items.setdefault(theirs, name)
        column = Column(name=name, type=theirs.type, nullable=theirs.nullable, origin=span)
        tests.append(replace(condition, args=(ours, column)))
    return tuple(tests), tuple((name, e) for e, name in items.items())


def _moved(entry: Entry, names: dict[str, str]) -> Entry:
    columns = tuple((n, replace(f, name=names[f.name])) for n, f in entry.columns)
    return replace(entry, columns=columns)
