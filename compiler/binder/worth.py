"""What a row is worth, as QOS UTILITY says it: a number that follows from its columns."""

from __future__ import annotations

from streamq.compiler.binder.context import BindContext, is_unknown
from streamq.compiler.binder.relations import reject_aggregates
from streamq.compiler.ir.expr import Expr, Quality, walk
from streamq.dsl import ast
from streamq.dsl.diagnostics import Diagnostic
from streamq.dsl.types import is_numeric, with_article


def is_worth(bound: Expr, item: ast.QosUtility, context: BindContext) -> bool:
    """Whether it is the worth of a row; reports where it is not."""
    if reject_aggregates(bound, "UTILITY", context) or is_unknown(bound):
        return False
    if not is_numeric(bound.type):
        context.error(
            "SQ0301", f"UTILITY must be a number, this is {with_article(bound.type)}", item.utility.span,
            help="for example CASE WHEN kind = 'security' THEN 1 ELSE 0.25 END",
        )
        return False
    measure = next((part for part in walk(bound) if isinstance(part, Quality)), None)
    if measure is not None:
        context.refusals.append(Diagnostic(
            code="SQ0601", message=f"{measure.function}() in UTILITY cannot be run yet", span=measure.origin,
            help="say what a row is worth by its columns",
        ))
    return measure is None
