"""Whole queries: WITH, set operations, relation-to-stream operators, ORDER BY and LIMIT."""

from __future__ import annotations

from functools import partial

from streamq.compiler.binder.context import UNKNOWN, is_unknown
from streamq.compiler.binder.expressions import ExpressionBinder
from streamq.compiler.binder.relations import BoundCte, Environment, listed
from streamq.compiler.binder.scope import Entry, Scope
from streamq.compiler.binder.select import Block, bind_select, distinct_names, finish_groups
from streamq.compiler.binder.set_comparisons import bind_compared
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.expr import Column, Expr
from streamq.dsl import ast
from streamq.dsl.diagnostics import Abort, Diagnostic, Label
from streamq.dsl.records import replace
from streamq.dsl.source import Span
from streamq.dsl.types import common_type, with_article


def bind_query(query: ast.Query, env: Environment, *, outermost: bool = False) -> lg.Logical:
    """The plan of a query, without the default relation-to-stream operator.

    ``outermost``: its rows leave the program, so their order can be seen.
    """
    own: dict[str, BoundCte] = {}
    for cte in query.ctes:
        fold = cte.name.text.casefold()
        if fold in own:
            raise Abort(Diagnostic(
                code="SQ0205", message=f"`{cte.name.text}` is declared twice in WITH",
                span=cte.name.span, labels=(Label(own[fold].name.span, "first declared here"),),
                help="rename one of them",
            ))
        plan = bind_query(cte.query, env.inner(env.owner, {**env.ctes, **own}))
        own[fold] = BoundCte(cte.name, rename_columns(plan, cte.columns, cte.name, env))
    scope = env.inner(env.owner, {**env.ctes, **own}) if own else env
    if not query.order_by and query.limit is None:
        plan = bind_set(query.body, scope, outermost=outermost)
    else:
        plan = _ordered(query, scope, outermost=outermost)
    for bound in own.values():
        if not bound.is_read:
            env.context.warn(
                "SQ0902", f"nothing reads `{bound.name.text}`", bound.name.span, help="remove it"
            )
    return plan


def bind_set(body: ast.SetExpr, env: Environment, *, outermost: bool = False) -> lg.Logical:
    match body:
        case ast.Select():
            return bind_select(body, env).project()
        case ast.Query():
            return bind_query(body, env)
        case ast.Streamed():
            plan = bind_query(body.query, env, outermost=outermost)
            return lg.ToStream(plan, body.op, owner=env.owner, origin=body.span)
        case ast.NamedOperand():
            return listed(body.name, env)
        case ast.SetOp():
            return _set_operation(body, env)
        case _:
            raise TypeError(f"not a query: {type(body).__name__}")


def bind_view(view: ast.CreateView, env: Environment) -> lg.Logical:
    """The plan of a view, with its column list."""
    return rename_columns(bind_query(view.query, env), view.columns, view.name, env)


def rename_columns(
    plan: lg.Logical, names: tuple[ast.Ident, ...], of: ast.Ident, env: Environment
) -> lg.Logical:
    """The plan with its columns called as the list says."""
    if not names:
        return plan
    if len(names) != len(plan.schema):
        raise Abort(Diagnostic(
            code="SQ0305",
            message=f"`{of.text}` names {len(names)} columns, its query has {len(plan.schema)}",
            span=of.span,
        ))
    shown = distinct_names([(ident.text, ident.span) for ident in names], env.context)
    items = tuple(
        (name, Column(name=f.name, type=f.type, nullable=f.nullable, origin=ident.span))
        for name, ident, f in zip(shown, names, plan.schema, strict=True)
    )
    return lg.Project(plan, items, owner=env.owner, origin=of.span)


def default_stream(plan: lg.Logical) -> lg.Logical:
    """Adds the operator that CQL's defaults give an outermost query, where it gets one."""
    if isinstance(plan, lg.ToStream):
        return plan
    op = {lg.Change.APPEND: ast.R2S.ISTREAM, lg.Change.FINAL: ast.R2S.RSTREAM}.get(plan.change)
    if op is None:
        return plan
    return lg.ToStream(plan, op, owner=plan.owner, origin=plan.origin)


def _set_operation(node: ast.SetOp, env: Environment) -> lg.Logical:
    branches = _flatten(node) if node.op == "UNION" and node.all else [node.left, node.right]
    plans = env.context.gather(*(partial(bind_set, b, env) for b in branches))
    first = plans[0]
    for branch, plan in zip(branches[1:], plans[1:], strict=True):
        if len(plan.schema) != len(first.schema):
            raise Abort(Diagnostic(
                code="SQ0305", span=branch.span,
                message=f"{node.op} of {len(first.schema)} and {len(plan.schema)} columns",
                help="select the same number of columns on both sides",
            ))
    aligned = _align(plans, [b.span for b in branches], node, env)
    if node.op != "UNION":
        return bind_compared(aligned, node, env)
    union: lg.Logical = lg.Union(aligned, owner=env.owner, origin=node.span)
    if not node.all:
        union = lg.Distinct(union, owner=env.owner, origin=node.span)
    return union


def _flatten(node: ast.SetOp) -> list[ast.SetExpr]:
    """The operands of a chain of UNION ALL, left to right."""
    parts: list[ast.SetExpr] = []
    stack: list[ast.SetExpr] = [node]
    while stack:
        top = stack.pop()
        if isinstance(top, ast.SetOp) and top.op == "UNION" and top.all:
            stack.extend((top.right, top.left))
        else:
            parts.append(top)
    return parts


def _align(
    plans: list[lg.Logical], spans: list[Span], node: ast.SetOp, env: Environment
) -> tuple[lg.Logical, ...]:
    """All branches with the first one's names and the common types."""
    binder = ExpressionBinder(Scope(()), env.context, {})
    columns = list(zip(*(p.schema for p in plans), strict=True))
    types = []
    for column in columns:
        common = column[0].type
        for f, span in zip(column[1:], spans[1:], strict=True):
            if UNKNOWN in (common, f.type):
                continue
            wider = common_type(common, f.type)
            if wider is None:
                env.context.error(
                    "SQ0305",
                    f"{node.op} mixes {common} and {f.type} in column `{column[0].name}`",
                    span, label=f"{with_article(f.type)} here", help="write a CAST on one side",
                )
                break
            common = wider
        types.append(common)
    aligned = []
    for plan in plans:
        wanted = [(c[0].name, t) for c, t in zip(columns, types, strict=True)]
        if [(f.name, f.type) for f in plan.schema] == wanted:
            aligned.append(plan)
            continue
        items = tuple(
            (name, binder.coerce(Column(name=f.name, type=f.type, nullable=f.nullable), t))
            for f, (name, t) in zip(plan.schema, wanted, strict=True)
        )
        aligned.append(lg.Project(plan, items, owner=env.owner, origin=plan.origin))
    return tuple(aligned)


def _ordered(query: ast.Query, env: Environment, *, outermost: bool) -> lg.Logical:
    """ORDER BY and LIMIT, inside the relation-to-stream operator if there is one."""
    body = query.body
    if isinstance(body, ast.Streamed):
        inner = replace(query, body=body.query.body, ctes=body.query.ctes)
        if not body.query.order_by and body.query.limit is None:
            plan = bind_query(inner, env, outermost=outermost)
            return lg.ToStream(plan, body.op, owner=env.owner, origin=body.span)
    if query.limit == 0:
        raise Abort(Diagnostic(
            code="SQ0408", message="LIMIT 0 keeps no rows", span=query.span,
            help="say how many rows to keep",
        ))
    if not query.order_by:
        raise Abort(Diagnostic(
            code="SQ0408", message="LIMIT without ORDER BY would keep arbitrary rows",
            span=query.span,
            help="add ORDER BY, or stop a run after n rows with `streamq run --limit n`",
        ))
    if isinstance(body, ast.Select):
        block = bind_select(body, env)
        order = _order_items(query, block, env)
        finish_groups(block)
        plan = block.project()
        visible = tuple(name for name, _, _ in block.items)
    else:
        plan = bind_set(body, env)
        order = _order_items(query, plan, env)
        visible = tuple(f.name for f in plan.schema)
    if query.limit is None and not outermost:
        env.context.warn(
            "SQ0902", "ORDER BY without LIMIT has no effect here", query.order_by[0].span,
            help="the rows of a view or subquery have no order: sort the query that reads it",
        )
    else:
        plan = lg.Sort(plan, order, query.limit, owner=env.owner, origin=query.span)
    if len(visible) == len(plan.schema):
        return plan
    items = tuple(
        (f.name, Column(name=f.name, type=f.type, nullable=f.nullable))
        for f in plan.schema[: len(visible)]
    )
    return lg.Project(plan, items, owner=env.owner, origin=query.span)


def _order_items(
    query: ast.Query, of: Block | lg.Logical, env: Environment
) -> tuple[lg.SortItem, ...]:
    order = []
    for item in query.order_by:
        if isinstance(of, Block):
            bound: Expr = of.order_expr(item.expr)
        else:
            entry = Entry("", tuple((f.name, f) for f in of.schema), of.window is not None)
            binder = ExpressionBinder(Scope((entry,)), env.context, env.catalog.functions)
            bound = binder.bind(item.expr)
        if is_unknown(bound):
            continue
        nulls_first = (not item.descending) if item.nulls_first is None else item.nulls_first
        order.append(lg.SortItem(bound, item.descending, nulls_first))
    return tuple(order)
