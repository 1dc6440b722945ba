"""What all calls ask of their arguments: whether they fit the declaration, and that no aggregate stands inside another."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from streamq.compiler.ir import expr as ir
from streamq.compiler.ir.expr import Expr
from streamq.compiler.ir.sketches import shown
from streamq.dsl import ast
from streamq.stdlib.calls import Arg
from streamq.stdlib.registry import FunctionSpec
from streamq.stdlib.signatures import Mismatch, Signature, match_call

if TYPE_CHECKING:
    from streamq.compiler.binder.expressions import ExpressionBinder


def matched(
    binder: ExpressionBinder, node: ast.Call, spec: FunctionSpec, args: tuple[Expr, ...]
) -> Signature | None:
    """The declaration that the arguments of a call fit; None, and a report, where they fit none."""
    found = match_call(spec, tuple(
        Arg(
            bound.type, is_constant(bound),
            bound.value if isinstance(bound, ir.Literal) else None,
            given.parts[-1].text if isinstance(given, ast.Name) else "",
        )
        for given, bound in zip(node.args, args, strict=True)
    ))
    if isinstance(found, Mismatch):
        at = found.argument
        span = node.args[at].span if at is not None and at < len(node.args) else node.span
        binder.context.error("SQ0302", found.message, span, help=found.help)
        return None
    return found


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
