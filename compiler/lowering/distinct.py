"""Exact DISTINCT aggregates, which Spark refuses on streams.

Two forms. *Two-level*, where a window closes and everything else in the block decomposes: group by the value
too, then count; its state is one small row per value. *Set*: ``size(collect_set(x))``; works everywhere, its
state is the set of each group.
"""

from __future__ import annotations

from streamq.compiler.ir.expr import AggCall
from streamq.compiler.ir.physical import Named
from streamq.compiler.lowering.sql import aggregate, filter_clause, quote, spark_type, to_sql
from streamq.dsl.diagnostics import Abort, Diagnostic
from streamq.dsl.records import dataclass
from streamq.dsl.types import Array, Map, Type
from streamq.stdlib.registry import Merge

VALUE = "__value"
_PLAIN = frozenset({"MIN", "MAX", "BOOL_AND", "BOOL_OR", "EVERY", "ANY", "SOME", "COLLECT_SET"})
"""Aggregates that duplicates do not change."""


@dataclass(frozen=True, slots=True)
class TwoLevel:
    """First ``inner`` aggregates grouped by the keys and ``value``, then ``outer`` by the keys."""

    value: str
    inner: tuple[Named, ...]
    outer: tuple[Named, ...]


def needs_distinct(call: AggCall) -> bool:
    return call.distinct and call.function not in _PLAIN


def two_level(
    aggregates: tuple[tuple[str, AggCall], ...], names: frozenset[str]
) -> TwoLevel | None:
    """The two-level form, or None where the block does not decompose."""
    distinct = {(a.args, a.filter) for _, a in aggregates if needs_distinct(a)}
    if len(distinct) != 1:
        return None
    args, condition = next(iter(distinct))
    if len(args) != 1 or condition is not None or not _hashable(args[0].type):
        return None
    inner: list[Named] = []
    outer: list[Named] = []
    for i, (name, call) in enumerate(aggregates):
        if needs_distinct(call):
            if call.function not in ("COUNT", "SUM", "AVG"):
                return None
            outer.append((name, f"{call.function.lower()}({quote(VALUE)})"))
            continue
        merged = decompose(f"__p{i}", name, call, names)
        if merged is None:
            return None
        inner.extend(merged[0])
        outer.append(merged[1])
    return TwoLevel(to_sql(args[0], names), tuple(inner), tuple(outer))


def decompose(
    part: str, name: str, call: AggCall, names: frozenset[str]
) -> tuple[list[Named], Named] | None:
    """A call as aggregates of parts and what makes it of these; None where it is more than its parts."""
    partial = aggregate(call, names)
    match call.spec.merge:
        case Merge.SUM:
            merged = f"CAST(sum({quote(part)}) AS {spark_type(call.type)})"
            return [(part, partial)], (name, merged)
        case Merge.COUNT:
            return [(part, partial)], (name, f"coalesce(sum({quote(part)}), 0L)")
        case Merge.MIN | Merge.MAX:
            return [(part, partial)], (name, f"{call.spec.merge.value}({quote(part)})")
        case _:
            return None


def set_form(call: AggCall, names: frozenset[str]) -> str:
    """``COUNT/SUM/AVG(DISTINCT x)`` over a collected set."""
    tail = filter_clause(call, names)
    args = [to_sql(a, names) for a in call.args]
    if not all(_hashable(a.type) for a in call.args):
        raise _refuse(call, "DISTINCT over a MAP has no meaning in Spark")
    if call.function == "COUNT":
        if len(args) == 1:
            return f"CAST(size(collect_set({args[0]}){tail}) AS BIGINT)"
        known = " AND ".join(f"{a} IS NOT NULL" for a in args)
        row = f"CASE WHEN {known} THEN struct({', '.join(args)}) END"
        return f"CAST(size(collect_set({row}){tail}) AS BIGINT)"
    if call.function in ("SUM", "AVG") and len(args) == 1:
        return _fold(call, f"collect_set({args[0]}){tail}")
    raise _refuse(call, f"{call.function}(DISTINCT …) cannot be run")


def _fold(call: AggCall, values: str) -> str:
    kind = spark_type(call.type)
    total = f"aggregate({values}, CAST(0 AS {kind}), (a, v) -> CAST(a + v AS {kind}))"
    count = f"size({values})"
    if call.function == "SUM":
        return f"CASE WHEN {count} > 0 THEN {total} END"
    return f"CASE WHEN {count} > 0 THEN CAST({total} / {count} AS {kind}) END"


def _refuse(call: AggCall, message: str) -> Abort:
    return Abort(Diagnostic(
        code="SQ0501", message=message, span=call.origin,
        help="COUNT, SUM and AVG take DISTINCT; APPROX_COUNT_DISTINCT is cheaper",
    ))


def _hashable(t: Type) -> bool:
    if isinstance(t, Array):
        return _hashable(t.element)
    return not isinstance(t, Map)
