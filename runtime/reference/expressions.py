"""Expressions as Python closures over a row, with the meaning that Spark SQL gives them without ansi mode."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal as Exact
from typing import Any

from streamq.compiler.ir.expr import (
    AggCall,
    Call,
    Case,
    Cast,
    Column,
    Expr,
    FieldOf,
    Index,
    InList,
    IsNull,
    Like,
    Literal,
    Op,
    Quality,
    Udf,
)
from streamq.dsl.types import DATE, INTERVAL, TIMESTAMP, Decimal, Map, Struct
from streamq.runtime.reference.casts import converter
from streamq.runtime.reference.functions import SCALARS, SEES_NULL, UNSUPPORTED
from streamq.runtime.reference.functions.declare import Unsupported as ReferenceUnsupported
from streamq.runtime.reference.functions.patterns import like_matches, regex_finds
from streamq.runtime.reference.numbers import rescale
from streamq.runtime.reference.operators import arithmetic, comparison, equality, negation
from streamq.runtime.reference.values import Row

__all__ = ["Evaluate", "ReferenceUnsupported", "compile_expr"]

Evaluate = Callable[[Row], object]
"""The value of an expression for a row."""

Udfs = Mapping[str, Callable[..., object]]
"""The program's own functions by name in lower case, each from single values (NULL is None) to a value."""


def compile_expr(expr: Expr, columns: tuple[str, ...], udfs: Udfs | None = None) -> Evaluate:
    """A function from rows with these columns to values of the expression.

    Raises ``ReferenceUnsupported`` for functions listed in ``UNSUPPORTED`` and ``KeyError`` for a column or a
    function of the program that is not there.
    """
    return _Compiler({name: i for i, name in enumerate(columns)}, udfs or {}).compile(expr)


class _Compiler:
    """Compiles the parts of one expression."""

    def __init__(self, places: Mapping[str, int], udfs: Udfs) -> None:
        self.places = places
        self.udfs = udfs

    def compile(self, expr: Expr) -> Evaluate:
        match expr:
            case Column():
                place = self.places[expr.name]
                return lambda row: row[place]
            case Literal():
                value = literal_value(expr)
                return lambda row: value
            case Op():
                return self._operator(expr)
            case Cast():
                operand, convert = self.compile(expr.operand), converter(expr.operand.type, expr.type)
                return lambda row: None if (v := operand(row)) is None else convert(v)
            case Case():
                return self._case(expr)
            case Like():
                matches = like_matches if expr.kind == "LIKE" else regex_finds
                return _strict(matches, [self.compile(expr.operand), self.compile(expr.pattern)])
            case IsNull():
                tested = self.compile(expr.operand)
                return lambda row: tested(row) is None
            case InList():
                return self._in_list(expr)
            case FieldOf():
                return self._field(expr)
            case Index():
                item = _entry if isinstance(expr.operand.type, Map) else _element
                return _strict(item, [self.compile(expr.operand), self.compile(expr.index)])
            case Call():
                return self._call(expr)
            case Udf():
                own = self.udfs[expr.function.casefold()]
                return _spread(own, [self.compile(a) for a in expr.args])
            case Quality():
                return _quality(expr)
            case AggCall():
                raise TypeError(f"{expr.function} is an aggregate, not an expression over one row")
            case _:
                raise TypeError(f"not an expression: {type(expr).__name__}")

    def _operator(self, expr: Op) -> Evaluate:
        args = [self.compile(a) for a in expr.args]
        types = [a.type for a in expr.args]
        match expr.op:
            case "AND":
                return lambda row: _all(args, row)
            case "OR":
                return lambda row: _any(args, row)
            case "NOT":
                return _strict(lambda v: not v, args)
            case "NEG":
                return _strict(negation(expr.type), args)
            case "||":
                return _strict(lambda *texts: "".join(texts), args)
            case "=" | "<>" | "<" | "<=" | ">" | ">=":
                return _strict(comparison(expr.op, types[0]), args)
            case _:
                return _strict(arithmetic(expr.op, types[0], types[1], expr.type), args)

    def _case(self, expr: Case) -> Evaluate:
        whens = [(self.compile(c), self.compile(r)) for c, r in expr.whens]
        default = None if expr.default is None else self.compile(expr.default)

        def choose(row: Row) -> object:
            for condition, result in whens:
                if condition(row):
                    return result(row)
            return None if default is None else default(row)

        return choose

    def _in_list(self, expr: InList) -> Evaluate:
        key = equality(expr.operand.type)
        operand = self.compile(expr.operand)
        items = [self.compile(i) for i in expr.items]
        constants = None
        if all(isinstance(i, Literal) for i in expr.items):
            constants = frozenset(None if (v := i(())) is None else key(v) for i in items)

        def contained(row: Row) -> object:
            value = operand(row)
            if value is None:
                return None
            known = constants
            if known is None:
                known = frozenset(None if (v := i(row)) is None else key(v) for i in items)
            return True if key(value) in known else None if None in known else False

        return contained

    def _field(self, expr: FieldOf) -> Evaluate:
        struct = expr.operand.type
        if not isinstance(struct, Struct):
            raise TypeError(f"{struct} has no fields")
        fold = expr.name.casefold()
        place = next(i for i, (name, _) in enumerate(struct.fields) if name.casefold() == fold)
        return _strict(lambda v: v[place], [self.compile(expr.operand)])

    def _call(self, expr: Call) -> Evaluate:
        if expr.function in UNSUPPORTED:
            raise ReferenceUnsupported(expr.function)
        function = SCALARS[expr.function](expr)
        sees_null = expr.spec.null_safe or expr.function in SEES_NULL
        combine = _spread if sees_null else _strict
        return combine(function, [self.compile(a) for a in expr.args])


def literal_value(expr: Literal) -> object:
    """The value that a literal's text stands for."""
    value = expr.value
    if value is None:
        return None
    if expr.type == TIMESTAMP:
        return datetime.fromisoformat(str(value))
    if expr.type == DATE:
        return date.fromisoformat(str(value))
    if expr.type == INTERVAL:
        return timedelta(milliseconds=int(value))
    if isinstance(expr.type, Decimal):
        return rescale(Exact(str(value)), expr.type)
    return value


def _strict(function: Callable[..., object], args: list[Evaluate]) -> Evaluate:
    """The function of the arguments; NULL where one of them is."""
    match args:
        case [only]:
            return lambda row: None if (v := only(row)) is None else function(v)
        case [left, right]:

            def both(row: Row) -> object:
                a = left(row)
                if a is None:
                    return None
                b = right(row)
                return None if b is None else function(a, b)

            return both
        case _:

            def every(row: Row) -> object:
                values = [arg(row) for arg in args]
                return None if None in values else function(*values)

            return every


def _spread(function: Callable[..., object], args: list[Evaluate]) -> Evaluate:
    """The function of the arguments, NULLs among them."""
    return lambda row: function(*[arg(row) for arg in args])


def _all(parts: list[Evaluate], row: Row) -> bool | None:
    """Three-valued AND."""
    found: bool | None = True
    for part in parts:
        value = part(row)
        if value is None:
            found = None
        elif not value:
            return False
    return found


def _any(parts: list[Evaluate], row: Row) -> bool | None:
    """Three-valued OR."""
    found: bool | None = False
    for part in parts:
        value = part(row)
        if value is None:
            found = None
        elif value:
            return True
    return found


def _element(array: tuple[object, ...], index: int) -> object:
    """Counted from 0; NULL outside."""
    return array[index] if 0 <= index < len(array) else None


def _entry(pairs: tuple[tuple[Any, object], ...], key: Any) -> object:
    return next((value for k, value in pairs if k == key), None)


def _quality(expr: Quality) -> Evaluate:
    """The reference sheds nothing and sees all input, so a result rests on all of it, and nothing was lost.

    ``COMPLETENESS()`` and ``SOURCE_COVERAGE()`` are 1.0, and counts are 0. What can be counted is arithmetic in the
    plan already (``compiler/passes/quality.py``).
    """
    value: object = 1.0 if expr.function in ("COMPLETENESS", "SOURCE_COVERAGE") else 0
    return lambda row: value
