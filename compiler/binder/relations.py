"""FROM: streams, tables, views and subqueries, with their windows and joins."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from streamq.compiler.binder.catalog import Catalog, identity
from streamq.compiler.binder.context import BindContext, is_unknown
from streamq.compiler.binder.expressions import ExpressionBinder
from streamq.compiler.binder.scope import Entry, Scope
from streamq.compiler.binder.windows import bind_window
from streamq.compiler.ir import expr as ir
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.sketches import shown
from streamq.dsl import ast
from streamq.dsl.ast import JoinKind
from streamq.dsl.diagnostics import Abort, Diagnostic, Label, did_you_mean
from streamq.dsl.records import dataclass, field, replace
from streamq.dsl.types import BOOLEAN, Type, common_type, with_article
from streamq.stdlib.functions import FUNCTIONS

Beside = tuple[ast.Expr, Type]
"""An expression that the rows of a block carry, and the type of what it is compared with."""

MAX_OPEN_VIEWS = 100
"""Views that read views, so many levels deep: far more than anyone writes."""


@dataclass
class BoundCte:
    """A query of a WITH list, and whether something reads it."""

    name: ast.Ident
    plan: lg.Logical
    is_read: bool = False


@dataclass
class Environment:
    """Where a query is bound: the catalog, the CTEs in sight, and the name of what is bound.

    ``bind_query`` and ``bind_view`` bind what stands inside a FROM clause. ``bind_block`` binds a SELECT whose
    FROM is bound already, and gives its columns and some more, by which it is grouped if it is grouped at all.
    """

    catalog: Catalog
    context: BindContext
    bind_query: Callable[[ast.Query, Environment], lg.Logical]
    bind_view: Callable[[ast.CreateView, Environment], lg.Logical]
    bind_block: Callable[
        [ast.Select, Environment, tuple[lg.Logical, Scope], tuple[Beside, ...]], lg.Logical
    ]
    owner: str
    ctes: dict[str, BoundCte] = field(default_factory=dict)
    view_plans: dict[str, lg.Logical | Diagnostic] = field(default_factory=dict)
    open_views: tuple[str, ...] = ()
    outside: Scope | None = None
    """What the row outside of a subquery is called, for those who look for it in vain."""

    def inner(self, owner: str, ctes: dict[str, BoundCte]) -> Environment:
        """The same program seen from another query or view."""
        return replace(self, owner=owner, ctes=ctes)

    def inside(self, scope: Scope) -> Environment:
        """The same program seen from a subquery of a row."""
        return replace(self, outside=scope)


def bind_from(item: ast.FromItem, env: Environment) -> tuple[lg.Logical, Scope]:
    """The plan of a FROM clause and the scope that its columns make."""
    alone = not isinstance(item, ast.Join)
    plan, entries = _bind_item(item, env, rename=not alone)
    seen: dict[str, Entry] = {}
    for entry in entries:
        first = seen.setdefault(entry.alias.casefold(), entry)
        if first is not entry and entry.alias:
            raise Abort(Diagnostic(
                code="SQ0205", message=f"two inputs are called `{entry.alias}`", span=entry.span,
                labels=(Label(first.span, "the first one"),),
                help="give one of them another name with AS",
            ))
    return plan, Scope(tuple(entries), env.outside)


def _bind_item(
    item: ast.FromItem, env: Environment, rename: bool
) -> tuple[lg.Logical, list[Entry]]:
    unlisted: frozenset[str] = frozenset()
    match item:
        case ast.TableRef():
            plan, unlisted = bind_named(item.name, env), unlisted_of(item.name, env)
            alias = (item.alias or item.name).text
        case ast.SubqueryRef():
            plan = env.bind_query(item.query, env)
            alias = item.alias.text if item.alias else ""
        case ast.Join():
            return _bind_join(item, env)
        case _:
            raise TypeError(f"not a FROM item: {type(item).__name__}")
    if item.window is not None:
        plan = bind_window(plan, item.window, alias or "subquery", env.context, env.owner)
    columns = tuple((f.name, f) for f in plan.schema)
    if rename:
        prefix = alias or f"q{item.span.start}"
        items = tuple(
            (f"{prefix}.{name}", column) for name, column in identity(plan.schema)
        )
        named = tuple(n for n, _ in columns)
        plan = lg.Project(plan, items, owner=env.owner, origin=item.span)
        columns = tuple(zip(named, plan.schema, strict=True))
    windowed = isinstance(plan.window, lg.Sliding | lg.Session)
    return plan, [Entry(alias, columns, windowed, unlisted=unlisted, span=item.span)]


def bind_named(name: ast.Ident, env: Environment) -> lg.Logical:
    fold = name.text.casefold()
    if fold in env.ctes:
        env.ctes[fold].is_read = True
        return env.ctes[fold].plan
    env.context.used.add(("relation", fold))
    if fold in env.catalog.sources:
        return env.catalog.sources[fold].plan
    if fold in env.catalog.views:
        return view_plan(fold, name, env)
    known = [*env.catalog.relation_names(), *env.ctes]
    raise Abort(Diagnostic(
        code="SQ0201", message=f"unknown stream, table or view `{name.text}`", span=name.span,
        label="not declared",
        help=did_you_mean(name.text, known)
        or f"declare it: CREATE STREAM {name.text} (…) WITH (connector = '…')",
    ))


def unlisted_of(name: ast.Ident, env: Environment) -> frozenset[str]:
    """The folded columns of a stream that ``*`` leaves out."""
    source = None if name.text.casefold() in env.ctes else env.catalog.sources.get(name.text.casefold())
    return frozenset() if source is None else frozenset(n.casefold() for n in source.decl.unlisted)


def listed(name: ast.Ident, env: Environment) -> lg.Logical:
    """A relation as a query of its own: without the columns that ``*`` leaves out."""
    plan, unlisted = bind_named(name, env), unlisted_of(name, env)
    if not unlisted:
        return plan
    items = tuple(item for item in identity(plan.schema) if item[0].casefold() not in unlisted)
    return lg.Project(plan, items, owner=env.owner, origin=name.span)


def view_plan(fold: str, name: ast.Ident, env: Environment) -> lg.Logical:
    """The plan of a view, bound once; a view that failed fails in the same words everywhere."""
    if fold in env.open_views:
        cycle = " -> ".join([*env.open_views[env.open_views.index(fold):], fold])
        raise Abort(Diagnostic(
            code="SQ0207", message=f"view `{name.text}` reads itself", span=name.span,
            label="this closes the cycle", notes=(f"the cycle is {cycle}",),
            help="a view may only read what does not depend on it",
        ))
    if fold not in env.view_plans:
        if len(env.open_views) >= MAX_OPEN_VIEWS:
            raise Abort(Diagnostic(
                code="SQ0108", message=f"more than {MAX_OPEN_VIEWS} views read one another",
                span=name.span, help="join some of them into one",
            ))
        view = env.catalog.views[fold]
        inner = env.inner(view.name.text, {})
        inner.outside = None
        inner.open_views = (*env.open_views, fold)
        try:
            env.view_plans[fold] = env.bind_view(view, inner)
        except Abort as stop:
            env.view_plans[fold] = stop.diagnostic
    plan = env.view_plans[fold]
    if isinstance(plan, Diagnostic):
        raise Abort(plan)
    return plan


def _bind_join(item: ast.Join, env: Environment) -> tuple[lg.Logical, list[Entry]]:
    (left, left_entries), (right, right_entries) = env.context.gather(
        lambda: _bind_item(item.left, env, rename=True),
        lambda: _bind_item(item.right, env, rename=True),
    )
    condition: ir.Expr | None = None
    pairs: tuple[ir.Op, ...] = ()
    if item.using:
        pairs, left_entries, right_entries = _using(item, left_entries, right_entries, env)
        condition = ir.conjunction(pairs)
    elif item.on is not None:
        scope = Scope((*left_entries, *right_entries))
        binder = ExpressionBinder(scope, env.context, env.catalog.functions)
        condition = binder.bind_condition(item.on, "ON")
        reject_aggregates(condition, "ON", env.context)
    kind = JoinKind.INNER if item.kind is JoinKind.CROSS else item.kind
    plan: lg.Logical = lg.Join(left, right, kind, condition, owner=env.owner, origin=item.span)
    if kind in (JoinKind.RIGHT, JoinKind.FULL):
        left_entries = [_nullable(e) for e in left_entries]
    if kind in (JoinKind.LEFT, JoinKind.FULL):
        right_entries = [_nullable(e) for e in right_entries]
    both = [*left_entries, *right_entries]
    if kind is JoinKind.FULL and item.using and len(pairs) == len(item.using):
        plan, merged = _merged(plan, item, pairs, env)
        both = [merged, *both]
    return plan, both


def _nullable(entry: Entry) -> Entry:
    """The columns of a side whose rows may be missing."""
    columns = tuple((name, replace(f, nullable=True)) for name, f in entry.columns)
    return replace(entry, columns=columns)


def _using(
    item: ast.Join, left: list[Entry], right: list[Entry], env: Environment
) -> tuple[tuple[ir.Op, ...], list[Entry], list[Entry]]:
    """The equality of each column, and the sides without the copies that a bare name does not mean."""
    parts: list[ir.Op] = []
    for ident in item.using:
        name = ast.Name(parts=(ident,), span=ident.span)
        a = Scope(tuple(left)).resolve(name, env.context)
        b = Scope(tuple(right)).resolve(name, env.context)
        if is_unknown(a, b):
            continue
        common = common_type(a.type, b.type)
        if common is None:
            env.context.error(
                "SQ0301", f"`{ident.text}` is {with_article(a.type)} on one side and {with_article(b.type)} on the other",
                ident.span,
            )
            continue
        binder = ExpressionBinder(Scope(()), env.context, {})
        pair = (binder.coerce(a, common), binder.coerce(b, common))
        parts.append(ir.Op(op="=", args=pair, type=BOOLEAN, origin=ident.span))
    names = frozenset(i.text.casefold() for i in item.using)
    is_merged = item.kind is JoinKind.FULL and len(parts) == len(item.using)
    if item.kind is JoinKind.RIGHT or is_merged:
        left = [_hide(e, names) for e in left]
    if item.kind is not JoinKind.RIGHT:
        right = [_hide(e, names) for e in right]
    return tuple(parts), left, right


def _hide(entry: Entry, names: frozenset[str]) -> Entry:
    return replace(entry, hidden=entry.hidden | names)


def _merged(
    plan: lg.Logical, item: ast.Join, pairs: Sequence[ir.Op], env: Environment
) -> tuple[lg.Logical, Entry]:
    """The rows of a FULL JOIN with its USING columns, each the value of the side that has one."""
    spec = FUNCTIONS["COALESCE"]
    named = {i.text.casefold(): (i, pair) for i, pair in zip(item.using, pairs, strict=True)}
    columns = []
    for ident, pair in named.values():
        value = ir.Call(
            function=spec.name, args=tuple(ir.transform(side, _may_be_missing) for side in pair.args),
            spec=spec, type=pair.args[0].type, nullable=any(side.nullable for side in pair.args),
            origin=ident.span,
        )
        columns.append((ident.text, f"__using{ident.span.start}.{ident.text}", value))
    items = (*identity(plan.schema), *((name, value) for _, name, value in columns))
    fields = tuple(
        (shown, lg.Field(name, value.type, value.nullable)) for shown, name, value in columns
    )
    return lg.Project(plan, items, owner=env.owner, origin=item.span), Entry("", fields)


def _may_be_missing(e: ir.Expr) -> ir.Expr | None:
    return replace(e, nullable=True) if isinstance(e, ir.Column) else None


def reject_aggregates(bound: ir.Expr, clause: str, context: BindContext) -> bool:
    """Reports aggregates in a clause that sees single rows; True where there was one."""
    # One of a call: an estimate is made of several.
    found = {part.origin: part for part in reversed([*ir.walk(bound)]) if isinstance(part, ir.AggCall)}
    for part in reversed(found.values()):
        context.error(
            "SQ0404", f"{shown(part.function)} is an aggregate and cannot stand in {clause}",
            part.origin, label="an aggregate",
            help="use HAVING" if clause == "WHERE" else "",
        )
    return bool(found)
