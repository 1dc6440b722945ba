"""SELECT APPROX DISTINCT: which filter remembers what came, how large it is, and how often it is wrong."""

from __future__ import annotations

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.physical import BUCKETS
from streamq.compiler.ir.sketches import Remembers
from streamq.dsl import ast
from streamq.dsl.diagnostics import Abort, Diagnostic
from streamq.dsl.source import Span
from streamq.stdlib.sketches.kinds import FP, MEMORY, PANES
from streamq.stdlib.sketches.membership_plan import (
    least_stable_bits,
    part_of,
    plan_rotating,
    plan_stable,
    rotating_bits,
)

STABLE, ROTATING = "STABLE", "ROTATING"

LEAST_FP, MOST_FP = 1e-7, 0.9
"""Shares of false positives that a filter is planned for."""


def remembers(asked: ast.Approx, plan: lg.Logical, span: Span) -> Remembers:
    """The filter that a block asks for, over the rows of ``plan``; ``Abort`` where there is none."""
    for word, value in (("CONFIDENCE", asked.confidence), ("SAMPLE", asked.sample)):
        if value is not None:
            raise _wrong(f"APPROX DISTINCT takes no {word}", asked.span, "it takes WITHIN, MEMORY and METHOD")
    if asked.method not in (None, STABLE, ROTATING):
        raise _wrong(f"{asked.method} does not remember rows", asked.span, "METHOD STABLE or METHOD ROTATING would do")
    range_ms = _range_ms(plan, span)
    if range_ms and asked.method == STABLE:
        raise _wrong(
            "a Stable Bloom filter has no window", asked.span, "leave METHOD out, or the window: it forgets old rows as new ones come",
        )
    fp, memory = FP if asked.within is None else asked.within, MEMORY if asked.memory is None else asked.memory
    if not LEAST_FP <= fp <= MOST_FP:
        raise _wrong(
            f"WITHIN is the share of new rows that may be lost, from {LEAST_FP:.5%} to {MOST_FP:.0%}", asked.span, "WITHIN FP 1 PERCENT",
        )
    if memory < 1:
        raise _wrong("MEMORY must be above 0", asked.span, "MEMORY 64 KB")
    if not range_ms and asked.method != ROTATING:
        _check(memory, BUCKETS * least_stable_bits(fp), fp, asked.span)
        whole = plan_stable(memory * 8, fp)
        part = part_of(whole, BUCKETS)
        sizes = (part.cells, part.hashes, part.decrements, part.max_value)
        return Remembers(STABLE, sizes, part.fp_bound, memory, horizons=(whole.horizon_10, whole.horizon_50))
    generations = PANES + 1 if range_ms else 2
    _check(memory, BUCKETS * rotating_bits(1, fp, generations), fp, asked.span)
    turn = plan_rotating(memory * 8 // BUCKETS, fp, generations)
    return Remembers(
        ROTATING, (turn.bits_each, turn.generations, turn.hashes, turn.capacity), turn.fp_bound, memory,
        range_ms=range_ms, pane_us=-(-range_ms * 1000 // PANES),
    )


def _range_ms(plan: lg.Logical, span: Span) -> int:
    """The length of the window over the rows; 0 where there is none. Other windows let go of their rows by themselves."""
    if plan.change is lg.Change.APPEND:
        return 0
    rows = plan
    while isinstance(rows, lg.Project | lg.Filter):
        rows = rows.input
    match rows:
        case lg.Window(spec=lg.TimeRange(range_ms=ms)) if rows.input.change is lg.Change.APPEND:
            return ms
        case _ if plan.change is lg.Change.FINAL:
            raise _refused("under a window that ends", span, "DISTINCT keeps the rows of the window only")
        case _:
            raise _refused(
                "of a relation whose rows come and go", span, "say ISTREAM for the rows that come, or put [RANGE t] right after the stream",
            )


def _refused(of_what: str, span: Span, help: str) -> Abort:
    return Abort(Diagnostic("SQ0501", f"APPROX DISTINCT {of_what} cannot be run", span, help=help))


def _check(memory: int, least_bits: int, fp: float, span: Span) -> None:
    least = -(-least_bits // 8)
    if memory < least:
        raise _wrong(f"{memory:,} bytes are too few for {fp:.3%} of false positives", span, f"MEMORY {least} BYTES would do")


def _wrong(message: str, span: Span, help: str) -> Abort:
    return Abort(Diagnostic("SQ0306", message, span, help=help))
