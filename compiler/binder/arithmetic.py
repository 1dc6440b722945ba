"""Result types of operators. They equal Spark's, except that ``/`` on whole numbers stays whole."""

from __future__ import annotations

from streamq.dsl.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL,
    MAX_PRECISION,
    NULL,
    STRING,
    TIMESTAMP,
    Decimal,
    Type,
    common_type,
    decimal_of,
    is_integer,
    is_numeric,
    is_string,
    is_temporal,
)

COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
MIN_SCALE = 6
"""Digits after the point that a decimal division keeps at least, as in Spark and Hive."""


def arithmetic_type(op: str, a: Type, b: Type) -> tuple[str, Type] | None:
    """The operator that is meant and its type, or None where the operands do not fit.

    ``/`` of two whole numbers is ``DIV``; durations add to timestamps and to each other.
    """
    if a == NULL and b == NULL:
        a = b = INT
    a, b = (b if a == NULL else a), (a if b == NULL else b)
    temporal = _temporal(op, a, b)
    if temporal is not None:
        return op, temporal
    if not (is_numeric(a) and is_numeric(b)):
        return None
    wide = common_type(a, b)
    if wide is None:
        return None
    if is_integer(wide):
        return ("DIV" if op == "/" else op), wide
    if isinstance(a, Decimal) or isinstance(b, Decimal):
        if FLOAT in (a, b) or DOUBLE in (a, b):
            return op, DOUBLE
        return op, decimal_result(op, decimal_of(a), decimal_of(b))
    return op, (DOUBLE if op == "/" else wide)


def decimal_result(op: str, a: Decimal, b: Decimal) -> Decimal:
    """Precision and scale of decimal arithmetic (SQL standard with Hive's bounds, as in Spark)."""
    whole = max(a.precision - a.scale, b.precision - b.scale)
    match op:
        case "+" | "-":
            scale = max(a.scale, b.scale)
            precision = whole + scale + 1
        case "*":
            scale, precision = a.scale + b.scale, a.precision + b.precision + 1
        case "/":
            scale = max(MIN_SCALE, a.scale + b.precision + 1)
            precision = a.precision - a.scale + b.scale + scale
        case _:
            scale = max(a.scale, b.scale)
            precision = min(a.precision - a.scale, b.precision - b.scale) + scale
    if precision <= MAX_PRECISION:
        return Decimal(precision, scale)
    kept = max(MAX_PRECISION - (precision - scale), min(scale, MIN_SCALE))
    return Decimal(MAX_PRECISION, kept)


def _temporal(op: str, a: Type, b: Type) -> Type | None:
    match op:
        case "+" if INTERVAL in (a, b):
            other = b if a == INTERVAL else a
            if other == INTERVAL:
                return INTERVAL
            return TIMESTAMP if is_temporal(other) else None
        case "-" if b == INTERVAL:
            if a == INTERVAL:
                return INTERVAL
            return TIMESTAMP if is_temporal(a) else None
        case "-" if a == TIMESTAMP and b == TIMESTAMP:
            return INTERVAL
        case "+" | "-" if a == DATE and is_integer(b):
            return DATE
        case _:
            return None


def comparison_type(a: Type, b: Type) -> Type | None:
    """The type both sides of a comparison are brought to, or None."""
    return common_type(a, b)


def concat_fits(t: Type) -> bool:
    """True where ``||`` can show the value as text."""
    return is_string(t) or is_numeric(t) or is_temporal(t) or t in (BOOLEAN, NULL, STRING)
