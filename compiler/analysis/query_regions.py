"""Which rows of a stream a query may want: the tests on the way from the stream, as ranges of some of its columns.

Tests stand as near to the stream as they can (``passes/push_predicates.py``), through views, joins and computed columns.
What is no range, as ``f(x) > y``, is a test that any row may pass: that protects rows that need not be kept, and loses
none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from streamq.compiler.analysis.turned_back import MIRRORED, Attributes, constant, turned_back
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.expr import Cast, Column, Expr, InList, Literal, Op
from streamq.compiler.ir.rewrite import walk
from streamq.dsl.types import STRING, Chars
from streamq.stdlib.sifters.predicates import (
    NEGATED,
    Both,
    Compare,
    Either,
    Everywhere,
    Operator,
    Predicate,
)

OPERATORS: dict[str, Operator] = {"<": "<", "<=": "<=", ">": ">", ">=": ">=", "=": "=", "<>": "!="}

NOWHERE = Either(())


def wanted_rows(root: lg.Logical, shedder: lg.Shed, attributes: Attributes) -> Predicate:
    """What holds for each row above a shedder that the query may want, on any of the ways to its results."""
    return _any_of([_all_of([predicate_of(t, attributes) for t in tests]) for tests in _ways(root, shedder)])


def wanted_of(root: lg.Logical, stream: str, attributes: Attributes) -> Predicate:
    """The same of the rows of a stream as its source gives them."""
    scans = [n for n in walk(root) if isinstance(n, lg.Scan) and n.source.name == stream]
    ways = [tests for scan in scans for tests in _ways(root, scan)]
    return _any_of([_all_of([predicate_of(t, attributes) for t in tests]) for tests in ways])


def _all_of(parts: Iterable[Predicate]) -> Predicate:
    flat = [one for part in parts for one in (part.parts if isinstance(part, Both) else (part,))]
    some = tuple(dict.fromkeys(one for one in flat if one != Everywhere()))
    if NOWHERE in some:
        return NOWHERE
    return Both(some) if len(some) > 1 else some[0] if some else Everywhere()


def _any_of(parts: Iterable[Predicate]) -> Predicate:
    flat = [one for part in parts for one in (part.parts if isinstance(part, Either) else (part,))]
    some = tuple(dict.fromkeys(flat))
    if Everywhere() in some:
        return Everywhere()
    return some[0] if len(some) == 1 else Either(some)


def _ways(root: lg.Logical, end: lg.Logical) -> Iterator[tuple[Expr, ...]]:
    """The tests directly above an operator, for each one that reads them; what only passes rows on may stand between."""
    seen: set[int] = set()
    stack: list[tuple[lg.Logical, tuple[Expr, ...]]] = [(root, ())]
    while stack:
        node, tests = stack.pop()
        if node is end:
            yield tests
        elif isinstance(node, lg.Filter):
            stack.append((node.input, (*tests, node.predicate)))
        elif _passes_on(node):
            stack.append((node.inputs[0], tests))
        elif id(node) not in seen:
            seen.add(id(node))
            stack.extend((below, ()) for below in node.inputs)


def _passes_on(node: lg.Logical) -> bool:
    """Whether the columns above an operator are those of its input, and its rows are too."""
    if isinstance(node, lg.Project):
        return all(isinstance(e, Column) and e.name == name for name, e in node.items)
    return isinstance(node, lg.Watermark)


def predicate_of(expr: Expr, attributes: Attributes, *, negated: bool = False) -> Predicate:
    """The rows for which a test, or its negation, may hold."""
    match expr:
        case Op(op="NOT", args=(part,)):
            return predicate_of(part, attributes, negated=not negated)
        case Op(op="AND" | "OR" as op, args=parts):
            made = [predicate_of(p, attributes, negated=negated) for p in parts]
            return _all_of(made) if (op == "AND") != negated else _any_of(made)
        case Op(op=op, args=(left, right)) if op in OPERATORS:
            return _compared(left, NEGATED[OPERATORS[op]] if negated else OPERATORS[op], right, attributes)
        case InList(operand=operand, items=items):
            made = [_compared(operand, "!=" if negated else "=", item, attributes) for item in items]
            return _all_of(made) if negated else _any_of(made)
        case Literal(value=bool() as value):
            return NOWHERE if value == negated else Everywhere()
        case Literal(value=None):
            return NOWHERE
        case _:
            return Everywhere()


def _compared(left: Expr, op: Operator, right: Expr, attributes: Attributes) -> Predicate:
    if constant(right) is None:
        left, op, right = right, MIRRORED[op], left
    value = constant(right)
    if value is None:
        return Everywhere()
    if isinstance(value, str):
        text = _text(left)
        attribute = None if text is None else attributes.get(text.name)
        return Everywhere() if attribute is None else Compare(attribute.place, op, value)
    return turned_back(left, op, value, attributes)


def _text(expr: Expr) -> Column | None:
    """The column whose text is compared; that of a VARCHAR is compared as it is."""
    match expr:
        case Column():
            return expr
        case Cast(operand=Column(type=Chars(name="VARCHAR")) as column) if expr.type == STRING:
            return column
        case _:
            return None
