"""What names mean inside one SELECT: the columns of its FROM items."""

from __future__ import annotations

from streamq.compiler.binder.context import BindContext, is_unknown
from streamq.compiler.ir.expr import WINDOW_FIELDS, Column, Expr, FieldOf
from streamq.compiler.ir.logical import Field
from streamq.dsl.ast import Ident, Name
from streamq.dsl.diagnostics import did_you_mean
from streamq.dsl.records import dataclass
from streamq.dsl.source import NO_SPAN, Span
from streamq.dsl.types import TIMESTAMP, Struct, with_article


@dataclass(frozen=True, slots=True)
class Entry:
    """One FROM item: the name it goes by, and (column as the user says it, field of the plan)."""

    alias: str
    columns: tuple[tuple[str, Field], ...]
    windowed: bool = False
    hidden: frozenset[str] = frozenset()
    """Folded columns that bare names do not mean, and ``*`` leaves out (the second copy of a USING column)."""
    unlisted: frozenset[str] = frozenset()
    """Folded columns that only ``*`` leaves out (what an edge tells of its rows)."""
    span: Span = NO_SPAN


@dataclass(frozen=True)
class Scope:
    """The FROM items of a block, in order."""

    entries: tuple[Entry, ...]
    outside: Scope | None = None
    """That of the row outside of a subquery, which its names do not reach."""

    results: frozenset[str] = frozenset()
    """Names of results, folded, that do not reach here either."""

    def resolve(self, name: Name, context: BindContext) -> Expr:
        """The column a name stands for; reports unknown and ambiguous ones."""
        parts = name.parts
        if len(parts) > 1:
            entry = self.entry(parts[0].text)
            if entry is not None:
                column = self._column_of(entry, parts[1], context)
                return _with_fields(column, parts[2:], context)
        found = self._find(parts[0].text)
        if len(found) > 1:
            names = " or ".join(f"`{e.alias}.{parts[0].text}`" for e, _ in found)
            return context.error(
                "SQ0203", f"column `{parts[0].text}` is ambiguous", name.span,
                label="more than one input has it", help=f"say {names}",
            )
        if found:
            field = found[0][1]
            column = Column(
                name=field.name, type=field.type, nullable=field.nullable, origin=parts[0].span
            )
            return _with_fields(column, parts[1:], context)
        pseudo = self._window_column(parts[0], context) if len(parts) == 1 else None
        return pseudo or self._unknown(name, context)

    def knows(self, name: Name) -> bool:
        """True where ``resolve`` would look at a column of these inputs, or at their window."""
        first = name.parts[0].text
        if self._find(first) or (len(name.parts) > 1 and self.entry(first) is not None):
            return True
        return first.upper() in WINDOW_FIELDS and any(e.windowed for e in self.entries)

    def declared(self, name: str) -> str:
        """A column's name as its declaration spells it; the name itself where none is called so."""
        fold = name.casefold()
        spelled = (n for e in self.entries for n, _ in e.columns if n.casefold() == fold)
        return next(spelled, name)

    def first_alias(self, column: str) -> str:
        """The first input with such a column, by its name."""
        fold = column.casefold()
        return next(
            (e.alias for e in self.entries for n, _ in e.columns if e.alias and n.casefold() == fold), ""
        )

    def entry(self, alias: str) -> Entry | None:
        fold = alias.casefold()
        return next((e for e in self.entries if e.alias.casefold() == fold), None)

    def expand(self, qualifier: Ident | None, context: BindContext) -> tuple[tuple[str, Field], ...]:
        """The columns of ``*`` or ``t.*``."""
        if qualifier is None:
            return tuple(
                c for e in self.entries for c in e.columns if c[0].casefold() not in e.hidden | e.unlisted
            )
        entry = self.entry(qualifier.text)
        if entry is None:
            aliases = [e.alias for e in self.entries if e.alias]
            context.error(
                "SQ0202", f"unknown input `{qualifier.text}`", qualifier.span, label="not found",
                help=did_you_mean(qualifier.text, aliases)
                or "the inputs are " + ", ".join(f"`{a}`" for a in aliases),
            )
            return ()
        return tuple(c for c in entry.columns if c[0].casefold() not in entry.unlisted)

    def _find(self, name: str) -> list[tuple[Entry, Field]]:
        fold = name.casefold()
        return [
            (e, f) for e in self.entries for n, f in e.columns
            if n.casefold() == fold and fold not in e.hidden
        ]

    def _column_of(self, entry: Entry, ident: Ident, context: BindContext) -> Expr:
        fold = ident.text.casefold()
        field = next((f for n, f in entry.columns if n.casefold() == fold), None)
        if field is None:
            if entry.windowed and ident.text.upper() in WINDOW_FIELDS:
                return Column(
                    name=ident.text.upper(), type=TIMESTAMP, nullable=False, origin=ident.span
                )
            return context.error(
                "SQ0202", f"`{entry.alias}` has no column `{ident.text}`", ident.span,
                label="not found", help=did_you_mean(ident.text, [n for n, _ in entry.columns])
                or _columns_help(entry),
            )
        return Column(name=field.name, type=field.type, nullable=field.nullable, origin=ident.span)

    def _window_column(self, ident: Ident, context: BindContext) -> Expr | None:
        upper = ident.text.upper()
        if upper not in WINDOW_FIELDS:
            return None
        if not any(e.windowed for e in self.entries):
            return context.error(
                "SQ0407", f"`{upper}` needs a sliding, tumbling or session window", ident.span,
                label="no such window in this FROM",
                help="put a window after the stream's name, for example [TUMBLE 1 MINUTE]",
            )
        return Column(name=upper, type=TIMESTAMP, nullable=False, origin=ident.span)

    def _unknown(self, name: Name, context: BindContext) -> Expr:
        text = ".".join(p.text for p in name.parts)
        around = self.outside
        while around is not None:
            if around.knows(name):
                return context.error(
                    "SQ0501", f"`{text}` of the row outside cannot be read here yet", name.span,
                    label="inside a subquery",
                    help="read it in the WHERE of a query without WITH, set operators, ORDER BY and "
                    "LIMIT, of the row directly outside",
                )
            around = around.outside
        known = [n for e in self.entries for n, _ in e.columns]
        known += [e.alias for e in self.entries]
        known += [f"{e.alias}.{n}" for e in self.entries for n, _ in e.columns]
        hint = did_you_mean(text, known)
        if text.casefold() in self.results:
            hint = f"HAVING does not know the name of a result: repeat what `{text}` stands for"
        if not hint and len(self.entries) == 1:
            hint = _columns_help(self.entries[0])
        return context.error("SQ0202", f"unknown column `{text}`", name.span, label="not found",
                             help=hint)


def _columns_help(entry: Entry) -> str:
    shown = ", ".join(f"`{n}`" for n, _ in entry.columns[:12])
    more = ", …" if len(entry.columns) > 12 else ""
    return f"{f'`{entry.alias}`' if entry.alias else 'the input'} has {shown}{more}"


def _with_fields(base: Expr, fields: tuple[Ident, ...], context: BindContext) -> Expr:
    for ident in fields:
        base = field_of(base, ident, context)
    return base


def field_of(base: Expr, ident: Ident, context: BindContext) -> Expr:
    """``base.field`` of a struct."""
    if is_unknown(base):
        return base
    if not isinstance(base.type, Struct):
        return context.error(
            "SQ0208", f"`{ident.text}` is asked of {with_article(base.type)}, which has no fields", ident.span,
            label="not a STRUCT",
        )
    type_ = base.type.field(ident.text)
    if type_ is None:
        return context.error(
            "SQ0208", f"the struct has no field `{ident.text}`", ident.span, label="not found",
            help=did_you_mean(ident.text, [n for n, _ in base.type.fields])
            or "it has " + ", ".join(f"`{n}`" for n, _ in base.type.fields[:12]),
        )
    return FieldOf(operand=base, name=ident.text, type=type_, origin=base.origin.merge(ident.span))
