"""Typed expressions over doubles, made by passes rather than by users."""

from __future__ import annotations

from streamq.compiler.ir.expr import AggCall, Call, Cast, Expr, Literal, Op
from streamq.dsl.types import DOUBLE, Type
from streamq.stdlib.functions import FUNCTIONS
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


def total(value: Expr, condition: Expr | None) -> AggCall:
    """The SUM of doubles over the rows that meet a condition."""
    matched = match_call(FUNCTIONS["SUM"], (DOUBLE,))
    assert isinstance(matched, Signature), matched
    return AggCall(function="SUM", args=(value,), spec=matched.spec, filter=condition, type=DOUBLE)
