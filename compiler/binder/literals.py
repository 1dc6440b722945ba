"""Numbers, timestamps and dates as literals."""

from __future__ import annotations

from datetime import UTC, date, datetime

from streamq.compiler.binder.context import BindContext
from streamq.compiler.ir.expr import Expr, Literal
from streamq.dsl import ast
from streamq.dsl.records import replace
from streamq.dsl.types import (
    BIGINT,
    DATE,
    DOUBLE,
    INT,
    MAX_PRECISION,
    TIMESTAMP,
    Decimal,
    Type,
    is_integer,
    with_article,
)


def bind_number(node: ast.Number, context: BindContext) -> Expr:
    """INT or BIGINT for whole numbers, DECIMAL with a point, DOUBLE with an exponent."""
    text = node.text
    if "e" in text.lower():
        value = float(text)
        if value in (float("inf"), float("-inf")):
            return context.error("SQ0107", f"{text} is too large for a DOUBLE", node.span)
        return Literal(value=value, type=DOUBLE, nullable=False, origin=node.span)
    digits = text.lstrip("-")
    if "." not in digits:
        number = int(text)
        if -(2**31) <= number < 2**31:
            return Literal(value=number, type=INT, nullable=False, origin=node.span)
        if -(2**63) <= number < 2**63:
            return Literal(value=number, type=BIGINT, nullable=False, origin=node.span)
        digits += "."
    whole, _, fraction = digits.partition(".")
    precision = max(len(whole.lstrip("0")) + len(fraction), 1)
    if precision > MAX_PRECISION:
        return context.error(
            "SQ0107", f"{text} has more than {MAX_PRECISION} digits", node.span,
            help="write it with an exponent, as a DOUBLE",
        )
    type_ = Decimal(max(precision, len(fraction)), len(fraction))
    return Literal(value=text.rstrip("."), type=type_, nullable=False, origin=node.span)


def bind_typed_literal(node: ast.TypedLiteral, context: BindContext) -> Expr:
    """``TIMESTAMP '…'`` and ``DATE '…'``; a timestamp without a zone is UTC. Kept as ISO text."""
    try:
        if node.type == DATE:
            value = date.fromisoformat(node.text.strip()).isoformat()
        else:
            moment = datetime.fromisoformat(node.text.strip())
            if moment.tzinfo is not None:
                moment = moment.astimezone(UTC).replace(tzinfo=None)
            value = moment.isoformat(sep=" ")
    except (ValueError, OverflowError):
        form = "YYYY-MM-DD" if node.type == DATE else "YYYY-MM-DD hh:mm:ss"
        return context.error(
            "SQ0301", f"'{node.text}' is not {with_article(node.type)}", node.span, help=f"write it as {form}"
        )
    type_ = DATE if node.type == DATE else TIMESTAMP
    return Literal(value=value, type=type_, nullable=False, origin=node.span)


def digits_type(bound: Expr, other: Type) -> Type:
    """The type of an operand; beside a DECIMAL a whole constant counts only its digits, as in Spark."""
    if isinstance(other, Decimal) and isinstance(bound, Literal) and is_integer(bound.type):
        return Decimal(len(str(abs(int(bound.value or 0)))), 0)
    return bound.type


def convert_literal(bound: Literal, type_: Type) -> Literal | None:
    """The constant as another type where that is exact and silent; None where a cast must stay."""
    value = bound.value
    if value is None:
        return replace(bound, type=type_)
    if isinstance(value, bool) or not is_integer(bound.type):
        decimal = isinstance(bound.type, Decimal) and type_ == DOUBLE
        return replace(bound, value=float(value), type=DOUBLE) if decimal else None
    if type_ == BIGINT or (type_ == INT and -(2**31) <= int(value) < 2**31):
        return replace(bound, type=type_)
    if type_ == DOUBLE and abs(int(value)) <= 2**53:
        return replace(bound, value=float(value), type=DOUBLE)
    return None
