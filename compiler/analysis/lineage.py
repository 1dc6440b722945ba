"""Which columns of a stream a query reads, and which of them decide on its rows.

A column decides where a value in its place could add or take away a row: in a test, a key, a window, a comparison of whole
rows; and where NULL in its place would not be seen, as in ``CASE WHEN x > 3 THEN 1 ELSE 0 END``. What is only shown or added up does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.expr import Call, Case, Expr, IsNull, Udf, columns_of
from streamq.compiler.ir.expr import walk as walk_expr
from streamq.compiler.ir.rewrite import ranked_by, walk
from streamq.dsl.records import dataclass, field

Names = frozenset[str]
NONE: Names = frozenset()

PICKING = frozenset({"MAX_BY", "ARG_MAX", "MIN_BY", "ARG_MIN"})
"""Aggregates that take the row in which their second argument is largest or least."""


@dataclass(frozen=True, slots=True)
class Uses:
    """Columns of a stream: those that are ``read``, and of them those that ``decide``."""

    read: Names
    decide: Names


def uses_of(root: lg.Logical, stream: str) -> Uses:
    """What a plan without unneeded columns does with those of a stream."""
    flow = _Flow(stream)
    for node in walk(root):
        flow.columns[id(node)] = flow.through(node)
    return Uses(frozenset(flow.read), frozenset(flow.decide))


@dataclass(slots=True)
class _Flow:
    """``columns``: of each operator, by its id: from which columns of the stream each of its own is made."""

    stream: str
    columns: dict[int, dict[str, Names]] = field(default_factory=dict)
    read: set[str] = field(default_factory=set)
    decide: set[str] = field(default_factory=set)

    def through(self, node: lg.Logical) -> dict[str, Names]:
        """The columns of an operator whose inputs are done."""
        match node:
            case lg.Scan():
                own = node.source.name == self.stream
                return {f.name: frozenset({f.name}) if own else NONE for f in node.schema}
            case lg.Project():
                below = self.columns[id(node.input)]
                self._decides(below, _hides_null(e for _, e in node.items))
                made = {name: _of(below, columns_of(e)) for name, e in node.items}
                if isinstance(node.input, lg.Scan):
                    self.read.update(*made.values())
                return made
            case lg.Join():
                both = {**self._whole(node.left), **self._whole(node.right)}
                self._decides(both, () if node.condition is None else columns_of(node.condition))
                return both
            case lg.Union():
                branches = [self._whole(b) for b in node.branches]
                return {
                    f.name: NONE.union(*(list(b.values())[i] for b in branches)) for i, f in enumerate(node.schema)
                }
            case lg.Compare():
                sides = [self._whole(side) for side in node.inputs]
                for side in sides:
                    self._decides(side, side)
                return {f.name: NONE.union(*(list(s.values())[i] for s in sides)) for i, f in enumerate(node.schema)}
            case lg.Aggregate():
                return self._grouped(node)
        below = self._whole(node.inputs[0])
        self._decides(below, _deciding(node))
        return below

    def _grouped(self, node: lg.Aggregate) -> dict[str, Names]:
        below = self._whole(node.input)
        made: dict[str, Names] = {}
        for name, key in node.keys:
            self._decides(below, columns_of(key))
            made[name] = _of(below, columns_of(key))
        for name, call in node.aggregates:
            if call.filter is not None:
                self._decides(below, columns_of(call.filter))
            self._decides(below, _hides_null(call.args))
            if call.function in PICKING:
                self._decides(below, _columns(call.args[1:]))
            made[name] = _of(below, _columns(call.args))
        return made

    def _whole(self, node: lg.Logical) -> dict[str, Names]:
        """The columns of an operator; a scan that nothing narrows is read whole."""
        found = self.columns[id(node)]
        if isinstance(node, lg.Scan):
            self.read.update(*found.values())
        return found

    def _decides(self, below: Mapping[str, Names], names: Iterable[str]) -> None:
        self.decide |= _of(below, names)


def _deciding(node: lg.Logical) -> Iterable[str]:
    """The columns of its input by which an operator takes rows, or tells them apart."""
    match node:
        case lg.Filter():
            return columns_of(node.predicate)
        case lg.Sort():
            return _columns([item.expr for item in node.order])
        case lg.Watermark():
            return (node.column,)
        case lg.Shed():
            return (*node.keys, *ranked_by(node))
        case lg.Window(spec=lg.Session(partition=partition) | lg.LastRows(partition=partition)):
            return partition
        case lg.Distinct():
            return [f.name for f in node.schema]
        case lg.ToStream(input=below) if below.change is lg.Change.MOVING and any(isinstance(n, lg.Aggregate) for n in walk(below)):
            # A row appears, or leaves, when one of its values changes.
            return [f.name for f in below.schema]
        case _:
            return ()


def _hides_null(exprs: Iterable[Expr]) -> Names:
    """The columns whose NULL would be taken for something: in conditions of CASE, IS NULL, COALESCE and the like."""
    return NONE.union(*(_hidden(part) for e in exprs for part in walk_expr(e)))


def _hidden(part: Expr) -> Names:
    match part:
        case Case():
            return _columns(condition for condition, _ in part.whens)
        case IsNull(operand=operand):
            return columns_of(operand)
        case Udf():
            return _columns(part.args)
        case Call() if part.spec.null_safe:
            return _columns(part.args)
        case _:
            return NONE


def _columns(exprs: Iterable[Expr]) -> Names:
    return NONE.union(*(columns_of(e) for e in exprs))


def _of(below: Mapping[str, Names], names: Iterable[str]) -> Names:
    return NONE.union(*(below.get(name, NONE) for name in names))
