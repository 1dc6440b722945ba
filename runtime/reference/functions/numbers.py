"""Functions of numbers: rounding, division, powers, logarithms, angles."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_HALF_UP
from typing import Any

from streamq.compiler.ir.expr import Call
from streamq.dsl.types import FLOAT, Decimal, is_integer
from streamq.runtime.reference.functions.declare import Family, Function
from streamq.runtime.reference.numbers import (
    BITS,
    MANY_DIGITS,
    f32,
    finisher,
    in_range,
    rescale,
    saturate,
    wrap,
)
from streamq.runtime.reference.operators import arithmetic, negation

_f = Family()

_f.plain("POSITIVE")(lambda v: v)
_f.plain("SIGN SIGNUM")(lambda v: float(v) if v != v or v == 0 else math.copysign(1.0, v))
_f.plain("RINT")(lambda v: math.copysign(round(v), v) if math.isfinite(v) else v)
_f.plain("TRY_DIVIDE")(lambda a, b: a / b if b else None)
_f.plain("PI")(lambda: math.pi)
_f.plain("E")(lambda: math.e)
_f.plain("FACTORIAL")(lambda n: math.factorial(n) if 0 <= n <= 20 else None)
_f.plain("HYPOT")(math.hypot)
_f.plain("DEGREES")(math.degrees)
_f.plain("RADIANS")(math.radians)
_f.plain("ATAN2")(math.atan2)


@_f.typed("NEGATIVE")
def negative(call: Call) -> Function:
    return negation(call.type)


@_f.typed("ABS")
def abs_(call: Call) -> Function:
    if isinstance(call.type, Decimal):
        return lambda v: v.copy_abs()
    finish = finisher(call.type)
    return lambda v: finish(abs(v))


@_f.typed("CEIL CEILING")
def ceil(call: Call) -> Function:
    return _whole(call, math.ceil, ROUND_CEILING)


@_f.typed("FLOOR")
def floor(call: Call) -> Function:
    return _whole(call, math.floor, ROUND_FLOOR)


def _whole(call: Call, of_float: Callable[[float], int], mode: str) -> Function:
    match call.args[0].type, call.type:
        case Decimal(), Decimal() as result:
            return lambda v: rescale(v.quantize(decimal.Decimal(1), mode, MANY_DIGITS), result)
        case (argument, _) if is_integer(argument):
            return lambda v: v
        case _:
            return lambda v: saturate(float(of_float(v)) if math.isfinite(v) else v, 64)


@_f.typed("ROUND")
def round_(call: Call) -> Function:
    return _rounding(call, ROUND_HALF_UP)


@_f.typed("BROUND")
def bround(call: Call) -> Function:
    return _rounding(call, ROUND_HALF_EVEN)


def _rounding(call: Call, mode: str) -> Function:
    """Floats are rounded by the shortest digits of their value as DOUBLE, as in Spark."""
    t = call.type

    def rounded(v: decimal.Decimal, places: int) -> decimal.Decimal:
        return v.quantize(decimal.Decimal(1).scaleb(-places), mode, MANY_DIGITS)

    if isinstance(t, Decimal):
        return lambda v, places=0: rescale(rounded(v, min(places, t.scale)), t)
    if is_integer(t):
        bits = BITS[t]
        return lambda v, places=0: (
            v if places >= 0 else wrap(int(rounded(decimal.Decimal(v), max(places, -40))), bits)
        )

    def of_float(v: float, places: int = 0) -> float:
        if not math.isfinite(v) or places > 400:
            return v
        found = float(rounded(decimal.Decimal(repr(v)), max(places, -400)))
        return f32(found) if t == FLOAT else found

    return of_float


@_f.typed("MOD")
def mod(call: Call) -> Function:
    return arithmetic("%", call.args[0].type, call.args[1].type, call.type)


@_f.typed("PMOD")
def pmod(call: Call) -> Function:
    """The remainder r, or (r + b) % b where r is negative."""
    t = call.type
    remainder, finish = arithmetic("%", t, t, t), finisher(t)

    def positive(a: Any, b: Any) -> Any:
        rest = remainder(a, b)
        if rest is None or not rest < 0:
            return rest
        total = MANY_DIGITS.add(rest, b) if isinstance(t, Decimal) else finish(rest + b)
        return remainder(total, b)

    return positive


def _tried(call: Call, compute: Callable[[Any, Any], Any]) -> Function:
    """NULL where a whole number does not fit."""
    if is_integer(call.type):
        bits = BITS[call.type]
        return lambda a, b: found if in_range(found := compute(a, b), bits) else None
    finish = finisher(call.type)
    return lambda a, b: finish(compute(a, b))


_f.typed("TRY_ADD")(lambda call: _tried(call, lambda a, b: a + b))
_f.typed("TRY_SUBTRACT")(lambda call: _tried(call, lambda a, b: a - b))
_f.typed("TRY_MULTIPLY")(lambda call: _tried(call, lambda a, b: a * b))


def _real(name: str, compute: Callable[[float], float]) -> None:
    """A function of one DOUBLE: NaN outside of its domain, infinity where it grows too large."""

    def safe(v: float) -> float:
        try:
            return compute(v)
        except OverflowError:
            return math.inf
        except ValueError:
            return math.nan

    _f.plain(name)(safe)


for _name, _compute in {
    "SQRT": math.sqrt, "CBRT": math.cbrt, "EXP": math.exp, "EXPM1": math.expm1,
    "SIN": math.sin, "COS": math.cos, "TAN": math.tan, "ASIN": math.asin, "ACOS": math.acos,
    "ATAN": math.atan, "COSH": math.cosh, "TANH": math.tanh, "ACOSH": math.acosh,
    "SEC": lambda v: 1 / math.cos(v),
}.items():
    _real(_name, _compute)


def _inverse(v: float) -> float:
    return 1 / v if v else math.copysign(math.inf, v)


_real("COT", lambda v: _inverse(math.tan(v)))
_real("CSC", lambda v: _inverse(math.sin(v)))


@_f.plain("SINH")
def sinh(v: float) -> float:
    try:
        return math.sinh(v)
    except OverflowError:
        return math.copysign(math.inf, v)


@_f.plain("ASINH")
def asinh(v: float) -> float:
    return math.asinh(v)


@_f.plain("ATANH")
def atanh(v: float) -> float:
    if abs(v) == 1:
        return math.copysign(math.inf, v)
    return math.atanh(v) if abs(v) < 1 else math.nan


def _logarithm(log: Callable[[float], float], least: float = 0.0) -> Function:
    """NULL unless the value is above the least."""
    return lambda v: v if v != v else log(v) if v > least else None


_f.plain("LN")(_logarithm(math.log))
_f.plain("LOG2")(_logarithm(math.log2))
_f.plain("LOG10")(_logarithm(math.log10))
_f.plain("LOG1P")(_logarithm(math.log1p, -1.0))


@_f.plain("LOG")
def log(first: float, second: float | None = None) -> float | None:
    if second is None:
        return None if first <= 0 else math.log(first)
    if first <= 0 or second <= 0:
        return None
    above, below = math.log(second), math.log(first)
    if below == 0:
        return math.nan if above == 0 or above != above else math.copysign(math.inf, above)
    return above / below


@_f.plain("POWER POW")
def power(a: float, b: float) -> float:
    """As in Java: NaN of a negative base with a fraction, and of 1 to an infinite power."""
    if b != b or (abs(a) == 1 and math.isinf(b)):
        return math.nan
    odd = math.isfinite(b) and b == math.floor(b) and math.fmod(b, 2) != 0
    if a == 0 and b < 0:
        return math.copysign(math.inf, a) if odd else math.inf
    try:
        return math.pow(a, b)
    except OverflowError:
        return -math.inf if a < 0 and odd else math.inf
    except ValueError:
        return math.nan


@_f.plain("WIDTH_BUCKET")
def width_bucket(v: float, low: float, high: float, n: int) -> int | None:
    """The bounds may stand in either order; NULL where they are one, or n is not positive."""
    if n <= 0 or n == 2**63 - 1 or v != v or low == high or not (math.isfinite(low) and math.isfinite(high)):
        return None
    lower, upper = min(low, high), max(low, high)
    if low < high:
        if v < lower:
            return 0
        return n + 1 if v >= upper else int(n * (v - lower) / (upper - lower)) + 1
    if v > upper:
        return 0
    return n + 1 if v <= lower else int(n * (upper - v) / (upper - lower)) + 1


MAKERS = _f.makers
