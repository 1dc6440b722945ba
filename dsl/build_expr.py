"""Expressions, types and numbers: grammar rules to nodes."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from streamq.dsl import ast
from streamq.dsl.build import EXACT, Build, name_text, shorten, string_text, tuple_of
from streamq.dsl.diagnostics import did_you_mean
from streamq.dsl.lexer import Token
from streamq.dsl.source import Span
from streamq.dsl.types import (
    ATOMIC_NAMES,
    DATE,
    MAX_PRECISION,
    STRING,
    TIMESTAMP,
    Array,
    Chars,
    Map,
    Struct,
    Type,
)
from streamq.dsl.types import (
    Decimal as DecimalType,
)
from streamq.dsl.words import UNITS, UNITS_MEANT

_INTERVAL_PART = re.compile(r"\s*([+-]?\s*[0-9]+(?:\.[0-9]+)?)\s*([^\W\d_]*)\s*,?")
_SHORT = re.compile(r"([0-9.]+(?:[eE][+-]?[0-9]+)?)(\w*)")
_STREAM_OPERATORS = frozenset({"ISTREAM", "DSTREAM", "RSTREAM"})
_LONG_UNITS = [unit.lower() for unit in UNITS if len(unit) > 2]

# --- numbers and lengths of time -----------------------------------------------------------------


def signed(b: Build, _span: Span, minus: Token | None, number: Token) -> Decimal:
    value = b.decimal(number)
    return value.copy_negate() if minus else value


def count(b: Build, span: Span, minus: Token | None, number: Token) -> int:
    return b.whole(signed(b, span, minus, number), span, "this")


def share(_b: Build, _span: Span, value: Decimal, percent: bool | None) -> float:
    return float(EXACT.scaleb(value, -2) if percent else value)


def percent(_b: Build, _span: Span) -> bool:
    return True


def duration(
    b: Build, span: Span, minus: Token | None, number: Token, unit: Token | None
) -> ast.Duration:
    name = unit.text.upper() if unit else "SECOND"
    return b.duration(signed(b, span, minus, number), name, span)


def short_duration(b: Build, span: Span, minus: Token | None, token: Token) -> ast.Duration:
    digits, unit = _SHORT.findall(token.text)[0]
    number = Token("NUMBER", digits, token.start, token.start + len(digits))
    # A wrong unit was reported when the token was read.
    name = unit.upper() if unit.upper() in UNITS else "SECOND"
    return b.duration(signed(b, span, minus, number), name, span)


def text_duration(b: Build, span: Span, text: Token, unit: Token | None) -> ast.Duration:
    """``'5'`` with a unit after it, or ``'1 day 2 hours'``."""
    value, at = string_text(text), b.span_of(text)
    total, position = Decimal(0), 0
    while position < len(value.rstrip()) or not position:
        part = _INTERVAL_PART.match(value, position)
        if part is None or len(part.group(1)) > 40:
            help = "write INTERVAL '5' SECOND or INTERVAL '1 day 2 hours'"
            b.report("SQ0107", f"`{shorten(value)}` is not a length of time", at, help)
            return b.duration(Decimal(1), "SECOND", span)
        name = part.group(2).upper() or (unit.text.upper() if unit else "")
        if not name:
            help = f"write INTERVAL '{value}' SECOND"
            b.report("SQ0105", "INTERVAL needs a unit of time", span, help)
            return b.duration(Decimal(1), "SECOND", span)
        if name not in UNITS:
            unknown_unit(b, part.group(2), at)
            name = "SECOND"
        total += Decimal(part.group(1).replace(" ", "")) * UNITS[name]
        position = part.end()
    return b.duration(total, "MS", span)


def unknown_unit(b: Build, name: str, span: Span) -> None:
    meant = UNITS_MEANT.get(name.upper())
    help = f"did you mean `{meant}`?" if meant else did_you_mean(name, _LONG_UNITS) or "units go from milliseconds to weeks"
    b.report("SQ0105", f"unknown unit of time `{shorten(name)}`", span, help)


# --- types ---------------------------------------------------------------------------------------


def plain_type(b: Build, span: Span, name: Token, arguments: tuple[Token, ...] | None) -> Type:
    spelled = name_text(name)
    upper = spelled.upper()
    known = ATOMIC_NAMES.get(upper)
    if known is None:
        names = [*ATOMIC_NAMES, "ARRAY", "MAP", "STRUCT"]
        help = did_you_mean(spelled, names) or "types are " + ", ".join(list(ATOMIC_NAMES)[:11])
        b.report("SQ0106", f"unknown type `{shorten(spelled)}`", b.span_of(name), help)
        return STRING
    if arguments is None:
        return known
    numbers = [b.whole(b.decimal(a), b.span_of(a), "the length of a type") for a in arguments]
    if upper in ("DECIMAL", "NUMERIC") and len(numbers) <= 2:
        precision, scale = (*numbers, 0)[:2]
        if not (1 <= precision <= MAX_PRECISION and 0 <= scale <= precision):
            help = f"DECIMAL(p, s) needs 1 <= p <= {MAX_PRECISION} and 0 <= s <= p"
            b.report("SQ0107", "precision or scale out of range", span, help)
            return known
        return DecimalType(precision, scale)
    if upper in ("VARCHAR", "CHAR") and len(numbers) == 1:
        if numbers[0] < 1:
            b.report("SQ0107", f"{upper} needs a length of at least 1", span)
            return known
        return Chars(upper, numbers[0])
    if upper == "TIMESTAMP" and len(numbers) == 1 and 0 <= numbers[0] <= 9:
        return known
    b.report("SQ0107", f"{upper} does not take {_numbers(len(numbers))} like this", span)
    return known


def _numbers(count: int) -> str:
    return "a number" if count == 1 else f"{count} numbers"


def array_type(_b: Build, _span: Span, element: Type) -> Type:
    return Array(element)


def map_type(_b: Build, _span: Span, key: Type, value: Type) -> Type:
    return Map(key, value)


def struct_type(_b: Build, _span: Span, fields: tuple[tuple[str, Type], ...]) -> Type:
    return Struct(fields)


def field(_b: Build, _span: Span, name: Token, type: Type) -> tuple[str, Type]:
    return name_text(name), type


# --- operators -----------------------------------------------------------------------------------


def binary(_b: Build, span: Span, left: ast.Expr, op: Token, right: ast.Expr) -> ast.Expr:
    sign = op.text.upper() if op.kind == "WORD" else op.kind
    return ast.Binary(op=sign, left=left, right=right, span=span)


def unary(_b: Build, span: Span, op: Token, operand: ast.Expr) -> ast.Expr:
    return ast.Unary(op=op.text.upper(), operand=operand, span=span)


def between(
    _b: Build, span: Span, operand: ast.Expr, negated: Token | None, low: ast.Expr, high: ast.Expr
) -> ast.Expr:
    return ast.Between(operand=operand, low=low, high=high, negated=bool(negated), span=span)


def like(
    _b: Build, span: Span, operand: ast.Expr, negated: Token | None, kind: Token, pattern: ast.Expr
) -> ast.Expr:
    return ast.Like(
        operand=operand, pattern=pattern, kind=kind.text.upper(), negated=bool(negated), span=span
    )


def is_null(_b: Build, span: Span, operand: ast.Expr, negated: Token | None) -> ast.Expr:
    return ast.IsNull(operand=operand, negated=bool(negated), span=span)


def is_subset(
    _b: Build, span: Span, left: ast.Expr, negated: Token | None, kind: Token, right: ast.Expr
) -> ast.Expr:
    """The signs ``<@`` and ``@>`` in words, and what they say negated."""
    op = "<@" if kind.text.upper() == "SUBSET" else "@>"
    test = ast.Binary(op=op, left=left, right=right, span=span)
    return ast.Unary(op="NOT", operand=test, span=span) if negated else test


def in_list(
    _b: Build, span: Span, operand: ast.Expr, negated: Token | None, items: tuple[ast.Expr, ...]
) -> ast.Expr:
    return ast.InList(operand=operand, items=items, negated=bool(negated), span=span)


def in_query(
    _b: Build, span: Span, operand: ast.Expr, negated: Token | None, query: ast.Query
) -> ast.Expr:
    return ast.InQuery(operand=operand, query=query, negated=bool(negated), span=span)


def quantified(
    _b: Build, span: Span, operand: ast.Expr, op: Token, quantifier: str, query: ast.Query
) -> ast.Expr:
    return ast.Quantified(
        op=op.kind, operand=operand, quantifier=quantifier, query=query, span=span
    )


def all_of(_b: Build, _span: Span) -> str:
    return "ALL"


def any_of(_b: Build, _span: Span) -> str:
    return "ANY"


# --- operands ------------------------------------------------------------------------------------


def name(b: Build, span: Span, *parts: Token) -> ast.Name:
    return ast.Name(parts=tuple(b.ident(p) for p in parts), span=span)


def number(b: Build, span: Span, token: Token) -> ast.Expr:
    b.decimal(token)
    return ast.Number(text=token.text, span=span)


def string(_b: Build, span: Span, token: Token) -> ast.Expr:
    return ast.String(value=string_text(token), span=span)


def true(_b: Build, span: Span) -> ast.Expr:
    return ast.Bool(value=True, span=span)


def false(_b: Build, span: Span) -> ast.Expr:
    return ast.Bool(value=False, span=span)


def null(_b: Build, span: Span) -> ast.Expr:
    return ast.Null(span=span)


def interval(_b: Build, span: Span, duration: ast.Duration) -> ast.Expr:
    return ast.Interval(duration=duration, span=span)


def short_interval(b: Build, span: Span, token: Token) -> ast.Expr:
    return ast.Interval(duration=short_duration(b, span, None, token), span=span)


def date(_b: Build, span: Span, text: Token) -> ast.Expr:
    return ast.TypedLiteral(type=DATE, text=string_text(text), span=span)


def timestamp(_b: Build, span: Span, text: Token) -> ast.Expr:
    return ast.TypedLiteral(type=TIMESTAMP, text=string_text(text), span=span)


def call(
    b: Build,
    span: Span,
    name: Token,
    args: tuple[ast.Expr, ...] | None,
    filter: ast.Expr | None,
) -> ast.Expr:
    if name.text.upper() in _STREAM_OPERATORS:
        b.report(
            "SQ0101",
            f"unexpected `{name.text}`, expected a function",
            b.span_of(name),
            f"write SELECT {name.text}(a, b) FROM … or {name.text}(SELECT a, b FROM …)",
        )
    return ast.Call(name=b.ident(name), args=args or (), filter=filter, span=span)


def call_approx(
    b: Build, span: Span, name: Token, args: tuple[ast.Expr, ...], approx: ast.Approx, filter: ast.Expr | None
) -> ast.Expr:
    return ast.Call(name=b.ident(name), args=args, approx=approx, filter=filter, span=span)


def call_distinct(
    b: Build, span: Span, name: Token, args: tuple[ast.Expr, ...], filter: ast.Expr | None
) -> ast.Expr:
    return ast.Call(name=b.ident(name), args=args, distinct=True, filter=filter, span=span)


def call_star(b: Build, span: Span, name: Token, _star: Token, filter: ast.Expr | None) -> ast.Expr:
    return ast.Call(name=b.ident(name), star=True, filter=filter, span=span)


def case(_b: Build, span: Span, operand: ast.Expr | None, *rest: Any) -> ast.Expr:
    *whens, default = rest
    return ast.Case(operand=operand, whens=tuple(whens), default=default, span=span)


def when(_b: Build, span: Span, condition: ast.Expr, result: ast.Expr) -> ast.When:
    return ast.When(condition=condition, result=result, span=span)


def cast(_b: Build, span: Span, operand: ast.Expr, type: Type) -> ast.Expr:
    return ast.Cast(operand=operand, type=type, span=span)


def exists(_b: Build, span: Span, query: ast.Query) -> ast.Expr:
    return ast.Exists(query=query, span=span)


def row(_b: Build, span: Span, first: ast.Expr, rest: tuple[ast.Expr, ...]) -> ast.Expr:
    return ast.Row(items=(first, *rest), span=span)


def scalar_query(_b: Build, span: Span, query: ast.Query) -> ast.Expr:
    return ast.ScalarQuery(query=query, span=span)


def field_of(b: Build, span: Span, operand: ast.Expr, name: Token) -> ast.Expr:
    return ast.FieldOf(operand=operand, name=b.ident(name), span=span)


def index(_b: Build, span: Span, operand: ast.Expr, at: ast.Expr) -> ast.Expr:
    return ast.Index(operand=operand, index=at, span=span)


EXPR_ACTIONS: dict[str, Callable[..., Any]] = {
    "all_of": all_of,
    "any_of": any_of,
    "array_type": array_type,
    "between": between,
    "binary": binary,
    "call": call,
    "call_approx": call_approx,
    "call_distinct": call_distinct,
    "call_star": call_star,
    "case": case,
    "cast": cast,
    "count": count,
    "date": date,
    "duration": duration,
    "exists": exists,
    "exprs": tuple_of,
    "false": false,
    "field": field,
    "field_of": field_of,
    "fields": tuple_of,
    "in_list": in_list,
    "in_query": in_query,
    "index": index,
    "interval": interval,
    "is_null": is_null,
    "is_subset": is_subset,
    "like": like,
    "map_type": map_type,
    "name": name,
    "names": tuple_of,
    "null": null,
    "number": number,
    "percent": percent,
    "plain_type": plain_type,
    "quantified": quantified,
    "row": row,
    "scalar_query": scalar_query,
    "share": share,
    "short_duration": short_duration,
    "short_interval": short_interval,
    "signed": signed,
    "string": string,
    "struct_type": struct_type,
    "text_duration": text_duration,
    "timestamp": timestamp,
    "true": true,
    "type_args": tuple_of,
    "unary": unary,
    "when": when,
}
"""Rule or alias of the grammar to the function that makes its value."""
