"""SELECT blocks: projection, grouping, HAVING and DISTINCT."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from streamq.compiler.binder.context import RESERVED_PREFIX, BindContext, is_unknown, unknown
from streamq.compiler.binder.expressions import ExpressionBinder
from streamq.compiler.binder.relations import Environment, bind_from, reject_aggregates
from streamq.compiler.binder.scope import Scope
from streamq.compiler.binder.subqueries import bind_where
from streamq.compiler.ir import expr as ir
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.expr import Column, Expr
from streamq.compiler.ir.rewrite import is_window_field
from streamq.dsl import ast
from streamq.dsl.diagnostics import Abort, Diagnostic, Label
from streamq.dsl.records import dataclass, replace
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
    event_time: str | None = None
    hidden: list[Item] = field(default_factory=list)

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
            plan = lg.Distinct(plan, owner=self.owner, origin=self.origin)
        return plan


@dataclass
class Groups:
    """The keys and aggregates of a grouped block, and how expressions are told in them."""

    keys: tuple[tuple[str, Expr], ...]
    context: BindContext
    schema: tuple[lg.Field, ...]
    is_complete: bool = True
    """False where a key could not be bound: what else is not grouped is then anyone's guess."""
    aggregates: dict[ir.AggCall, str] = field(default_factory=dict)
    hints: dict[ir.AggCall, str] = field(default_factory=dict)
    reported: set[Span] = field(default_factory=set)

    def rewrite(self, bound: Expr, clause: str) -> Expr:
        """The expression over the group's columns; reports columns that are not grouped."""
        return ir.transform(bound, lambda e: self._rewrite_one(e, clause))

    def _rewrite_one(self, e: Expr, clause: str) -> Expr | None:
        for name, key in self.keys:
            if e == key:
                return Column(name=name, type=key.type, nullable=key.nullable, origin=e.origin)
        if isinstance(e, ir.AggCall):
            name = self.aggregates.setdefault(e, self._name_for(e))
            return Column(name=name, type=e.type, nullable=e.nullable, origin=e.origin)
        if isinstance(e, Column) and not is_window_field(e, self.schema):
            if not self.is_complete or e.origin in self.reported:
                return unknown(e.origin)
            self.reported.add(e.origin)
            shown = e.name.rpartition(".")[2]
            return self.context.error(
                "SQ0403", f"`{shown}` in {clause} is neither grouped nor aggregated", e.origin,
                label="which row's value?",
                help=f"add `{shown}` to GROUP BY, or take MAX(`{shown}`), FIRST(`{shown}`), …",
            )
        return None

    def _name_for(self, e: ir.AggCall) -> str:
        taken = {n for n, _ in self.keys} | set(self.aggregates.values())
        base = self.hints.get(e, e.function.lower())
        return unique_name(base, taken)


def unique_name(base: str, taken: set[str]) -> str:
    """``base``, or ``base_2``, ``base_3``, … if it is taken (case does not count)."""
    folded = {t.casefold() for t in taken}
    if base.casefold() not in folded:
        return base
    n = 2
    while f"{base}_{n}".casefold() in folded:
        n += 1
    return f"{base}_{n}"


def bind_select(node: ast.Select, env: Environment) -> Block:
    """Binds one SELECT; raises ``Abort`` only where its inputs are unknown."""
    if node.from_ is None:
        raise Abort(Diagnostic(
            code="SQ0408", message="a query without FROM reads no stream", span=node.span,
            help="name a stream: SELECT … FROM stream",
        ))
    plan, scope = bind_from(node.from_, env)
    binder = ExpressionBinder(scope, env.context, env.catalog.functions)
    if node.where is not None:
        plan = bind_where(node.where, plan, binder, env)
    items = _bind_items(node, binder, scope)
    block = Block(plan, binder, items, env.owner, node.span)
    if node.distinct is ast.Distinct.APPROX:
        env.context.error(
            "SQ0501", "APPROX DISTINCT cannot be run yet", node.span, help="use DISTINCT"
        )
    block.distinct = node.distinct is ast.Distinct.DISTINCT
    having = None if node.having is None else binder.bind_condition(node.having, "HAVING")
    grouped = bool(node.group_by) or any(
        isinstance(part, ir.AggCall)
        for bound in [e for _, e, _ in items] + ([] if having is None else [having])
        for part in ir.walk(bound)
    )
    if grouped:
        _group(node, block, having, env)
    elif having is not None and not is_unknown(having, *(e for _, e, _ in items)):
        env.context.error(
            "SQ0409", "HAVING filters groups, and this query has none", having.origin,
            help="use WHERE for single rows",
        )
    names = distinct_names([(name, span) for name, _, span in block.items], env.context)
    block.items = [(n, e, s) for n, (_, e, s) in zip(names, block.items, strict=True)]
    return block


def _bind_items(node: ast.Select, binder: ExpressionBinder, scope: Scope) -> list[Item]:
    items: list[Item] = []
    for item in node.items:
        if isinstance(item.expr, ast.Star):
            items.extend(_expand(item.expr, scope, binder.context, {n for n, _, _ in items}))
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
            taken = {n for n, _, _ in items}
            name = _default_name(item.expr)
            if isinstance(item.expr, ast.Name):
                name = scope.declared(name)
            else:
                name = unique_name(name, taken)
        items.append((name, bound, item.span))
    return items


def _expand(star: ast.Star, scope: Scope, context: BindContext, taken: set[str]) -> list[Item]:
    """The columns of a star; a name that stands already gets its input's name in front."""
    items: list[Item] = []
    for name, f in scope.expand(star.qualifier, context):
        alias, dot, _ = f.name.rpartition(".")
        folded = {t.casefold() for t in taken}
        shown = f"{alias}_{name}" if dot and name.casefold() in folded else name
        taken = taken | {shown}
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
    for key in node.group_by:
        bound = _group_key(key, block, aliases, env.context)
        if is_unknown(bound) or reject_aggregates(bound, "GROUP BY", env.context):
            is_complete = False
            continue
        if is_window_field(bound, block.plan.schema) or any(bound == e for _, e in keys):
            continue
        base = next((n for n, e, _ in block.items if e == bound), None)
        name = bound.name if isinstance(bound, Column) else base or "key"
        keys.append((unique_name(name, {n for n, _ in keys}), bound))
    groups = Groups(tuple(keys), env.context, block.plan.schema, is_complete)
    block.event_time = time = block.plan.event_time
    block.items = [(n, _stamp(e, time, env.context), s) for n, e, s in block.items]
    having = None if having is None else _stamp(having, time, env.context)
    for name, expr, _ in block.items:
        if isinstance(expr, ir.AggCall):
            groups.hints.setdefault(expr, name)
    block.items = [(n, groups.rewrite(e, "SELECT"), s) for n, e, s in block.items]
    rewritten = None if having is None else groups.rewrite(having, "HAVING")
    block.groups = groups
    _close_groups(block, rewritten)


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


def _close_groups(block: Block, having: Expr | None) -> None:
    """Puts the Aggregate below; ``finish_groups`` renews it if ORDER BY asked for more."""
    assert block.groups is not None
    aggregates = tuple((name, e) for e, name in block.groups.aggregates.items())
    plan: lg.Logical = lg.Aggregate(
        block.plan, block.groups.keys, aggregates, owner=block.owner, origin=block.origin
    )
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
        result.append(name if first is None else unique_name(name, set(seen)))
        seen[result[-1].casefold()] = span
    return result
