"""What each operator does with two values, by the types of its operands. NULL in, NULL out."""

from __future__ import annotations

import decimal
import math
import operator
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP
from typing import Any

from streamq.dsl.types import (
    DATE,
    DOUBLE,
    FLOAT,
    INTERVAL,
    TIMESTAMP,
    Array,
    Decimal,
    Struct,
    Type,
    is_integer,
)
from streamq.runtime.reference.facts import sort_key
from streamq.runtime.reference.numbers import MANY_DIGITS, MAX_SCALE, finisher, to_type

Binary = Callable[[Any, Any], Any]
"""A function of two values that are not NULL."""

_COMPARISONS: dict[str, Binary] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt,
    "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}


def comparison(op: str, t: Type) -> Binary:
    """``= <> < <= > >=`` over values of one type. NaN equals NaN and is the largest number."""
    plain = _COMPARISONS[op]
    if has_plain_order(t):
        return plain
    return lambda a, b: plain(sort_key(a), sort_key(b))


def has_plain_order(t: Type) -> bool:
    """True where Python orders two values that are not NULL as Spark does."""
    return not (t in (FLOAT, DOUBLE) or isinstance(t, Array | Struct))


def equality(t: Type) -> Callable[[object], object]:
    """The key by which two values of a type, NULL included, are the same."""
    return (lambda v: v) if has_plain_order(t) else sort_key


def arithmetic(op: str, left: Type, right: Type, result: Type) -> Binary:
    """``+ - * / % DIV`` as Spark computes them without ansi mode; x/0 is NULL."""
    if result in (TIMESTAMP, DATE, INTERVAL):
        return _temporal(op, left, right)
    function = _decimal(op) if isinstance(result, Decimal) else _NUMBERS[op, is_integer(result)]
    finish = finisher(result)
    bring_left, bring_right = to_type(left, result), to_type(right, result)

    def compute(a: Any, b: Any) -> Any:
        if bring_left is not None:
            a = bring_left(a)
        if bring_right is not None:
            b = bring_right(b)
        found = function(a, b)
        return None if found is None else finish(found)

    return compute


def negation(t: Type) -> Callable[[Any], Any]:
    """Unary minus; the smallest whole number stays what it is."""
    if t == INTERVAL:
        return operator.neg
    if isinstance(t, Decimal):
        return lambda v: v.copy_negate() if v else v
    finish = finisher(t)
    return lambda v: finish(-v)


def quotient(a: int, b: int) -> int | None:
    """Division that cuts towards zero."""
    if b == 0:
        return None
    whole = abs(a) // abs(b)
    return whole if (a < 0) == (b < 0) else -whole


def _whole_remainder(a: int, b: int) -> int | None:
    if b == 0:
        return None
    rest = abs(a) % abs(b)
    return -rest if a < 0 else rest


def _divide(a: float, b: float) -> float | None:
    return a / b if b else None


def float_remainder(a: float, b: float) -> float | None:
    """The remainder with the sign of the first; NaN of an infinite one."""
    if b == 0:
        return None
    return math.nan if math.isinf(a) else math.fmod(a, b)


_NUMBERS: dict[tuple[str, bool], Binary] = {
    ("+", True): operator.add, ("+", False): operator.add,
    ("-", True): operator.sub, ("-", False): operator.sub,
    ("*", True): operator.mul, ("*", False): operator.mul,
    ("/", False): _divide, ("DIV", True): quotient,
    ("%", True): _whole_remainder, ("%", False): float_remainder,
}
"""By operator, and whether the result is a whole number."""

_LAST_DIGIT = decimal.Decimal(1).scaleb(-MAX_SCALE - 1)


def _decimal(op: str) -> Binary:
    match op:
        case "+":
            return MANY_DIGITS.add
        case "-":
            return MANY_DIGITS.subtract
        case "*":
            return MANY_DIGITS.multiply
        case "/":
            return decimal_quotient
        case _:
            return lambda a, b: MANY_DIGITS.remainder(a, b) if b else None


def decimal_quotient(a: decimal.Decimal, b: decimal.Decimal) -> decimal.Decimal | None:
    """Rounded to 39 digits after the point before it is brought to its type, as in Spark."""
    if not b:
        return None
    return MANY_DIGITS.divide(a, b).quantize(_LAST_DIGIT, ROUND_HALF_UP, MANY_DIGITS)


def _temporal(op: str, left: Type, right: Type) -> Binary:
    if INTERVAL in (left, right) or (left == TIMESTAMP and right == TIMESTAMP):
        plain = operator.add if op == "+" else operator.sub
        return lambda a, b: _or_null(plain, _moment(a), _moment(b))
    sign = 1 if op == "+" else -1
    return lambda a, b: _or_null(operator.add, a, timedelta(days=sign * b))


def _moment(value: Any) -> Any:
    """A date is its first moment."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime.combine(value, time())
    return value


def _or_null(plain: Binary, a: Any, b: Any) -> Any:
    try:
        return plain(a, b)
    except OverflowError:
        return None
