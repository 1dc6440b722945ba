"""How many rows are alike: pairs of rows that have enough values in common, and rows that are like one that is given.

The record of SIMILAR_TO is known before the rows, so that its rows are counted, which no sketch does better.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from streamq.compiler.binder.arguments import bound_filter, has_aggregate, is_constant
from streamq.compiler.binder.context import is_unknown, unknown
from streamq.compiler.binder.sketches import impossible, item, refused, whole
from streamq.compiler.ir import expr as ir
from streamq.compiler.ir.build import aggregate, number
from streamq.compiler.ir.expr import Expr
from streamq.compiler.ir.sketches import PAIR_COUNTS
from streamq.dsl import ast
from streamq.dsl.types import BOOLEAN, DOUBLE, INT, Array, holds_map, is_integer, with_article
from streamq.stdlib.estimate.confidence import deviations
from streamq.stdlib.registry import FunctionSpec, Kind
from streamq.stdlib.sketches.kinds import CONFIDENCE, DEPTH, LEAST_WIDTH, in_units
from streamq.stdlib.sketches.linear_plan import COUNTER_BYTES
from streamq.stdlib.sketches.similarity_plan import (
    SimilarityPlan,
    inversion_weights,
    plan_similarity,
)

if TYPE_CHECKING:
    from streamq.compiler.binder.expressions import ExpressionBinder

MOST_SETS = 300
"""Sets of columns of a row that are looked at: each costs a hash of every row, and a line of the plan."""

MIDDLE = 0.67
"""The standard deviation of the middle one of three normal numbers, in theirs (0.6698), a bit more."""

COUNTS_SPEC = FunctionSpec(
    name=PAIR_COUNTS, kind=Kind.AGGREGATE, params=("any*",), result="ARRAY<DOUBLE>", null_safe=True, category="parts of sketches",
    doc="Sizes of the self-joins of sets of columns; lowering/similar.py has its SQL.",
)


def bind_similar(binder: ExpressionBinder, node: ast.Call, spec: FunctionSpec) -> Expr:
    """SIMILAR_PAIRS((a, b, …), s) and SIMILAR_TO((a, b, …), ('x', 'y', …), s)."""
    count = 2 if spec.name == "SIMILAR_PAIRS" else 3
    rows = node.args[: count - 1]
    if len(node.args) != count or not all(isinstance(row, ast.Row) for row in rows):
        shape = "SIMILAR_PAIRS((a, b, c), 2)" if count == 2 else "SIMILAR_TO((a, b, c), ('x', 'y', 'z'), 2)"
        return binder.context.error(
            "SQ0302", f"{spec.name} compares the columns of a list in parentheses", node.span, help=f"write it as {shape}",
        )
    listed = [_columns(binder, row, spec.name) for row in rows]
    condition = bound_filter(binder, node)
    least = _least(binder, node.args[-1], len(listed[0]), spec.name)
    if least is None or is_unknown(*(e for row in listed for e in row), *(() if condition is None else (condition,))):
        return unknown(node.span)
    if spec.name == "SIMILAR_TO":
        return _similar_to(binder, node, listed, least, condition)
    return _pairs(binder, node, listed[0], least, condition)


def _columns(binder: ExpressionBinder, row: ast.Expr, name: str) -> tuple[Expr, ...]:
    assert isinstance(row, ast.Row)
    bound = []
    for given in row.items:
        value = binder.bind(given)
        if has_aggregate(binder, (value,), name):
            value = unknown(given.span)
        elif not is_unknown(value) and holds_map(value.type):
            value = binder.context.error(
                "SQ0302", f"{name} cannot compare {with_article(value.type)}", value.origin, help="compare single entries of it",
            )
        bound.append(value)
    return tuple(bound)


def _least(binder: ExpressionBinder, node: ast.Expr, most: int, name: str) -> int | None:
    bound = binder.bind(node)
    given = bound.value if isinstance(bound, ir.Literal) and is_integer(bound.type) else None
    if is_unknown(bound):
        return None
    if not isinstance(given, int) or not 1 <= given <= most:
        binder.context.error(
            "SQ0302", f"{name} takes how many values are to be equal, from 1 to {most}", bound.origin,
        )
        return None
    return given


def _similar_to(
    binder: ExpressionBinder, node: ast.Call, listed: list[tuple[Expr, ...]], least: int, condition: Expr | None
) -> Expr:
    columns, record = listed
    if node.approx is not None:
        return binder.context.error(
            "SQ0302", "SIMILAR_TO is exact, as its record is known before the rows", node.approx.span, help="leave it out",
        )
    if len(columns) != len(record):
        return binder.context.error(
            "SQ0302", f"{len(columns)} columns are compared with {len(record)} values", node.args[1].span,
            help="give one value for each column",
        )
    for value in record:
        if not is_constant(value):
            return binder.context.error(
                "SQ0302", "the values of the record must be constants", value.origin,
                help="to compare rows with rows, join them: ON (a.x = b.x) …",
            )
    equal: Expr | None = None
    for column, value in zip(columns, record, strict=True):
        same = binder.compare("=", column, value, node.span)
        if is_unknown(same):
            return same
        one = ir.Case(whens=((same, whole(1)),), default=whole(0), type=INT, nullable=False, origin=node.span)
        equal = one if equal is None else ir.Op(op="+", args=(equal, one), type=INT, nullable=False, origin=node.span)
    assert equal is not None
    enough = ir.Op(op=">=", args=(equal, whole(least)), type=BOOLEAN, nullable=False, origin=node.span)
    return aggregate("COUNT_IF", (enough,), condition, node.span)


def _pairs(
    binder: ExpressionBinder, node: ast.Call, columns: tuple[Expr, ...], least: int, condition: Expr | None
) -> Expr:
    if refused(binder, node, "MEMORY", "SAMPLE", "CONFIDENCE"):
        return unknown(node.span)
    asked = node.approx or ast.Approx(span=node.span)
    width = 0
    try:
        plan = plan_similarity(len(columns), least, asked.sample)
        sets = sum(math.comb(len(columns), k) for k in plan.ks)
        if sets > MOST_SETS:
            raise ValueError(
                f"a row has {sets:,} sets of at least {least} of {len(columns)} columns; compare fewer columns, or ask for more equal values"
            )
        if asked.memory is not None:
            width = width_of(plan, asked.memory)
    except ValueError as problem:
        return impossible(binder, str(problem), asked.span)
    args = (*columns, whole(least), number(plan.rate), whole(width))
    counts = ir.AggCall(
        function=PAIR_COUNTS, args=args, spec=COUNTS_SPEC, filter=condition, type=Array(DOUBLE), nullable=False, origin=node.span,
    )
    read = ir.Call(
        function="PAIRS_OF", args=(counts, number(deviations(asked.confidence or CONFIDENCE))), spec=_reading(plan, width),
        type=Array(DOUBLE), nullable=False, origin=node.span,
    )
    return item(read, 0)


def width_of(plan: SimilarityPlan, memory: int) -> int:
    """Counters in a row of the sketches of a plan. ValueError where the memory is too small for any."""
    of_column = COUNTER_BYTES * DEPTH * len(plan.n_proj)
    if memory < LEAST_WIDTH * of_column:
        raise ValueError(
            f"{memory:,} bytes are too few for {len(plan.n_proj)} sketches; {in_units(LEAST_WIDTH * of_column)} would do"
        )
    return memory // of_column



def _reading(plan: SimilarityPlan, width: int) -> FunctionSpec:
    """Unordered pairs with their bounds, from the counts and how many deviations the bounds are wide: the binomial inversion (Deng 2007, section 5.2) as arithmetic.

    The bounds of sketches take what the middle of three rows errs by as normal; what a sample errs by depends on how pairs
    hang together, so it has none.
    """
    def at(place: int) -> str:
        return f"get({{0}}, {place})"

    weights = inversion_weights(plan)
    terms = [f"{weight!r}D * ({at(2 * i)} - {at(2 * i + 1)})" for i, weight in enumerate(weights)]
    size = f"round(greatest(0D, {' + '.join(terms)}) / 2)"
    if not plan.exact:
        bounds = ["CAST(NULL AS DOUBLE)"] * 2
    elif not width:
        bounds = [size, size]
    else:
        spread = " + ".join(f"pow({weight * math.sqrt(2 / width)!r}D * {at(2 * i)}, 2)" for i, weight in enumerate(weights))
        error = f"{{1}} * {MIDDLE / 2!r}D * sqrt({spread})"
        bounds = [f"greatest(0D, {size} - {error})", f"{size} + {error}"]
    # Of rows of which some were shed the last count is above 0, and what is off then depends on how pairs hang together too.
    bounds = [f"if({at(2 * len(weights))} > 0D, NULL, {bound})" for bound in bounds]
    return FunctionSpec(
        name="PAIRS_OF", params=("ARRAY<DOUBLE>", "DOUBLE!"), result="ARRAY<DOUBLE>", null_safe=True, category="parts of sketches",
        doc="Pairs of rows that are alike, with bounds.", sql=f"array({size}, {', '.join(bounds)})",
    )
