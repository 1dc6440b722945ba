"""The columns that QOS, SHED and RECOVER name: they must be columns of what the query reads."""

from __future__ import annotations

from collections.abc import Mapping

from streamq.compiler.binder.context import BindContext
from streamq.compiler.binder.expressions import ExpressionBinder
from streamq.compiler.binder.join_policy import sheds_join
from streamq.compiler.binder.scope import Entry, Scope
from streamq.compiler.binder.worth import is_worth
from streamq.compiler.ir.expr import Expr
from streamq.compiler.ir.goals import has_all
from streamq.compiler.ir.logical import Field, FunctionDecl, Logical, SourceDecl
from streamq.dsl import ast
from streamq.dsl.diagnostics import did_you_mean
from streamq.dsl.records import dataclass
from streamq.dsl.types import STRING, Chars, holds_map, is_numeric, with_article
from streamq.stdlib.connectors import tells_rows_apart


@dataclass(frozen=True, slots=True)
class Readable:
    """A stream that a query reads, with all its columns. ``numbered``: its source tells its rows apart by their place."""

    name: str
    fields: tuple[Field, ...]
    event_time: str | None = None
    numbered: bool = False


def readable_of(decl: SourceDecl, plan: Logical) -> Readable:
    """A stream with the columns that its declaration computes."""
    numbered = tells_rows_apart(decl.connector, dict(decl.options), [f.name for f in decl.fields])
    return Readable(decl.name, plan.schema, plan.event_time, numbered)


def check_policy_columns(
    policies: tuple[ast.Policy, ...], streams: tuple[Readable, ...], context: BindContext,
    functions: Mapping[str, FunctionDecl],
) -> tuple[tuple[str, Expr], ...]:
    """Reports names in policies that are no columns of the streams, and a UTILITY that is no number.

    Gives the utility of a row for each stream, which must have all columns that it speaks of.
    """
    utilities: list[tuple[str, Expr]] = []
    entries = tuple(Entry(s.name, tuple((f.name, f) for f in s.fields)) for s in streams)
    scope = Scope(entries)
    for policy in policies:
        for name in named(policy):
            scope.resolve(name, context)
        if isinstance(policy, ast.Shed) and isinstance(policy.method, ast.ShedRandom):
            for key in policy.method.keys:
                _check_key(key, streams, context)
        if isinstance(policy, ast.Shed) and isinstance(policy.method, ast.ShedSifter):
            _check_sifted(policy.method, streams, context)
        if isinstance(policy, ast.Shed) and isinstance(policy.method, ast.ShedOlder):
            _check_age(policy.method, streams, context)
        if isinstance(policy, ast.Qos):
            for item in policy.items:
                if isinstance(item, ast.QosUtility) and sheds_join(policies) is None:
                    utilities += _utilities(item, streams, context, functions)
    return tuple(utilities)


def named(policy: ast.Policy) -> tuple[ast.Name, ...]:
    """The columns that must belong to one of the streams."""
    match policy:
        case ast.Shed(method=ast.ShedSifter(attributes=names)):
            return names
        case ast.Shed(method=ast.ShedAttributes(keep=names)):
            return names
        case ast.Recover(method=ast.RecoverNearest(columns=names)):
            return names
        case ast.Recover(method=ast.RecoverSynopsis(columns=names, cycle=cycle)):
            return (*names, *cycle) if isinstance(cycle, tuple) else names
        case _:
            return ()


def _check_key(key: ast.Name, streams: tuple[Readable, ...], context: BindContext) -> None:
    """All rows of a key go together, so every stream of the query must have it."""
    text = ".".join(p.text for p in key.parts)
    if len(key.parts) > 1:
        context.error(
            "SQ0202", f"BY KEY takes a column's plain name, not `{text}`", key.span,
            help="it is looked up in every stream that the query reads",
        )
        return
    for stream in streams:
        names = [f.name for f in stream.fields]
        found = next((f for f in stream.fields if f.name.casefold() == text.casefold()), None)
        if found is None:
            shown = ", ".join(f"`{n}`" for n in names[:12])
            context.error(
                "SQ0202", f"`{stream.name}` has no column `{text}`", key.span,
                label="BY KEY needs it in every stream of the query",
                help=did_you_mean(text, names) or f"`{stream.name}` has {shown}",
            )
            return
        if holds_map(found.type):
            context.error(
                "SQ0301", f"`{text}` is {with_article(found.type)}, which cannot be a key", key.span,
                help="choose a column of plain values",
            )
            return


def _check_sifted(
    method: ast.ShedSifter, streams: tuple[Readable, ...], context: BindContext
) -> None:
    """One of the streams has all attributes, as numbers or text."""
    wanted = {n.parts[-1].text.casefold(): n for n in method.attributes}
    known = {f.name.casefold() for s in streams for f in s.fields}
    if not wanted.keys() <= known:
        return  # told as a name that is not there
    columns = {s.name: {f.name.casefold() for f in s.fields} for s in streams}
    stream = next((s for s in streams if has_all(s.name, columns[s.name], method.attributes)), None)
    if stream is None:
        context.error(
            "SQ0602", "no stream of the query has all attributes of the sifter", method.span,
            help="rows are sifted where they are read: name columns of one stream",
        )
        return
    if method.drop == "COUNTER" and not stream.numbered:
        context.error(
            "SQ0602", f"rows of `{stream.name}` have no numbers by which every so-manieth could go", method.span,
            help="say DROP HASH; Parquet files and nexmark number their rows",
        )
    for field in stream.fields:
        name = wanted.get(field.name.casefold())
        if name is not None and not (is_numeric(field.type) or field.type == STRING or isinstance(field.type, Chars)):
            context.error(
                "SQ0301", f"`{field.name}` is {with_article(field.type)}, which a sifter cannot part into regions", name.span,
                help="choose numbers or text",
            )


def _check_age(
    method: ast.ShedOlder, streams: tuple[Readable, ...], context: BindContext
) -> None:
    """How old a row is its event time says."""
    without = next((s for s in streams if s.event_time is None), None)
    if without is not None:
        context.error(
            "SQ0602", f"rows of `{without.name}` have no event time, so none is older than another", method.span,
            help="give the stream a WATERMARK FOR its time, or use SHED RANDOM",
        )


def _utilities(
    item: ast.QosUtility, streams: tuple[Readable, ...], context: BindContext,
    functions: Mapping[str, FunctionDecl],
) -> list[tuple[str, Expr]]:
    """The utility over the columns of each stream; nothing from the first that it cannot be told of."""
    found: list[tuple[str, Expr]] = []
    for stream in streams:
        scope = Scope((Entry(stream.name, tuple((f.name, f) for f in stream.fields)),))
        bound = ExpressionBinder(scope, context, functions).bind(item.utility)
        if not is_worth(bound, item, context):
            break
        found.append((stream.name, bound))
    return found
