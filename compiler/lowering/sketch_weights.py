"""Sketches of rows of which some were shed, in classes of weights (ADR 0017).

::

    Aggregate(SELF_JOIN_SIZE(a))  ->  Aggregate(by window: the sketches of all classes
                                        Aggregate(by window and class of weight: count_min_sketch(a)))

Spark's sketch knows no weights, but within a class they are nearly equal, and the sum of its rows' weights goes with it.
"""

from __future__ import annotations

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir import physical as ph
from streamq.compiler.ir.expr import WEIGHT, AggCall
from streamq.compiler.ir.sketches import FREQUENCY_SKETCH, is_weighted
from streamq.compiler.lowering.partial import Parts, partial
from streamq.compiler.lowering.sql import WINDOW, quote, to_sql
from streamq.compiler.lowering.state import LowerContext, Lowered
from streamq.stdlib.functions.sketch_parts import COUNTERS

CLASS = "__class"

PER_OCTAVE = 8
"""Classes of weights from one to twice as much: those of one are within 9 percent of each other."""


def lower_weighted(
    node: lg.Aggregate, below: Lowered, keys: tuple[ph.Named, ...], context: LowerContext
) -> Lowered | None:
    """The aggregate of a block with a sketch of weighted rows; None where there is none, or all of it cannot be had from parts."""
    if not below.window or not any(call.function == FREQUENCY_SKETCH and is_weighted(call) for _, call in node.aggregates):
        return None
    parts = [_partial(f"__part{number}", name, call, below.columns) for number, (name, call) in enumerate(node.aggregates)]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    window = ((WINDOW, quote(WINDOW)),)
    by_weight = (CLASS, f"CAST(floor(log2({quote(WEIGHT)}) * {PER_OCTAVE}D) AS INT)")
    classes = ph.Aggregate(
        below.step, (*window, *keys, by_weight), tuple(inner for made, _ in known for inner in made),
        id=context.step_id(node, "weights"), origin=node.origin,
    )
    outer_keys = (*window, *((n, quote(n)) for n, _ in keys))
    whole = ph.Aggregate(
        classes, outer_keys, tuple(outer for _, outer in known), id=context.step_id(node, "aggregate"), origin=node.origin,
    )
    return Lowered(whole, tuple(f.name for f in node.schema), window=True, times=frozenset({WINDOW}))


def _partial(part: str, name: str, call: AggCall, names: frozenset[str]) -> Parts | None:
    if call.function != FREQUENCY_SKETCH:
        return partial(part, name, call, names)
    value, *settings, weight = (to_sql(a, names) for a in call.args)
    first, second = f"{part}a", f"{part}b"
    made = [(first, COUNTERS.format(value, *settings)), (second, f"sum(if({value} IS NULL, 0D, {weight}))")]
    return made, (name, f"collect_list(named_struct('sketch', {quote(first)}, 'weights', {quote(second)}))")
