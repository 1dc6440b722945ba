"""``a @> b`` and ``b <@ a``: whether an array has all values of another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamq.compiler.binder.calls import scalar_call
from streamq.compiler.ir.expr import Expr
from streamq.dsl.source import Span
from streamq.dsl.types import Array, Map, Type, holds_map, is_string
from streamq.stdlib.functions import FUNCTIONS
from streamq.stdlib.signatures import Mismatch, match_call

if TYPE_CHECKING:
    from streamq.compiler.binder.expressions import ExpressionBinder

CONTAINMENTS = {"@>": "IS SUPERSET OF", "<@": "IS SUBSET OF"}
"""The signs, and the words for them."""


def bind_containment(
    binder: ExpressionBinder, op: str, left: Expr, right: Expr, span: Span
) -> Expr:
    """The call of CONTAINS_ALL that the operator stands for; reports sides that are no such arrays."""
    args = (left, right) if op == "@>" else (right, left)
    matched = match_call(FUNCTIONS["CONTAINS_ALL"], tuple(arg.type for arg in args))
    if isinstance(matched, Mismatch):
        return binder.context.error(
            "SQ0301", f"`{op}` does not fit {left.type} and {right.type}", span,
            label=f"{left.type} {op} {right.type}", help=_way_out(op, left.type, right.type),
        )
    return scalar_call(binder, matched, args, span)


def _way_out(op: str, left: Type, right: Type) -> str:
    sides = (left, right)
    if all(isinstance(side, Array) for side in sides):
        if any(holds_map(side) for side in sides):
            return "a MAP cannot be compared: make an array of what matters in it"
        return "write a CAST, for example CAST(… AS ARRAY<STRING>)"
    both = f"`{op}`, {CONTAINMENTS[op]}, stands between two arrays"
    if any(isinstance(side, Map) for side in sides):
        return f"{both}: MAP_KEYS(…) and MAP_VALUES(…) are those of a map"
    if any(is_string(side) for side in sides):
        return f"{both}: ARRAY(…) has one text in it, SPLIT(…, ',') the parts of one"
    return f"{both}: ARRAY(…) makes one of single values"
