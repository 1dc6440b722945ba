"""Typed expressions, mostly over doubles, that are made by the compiler rather than by users."""

from __future__ import annotations

from streamq.compiler.ir.expr import COUNTS, AggCall, Call, Cast, Expr, Literal, Op
from streamq.dsl.source import NO_SPAN, Span
from streamq.dsl.types import DOUBLE, Type
from streamq.stdlib.functions import FUNCTIONS
from streamq.stdlib.functions.sketch_parts import PARTS
from streamq.stdlib.signatures import Signature, match_call


def number(value: float) -> Literal:
    return Literal(value=float(value), type=DOUBLE, nullable=False)


def op(symbol: str, *args: Expr) -> Op:
    """An arithmetic operator over doubles."""
    return Op(op=symbol, args=args, type=DOUBLE, nullable=any(arg.nullable for arg in args))


def call(name: str, *args: Expr) -> Call:
    """A function of the library; its arguments have the types of one of its declarations."""
    matched = match_call(FUNCTIONS[name], tuple(arg.type for arg in args))
    assert isinstance(matched, Signature), matched
    return Call(function=name, args=args, spec=matched.spec, type=matched.result)


def cast(value: Expr, type_: Type) -> Expr:
    """The value in a type; as it is where it has it."""
    if value.type == type_:
        return value
    return Cast(operand=value, type=type_, nullable=value.nullable, origin=value.origin)


def aggregate(name: str, args: tuple[Expr, ...], condition: Expr | None = None, origin: Span = NO_SPAN) -> AggCall:
    """An aggregate of the library, or one behind estimates; its arguments have the types of one of its declarations."""
    spec = PARTS.get(name) or FUNCTIONS[name]
    matched = match_call(spec, tuple(arg.type for arg in args))
    assert isinstance(matched, Signature), matched
    return AggCall(
        function=name, args=args, spec=matched.spec, filter=condition, type=matched.result, nullable=name not in COUNTS, origin=origin,
    )


def total(value: Expr, condition: Expr | None) -> AggCall:
    """The SUM of doubles over the rows that meet a condition."""
    return aggregate("SUM", (value,), condition)
