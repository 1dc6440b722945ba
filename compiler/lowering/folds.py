"""Aggregates as the folds that ``stdlib/timelines/groups.py`` computes over a group that changes."""

from __future__ import annotations

from collections.abc import Callable

from streamq.compiler.ir.expr import AggCall, Expr
from streamq.compiler.ir.logical import Aggregate, Field
from streamq.compiler.lowering.carry import (
    COUNTS,
    DOUBLES,
    LIST,
    NULL_BITS,
    TEXT,
    Carried,
    can_carry,
    kind_of,
    order_text,
)
from streamq.compiler.lowering.constants import constant
from streamq.compiler.lowering.state import refuse
from streamq.compiler.passes.estimate import SKETCHES
from streamq.dsl.diagnostics import Abort
from streamq.dsl.records import dataclass
from streamq.dsl.types import BIGINT, STRING, Array, Decimal, Type, holds_map, is_string

_BY_FOLD = {
    "COUNT": "COUNT COUNT_IF REGR_COUNT APPROX_COUNT_DISTINCT",
    "SUM": "SUM",
    "TRY_SUM": "TRY_SUM",
    "AVG": "AVG MEAN",
    "MIN": "MIN ANY_VALUE",
    "MAX": "MAX",
    "STDDEV_SAMP": "STDDEV_SAMP STDDEV STD",
    "STDDEV_POP": "STDDEV_POP",
    "VAR_SAMP": "VAR_SAMP VARIANCE",
    "VAR_POP": "VAR_POP",
    "FIRST": "FIRST FIRST_VALUE",
    "LAST": "LAST LAST_VALUE",
    "MIN_BY": "MIN_BY ARG_MIN",
    "MAX_BY": "MAX_BY ARG_MAX",
    "BOOL_AND": "BOOL_AND EVERY",
    "BOOL_OR": "BOOL_OR SOME",
    "COLLECT_LIST": "COLLECT_LIST ARRAY_AGG COLLECT_SET",
    "LISTAGG": "LISTAGG STRING_AGG",
    "MODE": "MODE",
    "PERCENTILE": "PERCENTILE MEDIAN",
    "APPROX_PERCENTILE": "APPROX_PERCENTILE PERCENTILE_APPROX",
}
OF_TWO = (
    "COVAR_SAMP", "COVAR_POP", "CORR", "REGR_SLOPE", "REGR_INTERCEPT", "REGR_R2", "REGR_AVGX", "REGR_AVGY",
    "REGR_SXX", "REGR_SYY", "REGR_SXY",
)
"""The aggregates of pairs; ``stdlib/timelines/squares.py`` computes them."""

_OF_ITS_NAME = ("SKEWNESS", "KURTOSIS", "APPROX_TOP_K", "BIT_AND", "BIT_OR", "BIT_XOR", *OF_TWO)
NAMES = {name: fold for fold, names in _BY_FOLD.items() for name in names.split()}
NAMES |= {name: name for name in _OF_ITS_NAME}
"""The fold of each aggregate, aliases included."""

_ALWAYS_DOUBLE = ("AVG", "STDDEV_SAMP", "STDDEV_POP", "VAR_SAMP", "VAR_POP")
_BY = ("MIN_BY", "MAX_BY", "MIN_BY_N", "MAX_BY_N")
_AS_BY = {"MIN": "MIN_BY", "MAX": "MAX_BY", "FIRST": "MIN_BY", "LAST": "MAX_BY"}
"""What is a value by an order: of itself, or of the event time and then of itself."""

_UNCHANGED_BY_COPIES = ("MIN", "MAX", "BOOL_AND", "BOOL_OR", "FIRST", "LAST")
_ALWAYS_DISTINCT = ("APPROX_COUNT_DISTINCT", "COLLECT_SET")

FoldParams = tuple[object, ...]
"""A ``Fold`` of ``stdlib/timelines/folds.py``: its name, arguments, result, and what else it has."""


@dataclass(frozen=True, slots=True)
class FoldPlan:
    """The folds and the values that they give; their arguments, and the SQL of these."""

    folds: tuple[FoldParams, ...]
    results: tuple[Carried, ...]
    fields: tuple[Field, ...]
    texts: tuple[str, ...]


def lower_folds(node: Aggregate, first: int, to_text: Callable[[Expr], str]) -> FoldPlan:
    """The folds of an aggregate's calls; both their arguments and their values begin at position ``first``.

    Calls with equal arguments share them. Refused where there are more values than have a bit for NULL.
    """
    _check_count(node, first + len(node.aggregates), "keys and aggregates")
    places: dict[tuple[Type, str], int] = {}
    folds: list[FoldParams] = []
    results: list[Carried] = []
    for number, (given, call) in enumerate(node.aggregates, first):
        name = _name(call)
        args: list[int] = []
        for type_, text in _arguments(name, call, to_text):
            if not can_carry(type_):
                raise _refused(call, f"{call.function} of {type_}")
            args.append(places.setdefault((type_, text), first + len(places)))
        kind = _result_kind(name, call)
        settings = _settings(name, call)
        if settings[:1] == (True,) and any(holds_map(arg.type) for arg in call.args):
            raise _refused(call, f"different values of a {call.args[0].type}", "take single entries")
        folds.append((name, tuple(args), kind, *settings))
        results.append(Carried(given, kind, f"v{number}", call.type, _form(name, call)))
    _check_count(node, first + len(places), "keys and values for its aggregates")
    fields = tuple(Field(f"__argument{i}", type_) for i, (type_, _) in enumerate(places))
    return FoldPlan(tuple(folds), tuple(results), fields, tuple(text for _, text in places))


def _check_count(node: Aggregate, count: int, of_what: str) -> None:
    if count > NULL_BITS:
        raise refuse(
            f"a group over a window that moves cannot have {count} {of_what} yet, only {NULL_BITS}", node.origin,
            "split the query in two, or put a window with SLIDE after the stream",
        )


def _form(name: str, call: AggCall) -> str:
    if name == "APPROX_TOP_K":
        return COUNTS
    many = ("PERCENTILE", "APPROX_PERCENTILE")
    lists = name in ("COLLECT_LIST", "MIN_BY_N", "MAX_BY_N")
    return LIST if lists or (name in many and isinstance(call.type, Array)) else ""


def _name(call: AggCall) -> str:
    """The fold that computes the call; refused where there is none."""
    name = NAMES.get(call.function)
    if name is None and call.function in SKETCHES:
        raise refuse(
            "a sketch of a window that moves cannot be kept yet", call.origin,
            "put a window with SLIDE after the stream, [RANGE 1 HOUR SLIDE 1 MINUTE] or [TUMBLE 1 HOUR]",
        )
    if name is None:
        raise refuse(
            f"{call.function} over a window that moves cannot be run yet", call.origin,
            "it can over a window with SLIDE; or use another aggregate here, as COLLECT_LIST or PERCENTILE",
        )
    if name == "TRY_SUM" and call.type != BIGINT:
        # Doubles have no sum that does not fit, and the sums of decimals have digits enough.
        name = "SUM"
    if name in ("MIN_BY", "MAX_BY") and len(call.args) > 2:
        name = f"{name}_N"
    if call.distinct and name in _BY:
        raise _refused(call, f"{call.function}(DISTINCT …)", "leave DISTINCT out")
    if name in _BY:
        _check_order(call, call.args[1])
    elif name in _AS_BY and not _is_ordered(call.args[0].type):
        _check_order(call, call.args[0])
        name = _AS_BY[name]
    elif name in ("MODE", "APPROX_PERCENTILE", "APPROX_TOP_K") and not _is_ordered(call.args[0].type):
        raise _refused(call, f"{call.function} of {call.args[0].type}")
    if name in ("SUM", "AVG") and kind_of(call.args[0].type) == TEXT:
        raise _refused(call, f"{call.function} of {call.args[0].type}", "cast the values to DOUBLE")
    return name


def _check_order(call: AggCall, arg: Expr) -> None:
    if not _is_ordered(arg.type) and order_text("", arg.type) is None:
        raise _refused(arg, f"{call.function} of {arg.type}")


def _refused(at: Expr, what: str, help: str = "put a window with SLIDE after the stream") -> Abort:
    return refuse(f"{what} over a window that moves cannot be run yet", at.origin, help)


def _is_ordered(t: Type) -> bool:
    """True where the carried form of the values has their order."""
    return kind_of(t) != TEXT or is_string(t)


def _arguments(name: str, call: AggCall, to_text: Callable[[Expr], str]) -> list[tuple[Type, str]]:
    """The arguments that the rows have, without constants; NULL in a row that FILTER leaves out."""
    kept = None if call.filter is None else to_text(call.filter)
    if call.function == "COUNT_IF":
        test = to_text(call.args[0])
        return [(BIGINT, _where(test if kept is None else f"({kept}) AND ({test})", "1L"))]
    if not call.args:
        return [] if kept is None else [(BIGINT, _where(kept, "1L"))]
    given = [(arg.type, to_text(arg)) for arg in call.args]
    function = NAMES[call.function]
    if function in ("FIRST", "LAST"):
        if name == function:
            return given if kept is None else [*given, (BIGINT, _where(kept, "1L"))]
        given = [given[0], (STRING, f"concat({_order(*reversed(given))})")]
    elif function in ("MIN", "MAX") and name != function:
        given = [given[0], (STRING, _where(f"{given[0][1]} IS NOT NULL", _order(given[0])))]
    elif name in _BY:
        by, text = given[1]
        if not _is_ordered(by):
            given[1] = (STRING, _where(f"{text} IS NOT NULL", _order(given[1])))
        del given[2:]
    elif function == "COLLECT_LIST" and not _is_ordered(given[0][0]):
        by_text = order_text(given[0][1], given[0][0])
        given = given[:1] if by_text is None else [given[0], (STRING, by_text)]
    elif name in OF_TWO or (name == "COUNT" and call.function != "APPROX_COUNT_DISTINCT"):
        pass
    else:
        del given[1:]
    return given if kept is None else [(t, _where(kept, text)) for t, text in given]


def _where(condition: str, text: str) -> str:
    return f"IF({condition}, {text}, NULL)"


def _order(*values: tuple[Type, str]) -> str:
    """SQL of texts that are ordered as the values are."""
    return ", ".join(order_text(text, t) or "" for t, text in values)


def _settings(name: str, call: AggCall) -> FoldParams:
    """Whether equal rows count once, and the constants; nothing where neither is there."""
    copies_count = NAMES[call.function] not in _UNCHANGED_BY_COPIES
    once = call.function in _ALWAYS_DISTINCT or (call.distinct and copies_count)
    options = _options(name, call)
    return (once, options) if options else (once,) if once else ()


def _options(name: str, call: AggCall) -> tuple[object, ...]:
    match name:
        case "LISTAGG":
            given = constant(call.args[1]) if len(call.args) > 1 else None
            return () if given is None else (str(given),)
        case "MIN_BY_N" | "MAX_BY_N":
            return (_count(call.args[2]),)
        case "APPROX_TOP_K":
            return (_count(call.args[1]) if len(call.args) > 1 else 5,)
        case "PERCENTILE" | "APPROX_PERCENTILE":
            return _shares(call)
        case "SUM" | "AVG" if isinstance(call.type, Decimal):
            of_values = call.args[0].type
            assert isinstance(of_values, Decimal)
            return (of_values.scale,) if name == "SUM" else (of_values.scale, call.type.scale)
        case _:
            return ()


def _count(arg: Expr) -> int:
    count = constant(arg)
    if not isinstance(count, int) or count < 1:
        raise refuse("this is how many values to give, from 1 on", arg.origin, code="SQ0302")
    return count


def _shares(call: AggCall) -> tuple[float, ...]:
    if call.function == "MEDIAN":
        return (0.5,)
    given = constant(call.args[1])
    shares = given if isinstance(given, tuple) else (given,)
    found = tuple(float(s) for s in shares if isinstance(s, int | float) and 0 <= s <= 1)
    if len(found) < len(shares) or not found:
        raise refuse("a share is a number from 0 to 1", call.args[1].origin,
                     "the median is at a share of 0.5", code="SQ0302")
    return found


def _result_kind(name: str, call: AggCall) -> str:
    if name in ("SUM", "AVG") and isinstance(call.type, Decimal):
        return TEXT
    return DOUBLES if name in _ALWAYS_DOUBLE else kind_of(call.type)
