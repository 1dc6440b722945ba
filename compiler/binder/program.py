"""A whole program: declarations first, in any order, then every query."""

from __future__ import annotations

from collections.abc import Iterable

from streamq.compiler.binder.catalog import Catalog
from streamq.compiler.binder.context import BindContext
from streamq.compiler.binder.declarations import declare_function, declare_sink, declare_source
from streamq.compiler.binder.policy import check_policies
from streamq.compiler.binder.query import bind_query, bind_view, default_stream
from streamq.compiler.binder.relations import Environment, bind_named
from streamq.compiler.binder.select import unique_name
from streamq.compiler.binder.settings import bind_setting
from streamq.compiler.ir import logical as lg
from streamq.dsl import ast
from streamq.dsl.diagnostics import Abort, Diagnostic
from streamq.dsl.source import NO_SPAN


def bind_program(
    statements: Iterable[ast.Statement], context: BindContext
) -> lg.LogicalPlan:
    """The logical plan of all queries. Errors are in ``context.sink``; a query with errors is left out."""
    statements = tuple(statements)
    catalog = Catalog()
    for node in statements:
        if isinstance(node, ast.CreateFunction):
            declare_function(node, catalog, context)
    settings: dict[str, lg.OptionValue] = {}
    for node in statements:
        match node:
            case ast.CreateStream() | ast.CreateTable():
                declare_source(node, catalog, context)
            case ast.CreateSink():
                declare_sink(node, catalog, context)
            case ast.CreateView():
                if catalog.claim(node.name, "relation", context):
                    catalog.views[node.name.text.casefold()] = node
            case ast.SetOption():
                bind_setting(node, settings, context)
            case _:
                pass
    queries = _bind_queries(statements, catalog, context)
    return lg.LogicalPlan(
        queries=queries, sinks=tuple(catalog.sinks.values()),
        functions=tuple(catalog.functions.values()), settings=tuple(sorted(settings.items())),
    )


def _bind_queries(
    statements: tuple[ast.Statement, ...], catalog: Catalog, context: BindContext
) -> tuple[lg.LogicalQuery, ...]:
    env = Environment(catalog, context, bind_query, bind_view, owner="")
    _bind_unused_views(catalog, env)
    queries: list[lg.LogicalQuery] = []
    names: set[str] = set()
    for node in statements:
        if isinstance(node, ast.CreateQuery):
            if node.name is not None and not catalog.claim(node.name, "query", context):
                continue
            name = _query_name(node, names)
            names.add(name)
            bound = _bind_one(node, name, env)
            if bound is not None:
                queries.append(bound)
    if not names and not context.sink.has_errors:
        span = statements[0].span if statements else NO_SPAN
        context.sink.add(Diagnostic(
            code="SQ0004", message="the program holds no query", span=span,
            help="add one: SELECT … FROM stream;",
        ))
    return tuple(queries)


def _bind_unused_views(catalog: Catalog, env: Environment) -> None:
    """Every view is bound once, so that errors in views that nothing reads are found too."""
    for view in catalog.views.values():
        try:
            bind_named(view.name, env)
        except Abort as stop:
            env.context.sink.add(stop.diagnostic)


def _query_name(node: ast.CreateQuery, taken: set[str]) -> str:
    if node.name is not None:
        return node.name.text
    return unique_name(f"into_{node.sink.text}" if node.sink is not None else "query", taken)


def _bind_one(node: ast.CreateQuery, name: str, env: Environment) -> lg.LogicalQuery | None:
    context = env.context
    sink = None if node.sink is None else env.catalog.sink(node.sink, context)
    check_policies(node.policies, context)
    try:
        root = default_stream(bind_query(node.query, env.inner(name, {})))
    except Abort as stop:
        context.sink.add(stop.diagnostic)
        return None
    if root.change is lg.Change.STATIC:
        context.error(
            "SQ0408", f"query `{name}` reads no stream", node.query.span,
            help="it would give the same rows forever; read a stream, or join one with the table",
        )
        return None
    return lg.LogicalQuery(
        name=name, root=root, sink=sink, policies=node.policies,
        origin=node.name.span if node.name is not None else node.query.span,
    )
