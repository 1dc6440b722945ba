"""What all calls ask of their arguments: whether they fit the declaration, and that no aggregate stands inside another."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from streamq.compiler.ir import expr as ir
from streamq.compiler.ir.expr import Expr
from streamq.compiler.ir.sketches import shown
from streamq.dsl import ast
from streamq.dsl.printer import print_expr
from streamq.dsl.records import replace
from streamq.dsl.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    STRING,
    TIMESTAMP,
    Array,
    Map,
    Struct,
    can_cast,
    is_numeric,
    is_string,
)
from streamq.stdlib.calls import Arg
from streamq.stdlib.registry import FunctionSpec
from streamq.stdlib.signatures import Mismatch, Signature, match_call

if TYPE_CHECKING:
    from streamq.compiler.binder.expressions import ExpressionBinder

_CAST_TO = (DOUBLE, BIGINT, STRING, TIMESTAMP, BOOLEAN)


def matched(
    binder: ExpressionBinder, node: ast.Call, spec: FunctionSpec, args: tuple[Expr, ...]
) -> Signature | None:
    """The declaration that the arguments of a call fit; None, and a report, where they fit none."""
    known = [
        Arg(
            bound.type, is_constant(bound),
            bound.value if isinstance(bound, ir.Literal) else None,
            given.parts[-1].text if isinstance(given, ast.Name) else "",
        )
        for given, bound in zip(node.args, args, strict=True)
    ]
    found = match_call(spec, known)
    if isinstance(found, Mismatch):
        at = found.argument
        span = node.args[at].span if at is not None and at < len(node.args) else node.span
        help = found.help if at is None else _cast_help(node, spec, known, at) or found.help
        binder.context.error("SQ0302", found.message, span, help=help)
        return None
    return found


def _cast_help(node: ast.Call, spec: FunctionSpec, known: list[Arg], at: int) -> str:
    """The call with the argument that did not fit cast to a type that does; empty where no cast helps."""
    given, actual = node.args[at], known[at]
    if isinstance(actual.type, Array | Map | Struct):
        return ""
    for type_ in _CAST_TO:
        if not can_cast(actual.type, type_):
            continue
        changed = [*known]
        changed[at] = replace(actual, type=type_, value=None)
        if isinstance(match_call(spec, changed), Mismatch):
            continue
        cast = ast.Cast(given, type_, span=given.span)
        call = print_expr(replace(node, args=(*node.args[:at], cast, *node.args[at + 1 :])))
        number = is_string(actual.type) and is_numeric(type_) and isinstance(given, ast.Name)
        return f"write it as {call}" + (", or declare the column as a number" if number else "")
    return ""


def coerced(binder: ExpressionBinder, args: tuple[Expr, ...], found: Signature) -> tuple[Expr, ...]:
    """The arguments brought to the types of the parameters."""
    return tuple(binder.coerce(a, t) for a, t in zip(args, found.params, strict=True))


def is_constant(bound: Expr) -> bool:
    return not any(isinstance(e, ir.Column | ir.AggCall | ir.Quality | ir.Udf) for e in ir.walk(bound))


def has_aggregate(binder: ExpressionBinder, args: Iterable[Expr], name: str) -> bool:
    """Reports the first aggregate among the arguments of an aggregate; True where there was one."""
    inner = next((e for arg in args for e in ir.walk(arg) if isinstance(e, ir.AggCall)), None)
    if inner is not None:
        binder.context.error(
            "SQ0404", f"{shown(inner.function)} stands inside {name}", inner.origin,
            label="an aggregate inside an aggregate",
            help="compute the inner one in a view or subquery, and aggregate that",
        )
    return inner is not None


def bound_filter(binder: ExpressionBinder, node: ast.Call) -> Expr | None:
    """The condition of FILTER, which tests single rows; one of unknown type where it was reported; None where there is none."""
    if node.filter is None:
        return None
    condition = binder.bind_condition(node.filter, "FILTER")
    inner = next((e for e in ir.walk(condition) if isinstance(e, ir.AggCall)), None)
    if inner is None:
        return condition
    return binder.context.error(
        "SQ0404", f"{shown(inner.function)} is an aggregate and cannot stand in FILTER",
        inner.origin, label="an aggregate", help="FILTER tests single rows",
    )
