"""SELECT blocks: projection, grouping, HAVING and DISTINCT."""

from __future__ import annotations

from collections.abc import Iterable

from streamq.compiler.binder.approx_distinct import remembers
from streamq.compiler.binder.arithmetic import comparison_type
from streamq.compiler.binder.context import (
    RESERVED_PREFIX,
    UNKNOWN,
    BindContext,
    is_unknown,
    unknown,
)
from streamq.compiler.binder.correlation import BoundFrom
from streamq.compiler.binder.expressions import ExpressionBinder
from streamq.compiler.binder.groups import Groups, TakenNames, unique_name
from streamq.compiler.binder.relations import Beside, Environment, bind_from, reject_aggregates
from streamq.compiler.binder.scalars import Value, join_value
from streamq.compiler.binder.scope import Scope
from streamq.compiler.binder.sketches import bounds_of
from streamq.compiler.binder.subqueries import bind_where
from streamq.compiler.binder.two_sided import united
from streamq.compiler.binder.values import bind_values
from streamq.compiler.ir import expr as ir
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.expr import Column, Expr
from streamq.compiler.ir.rewrite import is_window_field
from streamq.dsl import ast
from streamq.dsl.diagnostics import Abort, Diagnostic, Label
from streamq.dsl.records import dataclass, field, replace
from streamq.dsl.source import Span
from streamq.dsl.types import NULL, TIMESTAMP

Item = tuple[str, Expr, Span]


@dataclass
class Block:
    """A bound SELECT before its projection, so that ORDER BY can still reach its inputs."""

    plan: lg.Logical
    binder: ExpressionBinder
    items: list[Item]
    owner: str
    origin: Span
    groups: Groups | None = None
    distinct: bool = False
    approx: ast.Approx | None = None
    """What is asked of the filter of APPROX DISTINCT."""
    event_time: str | None = None
    hidden: list[Item] = field(default_factory=list)
    values: tuple[Value, ...] = ()
    """Those of subqueries, which the items read."""

    def order_expr(self, node: ast.Expr) -> Expr:
        """What an ORDER BY item sorts by, as a column of the projection's output."""
        output = self._output_column(node)
        if output is not None:
            return output
        bound = self.binder.bind(node)
        if self.groups is not None:
            bound = _stamp(bound, self.event_time, self.binder.context)
            bound = self.groups.rewrite(bound, "ORDER BY")
        elif reject_aggregates(bound, "the ORDER BY of single rows", self.binder.context):
            return unknown(node.span)
        if is_unknown(bound):
            return bound
        for name, expr, _ in (*self.items, *self.hidden):
            if expr == bound:
                return Column(name=name, type=expr.type, nullable=expr.nullable, origin=node.span)
        if self.distinct:
            return self.binder.context.error(
                "SQ0408", "with DISTINCT, ORDER BY takes columns of the select list", node.span
            )
        name = unique_name("order", {n for n, _, _ in (*self.items, *self.hidden)})
        self.hidden.append((name, bound, node.span))
        return Column(name=name, type=bound.type, nullable=bound.nullable, origin=node.span)

    def _output_column(self, node: ast.Expr) -> Expr | None:
        found: Item | None = None
        if isinstance(node, ast.Number) and node.text.isdigit():
            place = int(node.text)
            if not 1 <= place <= len(self.items):
                return self.binder.context.error(
                    "SQ0408", f"there is no column {place} in the select list", node.span
                )
            found = self.items[place - 1]
        elif isinstance(node, ast.Name) and len(node.parts) == 1:
            fold = node.parts[0].text.casefold()
            found = next((i for i in self.items if i[0].casefold() == fold), None)
        if found is None:
            return None
        return Column(name=found[0], type=found[1].type, nullable=found[1].nullable,
                      origin=node.span)

    def project(self) -> lg.Logical:
        """The block's plan with its select list, and the columns that only ORDER BY needs."""
        items = tuple((name, expr) for name, expr, _ in (*self.items, *self.hidden))
        plan: lg.Logical = lg.Project(
            self.plan, items, owner=self.owner, origin=self.origin
        )
        if self.distinct:
            filter_ = None if self.approx is None else remembers(self.approx, plan, self.origin)
            plan = lg.Distinct(plan, filter_, owner=self.owner, origin=self.origin)
        return plan


def bind_block(
    node: ast.Select, env: Environment, bound: BoundFrom, more: tuple[Beside, ...]
) -> lg.Logical:
    """A SELECT whose FROM is bound already: its columns, and more, by which it is grouped if it is at all."""
    return bind_select(node, env, bound, more).project()


def bind_select(
    node: ast.Select, env: Environment, bound: BoundFrom | None = None,
    more: tuple[Beside, ...] = (),
) -> Block:
    """Binds one SELECT; raises ``Abort`` only where its inputs are unknown.

    ``bound``: its FROM, where that is bound already. ``more``: what every row carries beside its columns,
    as values of the type in which they are compared.
    """
    if node.from_ is None:
        raise Abort(Diagnostic(
            code="SQ0408", message="a query without FROM reads no stream", span=node.span,
            help="name a stream: SELECT … FROM stream",
        ))
    plan, scope = bound or bind_from(node.from_, env)
    plain = ExpressionBinder(scope, env.context, env.catalog.functions)
    if node.where is not None:
        plan = bind_where(node.where, plan, plain, env)
    asked = [*(item.expr for item in node.items), *(() if node.having is None else (node.having,))]
    values = bind_values(asked, plain, env)
    binder = replace(plain, scalars={span: value.expr for span, value in values.items()})
    items = _bind_items(node, binder, scope)
    block = Block(plan, plain, items, env.owner, node.span, values=tuple(values.values()))
    block.hidden = [(f"__by{i}", _carried(plain, e), e[0].span) for i, e in enumerate(more)]
    if node.approx is not None and node.distinct is not ast.Distinct.APPROX:
        env.context.error(
            "SQ0408", "an error or a memory belongs to APPROX DISTINCT, or into the parentheses of a function", node.approx.span,
            help="write SELECT APPROX DISTINCT …, or SELF_JOIN_SIZE(x WITHIN 5 PERCENT)",
        )
    block.distinct = node.distinct is not ast.Distinct.ALL
    if node.distinct is ast.Distinct.APPROX:
        block.approx = node.approx or ast.Approx(span=node.span)
    having = None
    if node.having is not None:
        results = frozenset(item.alias.text.casefold() for item in node.items if item.alias is not None)
        having = replace(binder, scope=replace(scope, results=results)).bind_condition(node.having, "HAVING")
    grouped = bool(node.group_by) or any(
        isinstance(part, ir.AggCall)
        for read in (
            *(e for _, e, _ in items), *(() if having is None else (having,)),
            *(test for value in block.values for test in value.tests),
        )
        for part in ir.walk(read)
    )
    if grouped:
        read = [*(e for _, e, _ in items), *(() if having is None else (having,))]
        block.plan = united(node, block.plan, read, env.context)
        _group(node, block, having, env)
    elif having is not None and not is_unknown(having, *(e for _, e, _ in items)):
        env.context.error(
            "SQ0409", "HAVING filters groups, and this query has none", having.origin,
            help="use WHERE for single rows",
        )
    else:
        block.plan = _with_values(block.plan, block.values, env)
    names = distinct_names([(name, span) for name, _, span in block.items], env.context)
    block.items = [(n, e, s) for n, (_, e, s) in zip(names, block.items, strict=True)]
    return block


def _carried(binder: ExpressionBinder, beside: Beside) -> Expr:
    """The value that a row carries: different ones may become equal in the type of what they meet."""
    node, other = beside
    bound = binder.bind(node)
    common = None if UNKNOWN in (bound.type, other) else comparison_type(bound.type, other)
    return bound if common is None else binder.coerce(bound, common)


def _bind_items(node: ast.Select, binder: ExpressionBinder, scope: Scope) -> list[Item]:
    items: list[Item] = []
    taken = TakenNames()
    for item in node.items:
        if isinstance(item.expr, ast.Star):
            items.extend(_expand(item.expr, scope, binder.context, taken))
            continue
        bound = binder.bind(item.expr)
        if bound.type == NULL:
            bound = binder.context.error(
                "SQ0301", "a column of NULLs has no type", item.span,
                help="write CAST(NULL AS INT), or another type",
            )
        if item.alias is not None:
            name = item.alias.text
        else:
            name = _default_name(item.expr)
            if isinstance(item.expr, ast.Name):
                name = scope.declared(name)
            else:
                name = taken.free(name)
        items.append((name, bound, item.span))
        taken.add(name)
        bounds = bounds_of(bound)
        if bounds is not None:
            items += [(name + end, at, item.span) for end, at in zip(("_lo", "_hi"), bounds, strict=True)]
            taken.add(f"{name}_lo", f"{name}_hi")
    return items


def _expand(star: ast.Star, scope: Scope, context: BindContext, taken: TakenNames) -> list[Item]:
    """The columns of a star, which are taken then; a name that stands already gets its input's name in front."""
    items: list[Item] = []
    for name, f in scope.expand(star.qualifier, context):
        alias, dot, _ = f.name.rpartition(".")
        if alias.startswith(RESERVED_PREFIX):
            alias = scope.first_alias(name)
        shown = f"{alias}_{name}" if dot and name in taken else name
        taken.add(shown)
        column = Column(name=f.name, type=f.type, nullable=f.nullable, origin=star.span)
        items.append((shown, column, star.span))
    return items


def _default_name(node: ast.Expr) -> str:
    match node:
        case ast.Name():
            return node.parts[-1].text
        case ast.Call():
            return node.name.text.lower()
        case ast.FieldOf():
            return node.name.text
        case ast.Cast():
            return _default_name(node.operand)
        case _:
            return "column"


def _group(node: ast.Select, block: Block, having: Expr | None, env: Environment) -> None:
    keys: list[tuple[str, Expr]] = []
    aliases = {n.casefold(): e for n, e, _ in block.items}
    is_complete = True
    beside = frozenset[str]().union(*(value.columns for value in block.values))
    for key in node.group_by:
        bound = _group_key(key, block, aliases, env.context)
        if is_unknown(bound) or reject_aggregates(bound, "GROUP BY", env.context):
            is_complete = False
            continue
        if is_window_field(bound, block.plan.schema) or any(bound == e for _, e in keys):
            continue
        base = next((n for n, e, _ in block.items if e == bound), None)
        name = bound.name if isinstance(bound, Column) else base or "key"
        if ir.columns_of(bound) & beside:
            env.context.error(
                "SQ0501", "GROUP BY the value of a subquery cannot be run yet", key.span,
                help="compute it in a subquery in FROM, and group that",
            )
            is_complete = False
            continue
        keys.append((unique_name(name, {n for n, _ in keys}), bound))
    keys += [
        (name, e) for name, e, _ in block.hidden
        if not (is_unknown(e) or reject_aggregates(e, "WHERE", env.context))
        and not is_window_field(e, block.plan.schema) and all(e != key for _, key in keys)
    ]
    groups = Groups(
        tuple(keys), env.context, block.plan.schema, is_complete, beside=beside
    )
    block.event_time = time = block.plan.event_time
    block.items = [(n, _stamp(e, time, env.context), s) for n, e, s in block.items]
    having = None if having is None else _stamp(having, time, env.context)
    for name, expr, _ in block.items:
        if isinstance(expr, ir.AggCall):
            groups.hints.setdefault(expr, name)
    block.items = [(n, groups.rewrite(e, "SELECT"), s) for n, e, s in block.items]
    block.hidden = [(n, groups.rewrite(e, "WHERE"), s) for n, e, s in block.hidden]
    rewritten = None if having is None else groups.rewrite(having, "HAVING")
    block.groups = groups
    inside = frozenset[str]().union(*map(ir.columns_of, groups.aggregates))
    below = [v for v in block.values if v.columns & inside]
    for test in (test for value in below for test in value.tests):
        reject_aggregates(test, "an aggregate", env.context)
    block.plan = _with_values(block.plan, below, env)
    _close_groups(block, [
        v.rewritten(lambda test: groups.rewrite(_stamp(test, time, env.context), "a subquery"))
        for v in block.values if not v.columns & inside
    ], rewritten, env)


def _with_values(
    plan: lg.Logical, values: Iterable[Value], env: Environment
) -> lg.Logical:
    """The rows with the values of subqueries beside them."""
    for value in values:
        plan = join_value(plan, value, env)
    return plan


def _stamp(expr: Expr, time: str | None, context: BindContext) -> Expr:
    """FIRST and LAST by event time: the value at the least and at the greatest timestamp."""

    def rewrite(e: Expr) -> Expr | None:
        if not (isinstance(e, ir.AggCall) and e.spec.event_time):
            return None
        if time is None:
            return context.error(
                "SQ0402", f"{e.function} needs the stream's event time", e.origin,
                help="declare WATERMARK FOR on the stream, and select that column in every view",
            )
        stamp = Column(name=time, type=TIMESTAMP, origin=e.origin)
        return replace(e, args=(*e.args, stamp))

    return ir.transform(expr, rewrite)


def _close_groups(
    block: Block, beside: list[Value], having: Expr | None, env: Environment
) -> None:
    """Puts the Aggregate below, and the values of subqueries beside the groups; ``finish_groups`` renews it if ORDER BY asked for more."""
    assert block.groups is not None
    aggregates = tuple((name, e) for e, name in block.groups.aggregates.items())
    plan: lg.Logical = lg.Aggregate(
        block.plan, block.groups.keys, aggregates, owner=block.owner, origin=block.origin
    )
    plan = _with_values(plan, beside, env)
    if having is not None:
        plan = lg.Filter(plan, having, owner=block.owner, origin=having.origin)
    block.plan = plan


def finish_groups(block: Block) -> None:
    """Adds aggregates that only ORDER BY uses to the block's Aggregate."""
    if block.groups is None:
        return
    aggregates = tuple((name, e) for e, name in block.groups.aggregates.items())

    def renew(plan: lg.Logical) -> lg.Logical:
        if isinstance(plan, lg.Filter):
            return lg.Filter(renew(plan.input), plan.predicate, owner=plan.owner,
                             origin=plan.origin)
        if isinstance(plan, lg.Join):
            return replace(plan, left=renew(plan.left))
        assert isinstance(plan, lg.Aggregate)
        return lg.Aggregate(plan.input, plan.keys, aggregates, owner=plan.owner,
                            origin=plan.origin)

    block.plan = renew(block.plan)


def _group_key(
    key: ast.Expr, block: Block, aliases: dict[str, Expr], context: BindContext
) -> Expr:
    if isinstance(key, ast.Number) and key.text.isdigit():
        place = int(key.text)
        if 1 <= place <= len(block.items):
            return block.items[place - 1][1]
        return context.error(
            "SQ0408", f"there is no column {place} in the select list", key.span
        )
    if isinstance(key, ast.Name) and len(key.parts) == 1:
        fold = key.parts[0].text.casefold()
        scope = block.binder.scope
        known = any(n.casefold() == fold for e in scope.entries for n, _ in e.columns)
        if not known and fold in aliases:
            return aliases[fold]
    return block.binder.bind(key)


def distinct_names(names: Iterable[tuple[str, Span]], context: BindContext) -> list[str]:
    """Names for the columns of a result, all different; reports those that were not, or are taken."""
    seen: dict[str, Span] = {}
    taken = TakenNames()
    result: list[str] = []
    for name, span in names:
        if name.startswith(RESERVED_PREFIX):
            context.reserved(name, span)
        first = seen.get(name.casefold())
        if first is not None:
            context.error(
                "SQ0205", f"two columns of the result are called `{name}`", span,
                labels=(Label(first, "the first one"),), help="give one of them a name with AS",
            )
        result.append(name if first is None else taken.free(name))
        seen[result[-1].casefold()] = span
        taken.add(result[-1])
    return result
