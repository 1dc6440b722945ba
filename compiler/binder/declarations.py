"""CREATE STREAM, TABLE, SINK, FUNCTION: from statements to declarations in the catalog."""

from __future__ import annotations

import re

from streamq.compiler.binder.catalog import Catalog, Source, identity, with_watermark
from streamq.compiler.binder.context import BindContext, is_unknown
from streamq.compiler.binder.expressions import ExpressionBinder
from streamq.compiler.binder.policy import refuse_on_source
from streamq.compiler.binder.relations import reject_aggregates
from streamq.compiler.binder.scope import Entry, Scope
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.expr import Expr
from streamq.dsl import ast
from streamq.dsl.diagnostics import did_you_mean
from streamq.dsl.source import Span
from streamq.dsl.types import TIMESTAMP, Type, converts_silently, is_numeric
from streamq.stdlib.connectors import CONNECTORS, native_columns, validate_options
from streamq.stdlib.registry import ConnectorSpec

_TARGET = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def declare_source(
    node: ast.CreateStream | ast.CreateTable, catalog: Catalog, context: BindContext
) -> None:
    """Puts a stream or table into the catalog, with its computed columns and watermark."""
    if not catalog.claim(node.name, "relation", context):
        return
    is_table = isinstance(node, ast.CreateTable)
    role = "table" if is_table else "stream"
    _check_duplicates(node.columns, context)
    physical = tuple(
        lg.Field(c.name.text, c.type, not c.not_null)
        for c in node.columns if c.computed is None and c.type is not None
    )
    spec, options = bind_options(node.options, role, node.name, context)
    if spec is not None:
        _check_generated(node, spec, options, context)
    computed = _computed(node, physical, catalog, context)
    event_time, delay = None, None
    if isinstance(node, ast.CreateStream):
        refuse_on_source(node.policies, context)
        if node.watermark is not None:
            columns = {f.name.casefold(): (f.name, f.type) for f in physical}
            columns |= {n.casefold(): (n, e.type) for n, e in computed}
            event_time = _event_time(node.watermark, columns, context)
            delay = node.watermark.delay.ms
    key = node.primary_key if isinstance(node, ast.CreateTable) else ()
    decl = lg.SourceDecl(
        name=node.name.text, is_table=is_table, fields=physical,
        connector=spec.name if spec is not None else "", options=options, event_time=event_time,
        watermark_ms=delay, primary_key=_primary_key(key, physical, context),
        origin=node.name.span,
    )
    plan: lg.Logical = lg.Scan(decl, owner=decl.name, origin=node.name.span)
    if computed:
        order = {c.name.text: i for i, c in enumerate(node.columns)}
        items = sorted((*identity(physical), *computed), key=lambda item: order[item[0]])
        plan = lg.Project(plan, tuple(items), owner=decl.name, origin=node.name.span)
    plan = with_watermark(plan, decl)
    catalog.sources[node.name.text.casefold()] = Source(decl, plan)


def _check_duplicates(columns: tuple[ast.ColumnDef, ...], context: BindContext) -> None:
    seen: set[str] = set()
    for column in columns:
        fold = column.name.text.casefold()
        if fold in seen:
            context.error(
                "SQ0205", f"column `{column.name.text}` is declared twice", column.name.span,
                help="rename one of them",
            )
        seen.add(fold)


def _computed(
    node: ast.CreateStream | ast.CreateTable, physical: tuple[lg.Field, ...], catalog: Catalog,
    context: BindContext,
) -> tuple[tuple[str, Expr], ...]:
    entry = Entry(node.name.text, tuple((f.name, f) for f in physical))
    binder = ExpressionBinder(Scope((entry,)), context, catalog.functions)
    items: list[tuple[str, Expr]] = []
    for column in node.columns:
        if column.computed is None:
            continue
        bound = binder.bind(column.computed)
        reject_aggregates(bound, "a computed column", context)
        if column.type is not None and not is_unknown(bound) and bound.type != column.type:
            if not converts_silently(bound.type, column.type):
                bound = context.error(
                    "SQ0301",
                    f"`{column.name.text}` is declared {column.type}, its expression is a "
                    f"{bound.type}", column.computed.span, help="write a CAST",
                )
            else:
                bound = binder.coerce(bound, column.type)
        items.append((column.name.text, bound))
    return tuple(items)


def _event_time(
    mark: ast.WatermarkDef, columns: dict[str, tuple[str, Type]], context: BindContext
) -> str | None:
    name = mark.column.text
    if name.casefold() not in columns:
        context.error(
            "SQ0202", f"WATERMARK FOR names an unknown column `{name}`", mark.column.span,
            label="not a column of this stream",
            help=did_you_mean(name, [n for n, _ in columns.values()]),
        )
        return None
    found, type_ = columns[name.casefold()]
    if type_ != TIMESTAMP and not _is_unknown_type(type_):
        context.error(
            "SQ0406", f"event time `{name}` is a {type_}, it must be a TIMESTAMP",
            mark.column.span, label=f"a {type_}",
            help=f"add a computed column: event_time AS TO_TIMESTAMP({name}), and use that",
        )
        return None
    return found


def _is_unknown_type(t: Type) -> bool:
    return str(t) == "UNKNOWN"


def _primary_key(
    names: tuple[ast.Ident, ...], fields: tuple[lg.Field, ...], context: BindContext
) -> tuple[str, ...]:
    known = {f.name.casefold(): f.name for f in fields}
    for ident in names:
        if ident.text.casefold() not in known:
            context.error(
                "SQ0202", f"PRIMARY KEY names an unknown column `{ident.text}`", ident.span,
                help=did_you_mean(ident.text, known.values()),
            )
    return tuple(known[i.text.casefold()] for i in names if i.text.casefold() in known)


def bind_options(
    options: tuple[ast.Option, ...], role: str, owner: ast.Ident, context: BindContext
) -> tuple[ConnectorSpec | None, tuple[tuple[str, lg.OptionValue], ...]]:
    """The connector of a WITH list and its options, checked and complete."""
    given: dict[str, lg.OptionValue] = {}
    places: dict[str, Span] = {}
    for option in options:
        fold = option.key.casefold()
        if fold in given:
            context.error("SQ0109", f"option `{option.key}` is given twice", option.span)
        given[fold] = option.value
        places[fold] = option.span
    name = given.pop("connector", None)
    if name is None:
        context.error(
            "SQ0702", f"`{owner.text}` has no connector", owner.span,
            help="say WITH (connector = 'file', path = '…'), or one of "
            + ", ".join(_of_role(role)),
        )
        return None, ()
    spec = CONNECTORS.get(str(name).casefold())
    if spec is None or role not in spec.roles:
        what = "unknown connector" if spec is None else f"a {role} cannot use connector"
        context.error(
            "SQ0704", f"{what} '{name}'", places["connector"],
            help=did_you_mean(str(name), _of_role(role)) or "use " + ", ".join(_of_role(role)),
        )
        return None, ()
    normal, problems = validate_options(spec, given, role)
    for problem in problems:
        codes = {"unknown": "SQ0701", "missing": "SQ0702", "wrong": "SQ0703"}
        span = places.get(problem.key.casefold(), owner.span)
        context.error(codes[problem.kind], problem.message, span, help=problem.help)
    return spec, tuple(sorted(normal.items()))


def _of_role(role: str) -> list[str]:
    return [f"'{s.name}'" for s in CONNECTORS.values() if role in s.roles]


def _check_generated(
    node: ast.CreateStream | ast.CreateTable, spec: ConnectorSpec,
    options: tuple[tuple[str, lg.OptionValue], ...], context: BindContext,
) -> None:
    """Columns of a generator are what it generates, perhaps fewer and wider."""
    native = native_columns(spec, dict(options))
    if native is None:
        return
    for column in node.columns:
        if column.computed is not None or column.type is None:
            continue
        made = native.get(column.name.text.casefold())
        if made is None:
            context.error(
                "SQ0803", f"connector '{spec.name}' has no column `{column.name.text}` here",
                column.name.span, help=did_you_mean(column.name.text, native)
                or "it has " + ", ".join(f"`{n}`" for n in native),
            )
        elif column.type != made and not (
            converts_silently(made, column.type) and is_numeric(made)
        ):
            context.error(
                "SQ0301", f"connector '{spec.name}' makes `{column.name.text}` a {made}",
                column.span, label=f"declared {column.type}", help=f"declare it {made}",
            )


def declare_sink(node: ast.CreateSink, catalog: Catalog, context: BindContext) -> None:
    if not catalog.claim(node.name, "sink", context):
        return
    spec, options = bind_options(node.options, "sink", node.name, context)
    catalog.sinks[node.name.text.casefold()] = lg.SinkDecl(
        name=node.name.text, connector="" if spec is None else spec.name, options=options,
        origin=node.name.span,
    )


def declare_function(node: ast.CreateFunction, catalog: Catalog, context: BindContext) -> None:
    if not catalog.claim(node.name, "function", context):
        return
    if not _TARGET.fullmatch(node.target):
        context.error(
            "SQ0706", f"'{node.target}' does not name a Python function", node.span,
            help="write it as 'module:callable', for example 'my_functions:to_euro'",
        )
    catalog.functions[node.name.text.casefold()] = lg.FunctionDecl(
        name=node.name.text, returns=node.returns, target=node.target,
        parameters=tuple((p.name.text, p.type) for p in node.parameters), origin=node.name.span,
    )
