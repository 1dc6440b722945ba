"""Sketches in parts: by panes of a window that slides, and by the weights of rows where some were shed (ADR 0017).

::

    Aggregate(SELF_JOIN_SIZE(a))  ->  Aggregate(by window: all sketches of its panes
                                        Aggregate(by pane and class of weight: count_min_sketch(a)))

A row is in one pane, where a window that slides multiplies it; the panes' sketches are summed where they are read. Spark's
sketch knows no weights, but within a class they are nearly equal, and the sum of its rows' weights goes with it.
"""

from __future__ import annotations

from math import gcd

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir import physical as ph
from streamq.compiler.ir.expr import WEIGHT, AggCall
from streamq.compiler.ir.sketches import FREQUENCY_SKETCH, is_weighted
from streamq.compiler.lowering.partial import Parts, partial
from streamq.compiler.lowering.sql import WINDOW, filter_clause, quote, to_sql
from streamq.compiler.lowering.state import LowerContext, Lowered
from streamq.dsl.records import replace
from streamq.stdlib.functions.sketch_parts import COUNTERS

CLASS, PANE_TIME = "__class", "__pane_time"

PER_OCTAVE = 8
"""Classes of weights from one to twice as much: those of one are within 9 percent of each other."""

LEAST_PANES = 3
"""Panes of a window from which on they are worth a step of their own."""


def lower_panes(
    node: lg.Aggregate, below: Lowered, keys: tuple[ph.Named, ...], context: LowerContext
) -> Lowered | None:
    """The aggregate of a block with a sketch, where it is computed in parts; None where it is not, or cannot be."""
    sketches = [call for _, call in node.aggregates if call.function == FREQUENCY_SKETCH]
    spec = node.input.window
    if not sketches or not below.window or not isinstance(spec, lg.Sliding):
        return None
    weighted = is_weighted(sketches[0])
    pane_ms = gcd(spec.range_ms, spec.slide_ms)
    slides = spec.range_ms >= LEAST_PANES * pane_ms
    if not (weighted or slides):
        return None
    parts = [
        _partial(f"__part{number}", name, call, below.columns, weighted) for number, (name, call) in enumerate(node.aggregates)
    ]
    known = [part for part in parts if part is not None]
    texts = [text for _, text in (*keys, *(inner for made, _ in known for inner in made))]
    if len(known) < len(parts) or any(quote(WINDOW) in text for text in texts):
        return None
    rows = _with_panes(below.step, pane_ms) if slides else below.step
    if rows is None:
        return None
    window = ((WINDOW, quote(WINDOW)),)
    classes = ((CLASS, f"CAST(floor(log2({quote(WEIGHT)}) * {PER_OCTAVE}D) AS INT)"),) if weighted else ()
    panes = ph.Aggregate(
        rows, (*window, *keys, *classes), tuple(inner for made, _ in known for inner in made),
        id=context.step_id(node, "panes"), origin=node.origin,
    )
    step = _windows_of_panes(node, panes, spec, context) if slides else panes
    outer_keys = (*window, *((n, quote(n)) for n, _ in keys))
    whole = ph.Aggregate(
        step, outer_keys, tuple(outer for _, outer in known), id=context.step_id(node, "aggregate"), origin=node.origin,
    )
    return Lowered(whole, tuple(f.name for f in node.schema), window=True, times=frozenset({WINDOW}))


def _partial(part: str, name: str, call: AggCall, names: frozenset[str], weighted: bool) -> Parts | None:
    args = [to_sql(a, names) for a in call.args]
    match call.function:
        case "FREQUENCY_SKETCH":
            made = [(f"{part}a", COUNTERS.format(*args))]
            weights = "CAST(NULL AS DOUBLE)"
            if weighted:
                made.append((f"{part}b", f"sum(if({args[0]} IS NULL, 0D, {args[-1]}))"))
                weights = quote(f"{part}b")
            return made, (name, f"collect_list(named_struct('sketch', {quote(f'{part}a')}, 'weights', {weights}))")
        case "TOP_SKETCH" if weighted:
            return None
        case "TOP_SKETCH":
            values, reported, tracked = args
            first = quote(f"{part}a")
            return (
                [(f"{part}a", f"approx_top_k_accumulate({values}, {tracked}){filter_clause(call, names)}")],
                (name, f"approx_top_k_estimate(approx_top_k_combine({first}, {tracked}), {reported})"),
            )
        case _:
            return partial(part, name, call, names)


def _with_panes(step: ph.Step, pane_ms: int) -> ph.Step | None:
    """The rows in panes instead of in windows; None where something between looks at a window's bounds."""
    match step:
        case ph.AssignWindow():
            return replace(step, range_ms=pane_ms, slide_ms=pane_ms)
        case ph.Select() if any(quote(WINDOW) in text and text != quote(WINDOW) for _, text in step.items):
            return None
        case ph.Where() if quote(WINDOW) in step.condition:
            return None
        case ph.Select() | ph.Where():
            below = _with_panes(step.input, pane_ms)
            return None if below is None else replace(step, input=below)
        case _:
            return None


def _windows_of_panes(node: lg.Aggregate, step: ph.Aggregate, spec: lg.Sliding, context: LowerContext) -> ph.Step:
    """Each pane in all the windows that it is a part of."""
    columns = [n for n, _ in (*step.keys, *step.aggregates) if n != WINDOW]
    items = (*((n, quote(n)) for n in columns), (PANE_TIME, f"window_time({quote(WINDOW)})"))
    timed = ph.Select(step, items, id=context.step_id(node, "panes"), origin=node.origin)
    return ph.AssignWindow(
        timed, WINDOW, PANE_TIME, spec.range_ms, spec.slide_ms, id=context.step_id(node, "windows"), origin=node.origin,
    )
