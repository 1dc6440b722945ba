"""What a program declares: streams, tables, views, sinks and functions, by name."""

from __future__ import annotations

from streamq.compiler.binder.context import BindContext
from streamq.compiler.ir.edges import Channel
from streamq.compiler.ir.expr import Column
from streamq.compiler.ir.logical import (
    Field,
    FunctionDecl,
    Logical,
    SinkDecl,
    SourceDecl,
    Watermark,
)
from streamq.dsl import ast
from streamq.dsl.diagnostics import Label, did_you_mean
from streamq.dsl.records import dataclass, field
from streamq.dsl.source import Span


@dataclass(frozen=True)
class Source:
    """A declared stream or table: its declaration and the plan that yields its columns."""

    decl: SourceDecl
    plan: Logical


@dataclass
class Catalog:
    """Declarations by folded name. A name means one thing in the whole program."""

    sources: dict[str, Source] = field(default_factory=dict)
    views: dict[str, ast.CreateView] = field(default_factory=dict)
    sinks: dict[str, SinkDecl] = field(default_factory=dict)
    functions: dict[str, FunctionDecl] = field(default_factory=dict)
    channels: dict[str, Channel] = field(default_factory=dict)
    places: dict[tuple[str, str], Span] = field(default_factory=dict)

    def claim(self, ident: ast.Ident, space: str, context: BindContext) -> bool:
        """Reserves a name in a name space; False (and a diagnostic) where it is taken."""
        key = (space, ident.text.casefold())
        first = self.places.setdefault(key, ident.span)
        if first is ident.span or first == ident.span:
            return True
        context.error(
            "SQ0205", f"`{ident.text}` is declared twice", ident.span, label="second declaration",
            labels=(Label(first, "first declared here"),), help="rename one of them",
        )
        return False

    def relation_names(self) -> list[str]:
        named = [s.decl.name for s in self.sources.values()]
        return named + [v.name.text for v in self.views.values()]

    def sink(
        self, ident: ast.Ident, context: BindContext, example: str = "connector = 'console'"
    ) -> str | None:
        """The declared name of a sink; reports an unknown one. ``example``: options that would do for it."""
        found = self.sinks.get(ident.text.casefold())
        if found is not None:
            context.used.add(("sink", ident.text.casefold()))
            return found.name
        context.error(
            "SQ0206", f"unknown sink `{ident.text}`", ident.span, label="not declared",
            help=did_you_mean(ident.text, [s.name for s in self.sinks.values()])
            or f"declare it: CREATE SINK {ident.text} WITH ({example})",
        )
        return None


def with_watermark(plan: Logical, decl: SourceDecl) -> Logical:
    if decl.event_time is None:
        return plan
    return Watermark(
        plan, decl.event_time, decl.watermark_ms or 0, owner=decl.name, origin=decl.origin
    )


def identity(fields: tuple[Field, ...]) -> tuple[tuple[str, Column], ...]:
    """Every field as itself, for a projection that adds to them."""
    return tuple(
        (f.name, Column(name=f.name, type=f.type, nullable=f.nullable)) for f in fields
    )
