"""A whole program: declarations first, in any order, then every query."""

from __future__ import annotations

from collections.abc import Iterable

from streamq.compiler.analysis.edges import edge_streams, sifts
from streamq.compiler.binder.catalog import Catalog
from streamq.compiler.binder.context import BindContext
from streamq.compiler.binder.declarations import declare_function, declare_sink, declare_source
from streamq.compiler.binder.edge_policy import check_edge_query, declare_channel
from streamq.compiler.binder.join_policy import check_join
from streamq.compiler.binder.outputs import check_output
from streamq.compiler.binder.policy import check_dropped_sink, check_policies, check_windows
from streamq.compiler.binder.policy_columns import Readable, check_policy_columns, readable_of
from streamq.compiler.binder.query import bind_query, bind_view, default_stream
from streamq.compiler.binder.relations import Environment, view_plan
from streamq.compiler.binder.select import bind_block
from streamq.compiler.binder.settings import bind_setting
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.expr import Expr
from streamq.compiler.ir.rewrite import check_size, walk
from streamq.dsl import ast
from streamq.dsl.diagnostics import Abort, Diagnostic
from streamq.dsl.source import Span


def bind_program(
    statements: Iterable[ast.Statement], context: BindContext
) -> lg.LogicalPlan:
    """The logical plan of all queries. Errors are in ``context.sink``; a query with errors is left out."""
    statements = tuple(statements)
    catalog = Catalog()
    for node in statements:
        match node:
            case ast.CreateFunction():
                declare_function(node, catalog, context)
            case ast.CreateChannel():
                if catalog.claim(node.name, "channel", context):
                    catalog.channels[node.name.text.casefold()] = declare_channel(node, context)
            case _:
                pass
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
    if not context.sink.has_errors:
        _warn_unused(statements, context)
    return lg.LogicalPlan(
        queries=queries, sinks=tuple(catalog.sinks.values()),
        functions=tuple(catalog.functions.values()), settings=tuple(sorted(settings.items())),
    )


def _bind_queries(
    statements: tuple[ast.Statement, ...], catalog: Catalog, context: BindContext
) -> tuple[lg.LogicalQuery, ...]:
    env = Environment(catalog, context, bind_query, bind_view, bind_block, owner="")
    _bind_views(catalog, env)
    nodes = [
        n for n in statements if isinstance(n, ast.CreateQuery)
        and (n.name is None or catalog.claim(n.name, "query", context))
    ]
    if not nodes and not context.sink.has_errors:
        span = statements[0].span if statements else Span(context.file, 0, 0)
        context.sink.add(Diagnostic(
            code="SQ0004", message="the program holds no query", span=span,
            help="add one: SELECT … FROM stream;",
        ))
    bound = [
        _bind_one(node, name, env) for node, name in zip(nodes, _query_names(nodes), strict=True)
    ]
    return tuple(query for query in bound if query is not None)


def _bind_views(catalog: Catalog, env: Environment) -> None:
    """Every view is bound once, so that errors in views that nothing reads are found too."""
    for fold, view in catalog.views.items():
        try:
            view_plan(fold, view.name, env)
        except Abort as stop:
            env.context.sink.add(stop.diagnostic)


def _query_names(nodes: list[ast.CreateQuery]) -> list[str]:
    """A name for each query: its own, or ``query``, ``query_2``, ``into_sink`` and so on."""
    taken = {n.name.text.casefold() for n in nodes if n.name is not None}
    last: dict[str, int] = {}
    names: list[str] = []
    for node in nodes:
        if node.name is not None:
            names.append(node.name.text)
            continue
        base = "query" if node.sink is None else f"into_{node.sink.text}"
        name = base
        while name.casefold() in taken:
            last[base] = last.get(base, 1) + 1
            name = f"{base}_{last[base]}"
        taken.add(name.casefold())
        names.append(name)
    return names


def _bind_one(node: ast.CreateQuery, name: str, env: Environment) -> lg.LogicalQuery | None:
    context, catalog = env.context, env.catalog
    sink = None if node.sink is None else catalog.sink(node.sink, context)
    try:
        root = default_stream(bind_query(node.query, env.inner(name, {}), outermost=True))
        check_size(root, node.query.span)
    except Abort as stop:
        check_policies(node.policies, context)
        context.sink.add(stop.diagnostic)
        return None
    before = context.errors
    check_policies(node.policies, context, sifted=any(sifts(decl.policies) for decl in edge_streams(root)))
    fine = context.errors == before
    if root.change is lg.Change.STATIC:
        context.error(
            "SQ0408", f"query `{name}` reads no stream", node.query.span,
            help="it would give the same rows forever; read a stream, or join one with the table",
        )
        return None
    utilities: tuple[tuple[str, Expr], ...] = ()
    if node.policies:
        streams = _streams_of(root, catalog)
        if fine:
            check_edge_query(node.policies, root, [f.name for s in streams for f in s.fields], context)
        utilities = check_policy_columns(node.policies, streams, context, catalog.functions)
        check_windows(node.policies, root, context)
        utilities += check_join(node.policies, root, context, catalog.functions)
        _check_dropped(node, sink, root, env)
    if sink is not None and node.sink is not None:
        check_output(root.schema, catalog.sinks[sink.casefold()], node.sink.span, context)
    return lg.LogicalQuery(
        name=name, root=root, sink=sink, policies=node.policies, utilities=utilities,
        origin=node.name.span if node.name is not None else node.query.span,
    )


def _check_dropped(node: ast.CreateQuery, own: str | None, root: lg.Logical, env: Environment) -> None:
    """RECOVER DROPPED INTO: the sink is there, and takes the rows."""
    methods = (p.method for p in node.policies if isinstance(p, ast.Recover))
    asked = next((m for m in methods if isinstance(m, ast.RecoverDropped)), None)
    if asked is None:
        return
    # `streamq backfill --into` may write to any of them.
    env.context.used |= {("sink", folded) for folded in env.catalog.sinks}
    name = env.catalog.sink(asked.sink, env.context, f"connector = 'file', path = '{asked.sink.text}'")
    if name is None:
        return
    streams = {n.source.name: n.source for n in walk(root) if isinstance(n, lg.Scan) and not n.source.is_table}
    check_dropped_sink(asked, env.catalog.sinks[name.casefold()], own, streams.values(), env.context)


def _streams_of(root: lg.Logical, catalog: Catalog) -> tuple[Readable, ...]:
    """The streams that a query reads, each once, with their computed columns."""
    names = dict.fromkeys(
        n.source.name for n in walk(root) if isinstance(n, lg.Scan) and not n.source.is_table
    )
    return tuple(
        readable_of(source.decl, source.plan) for source in (catalog.sources[name.casefold()] for name in names)
    )


def _warn_unused(statements: tuple[ast.Statement, ...], context: BindContext) -> None:
    """Declarations of the program itself that nothing reads; an included file may hold more."""
    for node in statements:
        match node:
            case ast.CreateStream() | ast.CreateTable() | ast.CreateView():
                space, what = "relation", "reads"
            case ast.CreateSink():
                space, what = "sink", "writes to"
            case ast.CreateFunction():
                space, what = "function", "calls"
            case ast.CreateChannel():
                space, what = "channel", "sends through"
            case _:
                continue
        used = (space, node.name.text.casefold()) in context.used
        if not used and node.span.file == context.file:
            context.warn(
                "SQ0902", f"nothing {what} `{node.name.text}`", node.name.span,
                help="remove it, or use it in a query",
            )
