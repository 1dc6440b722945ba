"""Streams that come from an edge: what their clauses may say, and the columns that they have beside the declared ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from streamq.compiler.analysis.edges import edge_streams, recoveries, sheds, sifts
from streamq.compiler.binder.context import BindContext
from streamq.compiler.binder.policy import check_recover, check_shed, refuse
from streamq.compiler.binder.policy_columns import named
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.edges import SHED_COLUMNS, Channel, arrow_type, bounds_of, has_bounds
from streamq.compiler.ir.rewrite import walk
from streamq.dsl import ast
from streamq.dsl.diagnostics import did_you_mean
from streamq.dsl.records import replace
from streamq.dsl.source import Span
from streamq.dsl.types import DOUBLE, STRING, Array, with_article

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
MOST_NAME, MOST_COLUMNS = 200, 1_000

LEAST_KBPS = 1.0
"""Of a channel, for each of its streams: what it takes to be heard of."""


def declare_channel(node: ast.CreateChannel, context: BindContext) -> Channel:
    """A wire that streams share."""
    if node.kbps < LEAST_KBPS:
        context.error("SQ0603", f"the capacity of a channel must be at least {LEAST_KBPS:g} KBPS, not {node.kbps:g}", node.span)
    return Channel(name=node.name.text, kbps=node.kbps, weighted=node.split == "WEIGHTED", origin=node.name.span)


def with_edge(
    decl: lg.SourceDecl, node: ast.CreateStream, channels: Mapping[str, Channel], context: BindContext
) -> lg.SourceDecl:
    """The declaration with what its clauses say, its channel, and the columns that tell of shed values."""
    decl = replace(decl, policies=node.policies)
    if decl.connector != "edge":
        _check_without_edge(node, context)
        return decl
    _check_names(decl, node, context)
    _check_types(decl, node, context)
    channel = _channel(decl, node, channels, context)
    _check_clauses(decl, node, context)
    fields = _unlisted(decl, node, context)
    return replace(
        decl, fields=(*decl.fields, *fields), unlisted=tuple(f.name for f in fields), channel=channel,
    )


def _check_without_edge(node: ast.CreateStream, context: BindContext) -> None:
    for policy in node.policies:
        before = context.errors
        if isinstance(policy, ast.Shed):
            check_shed(policy, context)
        elif isinstance(policy, ast.Recover):
            check_recover(policy, context)
        if context.errors > before:
            continue
        if _is_of_edges(policy):
            _needs_edge(node.name.text, policy, context)
        else:
            refuse(context, "a policy of the stream itself", policy.span,
                   "put SHED RANDOM BY n PERCENT on the query instead")


def _is_of_edges(policy: ast.Policy) -> bool:
    return sheds((policy,)) is not None or bool(recoveries((policy,)))


def _needs_edge(stream: str, policy: ast.Policy, context: BindContext) -> None:
    what = "SHED ATTRIBUTES" if isinstance(policy, ast.Shed) else f"RECOVER FROM {_method(policy)}"
    refuse(
        context, f"{what} of `{stream}`, which Spark itself reads,", policy.span,
        "say WITH (connector = 'edge', folder = '…'), and start `streamq edge` at the source; or remove it",
    )


def _method(policy: ast.Policy) -> str:
    nearest = isinstance(policy, ast.Recover) and isinstance(policy.method, ast.RecoverNearest)
    return "NEAREST" if nearest else "SYNOPSIS"


def _check_names(decl: lg.SourceDecl, node: ast.CreateStream, context: BindContext) -> None:
    """What is sent goes by these names, and lies in a folder of that of the stream."""
    if not NAME.fullmatch(decl.name):
        context.error(
            "SQ0602", f"`{decl.name}` cannot be the name of a stream from an edge", node.name.span,
            help="take at most a hundred letters, digits and underscores, and no digit first",
        )
    for column in node.columns:
        if not 0 < len(column.name.text) <= MOST_NAME:
            context.error("SQ0602", f"an edge sends columns with names of at most {MOST_NAME} characters", column.name.span)
    if len(decl.fields) > MOST_COLUMNS:
        context.error("SQ0602", f"an edge sends at most {MOST_COLUMNS:,} columns, not {len(decl.fields):,}", node.name.span)


def _check_types(decl: lg.SourceDecl, node: ast.CreateStream, context: BindContext) -> None:
    places = {c.name.text: c.span for c in node.columns}
    for field in decl.fields:
        if arrow_type(field.type) is None:
            context.error(
                "SQ0707", f"an edge cannot send `{field.name}`, which is {with_article(field.type)}", places[field.name],
                help="declare it STRING, or as a number, truth value, date or timestamp",
            )


def _channel(
    decl: lg.SourceDecl, node: ast.CreateStream, channels: Mapping[str, Channel], context: BindContext
) -> Channel | None:
    name = dict(decl.options).get("channel")
    if name is None:
        return None
    span = next(o.span for o in node.options if o.key.casefold() == "channel")
    context.used.add(("channel", str(name).casefold()))
    found = channels.get(str(name).casefold())
    if found is None:
        context.error(
            "SQ0206", f"unknown channel `{name}`", span, label="not declared",
            help=did_you_mean(str(name), [c.name for c in channels.values()])
            or f"declare it: CREATE CHANNEL {name} CAPACITY 120 KBPS",
        )
    return found


def _check_clauses(decl: lg.SourceDecl, node: ast.CreateStream, context: BindContext) -> None:
    known = [*(c.name.text for c in node.columns), *(f.name for f in _told(decl))]
    for policy in node.policies:
        before = context.errors
        match policy:
            case ast.Shed(method=ast.ShedAttributes() | ast.ShedSifter()):
                check_shed(policy, context)
                check_capacity(policy, context)
                _check_declared(policy, (decl,), known, context)
            case ast.Recover(method=ast.RecoverSynopsis() | ast.RecoverNearest()):
                check_recover(policy, context)
                _check_declared(policy, (decl,), known, context)
                if sheds(node.policies) is None and context.errors == before:
                    _nothing_shed(decl.name, policy.span, context)
            case _:
                refuse(context, "such a policy of the stream itself", policy.span, "put it on the query instead")


def _check_declared(policy: ast.Policy, streams: Sequence[lg.SourceDecl], known: Iterable[str], context: BindContext) -> None:
    """An edge knows the columns that its rows have, and not what the run makes of them. ``known``: all that there are."""
    declared = {f.name.casefold() for d in streams for f in d.fields if f.name not in d.unlisted}
    made = {name.casefold() for name in known} - declared
    for name in named(policy):
        text = name.parts[-1].text
        if text.casefold() in made:
            context.error(
                "SQ0602", f"`{text}` is computed where the rows come, so an edge can neither keep, shed nor store it", name.span,
                help="name the columns of the source that it is made of",
            )


def check_capacity(policy: ast.Shed, context: BindContext) -> None:
    """Columns are shed for the capacity of a wire: the stream's own, or that of a channel."""
    goal = policy.goal
    if goal is not None and goal.unit != "KBPS":
        context.error(
            "SQ0602", "at an edge as much is shed as it takes for the rest to fit through a wire", goal.span,
            help="say how much that is: TO CAPACITY 120 KBPS",
        )


def _nothing_shed(stream: str, span: Span, context: BindContext) -> None:
    context.error(
        "SQ0602", f"nothing of `{stream}` is shed that could be recovered", span,
        help="say SHED ATTRIBUTES TO CAPACITY 120 KBPS in CREATE STREAM, or remove RECOVER",
    )


def _unlisted(decl: lg.SourceDecl, node: ast.CreateStream, context: BindContext) -> list[lg.Field]:
    found = _told(decl)
    taken = {c.name.text.casefold(): c.name for c in node.columns}
    for field in found:
        own = taken.get(field.name.casefold())
        if own is not None:
            what = "names the columns that were shed" if field.name == SHED_COLUMNS else "is the bound of a recovered value"
            context.error(
                "SQ0205", f"`{own.text}` is taken: in a stream from an edge it {what}", own.span,
                help="choose another name",
            )
    return found


def _told(decl: lg.SourceDecl) -> list[lg.Field]:
    """Bounds of recovered numbers, and which columns were shed."""
    found = [
        lg.Field(name, DOUBLE) for f in decl.fields if f.nullable and f.name != decl.event_time and has_bounds(f.type)
        for name in bounds_of(f.name)
    ]
    return [*found, lg.Field(SHED_COLUMNS, Array(STRING))]


def check_edge_query(
    policies: tuple[ast.Policy, ...], root: lg.Logical, known: Iterable[str], context: BindContext
) -> None:
    """SHED ATTRIBUTES, RECOVER and CRITICALITY of a query: of a stream that comes from an edge, of which something is shed."""
    streams = {decl.name: decl for decl in edge_streams(root)}
    shedding = [d for d in streams.values() if sheds(d.policies) is not None or sheds(policies) is not None]
    read = next((n.source.name for n in _scans(root)), "the stream")
    for policy in policies:
        if _is_of_edges(policy) and streams:
            _check_declared(policy, tuple(streams.values()), known, context)
        if _is_of_edges(policy) and not streams:
            _needs_edge(read, policy, context)
        elif sheds((policy,)) is not None and any(sifts(d.policies) for d in streams.values()):
            context.error(
                "SQ0602", "the edge of the stream sheds rows, by SHED SIFTER, and so no columns", policy.span, help="remove one of them"
            )
        elif sheds((policy,)) is not None and isinstance(policy, ast.Shed):
            check_capacity(policy, context)
        elif recoveries((policy,)) and not shedding:
            _nothing_shed(next(iter(streams)), policy.span, context)
        elif isinstance(policy, ast.Qos):
            for item in policy.items:
                if isinstance(item, ast.QosCriticality) and not _finds_errors(policies, shedding):
                    refuse(context, "QOS CRITICALITY without RECOVER … FROM SYNOPSIS ERROR AUTO", item.span)


def _finds_errors(policies: tuple[ast.Policy, ...], streams: list[lg.SourceDecl]) -> bool:
    methods = [m for clauses in (policies, *(d.policies for d in streams)) for m in recoveries(clauses)]
    return bool(streams) and any(isinstance(m, ast.RecoverSynopsis) and m.error == "AUTO" for m in methods)


def _scans(root: lg.Logical) -> list[lg.Scan]:
    return [n for n in walk(root) if isinstance(n, lg.Scan) and not n.source.is_table]
