"""The groups of a SELECT block: how its expressions are told in keys, aggregates and values beside them."""

from __future__ import annotations

from collections.abc import Iterable

from streamq.compiler.binder.context import BindContext, unknown
from streamq.compiler.ir import expr as ir
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.expr import Column, Expr
from streamq.compiler.ir.rewrite import is_window_field
from streamq.dsl.records import dataclass, field
from streamq.dsl.source import Span


@dataclass
class Groups:
    """The keys and aggregates of a grouped block, and how expressions are told in them."""

    keys: tuple[tuple[str, Expr], ...]
    context: BindContext
    schema: tuple[lg.Field, ...]
    is_complete: bool = True
    """False where a key could not be bound: what else is not grouped is then anyone's guess."""
    aggregates: dict[ir.AggCall, str] = field(default_factory=dict)
    hints: dict[ir.AggCall, str] = field(default_factory=dict)
    beside: frozenset[str] = frozenset()
    """Columns that stand beside the groups: those of subqueries."""
    reported: set[Span] = field(default_factory=set)

    def rewrite(self, bound: Expr, clause: str) -> Expr:
        """The expression over the group's columns; reports columns that are not grouped."""
        return ir.transform(bound, lambda e: self._rewrite_one(e, clause))

    def _rewrite_one(self, e: Expr, clause: str) -> Expr | None:
        if isinstance(e, Column) and e.name in self.beside:
            return e
        for name, key in self.keys:
            if e == key:
                return Column(name=name, type=key.type, nullable=key.nullable, origin=e.origin)
        if isinstance(e, ir.AggCall):
            name = self.aggregates.setdefault(e, self._name_for(e))
            return Column(name=name, type=e.type, nullable=e.nullable, origin=e.origin)
        if isinstance(e, Column) and not is_window_field(e, self.schema):
            if not self.is_complete or e.origin in self.reported:
                return unknown(e.origin)
            self.reported.add(e.origin)
            shown = e.name.rpartition(".")[2]
            return self.context.error(
                "SQ0403", f"`{shown}` in {clause} is neither grouped nor aggregated", e.origin,
                label="which row's value?",
                help=f"add `{shown}` to GROUP BY, or take MAX(`{shown}`), FIRST(`{shown}`), …",
            )
        return None

    def _name_for(self, e: ir.AggCall) -> str:
        taken = {n for n, _ in self.keys} | set(self.aggregates.values())
        base = self.hints.get(e, e.function.lower())
        return unique_name(base, taken)


def unique_name(base: str, taken: Iterable[str]) -> str:
    """``base``, or ``base_2``, ``base_3``, … if it is taken (case does not count)."""
    return TakenNames(taken).free(base)


class TakenNames:
    """The names that stand already, for lists that grow long: each is looked at once."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._folded = {name.casefold() for name in names}
        self._tried: dict[str, int] = {}

    def __contains__(self, name: str) -> bool:
        return name.casefold() in self._folded

    def add(self, *names: str) -> None:
        self._folded.update(name.casefold() for name in names)

    def free(self, base: str) -> str:
        """What ``unique_name`` gives."""
        if base not in self:
            return base
        n = self._tried.get(base.casefold(), 2)
        while f"{base}_{n}" in self:
            n += 1
        self._tried[base.casefold()] = n
        return f"{base}_{n}"
