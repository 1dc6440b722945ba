"""SHED JOIN: a join of two windows that keeps every row, and compares each with the part of the other window that pays most.

Where pairs are found by their key alone, whichever part of a window is compared costs the same: rows are dropped instead.
"""

from __future__ import annotations

from collections.abc import Iterator

from streamq.compiler.analysis.window_joins import is_windowed, length_us, matching_of
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.durations import show_ms
from streamq.compiler.ir.expr import Column, Expr, conjunction, conjuncts
from streamq.compiler.ir.goals import Selects
from streamq.compiler.ir.rewrite import rewrite_up, stream_of, walk, with_inputs
from streamq.compiler.notices import PlanNotice
from streamq.compiler.passes.asked import Asked
from streamq.compiler.passes.base import PassContext
from streamq.dsl import ast
from streamq.dsl.records import replace
from streamq.stdlib.joins.kinds import SAMPLE_P, USUAL

WORTHS = ("__worth_left", "__worth_right")
"""The columns of both inputs that say what a row is worth."""


def select_pairs(
    query: lg.LogicalQuery, asked: Asked, join: ast.ShedJoin, context: PassContext
) -> lg.LogicalQuery | None:
    """The query with its join told to select; None where its rows are to be dropped instead."""
    node = next(n for n in walk(query.root) if isinstance(n, lg.Join) and is_windowed(n))
    if matching_of(replace(node, condition=conjunction(tuple(_tests(query.root, node))))).by_key_alone:
        context.notices.append(PlanNotice(
            "by_key", query.name, "finds pairs by their key, which takes as long for a part of a window as for all of it",
            hint="so comparing less would lose pairs and save nothing", action="SHED RANDOM says the same in fewer words",
            span=asked.span,
        ))
        return None
    utilities = dict(query.utilities)
    sides, worth = [], []
    for side, name in zip(node.inputs, WORTHS, strict=True):
        utility = next((utilities[s] for n in walk(side) if (s := stream_of(n)) in utilities), None)
        sides.append(side if utility is None else _with_worth(side, name, utility))
        worth.append("" if utility is None else name)
    selects = Selects(
        query.name, asked.goal, 0 if join.basic_window is None else join.basic_window.ms,
        SAMPLE_P if join.sample is None else join.sample, (worth[0], worth[1]),
    )
    selecting = replace(node, left=sides[0], right=sides[1], selects=selects)
    root = rewrite_up(query.root, lambda n: selecting if n == node else None)
    context.notices.append(PlanNotice(
        "shedder", query.name, f"keeps every row, and compares it with {asked.goal.words}{_first(node, selects)}",
        hint="pairs that are not looked for are not found; where most are found is learned while the query runs",
        action="SHED NONE compares all", span=asked.span,
    ))
    return replace(query, root=root)


def _first(node: lg.Join, selects: Selects) -> str:
    """Which part of the window, as the end of a sentence."""
    longest_ms = max(length_us(i.window) for i in node.inputs) / 1000
    length = show_ms(selects.bw_ms or max(1, round(longest_ms / USUAL)))
    worth = ", and first rows that are worth most" if any(selects.worth) else ""
    return f", first its parts of {length} in which most pairs were found{worth}"


def _tests(root: lg.Logical, join: lg.Join) -> Iterator[Expr]:
    """What is asked of a pair: in ON, and in WHERE right above the join."""
    yield from conjuncts(join.condition)
    for node in walk(root):
        if isinstance(node, lg.Filter) and _filters(node, join):
            yield from conjuncts(node.predicate)


def _filters(node: lg.Logical, join: lg.Join) -> bool:
    while isinstance(node, lg.Filter):
        node = node.input
    return node is join


def _with_worth(node: lg.Logical, name: str, utility: Expr) -> lg.Logical:
    """One input of the join, with a column more."""
    if stream_of(node) is not None:
        passed = tuple((f.name, Column(name=f.name, type=f.type, nullable=f.nullable)) for f in node.schema)
        return lg.Project(node, (*passed, (name, utility)), owner=node.owner, origin=node.origin)
    (below,) = (_with_worth(i, name, utility) for i in node.inputs)
    if isinstance(node, lg.Project):
        return replace(node, input=below, items=(*node.items, (name, Column(name=name, type=utility.type))))
    return with_inputs(node, (below,))
