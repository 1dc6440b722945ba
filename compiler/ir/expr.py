"""Typed expressions. A column is named by its field in the input's schema; equality ignores spans."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from streamq.dsl.records import dataclass, field, replace
from streamq.dsl.source import NO_SPAN, Span
from streamq.dsl.types import BOOLEAN, Type
from streamq.stdlib.registry import FunctionSpec

WINDOW_START = "WINDOW_START"
WINDOW_END = "WINDOW_END"
WINDOW_FIELDS = (WINDOW_START, WINDOW_END)
"""Pseudo-columns of every relation under a sliding, tumbling or session window."""

WEIGHT = "__weight"
"""The column that says for how many rows a kept one stands, where a later pass asks for it."""

Value = str | int | float | bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Expr:
    """Base: a value per row, of one static type."""

    type: Type
    nullable: bool = True
    origin: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Column(Expr):
    """A field of the input's schema."""

    name: str


@dataclass(frozen=True, slots=True)
class Literal(Expr):
    """A constant. Decimals, timestamps and dates are kept as text, intervals as milliseconds."""

    value: Value


@dataclass(frozen=True, slots=True)
class Op(Expr):
    """An operator: ``+ - * / % DIV || = <> < <= > >= AND OR NOT NEG`` over its operands."""

    op: str
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Cast(Expr):
    operand: Expr


@dataclass(frozen=True, slots=True)
class Case(Expr):
    """``CASE WHEN c THEN r … ELSE d END``; the simple form is rewritten into comparisons."""

    whens: tuple[tuple[Expr, Expr], ...]
    default: Expr | None


@dataclass(frozen=True, slots=True)
class Like(Expr):
    """``kind`` is LIKE or RLIKE."""

    operand: Expr
    pattern: Expr
    kind: str


@dataclass(frozen=True, slots=True)
class IsNull(Expr):
    operand: Expr


@dataclass(frozen=True, slots=True)
class InList(Expr):
    operand: Expr
    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class FieldOf(Expr):
    operand: Expr
    name: str


@dataclass(frozen=True, slots=True)
class Index(Expr):
    """``array[i]`` (0-based; NULL outside) or ``map[key]``."""

    operand: Expr
    index: Expr


@dataclass(frozen=True, slots=True)
class Call(Expr):
    """A scalar function of ``stdlib`` by its upper-case name; ``spec`` is the overload that matched."""

    function: str
    args: tuple[Expr, ...]
    spec: FunctionSpec = field(compare=False, repr=False)


COUNTS = frozenset({"COUNT", "COUNT_IF", "APPROX_COUNT_DISTINCT", "REGR_COUNT"})
"""Aggregates that are 0 over no rows, and never NULL."""


@dataclass(frozen=True, slots=True)
class Udf(Expr):
    """A Python function that the program declared."""

    function: str
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class AggCall(Expr):
    """An aggregate over the rows of a group; ``COUNT(*)`` has no arguments.

    An aggregate by event time (``spec.event_time``) has the timestamp as its last argument.
    """

    function: str
    args: tuple[Expr, ...]
    spec: FunctionSpec = field(compare=False, repr=False)
    distinct: bool = False
    filter: Expr | None = None


@dataclass(frozen=True, slots=True)
class Quality(Expr):
    """``COMPLETENESS()``, ``KEPT()``, …: how much stands behind a result.

    ``view``: the control relation that knows it; empty where nobody does.
    """

    function: str
    view: str = ""


COUNTED_MEASURES = frozenset({"COMPLETENESS", "KEPT", "SHED"})
"""Those that follow from counting the rows behind a result; the others are known to the controller."""


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct parts of an expression, in order."""
    match expr:
        case Column() | Literal() | Quality():
            return ()
        case Op() | Call() | Udf():
            return expr.args
        case Cast() | IsNull() | FieldOf():
            return (expr.operand,)
        case Case():
            parts = tuple(part for when in expr.whens for part in when)
            return parts if expr.default is None else (*parts, expr.default)
        case Like():
            return (expr.operand, expr.pattern)
        case InList():
            return (expr.operand, *expr.items)
        case Index():
            return (expr.operand, expr.index)
        case AggCall():
            return expr.args if expr.filter is None else (*expr.args, expr.filter)
        case _:
            raise TypeError(f"not an expression: {type(expr).__name__}")


def with_children(expr: Expr, parts: tuple[Expr, ...]) -> Expr:
    """The same expression over other parts, given in the order of ``children``."""
    match expr:
        case Column() | Literal() | Quality():
            return expr
        case Op() | Call() | Udf():
            return replace(expr, args=parts)
        case Cast() | IsNull() | FieldOf():
            return replace(expr, operand=parts[0])
        case Case():
            n = len(expr.whens)
            whens = tuple((parts[2 * i], parts[2 * i + 1]) for i in range(n))
            return replace(expr, whens=whens, default=parts[2 * n] if len(parts) > 2 * n else None)
        case Like():
            return replace(expr, operand=parts[0], pattern=parts[1])
        case InList():
            return replace(expr, operand=parts[0], items=parts[1:])
        case Index():
            return replace(expr, operand=parts[0], index=parts[1])
        case AggCall():
            if expr.filter is None:
                return replace(expr, args=parts)
            return replace(expr, args=parts[:-1], filter=parts[-1])
        case _:
            raise TypeError(f"not an expression: {type(expr).__name__}")


def transform(expr: Expr, rewrite: Callable[[Expr], Expr | None]) -> Expr:
    """Rewrites top-down: where ``rewrite`` returns an expression it stands, else its parts go on."""
    done = rewrite(expr)
    if done is not None:
        return done
    parts = children(expr)
    new = tuple(transform(part, rewrite) for part in parts)
    same = all(a is b for a, b in zip(parts, new, strict=True))
    return expr if same else with_children(expr, new)


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and all its parts, outermost first."""
    stack = [expr]
    while stack:
        top = stack.pop()
        yield top
        stack.extend(reversed(children(top)))


def columns_of(expr: Expr) -> frozenset[str]:
    """Names of the input's fields that the expression reads."""
    return frozenset(e.name for e in walk(expr) if isinstance(e, Column))


def conjuncts(expr: Expr | None) -> tuple[Expr, ...]:
    """The parts of a conjunction; none for None."""
    if expr is None:
        return ()
    if isinstance(expr, Op) and expr.op == "AND":
        return tuple(c for arg in expr.args for c in conjuncts(arg))
    return (expr,)


def conjunction(parts: tuple[Expr, ...]) -> Expr | None:
    """``a AND b AND …`` as one flat node; None for no parts."""
    if len(parts) < 2:
        return parts[0] if parts else None
    origin = parts[0].origin
    for part in parts[1:]:
        origin = origin.merge(part.origin)
    nullable = any(p.nullable for p in parts)
    return Op(op="AND", args=parts, type=BOOLEAN, nullable=nullable, origin=origin)


def is_deterministic(expr: Expr) -> bool:
    """False where the expression may give another value for the same row."""
    return all(e.spec.deterministic for e in walk(expr) if isinstance(e, Call))
