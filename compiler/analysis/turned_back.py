"""From a comparison of what is computed of a column to a range of the column itself, which holds no row less.

Where arithmetic rounds the range is a little wider; where whole numbers may overflow, rows that could are in it too.
What may lose digits, as a cast to a narrower type, is not turned back.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping

from streamq.compiler.ir.expr import Cast, Column, Expr, Literal, Op
from streamq.dsl.records import dataclass
from streamq.dsl.types import (
    BIGINT,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TINYINT,
    Chars,
    Decimal,
    Type,
    is_integer,
    is_numeric,
)
from streamq.stdlib.sifters.predicates import Both, Compare, Either, Everywhere, Operator, Predicate

ROUNDING = 1e-9
"""A bound that was worked out by rounding is moved outwards by so much of the largest number on the way."""

EXACT = 2.0**51
"""Whole numbers below this, and the middles between them, are exact as floats."""

NO_BOUNDS = (-math.inf, math.inf)

BITS: dict[Type, int] = {TINYINT: 8, SMALLINT: 16, INT: 32, BIGINT: 64}
DIGITS: dict[Type, int] = {TINYINT: 3, SMALLINT: 5, INT: 10, BIGINT: 19}

MIRRORED: dict[Operator, Operator] = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column of the stream: its place among those that are sifted by, and its type."""

    place: int
    type: Type

    @property
    def whole(self) -> bool:
        return is_integer(self.type)


Attributes = Mapping[str, Attribute]


@dataclass(frozen=True, slots=True)
class _Step:
    """An operation on one value and a constant. ``before``: what the value was, for what came of it.

    ``mirrored``: the order is turned around. ``exact``: nothing is rounded. ``largest``: the constant, if there is one.
    ``safe``: whole numbers outside of these overflow.
    """

    operand: Expr
    before: Callable[[float], float]
    mirrored: bool = False
    exact: bool = True
    largest: float = 0.0
    safe: tuple[float, float] = NO_BOUNDS


def turned_back(expr: Expr, op: Operator, value: float, attributes: Attributes) -> Predicate:
    """The rows for which a number compares so; all rows where that cannot be told of one of the attributes."""
    exact, largest, turned = True, abs(value), False
    overflows = NO_BOUNDS
    while not isinstance(expr, Column):
        step = _step(expr)
        if step is None or not math.isfinite(value):
            return Everywhere()
        expr, value = step.operand, step.before(value)
        op = MIRRORED[op] if step.mirrored else op
        exact, turned = exact and step.exact, turned or step.mirrored
        largest, overflows = max(largest, step.largest, abs(value)), step.safe if step.safe != NO_BOUNDS else overflows
    attribute = attributes.get(expr.name)
    if attribute is None or not is_numeric(attribute.type) or not math.isfinite(value):
        return Everywhere()
    found = _range(attribute, op, value, exact and largest < EXACT, ROUNDING * max(largest, 1.0))
    place = attribute.place
    others: list[Predicate] = []
    low, high = overflows
    if math.isfinite(low):
        others.append(Compare(place, "<=", low + ROUNDING * abs(low)))
    if math.isfinite(high):
        others.append(Compare(place, ">=", high - ROUNDING * abs(high)))
    if turned and op in ("<", "<=") and attribute.type in (FLOAT, DOUBLE):
        # NaN is above all numbers, and so is what is computed of it.
        others.append(Compare(place, ">=", sys.float_info.max))
    return Either((found, *others)) if others else found


def _range(attribute: Attribute, op: Operator, value: float, exact: bool, margin: float) -> Predicate:
    place, whole = attribute.place, attribute.whole
    if exact and not isinstance(attribute.type, Decimal):
        return Compare(place, op, value, whole)
    above, below = Compare(place, ">=", value - margin, whole), Compare(place, "<=", value + margin, whole)
    match op:
        case "=":
            return Both((above, below))
        case "!=":
            return Everywhere()
        case "<" | "<=":
            return below
        case _:
            return above


def _step(expr: Expr) -> _Step | None:
    match expr:
        case Cast(operand=operand) if _keeps(operand.type, expr.type):
            rounds = operand.type == BIGINT or isinstance(operand.type, Decimal)
            return _Step(operand, lambda v: v, exact=not rounds or is_integer(expr.type))
        case Op(op="NEG", args=(operand,)) if expr.type in (DOUBLE, FLOAT):
            return _Step(operand, lambda v: -v, mirrored=True)
        case Op(op="NEG", args=(operand,)) if is_integer(expr.type) and _is_column(operand):
            most = _most(expr.type)
            return _Step(operand, lambda v: -v, mirrored=True, safe=_outside(operand.type, -most, most + 1))
        case Op(op="+" | "-" | "*" | "/" as op, args=(left, right)) if expr.type == DOUBLE or is_integer(expr.type):
            first, second = constant(left), constant(right)
            made = None
            if isinstance(second, float) and is_numeric(left.type):
                made = _by_second(op, left, second, expr.type)
            elif isinstance(first, float) and is_numeric(right.type):
                made = _by_first(op, first, right, expr.type)
            # More than one operation on whole numbers could overflow more than once.
            return made if made is None or expr.type == DOUBLE or _is_column(made.operand) else None
        case _:
            return None


def _by_second(op: str, left: Expr, by: float, made: Type) -> _Step | None:
    whole, most = is_integer(made), _most(made)
    match op:
        case "+":
            safe = _outside(left.type, -most - by, most - by) if whole else NO_BOUNDS
            return _Step(left, lambda v: v - by, False, whole, abs(by), safe)
        case "-":
            safe = _outside(left.type, -most + by, most + by) if whole else NO_BOUNDS
            return _Step(left, lambda v: v + by, False, whole, abs(by), safe)
        case "*" if by:
            return _times(left, by, made)
        case "/" if by and not whole:
            return _Step(left, lambda v: v * by, by < 0, False, abs(by))
        case _:
            return None


def _by_first(op: str, by: float, right: Expr, made: Type) -> _Step | None:
    whole, most = is_integer(made), _most(made)
    match op:
        case "+":
            return _by_second("+", right, by, made)
        case "-":
            safe = _outside(right.type, by - most, by + most) if whole else NO_BOUNDS
            return _Step(right, lambda v: by - v, True, whole, abs(by), safe)
        case "*" if by:
            return _times(right, by, made)
        case _:
            return None


def _times(operand: Expr, by: float, made: Type) -> _Step:
    most = _most(made) / abs(by)
    safe = _outside(operand.type, -most, most) if is_integer(made) else NO_BOUNDS
    return _Step(operand, lambda v: v / by, by < 0, False, abs(by), safe)


def _outside(source: Type, low: float, high: float) -> tuple[float, float]:
    """The bounds outside of which an operation overflows; infinite where no value of that type lies there."""
    most = _most(source)
    return low if low > -most - 1 else -math.inf, high if high < most else math.inf


def _most(integer: Type) -> float:
    """The largest number of a whole type."""
    return 2.0 ** (BITS[integer] - 1) - 1 if integer in BITS else math.inf


def _is_column(expr: Expr) -> bool:
    return isinstance(expr, Column) or (isinstance(expr, Cast) and isinstance(expr.operand, Column))


def _keeps(source: Type, target: Type) -> bool:
    """True where a cast changes no number, but for the last digits of a float of 64 bits."""
    if is_integer(source):
        if isinstance(target, Decimal):
            return target.precision - target.scale >= DIGITS[source]
        return target == DOUBLE or (is_integer(target) and BITS[target] >= BITS[source])
    if isinstance(source, Decimal):
        if isinstance(target, Decimal):
            return target.scale >= source.scale and target.precision - target.scale >= source.precision - source.scale
        return target == DOUBLE
    return source == target or (source == FLOAT and target == DOUBLE)


def constant(expr: Expr) -> float | str | None:
    """The number or text of a constant; None for anything else."""
    match expr:
        case Literal(value=bool() | None):
            return None
        case Literal(value=int() | float() as value):
            return float(value)
        case Literal(value=str() as value) if is_numeric(expr.type):
            return float(value)
        case Literal(value=str() as value) if expr.type == STRING or isinstance(expr.type, Chars):
            return value
        case Op(op="NEG", args=(operand,)):
            inner = constant(operand)
            return -inner if isinstance(inner, float) else None
        case Cast(operand=operand) if _keeps(operand.type, expr.type):
            return constant(operand)
        case _:
            return None
