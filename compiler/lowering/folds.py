"""Aggregates as the folds that ``stdlib/timelines/groups.py`` computes over a group that changes."""

from __future__ import annotations

from collections.abc import Callable

from streamq.compiler.ir.expr import AggCall, Expr
from streamq.compiler.ir.logical import Aggregate, Field
from streamq.compiler.lowering.carry import DOUBLES, LONG, TEXT, kind_of, order_text
from streamq.compiler.lowering.state import refuse
from streamq.dsl.records import dataclass
from streamq.dsl.types import BIGINT, STRING, Decimal, Type, is_numeric, is_string

NAMES = {
    "COUNT": "COUNT", "SUM": "SUM", "TRY_SUM": "SUM", "AVG": "AVG", "MEAN": "AVG", "MIN": "MIN", "MAX": "MAX",
    "STDDEV_SAMP": "STDDEV_SAMP", "STDDEV": "STDDEV_SAMP", "STD": "STDDEV_SAMP", "STDDEV_POP": "STDDEV_POP",
    "VAR_SAMP": "VAR_SAMP", "VARIANCE": "VAR_SAMP", "VAR_POP": "VAR_POP", "FIRST": "FIRST",
    "FIRST_VALUE": "FIRST", "LAST": "LAST", "LAST_VALUE": "LAST", "MIN_BY": "MIN_BY", "ARG_MIN": "MIN_BY",
    "MAX_BY": "MAX_BY", "ARG_MAX": "MAX_BY", "BOOL_AND": "BOOL_AND", "EVERY": "BOOL_AND", "BOOL_OR": "BOOL_OR",
    "SOME": "BOOL_OR", "ANY_VALUE": "MIN", "COUNT_IF": "COUNT",
}
_ALWAYS_DOUBLE = ("AVG", "STDDEV_SAMP", "STDDEV_POP", "VAR_SAMP", "VAR_POP")
_ORDERED = ("MIN", "MAX", "FIRST", "LAST", "MIN_BY", "MAX_BY")
_UNCHANGED_BY_COPIES = ("MIN", "MAX", "BOOL_AND", "BOOL_OR")


@dataclass(frozen=True, slots=True)
class FoldPlan:
    """``folds``: (name, positions of its arguments, kind of its result) each; the arguments, and their SQL."""

    folds: tuple[tuple[str, tuple[int, ...], str], ...]
    kinds: tuple[str, ...]
    fields: tuple[Field, ...]
    texts: tuple[str, ...]


def lower_folds(
    node: Aggregate, first: int, to_text: Callable[[Expr], str], *, grows: bool
) -> FoldPlan:
    """The folds of an aggregate's calls, whose arguments are the values from position ``first`` on."""
    fields: list[Field] = []
    texts: list[str] = []
    folds: list[tuple[str, tuple[int, ...], str]] = []
    for _, call in node.aggregates:
        name = _name(call, grows)
        args: list[int] = []
        for type_, text in _arguments(call, to_text):
            args.append(first + len(fields))
            fields.append(Field(f"__argument{len(fields)}", type_))
            texts.append(text)
        folds.append((name, tuple(args), _result_kind(name, call)))
    return FoldPlan(tuple(folds), tuple(k for _, _, k in folds), tuple(fields), tuple(texts))


def _name(call: AggCall, grows: bool) -> str:
    name = NAMES.get(call.function)
    if name is None:
        raise refuse(
            f"{call.function} over a window that moves cannot be run yet", call.origin,
            "it can over a window with SLIDE; COUNT, SUM, AVG, MIN, MAX and the like can here",
        )
    if name in ("MIN_BY", "MAX_BY") and len(call.args) > 2:
        raise refuse(
            f"{call.function} of several rows over a window that moves cannot be run yet",
            call.origin, "put a window with SLIDE after the stream",
        )
    if call.distinct and name not in _UNCHANGED_BY_COPIES:
        if name != "COUNT" or grows:
            raise refuse(
                f"{call.function}(DISTINCT …) over this relation cannot be run yet", call.origin,
                "put a window with SLIDE after the stream",
            )
        name = "COUNT_DISTINCT"
    for place, arg in enumerate(call.args):
        by = name in ("MIN_BY", "MAX_BY")
        known = _is_ordered(arg.type) or (by and (place == 0 or order_text("", arg.type) is not None))
        if name in _ORDERED and not known:
            raise refuse(
                f"{call.function} of {arg.type} over a window that moves cannot be run yet",
                arg.origin, "put a window with SLIDE after the stream",
            )
    if isinstance(call.type, Decimal) and (name == "AVG" or not _is_ordered(call.args[0].type)):
        raise refuse(
            f"{call.function} of {call.args[0].type} over a window that moves cannot be run yet",
            call.origin, "cast the values to DOUBLE",
        )
    if call.filter is not None and name in ("FIRST", "LAST"):
        raise refuse(f"{call.function} with FILTER over a window that moves cannot be run yet",
                     call.origin, "filter the rows with WHERE")
    return name


def _is_ordered(t: Type) -> bool:
    """True where the carried form of the values has their order."""
    return kind_of(t) != TEXT or is_string(t)


def _arguments(call: AggCall, to_text: Callable[[Expr], str]) -> list[tuple[Type, str]]:
    kept = None if call.filter is None else to_text(call.filter)
    if call.function == "COUNT_IF":
        test = to_text(call.args[0])
        both = test if kept is None else f"({kept}) AND ({test})"
        return [(BIGINT, f"IF({both}, 1L, NULL)")]
    if not call.args:
        return [] if kept is None else [(BIGINT, f"IF({kept}, 1L, NULL)")]
    texts: list[tuple[Type, str]] = [(arg.type, to_text(arg)) for arg in call.args]
    if NAMES[call.function] in ("MIN_BY", "MAX_BY") and not _is_ordered(texts[1][0]):
        by, text = texts[1]
        texts[1] = (STRING, f"IF({text} IS NULL, NULL, {order_text(text, by)})")
    if kept is None:
        return texts
    return [(t, f"IF({kept}, {text}, NULL)") for t, text in texts]


def _result_kind(name: str, call: AggCall) -> str:
    if name in _ALWAYS_DOUBLE:
        return DOUBLES
    if name == "SUM" and isinstance(call.type, Decimal):
        return LONG
    return kind_of(call.type) if is_numeric(call.type) or call.args else LONG
