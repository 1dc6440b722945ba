"""Constant arguments as Python values, where the plan itself must know them and not only Spark."""

from __future__ import annotations

from streamq.compiler.ir.expr import Call, Cast, Expr, Literal, Op
from streamq.compiler.lowering.state import refuse
from streamq.dsl.types import DOUBLE, FLOAT, Array, Decimal, Type, is_integer

Constant = str | int | float | None | tuple["Constant", ...]


def constant(expr: Expr) -> Constant:
    """The value of a number, a text, or an ``ARRAY(…)`` of them; refused where it must be computed first."""
    match expr:
        case Literal(value=str() as text) if isinstance(expr.type, Decimal):
            return float(text)
        case Literal(value=str() | int() | float() | None as value):
            return value
        case Op(op="NEG", args=(operand,)):
            number = constant(operand)
            return -number if isinstance(number, int | float) else number
        case Op(op="||", args=(left, right)):
            parts = (constant(left), constant(right))
            return None if None in parts else "".join(map(str, parts))
        case Call(function="ARRAY", args=args):
            return tuple(constant(arg) for arg in args)
        case Cast(operand=operand) if _keeps_the_value(operand.type, expr.type):
            return constant(operand)
        case _:
            raise refuse("this argument must be a plain constant over a window that moves",
                         expr.origin, "write the value itself")


def _keeps_the_value(old: Type, new: Type) -> bool:
    match old, new:
        case Array(), Array():
            return _keeps_the_value(old.element, new.element)
        case _:
            numbers = is_integer(old) or isinstance(old, Decimal) or old in (FLOAT, DOUBLE)
            return old == new or (numbers and (new == DOUBLE or _holds(old, new)))


def _holds(old: Type, new: Type) -> bool:
    """Whether the cast only makes room, which a number does not show."""
    if isinstance(old, Decimal) and isinstance(new, Decimal):
        return new.scale >= old.scale and new.precision - new.scale >= old.precision - old.scale
    return is_integer(old) and (is_integer(new) or isinstance(new, Decimal))
