"""Aggregates in two steps: of the parts of a group, and of the group from its parts."""

from __future__ import annotations

from streamq.compiler.ir.expr import AggCall
from streamq.compiler.ir.physical import Named
from streamq.compiler.lowering.distinct import decompose, needs_distinct
from streamq.compiler.lowering.sql import filter_clause, quote, spark_type, to_sql
from streamq.dsl.types import Decimal

Parts = tuple[list[Named], Named]
"""What is computed of each part, and what makes it the value of the group."""


def partial(part: str, name: str, call: AggCall, names: frozenset[str]) -> Parts | None:
    """A call in two steps, its parts under names that begin with ``part``; None where it is more than its parts."""
    if needs_distinct(call):
        return None
    args = [to_sql(a, names) for a in call.args]
    kept = filter_clause(call, names)
    first, second = f"{part}a", f"{part}b"
    match call.function:
        case "AVG" | "MEAN" if not isinstance(call.args[0].type, Decimal):
            summed = [(first, f"sum(CAST({args[0]} AS DOUBLE)){kept}"), (second, f"count({args[0]}){kept}")]
            whole = f"sum({quote(first)}) / sum({quote(second)})"
            return summed, (name, f"CAST({whole} AS {spark_type(call.type)})")
        case "MIN_BY" | "ARG_MIN" | "MAX_BY" | "ARG_MAX" if len(args) == 2:
            by, most = ("min_by", "min") if call.function in ("MIN_BY", "ARG_MIN") else ("max_by", "max")
            extreme = [(first, f"{by}({args[0]}, {args[1]}){kept}"), (second, f"{most}({args[1]}){kept}")]
            return extreme, (name, f"{by}({quote(first)}, {quote(second)})")
        case _:
            return decompose(part, name, call, names)
