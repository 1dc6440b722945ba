"""SHED JOIN: a join of two windows that keeps every row, and compares each with the part of the other window that pays most.

Where pairs are found by their key alone, whichever part of a window is compared costs the same: rows are dropped instead.
"""

from __future__ import annotations

from collections.abc import Iterator

from streamq.compiler.analysis.window_joins import is_windowed, length_us, matching_of
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.durations import show_ms
from streamq.compiler.ir.expr import Column, Expr, conjunction, conjuncts
from streamq.compiler.ir.goals import LEFT, RIGHT, Selects
from streamq.compiler.ir.rewrite import rewrite_up, walk
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
    matching = matching_of(replace(node, condition=conjunction(tuple(_tests(query.root, node)))))
    if matching.says_little:
        _tell_dropped(query, bool(matching.keys), join, asked, context)
        return None
    worth = dict(query.utilities)
    sides = [
        side if (utility := worth.get(place)) is None else _with_worth(side, name, utility)
        for place, side, name in zip((LEFT, RIGHT), node.inputs, WORTHS, strict=True)
    ]
    names = [name if place in worth else "" for place, name in zip((LEFT, RIGHT), WORTHS, strict=True)]
    selects = Selects(
        query.name, asked.goal, 0 if join.basic_window is None else join.basic_window.ms,
        SAMPLE_P if join.sample is None else join.sample, (names[0], names[1]),
    )
    selecting = replace(node, left=sides[0], right=sides[1], selects=selects)
    root = rewrite_up(query.root, lambda n: selecting if n == node else None)
    learned = "where most are found is learned while the query runs"
    if matching.untested:
        learned += ", by those that pass the tests of sets and of values: parts of the condition are not among these"
    context.notices.append(PlanNotice(
        "shedder", query.name, f"keeps every row, and compares it with {asked.goal.words}{_first(node, selects)}",
        hint=f"pairs that are not looked for are not found; {learned}", action="SHED NONE compares all", span=asked.span,
    ))
    return replace(query, root=root)


def _tell_dropped(
    query: lg.LogicalQuery, by_key: bool, join: ast.ShedJoin, asked: Asked, context: PassContext
) -> None:
    """Rows are dropped instead, and what was said of the join says nothing."""
    said = [
        name for name, is_there in
        (("BASIC WINDOW", join.basic_window), ("SAMPLE", join.sample), ("UTILITY", query.utilities or None)) if is_there is not None
    ]
    unused = f"; {' and '.join(said)} {'is' if len(said) == 1 else 'are'} not used" if said else ""
    if by_key:
        kind, message = "by_key", "finds pairs by their key, which takes as long for a part of a window as for all of it"
        hint = f"so comparing less would lose pairs and save nothing: rows are dropped instead{unused}"
    else:
        kind, message = "untested", "has a condition of which only Spark can tell where it holds, pair by pair"
        hint = f"so it cannot be learned where pairs are found: rows are dropped instead{unused}"
    context.notices.append(PlanNotice(
        kind, query.name, message, hint=hint,
        action="SHED RANDOM BY KEY (join key) keeps more of the pairs" if by_key
        else "compare sets, or values of one row each, as in OVERLAP(a.tags, b.tags) >= 2 or a.x < b.x",
        span=asked.span,
    ))


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


def _with_worth(side: lg.Logical, name: str, utility: Expr) -> lg.Logical:
    """One input of the join, with a column more."""
    passed = tuple((f.name, Column(name=f.name, type=f.type, nullable=f.nullable)) for f in side.schema)
    return lg.Project(side, (*passed, (name, utility)), owner=side.owner, origin=side.origin)
