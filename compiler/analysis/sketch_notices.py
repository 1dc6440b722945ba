"""Says of each estimate from a sketch what keeps it, how much that takes, and how far off it may be."""

from __future__ import annotations

import math

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.durations import show_ms
from streamq.compiler.ir.expr import AggCall, Call, Column, Literal
from streamq.compiler.ir.expr import walk as walk_expr
from streamq.compiler.ir.physical import BUCKETS
from streamq.compiler.ir.rewrite import exprs_of, walk
from streamq.compiler.ir.sketches import (
    PAIR_COUNTS,
    READ_AS,
    TOP_SKETCH,
    Remembers,
    pair_counts,
)
from streamq.compiler.notices import PlanNotice
from streamq.dsl.source import Span
from streamq.stdlib.sketches.heavy_plan import ERROR, LOAD
from streamq.stdlib.sketches.kinds import DEPTH, MOST_MEMORY, in_units, shown_size
from streamq.stdlib.sketches.linear_plan import COUNTER_BYTES, Method, Purpose, error_of

_READ: dict[str, tuple[Purpose, str, str]] = {
    "FREQUENCY_OF": ("frequency", "the root of the self-join size", "all rows"),
    "SELF_JOIN_OF": ("self_join", "itself", "the rows squared"),
    "JOIN_OF": ("join", "the root of both self-join sizes", "the rows of both multiplied"),
}
"""What a sketch is read for, and what an error of CMM and one of CM is a part of."""
_OF_SPARK = {
    "APPROX_COUNT_DISTINCT": "HyperLogLog++", "APPROX_PERCENTILE": "quantile summary", "PERCENTILE_APPROX": "quantile summary",
    "APPROX_TOP_K": "frequent-items sketch",
}
"""Aggregates that are sketches of Spark's own, where Spark computes them."""


def sketch_notices(plan: lg.LogicalPlan) -> tuple[PlanNotice, ...]:
    """A notice for each sketch of each query, in the order of the queries; of a plan after the passes."""
    found: list[PlanNotice] = []
    for query in plan.queries:
        told: list[PlanNotice] = []
        calls = {
            name: call for node in walk(query.root) if isinstance(node, lg.Aggregate) for name, call in node.aggregates
        }
        for node in walk(query.root):
            if isinstance(node, lg.Distinct) and node.approx is not None:
                told.append(_remembers(query.name, node.approx, node.origin))
            for part in (part for expr in exprs_of(node) for part in walk_expr(expr)):
                notice = _told(query.name, part, calls) if isinstance(part, Call | AggCall) else None
                told += [] if notice is None else [notice]
        # Of a sketch that is read in several places one.
        found.extend({(n.message, n.hint): n for n in reversed(told)}.values())
    return tuple(found)


def _told(query: str, part: Call | AggCall, calls: dict[str, AggCall]) -> PlanNotice | None:
    match part:
        case Call(function=name) if name in _READ:
            of = part.args[0]
            sketch = calls.get(of.name) if isinstance(of, Column) else None
            return None if sketch is None else _counters(query, part, sketch)
        case AggCall(function=name) if name == TOP_SKETCH:
            return _followed(query, part)
        case AggCall(function=name) if name == PAIR_COUNTS:
            return _pairs(query, part)
        case AggCall(function=name) if name in _OF_SPARK:
            return PlanNotice(
                "sketch", query, f"{name} is kept in a {_OF_SPARK[name]} of Spark's own",
                hint="over a window that moves it is exact instead", span=part.origin,
            )
        case _:
            return None


def _counters(query: str, part: Call, sketch: AggCall) -> PlanNotice:
    purpose, of_cmm, of_cm = _READ[part.function]
    name, _ = READ_AS[part.function]
    width, depth = _shape(sketch)
    settings = [a.value for a in part.args if isinstance(a, Literal)]
    method = "CMM" if purpose == "join" else str(settings.pop())
    confidence = float(settings[-1] or 0)
    read: Method = "CM" if method == "CM" else "CMM"
    off = error_of(purpose, read, width)
    how = {
        "AUTO": "each time by what the counters say of the skew: without the noise of a row (CMM), or as the least (CM)",
        "CM": "as the least of a row each (CM), which is never too low", "CMM": "without the noise of a row (CMM)",
    }[method]
    return PlanNotice(
        "sketch", query, f"{name} is kept in Spark's count_min_sketch, {depth} rows of {width:,} counters, "
        f"{shown_size(COUNTER_BYTES * width * depth)} a group",
        hint=f"it is read {how}; off by at most {off:.2%} of {of_cm if read == 'CM' else of_cmm} in {confidence * 100:g}% of cases",
        action=_halved(off, COUNTER_BYTES * width * depth, read), span=part.origin,
    )


def _halved(off: float, memory: int, read: Method) -> str:
    """What halves an error, where that can be had: as many columns for CM, four times as many without noise."""
    more = memory * (2 if read == "CM" else 4)
    if more > MOST_MEMORY:
        return ""
    return f"say WITHIN {100 * off / 2:.3g} PERCENT or MEMORY {in_units(more)} inside to halve that"


def _shape(sketch: AggCall) -> tuple[int, int]:
    """Width and depth, as Spark takes them from error and confidence."""
    eps, confidence = (a.value for a in sketch.args[1:3] if isinstance(a, Literal))
    assert isinstance(eps, float)
    assert isinstance(confidence, float)
    return math.ceil(2 / eps), math.ceil(-math.log1p(-confidence) / math.log(2))


def _followed(query: str, call: AggCall) -> PlanNotice:
    tracked = call.args[2]
    assert isinstance(tracked, Literal)
    assert isinstance(tracked.value, int)
    return PlanNotice(
        "sketch", query, f"HEAVY_HITTERS follows {tracked.value:,} values with Spark's approx_top_k",
        hint="no value that has the share is missing; a count is too high by at most "
        f"{ERROR * LOAD / tracked.value:.3%} of the rows, which count_lo takes off", span=call.origin,
    )


def _pairs(query: str, call: AggCall) -> PlanNotice:
    asked = pair_counts(call)
    plan, width = asked.plan, asked.width
    sets = sum(plan.n_proj)
    what = f"the {sets} sets of columns of a row" if sets > 1 else "the columns of a row"
    if not plan.exact:
        what += " that are drawn for it"
    bounds = "the bounds say how far off it is" if width else "it is exact"
    if not plan.exact:
        bounds = "it has no bounds: what a sample is off by depends on how pairs hang together"
        bounds += ", and here that is much" if plan.is_loose else ""
    elif asked.weight is not None:
        bounds = "it has no bounds where rows were shed: what that is off by depends on how pairs hang together"
    if width:
        size = COUNTER_BYTES * DEPTH * width * len(plan.n_proj)
        message, action = f"SIMILAR_PAIRS keeps {what} in signed counters, {shown_size(size)} a group", "more MEMORY makes it better"
    else:
        message = f"SIMILAR_PAIRS counts {what} by their values"
        action = "each different value is kept until the window ends"
        action += "; say MEMORY 1 MB inside to bound that" if plan.exact and asked.weight is None else ""
    return PlanNotice("sketch", query, message, hint=bounds, action=action, span=call.origin)


def _remembers(query: str, filter_: Remembers, span: Span) -> PlanNotice:
    lost = f"at most {filter_.fp_bound:.2%} of new rows are taken for old ones and lost"
    if filter_.kind == "STABLE":
        ten, half = filter_.horizons
        gone = "" if ten is None or half is None else (
            f"; one old row in ten comes again where {ten:,} different ones came since, one in two after {half:,}"
        )
        return PlanNotice(
            "sketch", query, f"APPROX DISTINCT remembers rows in a Stable Bloom filter of {shown_size(filter_.memory)}, in {BUCKETS} parts",
            hint=lost + gone, action="MEMORY moves these numbers in proportion, WITHIN FP the share that is lost", span=span,
        )
    capacity = filter_.sizes[3] * BUCKETS
    if filter_.range_ms:
        pane = show_ms(max(1, filter_.pane_us // 1000))
        kept = f"no row of the last {show_ms(filter_.range_ms)} comes again while at most {capacity:,} different ones come in {pane}"
        more = "more of them are let through and not remembered"
    else:
        kept = f"no row comes again among the last {capacity:,} different ones"
        more = "MEMORY moves this number in proportion"
    return PlanNotice(
        "sketch", query, f"APPROX DISTINCT remembers rows in {filter_.sizes[1]} Bloom filters in turn, {shown_size(filter_.memory)} in {BUCKETS} parts",
        hint=f"{lost}; {kept}", action=more, span=span,
    )
