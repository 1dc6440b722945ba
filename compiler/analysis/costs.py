"""What operators cost and let through, before anybody has seen them run: textbook guesses, in units of a cheap test.

Only their ratios matter, to compare places for shedders with each other. Selectivities of tests are those of System R
(Selinger et al. 1979, table 1).
"""

from __future__ import annotations

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.expr import Call, Expr, InList, Like, Op, Udf, conjuncts, walk
from streamq.compiler.ir.rewrite import exprs_of
from streamq.stdlib.row_units import rows_per_unit

RATE = 1000.0
"""Rows per second of a source that does not say."""

OUT = 1.0
"""Of a row that a query puts out."""

MOVED: dict[type[lg.Logical], float] = {
    lg.Join: 10.0, lg.Aggregate: 5.0, lg.Distinct: 5.0, lg.Sort: 5.0, lg.Compare: 10.0, lg.Window: 1.0,
}
"""Of a row that is put beside others: it is sent where its key lives, and kept there."""

PART, FUNCTION, PYTHON = 0.1, 0.5, 20.0
"""Of an operation, a call, and a function of the program."""

GROUPED = 0.1
"""Rows out of an aggregation for each row in."""

JOINED = 1.0


def cost(node: lg.Logical) -> float:
    """Of a row that the operator reads."""
    return MOVED.get(type(node), 0.0) + sum(_cost(e) for e in exprs_of(node))


def selectivity(node: lg.Logical) -> float:
    """Rows out for a row in."""
    match node:
        case lg.Filter():
            return _holds(node.predicate)
        case lg.Aggregate() | lg.Distinct():
            return GROUPED
        case lg.Join():
            return JOINED
        case _:
            return 1.0


def rate(source: lg.SourceDecl) -> float:
    """Rows per second of a source, or a guess."""
    told = told_rate(source)
    return RATE if told is None else told


def told_rate(source: lg.SourceDecl) -> float | None:
    """The rows per second that the options of a source say; None where they say nothing."""
    options = dict(source.options)
    told = options.get("rate", options.get("rows_per_second"))
    if not isinstance(told, int | float) or isinstance(told, bool):
        return None
    # Of a source with several tables each has a part of the events.
    part = rows_per_unit(source.connector, options) if source.connector == "nexmark" else 1.0
    return float(told) * part


def _cost(expr: Expr) -> float:
    total = 0.0
    for part in walk(expr):
        match part:
            case Udf():
                total += PYTHON
            case Call() | Like():
                total += FUNCTION
            case Op():
                total += PART
            case _:
                pass
    return total


def _holds(test: Expr) -> float:
    """The share of rows for which a test holds."""
    match test:
        case Op(op="AND"):
            share = 1.0
            for part in conjuncts(test):
                share *= _holds(part)
            return share
        case Op(op="OR", args=parts):
            gone = 1.0
            for part in parts:
                gone *= 1 - _holds(part)
            return 1 - gone
        case Op(op="NOT", args=(part,)):
            return 1 - _holds(part)
        case Op(op="="):
            return 0.1
        case Op(op="<" | "<=" | ">" | ">="):
            return 1 / 3
        case InList(items=items):
            return min(0.5, 0.1 * len(items))
        case _:
            return 0.5
