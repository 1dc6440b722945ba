"""CREATE STREAM, TABLE, SINK, FUNCTION: from statements to declarations in the catalog."""

from __future__ import annotations

from keyword import iskeyword

from streamq.compiler.binder.catalog import Catalog, Source, identity, with_watermark
from streamq.compiler.binder.context import RESERVED_PREFIX, BindContext, is_unknown, unknown
from streamq.compiler.binder.edge_policy import with_edge
from streamq.compiler.binder.expressions import ExpressionBinder
from streamq.compiler.binder.outputs import csv_holds
from streamq.compiler.binder.policy_columns import check_policy_columns, readable_of
from streamq.compiler.binder.relations import reject_aggregates
from streamq.compiler.binder.scope import Entry, Scope
from streamq.compiler.binder.windows import MAX_MS
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.expr import Expr, columns_of
from streamq.dsl import ast
from streamq.dsl.diagnostics import Label, did_you_mean
from streamq.dsl.records import replace
from streamq.dsl.source import Span
from streamq.dsl.types import NULL, TIMESTAMP, Type, converts_silently, with_article
from streamq.stdlib.connectors import (
    connector_names,
    find_connector,
    match_columns,
    validate_options,
)
from streamq.stdlib.functions import lookup
from streamq.stdlib.kafka_columns import parts_of
from streamq.stdlib.registry import ConnectorSpec


def declare_source(
    node: ast.CreateStream | ast.CreateTable, catalog: Catalog, context: BindContext
) -> None:
    """Puts a stream or table into the catalog, with its computed columns and watermark."""
    if not catalog.claim(node.name, "relation", context):
        return
    node = replace(node, columns=_distinct_columns(node.columns, context))
    is_table = isinstance(node, ast.CreateTable)
    role = "table" if is_table else "stream"
    physical = tuple(
        lg.Field(c.name.text, c.type, not c.not_null)
        for c in node.columns if c.computed is None and c.type is not None
    )
    spec, options = bind_options(node.options, role, node.name, context)
    if spec is not None:
        _check_generated(node, spec, options, context)
    computed = _computed(node, physical, catalog, context)
    event_time, delay = None, None
    if isinstance(node, ast.CreateStream) and node.watermark is not None:
        columns = {f.name.casefold(): (f.name, f.type) for f in physical}
        columns |= {n.casefold(): (n, e.type) for n, e in computed}
        event_time = _event_time(node.watermark, columns, context)
        delay = _delay(node.watermark, context)
    key = node.primary_key if isinstance(node, ast.CreateTable) else ()
    decl = lg.SourceDecl(
        name=node.name.text, is_table=is_table, fields=physical,
        connector=spec.name if spec is not None else "", options=options, event_time=event_time,
        watermark_ms=delay, stamped_by=_stamped_by(event_time, computed), primary_key=_primary_key(key, physical, context),
        origin=node.name.span, path=next((o.span for o in node.options if o.key.casefold() == "path"), node.name.span),
    )
    if isinstance(node, ast.CreateStream):
        decl = with_edge(decl, node, catalog.channels, context)
    plan: lg.Logical = lg.Scan(decl, owner=decl.name, origin=node.name.span)
    if computed:
        order = {c.name.text: i for i, c in enumerate(node.columns)}
        items = sorted((*identity(decl.fields), *computed), key=lambda item: order.get(item[0], len(order)))
        plan = lg.Project(plan, tuple(items), owner=decl.name, origin=node.name.span)
    plan = with_watermark(plan, decl)
    catalog.sources[node.name.text.casefold()] = Source(decl, plan)
    if isinstance(node, ast.CreateStream):
        readable = readable_of(decl, plan)
        check_policy_columns(node.policies, (readable,), context, catalog.functions)


def _distinct_columns(
    columns: tuple[ast.ColumnDef, ...], context: BindContext
) -> tuple[ast.ColumnDef, ...]:
    """The columns without those whose name was there before, which are reported."""
    seen: dict[str, ast.ColumnDef] = {}
    for column in columns:
        name = column.name
        first = seen.setdefault(name.text.casefold(), column)
        if first is not column:
            context.error(
                "SQ0205", f"column `{name.text}` is declared twice", name.span,
                labels=(Label(first.name.span, "first declared here"),),
                help="rename one of them",
            )
        elif name.text.startswith(RESERVED_PREFIX):
            context.reserved(name.text, name.span)
    return tuple(seen.values())


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
        if reject_aggregates(bound, "a computed column", context):
            bound = unknown(column.computed.span)
        if column.not_null:
            context.warn(
                "SQ0902", f"NOT NULL has no effect on the computed column `{column.name.text}`",
                column.span, help="remove it, or filter with WHERE … IS NOT NULL",
            )
        if bound.type == NULL and column.type is None:
            bound = context.error(
                "SQ0301", "a column of NULLs has no type", column.computed.span,
                help=f"give it one: {column.name.text} INT AS NULL",
            )
        if column.type is not None and not is_unknown(bound) and bound.type != column.type:
            if not converts_silently(bound.type, column.type):
                bound = context.error(
                    "SQ0301",
                    f"`{column.name.text}` is declared {column.type}, its expression is "
                    f"{with_article(bound.type)}", column.computed.span, help="write a CAST",
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
        # Any stamp will do to go on, so that no window complains that there is none.
        stamps = [n for n, t in columns.values() if t == TIMESTAMP]
        return next(iter([*stamps, *(n for n, _ in columns.values())]), None)
    found, type_ = columns[name.casefold()]
    if type_ != TIMESTAMP and not _is_unknown_type(type_):
        context.error(
            "SQ0406", f"event time `{name}` is {with_article(type_)}, it must be a TIMESTAMP",
            mark.column.span, label=with_article(type_),
            help=f"add a computed column: event_time AS TO_TIMESTAMP({name}), and use that",
        )
    return found


def _stamped_by(event_time: str | None, computed: tuple[tuple[str, Expr], ...]) -> tuple[str, ...]:
    """The physical columns that the event time is, or is made of."""
    if event_time is None:
        return ()
    made = dict(computed).get(event_time)
    return (event_time,) if made is None else tuple(sorted(columns_of(made)))


def _delay(mark: ast.WatermarkDef, context: BindContext) -> int:
    if not 0 <= mark.delay.ms <= MAX_MS:
        context.error(
            "SQ0107", "the delay of a watermark must be between nothing and 1,000 years",
            mark.delay.span, help="write it as AS ts - INTERVAL 5 SECONDS",
        )
    return mark.delay.ms


def _is_unknown_type(t: Type) -> bool:
    return str(t) == "UNKNOWN"


def _primary_key(
    names: tuple[ast.Ident, ...], fields: tuple[lg.Field, ...], context: BindContext
) -> tuple[str, ...]:
    known = {f.name.casefold(): f.name for f in fields}
    if names:
        context.warn(
            "SQ0902", "PRIMARY KEY has no effect: nothing is checked against it yet",
            names[0].span.merge(names[-1].span), help="it may stay, as a note to the reader",
        )
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
    spec = find_connector(str(name), role)
    if spec is None:
        context.error(
            "SQ0704", f"there is no connector '{name}' for a {role}", places["connector"],
            help=did_you_mean(str(name), _of_role(role)) or "use " + ", ".join(_of_role(role)),
        )
        return None, ()
    normal, problems = validate_options(spec, given, role)
    for problem in problems:
        span = places.get(problem.key.casefold(), owner.span)
        context.error(problem.code, problem.message, span, help=problem.help)
    return spec, tuple(sorted(normal.items()))


def _of_role(role: str) -> list[str]:
    return [f"'{name}'" for name in connector_names(role)]


def _check_generated(
    node: ast.CreateStream | ast.CreateTable, spec: ConnectorSpec,
    options: tuple[tuple[str, lg.OptionValue], ...], context: BindContext,
) -> None:
    """Columns over a generator are what it generates, perhaps fewer and wider; csv has plain ones."""
    columns = [c for c in node.columns if c.computed is None and c.type is not None]
    places = {c.name.text: c.span for c in columns}
    declared = [(c.name.text, c.type) for c in columns if c.type is not None]
    for problem in match_columns(spec, dict(options), declared)[1]:
        context.error(problem.code, problem.message, places.get(problem.key, node.name.span), help=problem.help)
    if dict(options).get("format") == "csv":
        parts = parts_of(dict(options), [name for name, _ in declared]) if spec.name == "kafka" else {}
        for name, type_ in declared:
            if name not in parts and not csv_holds(type_):
                context.error(
                    "SQ0707", f"a csv file cannot hold `{name}`, which is {with_article(type_)}",
                    places[name], help="declare it STRING, and take it apart with FROM_JSON or SPLIT",
                )


def declare_sink(node: ast.CreateSink, catalog: Catalog, context: BindContext) -> None:
    if not catalog.claim(node.name, "sink", context):
        return
    spec, options = bind_options(node.options, "sink", node.name, context)
    catalog.sinks[node.name.text.casefold()] = lg.SinkDecl(
        name=node.name.text, connector="" if spec is None else spec.name, options=options,
        origin=node.name.span,
    )


def _names_a_function(target: str) -> bool:
    """``module.part:callable``, which a program in Python can import by these names."""
    module, colon, name = target.partition(":")
    return bool(colon) and all(part.isidentifier() and not iskeyword(part) for part in (*module.split("."), name))


def declare_function(node: ast.CreateFunction, catalog: Catalog, context: BindContext) -> None:
    if not catalog.claim(node.name, "function", context):
        return
    if lookup(node.name.text) is not None:
        context.error(
            "SQ0205", f"`{node.name.text}` is a function of the language", node.name.span,
            help="choose another name",
        )
    if not _names_a_function(node.target):
        context.error(
            "SQ0706", f"'{node.target}' does not name a Python function", node.span,
            help="write it as 'module:callable', for example 'my_functions:to_euro'",
        )
    seen: set[str] = set()
    for parameter in node.parameters:
        if parameter.name.text.casefold() in seen:
            context.error(
                "SQ0205", f"two parameters are called `{parameter.name.text}`",
                parameter.name.span, help="rename one of them",
            )
        seen.add(parameter.name.text.casefold())
    catalog.functions[node.name.text.casefold()] = lg.FunctionDecl(
        name=node.name.text, returns=node.returns, target=node.target,
        parameters=tuple((p.name.text, p.type) for p in node.parameters), origin=node.name.span,
    )
