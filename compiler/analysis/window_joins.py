"""Joins of the rows in two windows of time: which there are, and what of their condition numpy can test on many rows at once.

What it tests is never more than the condition asks, so a pair that it lets go is none. Where it is less, Spark tests the
whole condition on the pairs that are left.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, floor

from streamq.compiler.analysis.moving import key_pairs, stamps_of
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.expr import Call, Cast, Expr, Literal, Op, columns_of, conjuncts
from streamq.dsl.ast import JoinKind
from streamq.dsl.records import dataclass
from streamq.dsl.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    TIMESTAMP,
    TINYINT,
    Array,
    Decimal,
    Map,
    Type,
    is_integer,
    is_numeric,
    is_string,
)
from streamq.stdlib.joins.kinds import Kind

LONG_DIGITS = 18
"""Digits of a decimal that 64 bits hold."""

MOST_VALUES = 62
"""Comparisons of values that are tested: each has a bit that says whether the value is NULL."""

DOUBLES, SINGLE = 1e-9, 1e-6
"""The relative error of differences of doubles and of floats, with much to spare."""

_BITS: Mapping[Type, int] = {TINYINT: 8, SMALLINT: 16, INT: 32, BIGINT: 64}
_DIGITS: Mapping[Type, int] = {TINYINT: 3, SMALLINT: 5, INT: 10, BIGINT: 19}
MOST_DIGITS = 39
"""More than any decimal has."""

_TURNED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True)
class OfSets:
    """A condition on a set of the left row and one of the right: arrays, or for INNER_PRODUCT maps to numbers."""

    kind: Kind
    least: float
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class OfValues:
    """``left op right``, with values of one row each.

    ``op``: one of ``= < <= > >=``, or ``near``: they are at most ``width`` apart, as far as Spark's arithmetic goes: where they are
    ``wraps`` apart or more it begins again, and ``slack`` is its relative error. ``exact``: as 64-bit integers; else as doubles.
    """

    op: str
    left: Expr
    right: Expr
    exact: bool
    width: float = 0.0
    slack: float = 0.0
    wraps: float | None = None


@dataclass(frozen=True, slots=True)
class Matching:
    """What of a condition is tested: one on sets, or all of some on values, none of which may be there.

    ``keys``: equalities, by which rows that could meet fall together. ``untested``: how many parts of the condition there are
    of which nothing is tested. ``whole``: what is tested is all of the condition.
    """

    sets: OfSets | None
    values: tuple[OfValues, ...]
    keys: tuple[Op, ...]
    untested: int
    whole: bool

    @property
    def says_little(self) -> bool:
        """Whether nothing is tested but equalities and the order of times, so that no part of a window has more pairs than another."""
        times = all(v.left.type == v.right.type == TIMESTAMP for v in self.values)
        return self.sets is None and times


def is_windowed(node: lg.Join) -> bool:
    """True for pairs of rows of two streams, each in a window ``[RANGE t]`` or ``[NOW]`` of its own."""
    if node.kind not in (JoinKind.INNER, JoinKind.CROSS):
        return False
    return all(isinstance(i.window, lg.TimeRange | lg.Now) and len(stamps_of(i)) == 1 for i in node.inputs)


def length_us(window: lg.WindowSpec | None) -> int:
    """For how long a row of such a window is in it, in microseconds."""
    return max(1, window.range_ms * 1000) if isinstance(window, lg.TimeRange) else 1


def matching_of(node: lg.Join) -> Matching:
    """What of the join's condition numpy tests."""
    sides = tuple(frozenset(f.name for f in i.schema) for i in node.inputs)
    keys = key_pairs(node)
    rest = [part for part in conjuncts(node.condition) if part not in keys]
    for part in rest:
        if (sets := _of_sets(part, sides)) is not None:
            return Matching(sets, (), keys, len(rest) - 1, not keys and len(rest) == 1 and _is_exact(part, sets))
    values = [found for part in rest if (found := _of_values(part, sides)) is not None][:MOST_VALUES]
    exact = all(v.exact for v in values)
    untested = len(rest) - len(values)
    return Matching(None, tuple(values), keys, untested, exact and not keys and not untested)


def _of_sets(part: Expr, sides: tuple[frozenset[str], ...]) -> OfSets | None:
    if isinstance(part, Call) and part.function == "CONTAINS_ALL":
        pair = _sided(part.args, sides)
        if pair is None or not _has_items(part.args):
            return None
        left, right, turned = pair
        # CONTAINS_ALL(a, b): a is the superset.
        return OfSets("SUBSET" if turned else "SUPERSET", 1.0, left, right)
    if not isinstance(part, Op) or part.op not in _TURNED:
        return None
    call, least, op = _bounded(part)
    if least is None or op not in ("=", ">", ">=") or not isinstance(call, Call):
        return None
    pair = _sided(call.args, sides)
    if pair is None or call.function not in ("OVERLAP", "INNER_PRODUCT") or not _has_items(call.args):
        return None
    if call.function == "OVERLAP":
        least = float(floor(least) + 1 if op == ">" else ceil(least))
    return None if least <= 0 else OfSets("OVERLAP" if call.function == "OVERLAP" else "INNER_PRODUCT", least, pair[0], pair[1])


def _is_exact(part: Expr, found: OfSets) -> bool:
    """Whether the condition on sets is what the part says: not where sums of floats are rounded, or more is asked."""
    return found.kind != "INNER_PRODUCT" and not (isinstance(part, Op) and part.op == "=")


def _has_items(args: tuple[Expr, ...]) -> bool:
    """Whether both have items of one type that are told apart by 64 bits: themselves, or a hash."""
    items = [a.type.element if isinstance(a.type, Array) else a.type.key if isinstance(a.type, Map) else None for a in args]
    return items[0] == items[1] and items[0] is not None and (is_string(items[0]) or is_exact(items[0]))


def _of_values(part: Expr, sides: tuple[frozenset[str], ...]) -> OfValues | None:
    if not isinstance(part, Op) or part.op not in _TURNED:
        return None
    near = _near(part, sides)
    if near is not None:
        return near
    pair = _sided(part.args, sides)
    if pair is None:
        return None
    left, right, turned = pair
    types = (left.type, right.type)
    if all(t in (FLOAT, DOUBLE) for t in types):
        exact = False
    elif all(map(is_integer, types)) or (types[0] == types[1] and is_exact(types[0])):
        exact = True
    else:
        return None
    return OfValues(_TURNED[part.op] if turned else part.op, left, right, exact)


def _near(part: Op, sides: tuple[frozenset[str], ...]) -> OfValues | None:
    """``ABS(a - b) <= width``, turned round or not."""
    call, width, op = _bounded(part)
    if width is None or op not in ("<", "<=") or not (isinstance(call, Call) and call.function == "ABS"):
        return None
    inner = call.args[0]
    if not isinstance(inner, Op) or inner.op != "-" or len(inner.args) != 2 or not all(is_numeric(a.type) for a in inner.args):
        return None
    pair = _sided(inner.args, sides)
    if pair is None:
        return None
    single = FLOAT in (inner.type, *(a.type for a in inner.args))
    wraps = 2.0 ** (_BITS[inner.type] - 1) if inner.type in _BITS else None
    return OfValues("near", pair[0], pair[1], False, width, SINGLE if single else DOUBLES, wraps)


def _sided(args: tuple[Expr, ...], sides: tuple[frozenset[str], ...]) -> tuple[Expr, Expr, bool] | None:
    """The values of the left and of the right row, and whether they were the other way round; None for other values."""
    if len(args) != 2:
        return None
    read = [columns_of(a) for a in args]
    if not all(read):
        return None
    for turned in (False, True):
        first, second = read[::-1] if turned else read
        if first <= sides[0] and second <= sides[1]:
            left, right = args[::-1] if turned else args
            return left, right, turned
    return None


def is_exact(t: Type) -> bool:
    """Whether values of the type are told apart, and ordered, as 64-bit integers."""
    return is_integer(t) or t in (BOOLEAN, DATE, TIMESTAMP) or (isinstance(t, Decimal) and t.precision <= LONG_DIGITS)


def _bounded(part: Op) -> tuple[Expr, float | None, str]:
    """What stands on one side of a comparison, and the number on the other: ``3 < x`` as ``x > 3``. None: it is no number.

    A number of another type makes the rest one of that type too, which changes no comparison with it.
    """
    rest, bound, op = _narrow(part.args[0]), _narrow(part.args[1]), part.op
    if isinstance(rest, Literal):
        rest, bound, op = bound, rest, _TURNED[op]
    if not isinstance(bound, Literal) or not is_numeric(bound.type) or bound.value is None:
        return rest, None, op
    return rest, float(bound.value), op


def _narrow(expr: Expr) -> Expr:
    """The expression before it was made a number of a type that holds all of its own."""
    if not isinstance(expr, Cast) or not is_numeric(expr.operand.type):
        return expr
    wide = expr.type == DOUBLE or (is_integer(expr.operand.type) and expr.type == BIGINT)
    if isinstance(expr.type, Decimal):
        own = expr.operand.type
        digits = own.precision - own.scale if isinstance(own, Decimal) else _DIGITS.get(own, MOST_DIGITS)
        wide = expr.type.precision - expr.type.scale >= digits and expr.type.scale >= (own.scale if isinstance(own, Decimal) else 0)
    return expr.operand if wide else expr
