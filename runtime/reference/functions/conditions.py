"""Functions that choose between values and look at NULL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from streamq.compiler.ir.expr import Call
from streamq.dsl.types import INT, Array, Map, Struct, Type, is_string, quote_name
from streamq.runtime.reference.casts import converter
from streamq.runtime.reference.facts import sort_key
from streamq.runtime.reference.functions.declare import Family, Function
from streamq.runtime.reference.operators import equality, has_plain_order

_f = Family()

_f.plain("IF IIF")(lambda condition, yes, no: yes if condition else no)
_f.plain("COALESCE IFNULL NVL")(lambda *values: next((v for v in values if v is not None), None))
_f.plain("NVL2")(lambda value, yes, no: yes if value is not None else no)
_f.plain("NULLIFZERO")(lambda v: v if v else None)
_f.plain("ISNULL")(lambda v: v is None)
_f.plain("ISNOTNULL")(lambda v: v is not None)
_f.plain("ISNAN")(lambda v: v is not None and v != v)
_f.plain("NANVL")(lambda v, other: other if v is not None and v != v else v)


@_f.typed("NULLIF")
def nullif(call: Call) -> Function:
    key = equality(call.args[0].type)
    return lambda a, b: None if a is not None and b is not None and key(a) == key(b) else a


@_f.typed("ZEROIFNULL")
def zeroifnull(call: Call) -> Function:
    zero = converter(INT, call.type)(0)
    return lambda v: zero if v is None else v


@_f.typed("GREATEST")
def greatest(call: Call) -> Function:
    return _extreme(call.type, max)


@_f.typed("LEAST")
def least(call: Call) -> Function:
    return _extreme(call.type, min)


def _extreme(t: Type, choose: Callable[..., object]) -> Function:
    """Of the values that are not NULL; NULL if there is none."""
    key = None if has_plain_order(t) else sort_key

    def choice(*values: Any) -> object:
        known = [v for v in values if v is not None]
        return choose(known, key=key) if known else None

    return choice


@_f.typed("EQUAL_NULL")
def equal_null(call: Call) -> Function:
    key = equality(call.args[0].type)
    return lambda a, b: (a is None) == (b is None) and (a is None or key(a) == key(b))


@_f.typed("TYPEOF")
def typeof(call: Call) -> Function:
    name = _spark_name(call.args[0].type)
    return lambda _: name


def _spark_name(t: Type) -> str:
    """The type as Spark's catalog spells it."""
    match t:
        case Array():
            return f"array<{_spark_name(t.element)}>"
        case Map():
            return f"map<{_spark_name(t.key)},{_spark_name(t.value)}>"
        case Struct():
            fields = ",".join(f"{quote_name(n)}:{_spark_name(f)}" for n, f in t.fields)
            return f"struct<{fields}>"
        case _ if is_string(t):
            return "string"
        case _:
            return "interval day to second" if str(t) == "INTERVAL" else str(t).lower()


MAKERS = _f.makers
