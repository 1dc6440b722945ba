"""Estimates from sketches: each is an aggregate of Spark's own, and a reading of it above the groups (ADR 0017).

Equal aggregates of a block are one, so several estimates of one column share its sketch. The size of a sketch follows
from its error or the error from its size; both are constants of the plan, so a checkpoint has one kind of sketch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamq.compiler.binder.arguments import (
    bound_filter,
    coerced,
    has_aggregate,
    is_constant,
    matched,
)
from streamq.compiler.binder.context import is_unknown, unknown
from streamq.compiler.ir import expr as ir
from streamq.compiler.ir.build import aggregate, number
from streamq.compiler.ir.expr import Expr
from streamq.compiler.ir.sketches import FREQUENCY_SKETCH, READ_AS, TOP_SKETCH
from streamq.dsl import ast
from streamq.dsl.records import replace
from streamq.dsl.source import Span
from streamq.dsl.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    Array,
)
from streamq.stdlib.estimate.confidence import deviations
from streamq.stdlib.functions.sketch_parts import PARTS
from streamq.stdlib.registry import FunctionSpec
from streamq.stdlib.signatures import Signature, match_call
from streamq.stdlib.sketches.counter_sizes import planned
from streamq.stdlib.sketches.heavy_plan import plan_heavy
from streamq.stdlib.sketches.kinds import CONFIDENCE, MOST_MEMORY, SEED, in_units
from streamq.stdlib.sketches.linear_plan import Purpose, spark_arguments

if TYPE_CHECKING:
    from streamq.compiler.binder.expressions import ExpressionBinder


USUAL = {"WITHIN": "5 PERCENT", "CONFIDENCE": "95 PERCENT", "SAMPLE": "50 PERCENT"}
"""Shares, as examples of what can be said."""


def bind_sketch(binder: ExpressionBinder, node: ast.Call, spec: FunctionSpec) -> Expr:
    """The estimate that a call asks for; what it cannot be is reported."""
    if node.star or node.distinct:
        what = "*" if node.star else "DISTINCT"
        return binder.context.error("SQ0302", f"{spec.name} takes no {what}", node.span)
    if spec.name in ("SIMILAR_PAIRS", "SIMILAR_TO"):
        from streamq.compiler.binder.similar import bind_similar

        return bind_similar(binder, node, spec)
    args = tuple(binder.bind(arg) for arg in node.args)
    condition = bound_filter(binder, node)
    if is_unknown(*args, *(() if condition is None else (condition,))):
        return unknown(node.span)
    found = matched(binder, node, spec, args)
    if found is None:
        return unknown(node.span)
    brought = coerced(binder, args, found)
    if has_aggregate(binder, brought if spec.name == "JOIN_SIZE" else brought[:1], spec.name):
        return unknown(node.span)
    work = _Sketches(binder, node, condition)
    match spec.name:
        case "APPROX_FREQUENCY":
            return work.frequency(brought[0], brought[1])
        case "SELF_JOIN_SIZE":
            return work.self_join(brought[0])
        case "JOIN_SIZE":
            return work.join(brought[0], brought[1])
        case _:
            return work.heavy(brought[0], brought[1], found)


def bounds_of(bound: Expr) -> tuple[Expr, Expr] | None:
    """The bounds of an estimate that is a column of a result as it is; None where it has none."""
    inner = bound.operand if isinstance(bound, ir.Cast) else bound
    if not isinstance(inner, ir.Index) or not isinstance(inner.operand, ir.Call):
        return None
    if inner.operand.function not in READ_AS:
        return None
    return item(inner.operand, 1), item(inner.operand, 2)


def whole(value: int) -> Expr:
    return ir.Literal(value=value, type=INT, nullable=False)


def reading(name: str, args: tuple[Expr, ...], span: Span) -> ir.Call:
    """What reads sketches above the groups."""
    found = match_call(PARTS[name], tuple(a.type for a in args))
    assert isinstance(found, Signature), found
    return ir.Call(function=name, args=args, spec=found.spec, type=found.result, origin=span)


class _Sketches:
    """The estimates of one call."""

    def __init__(self, binder: ExpressionBinder, node: ast.Call, condition: Expr | None) -> None:
        self.binder, self.node, self.condition = binder, node, condition
        self.asked = node.approx or ast.Approx(span=node.span)
        self.confidence = self.asked.confidence or CONFIDENCE

    def frequency(self, value: Expr, wanted: Expr) -> Expr:
        """A value that is known before the rows is counted, unless a sketch is asked for."""
        span = self.node.span
        if is_constant(wanted) and self.node.approx is None:
            same = ir.Op(op="=", args=(value, wanted), type=BOOLEAN, origin=span)
            return aggregate("COUNT_IF", (same,), self.condition, span)
        found = self._sketch("frequency", value)
        if found is None:
            return self._unknown()
        args = (found, self._count(value), wanted, number(self.confidence), self._method())
        return ir.Cast(operand=item(reading("FREQUENCY_OF", args, span), 0), type=BIGINT, origin=span)

    def self_join(self, value: Expr) -> Expr:
        found = self._sketch("self_join", value)
        if found is None:
            return self._unknown()
        args = (found, self._count(value), number(self.confidence), self._method())
        return item(reading("SELF_JOIN_OF", args, self.node.span), 0)

    def join(self, left: Expr, right: Expr) -> Expr:
        sides = [self._sketch("join", side) for side in (left, right)]
        if sides[0] is None or sides[1] is None:
            return self._unknown()
        # A row with two equal values is a pair with itself, which where rows are shed stands for as many as the row does.
        same = ir.Op(op="=", args=(left, right), type=BOOLEAN, origin=self.node.span)
        own = aggregate("COUNT_IF", (same,), self.condition, self.node.span)
        args = (sides[0], self._count(left), sides[1], self._count(right), own, number(self.confidence))
        return item(reading("JOIN_OF", args, self.node.span), 0)

    def heavy(self, value: Expr, share: Expr, found: Signature) -> Expr:
        span = self.node.span
        given = share.value if isinstance(share, ir.Literal) else None
        if not isinstance(given, int | float) or not 0 < given <= 1:
            return self.binder.context.error(
                "SQ0302", "the share of rows is a number above 0, up to 1", share.origin,
                help="HEAVY_HITTERS(x, 0.01) gives what at least one row in a hundred has",
            )
        if self._refused("WITHIN", "MEMORY", "CONFIDENCE"):
            return self._unknown()
        try:
            plan = plan_heavy(float(given), self.asked.within, self.asked.memory)
        except ValueError as problem:
            return self._impossible(str(problem))
        if value.type in (DOUBLE, FLOAT):
            # 0.0 and -0.0 are equal, and Spark's sketch would tell them apart.
            value = ir.Op(op="+", args=(value, ir.Literal(value=0.0, type=value.type, nullable=False)), type=value.type, origin=value.origin)
        known = ir.Op(op="NOT", args=(ir.IsNull(operand=value, type=BOOLEAN, nullable=False),), type=BOOLEAN, nullable=False)
        condition = ir.conjunction((known,) if self.condition is None else (known, self.condition))
        top = aggregate(TOP_SKETCH, (value, whole(plan.reported), whole(plan.tracked)), condition, span)
        seen = aggregate("ROWS_SEEN", (value,), self.condition, span)
        args = (
            top, _double(seen), _double(self._count(value)), number(given), number(plan.error),
            number(deviations(self.confidence)), *(aggregate(w, (value,), self.condition, span) for w in ("LEAST_WEIGHT", "MOST_WEIGHT")),
        )
        return replace(reading("HEAVY_OF", args, span), type=found.result)

    def _sketch(self, purpose: Purpose, value: Expr) -> Expr | None:
        """The sketch that serves; None where what is asked for cannot be."""
        if self._refused("WITHIN", "MEMORY", "CONFIDENCE", "METHOD"):
            return None
        try:
            plan = planned(purpose, self.asked.method, self.asked.within, self.asked.memory, self.confidence)
            eps, confidence = spark_arguments(plan)
        except ValueError as problem:
            self._impossible(str(problem))
            return None
        if self.condition is not None:
            value = ir.Case(whens=((self.condition, value),), default=None, type=value.type, origin=value.origin)
        return aggregate(FREQUENCY_SKETCH, (value, number(eps), number(confidence), whole(SEED)), None, self.node.span)

    def _method(self) -> Expr:
        return ir.Literal(value=self.asked.method or "AUTO", type=STRING, nullable=False)

    def _count(self, value: Expr) -> Expr:
        """The rows behind the sketch; of shed rows this is an estimate of all, by which the sketch is scaled."""
        return aggregate("COUNT", (value,), self.condition, self.node.span)

    def _refused(self, *taken: str) -> bool:
        return refused(self.binder, self.node, *taken)

    def _impossible(self, problem: str) -> Expr:
        return impossible(self.binder, problem, self.asked.span)

    def _unknown(self) -> Expr:
        return unknown(self.node.span)


def impossible(binder: ExpressionBinder, problem: str, span: Span) -> Expr:
    """Reports what a planner says: what is wrong, a colon or semicolon, and the way out."""
    message, _, help = problem.replace("; ", ": ", 1).partition(": ")
    return binder.context.error("SQ0306", message, span, help=help)


def refused(binder: ExpressionBinder, node: ast.Call, *taken: str) -> bool:
    """Whether the call asks for something that it does not take, or for a share that is none; which is reported."""
    if node.approx is None:
        return False
    asked = node.approx
    given = {
        "WITHIN": asked.within, "CONFIDENCE": asked.confidence, "MEMORY": asked.memory, "SAMPLE": asked.sample,
        "METHOD": asked.method,
    }
    for word, value in given.items():
        if value is not None and word not in taken:
            binder.context.error(
                "SQ0302", f"{node.name.text.upper()} takes no {word}", asked.span,
                help=f"it takes {', '.join(taken)}" if taken else "leave it out",
            )
            return True
        if word in USUAL and isinstance(value, float) and not 0 < value < 1:
            binder.context.error(
                "SQ0306", f"{word} is a share between 0 and 100 percent", asked.span, help=f"say {word} {USUAL[word]}, for example",
            )
            return True
    if asked.memory is not None and not 0 < asked.memory <= MOST_MEMORY:
        binder.context.error(
            "SQ0306", f"MEMORY is above 0, and at most {in_units(MOST_MEMORY)} for each group", asked.span, help="say MEMORY 64 KB, for example",
        )
        return True
    if asked.fp:
        binder.context.error("SQ0306", "only APPROX DISTINCT has false positives", asked.span, help="say WITHIN without FP")
        return True
    return False


def _double(value: Expr) -> Expr:
    return ir.Cast(operand=value, type=DOUBLE, nullable=value.nullable)


def item(array: Expr, place: int) -> Expr:
    assert isinstance(array.type, Array)
    return ir.Index(operand=array, index=whole(place), type=array.type.element, origin=array.origin)
