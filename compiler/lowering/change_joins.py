"""Joins of relations that move: pairs of rows that are there together, and rows while they meet nobody (ADR 0008)."""

from __future__ import annotations

from collections.abc import Sequence

from streamq.compiler.analysis.moving import key_pairs
from streamq.compiler.analysis.window_joins import is_windowed
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir import physical as ph
from streamq.compiler.ir.expr import columns_of
from streamq.compiler.lowering.carry import carried
from streamq.compiler.lowering.joins import condition_of, warn_unbounded
from streamq.compiler.lowering.moving import (
    SIDE,
    TIME,
    Moving,
    hash_of,
    packed,
    refuse_bounds,
    sql_over,
    stateful,
)
from streamq.compiler.lowering.sql import above_watermark, quote
from streamq.compiler.lowering.state import LowerContext, Lowered, refuse
from streamq.compiler.lowering.window_joins import join_windows
from streamq.dsl.ast import JoinKind
from streamq.dsl.records import replace
from streamq.dsl.types import BIGINT

PIECE = "__piece"
"""As what a row of an outer join is looked at."""


def join_changes(node: lg.Join, left: Moving, right: Moving, context: LowerContext) -> Moving:
    """Two relations that move."""
    if is_windowed(node):
        return join_windows(node, left, right, context)
    if left.grows or right.grows:
        warn_unbounded(node, "join", context)
    passed = {JoinKind.LEFT: (0,), JoinKind.RIGHT: (1,), JoinKind.FULL: (0, 1)}.get(node.kind, ())
    pairs = _pairs(node, left, right, passed, context)
    if not passed:
        return replace(pairs, grows=node.change is lg.Change.APPEND)
    return _with_lonely_rows(node, pairs, left, passed, context)


def join_table(node: lg.Join, moving: Moving, table: Lowered, context: LowerContext) -> Moving:
    """A relation that moves with a table: each change with the rows of the table."""
    on_left = node.left.change is not lg.Change.STATIC
    keeps = {JoinKind.LEFT: on_left, JoinKind.RIGHT: not on_left}.get(
        node.kind, node.kind is not JoinKind.FULL
    )
    if not keeps:
        raise refuse(
            f"{node.kind.value} JOIN keeps the table's rows that no stream row ever matches",
            node.origin, "keep the stream's side instead", code="SQ0502",
        )
    left, right = (moving.step, table.step) if on_left else (table.step, moving.step)
    both = replace(moving, names=(*moving.names, *table.names))
    if node.condition is not None:
        refuse_bounds(node.condition, node)
    times = (quote(TIME), "") if on_left else ("", quote(TIME))
    condition = condition_of(node, frozenset(both.names), times, tables=True)
    kinds = {JoinKind.LEFT: "left_outer", JoinKind.RIGHT: "right_outer"}
    step = ph.Join(left, right, kinds.get(node.kind, "inner"), condition,
                   id=context.step_id(node, "join"), origin=node.origin)
    names = (*moving.names, *table.names) if on_left else (*table.names, *moving.names)
    return moving.over(step, names)


def _with_lonely_rows(
    node: lg.Join, pairs: Moving, left: Moving, passed: tuple[int, ...], context: LowerContext
) -> Moving:
    """The pairs, and the rows of the kept sides while they meet nobody.

    Each pair is looked at as a pair (piece 0), and as a partner of its left row (piece 1) and of its right row
    (piece 2). Rows of a kept side come beside the pairs; one is there while it has no partner.
    """
    pieces = ", ".join(["0L", *(f"{side + 1}L" for side in passed)])
    exploded = ph.Select(
        pairs.step,
        (*pairs.passed(pairs.names), (SIDE, quote(SIDE)),
         (PIECE, f"explode(IF({quote(SIDE)} = 0L, array({pieces}), array({quote(SIDE)})))")),
        id=context.step_id(node, "pieces"), origin=node.origin,
    )
    fields = (lg.Field(PIECE, BIGINT, False), *node.schema)
    texts = [quote(PIECE), *(
        f"IF({quote(PIECE)} = {2 if n in left.columns else 1}L, NULL, {quote(n)})"
        for n in pairs.names
    )]
    side = f"IF({quote(PIECE)} <> 0L AND {quote(SIDE)} = 0L, 1L, 0L)"
    step, values = packed(node, pairs.over(exploded), fields, texts, "0L", context, side=side)
    kinds = tuple(v.kind for v in values)
    found = stateful(
        node, step, "counts", (("rule", "alone"),), kinds, values, context, by="row"
    )
    return found.over(
        ph.Select(found.step, found.passed(pairs.names), id=context.step_id(node, "joined"),
                  origin=node.origin),
        pairs.names,
    )


def _pairs(
    node: lg.Join, left: Moving, right: Moving, passed: tuple[int, ...], context: LowerContext
) -> Moving:
    """Rows that are there together and have equal keys; the rest of the condition is tested on the pairs.

    ``passed``: the sides whose rows come too, without a partner.
    """
    left_keys, right_keys = [], []
    for equality in key_pairs(node):
        a, b = equality.args
        ours, theirs = (a, b) if columns_of(a) <= left.columns else (b, a)
        left_keys.append(sql_over(ours, left, node))
        right_keys.append(sql_over(theirs, right, node))
    step_left, of_left = packed(
        node, _with_key(node, left, left_keys, 0 in passed, context), node.left.schema,
        [quote(n) for n in left.names], hash_of(left_keys), context,
        others=carried(node.right.schema, len(left.names)),
    )
    step_right, of_right = packed(
        node, _with_key(node, right, right_keys, 1 in passed, context), node.right.schema,
        [quote(n) for n in right.names], hash_of(right_keys), context, side="1L",
        first=len(left.names), others=of_left,
    )
    both = ph.UnionAll((step_left, step_right), id=context.step_id(node, "sides"),
                       origin=node.origin)
    values = (*of_left, *of_right)
    params: tuple[tuple[str, object], ...] = (
        ("left", tuple(range(len(of_left)))),
        ("right", tuple(range(len(of_left), len(values)))), ("passed", passed),
    )
    kinds = tuple(v.kind for v in values)
    pairs = stateful(
        node, both, "pairs", params, kinds, values, context, by="key", tells_side=bool(passed)
    )
    if node.condition is None:
        return pairs
    test = sql_over(node.condition, pairs, node)
    if passed:
        test = f"{quote(SIDE)} <> 0L OR ({test})"
    return pairs.over(ph.Where(
        pairs.step, above_watermark(test, quote(TIME)),
        id=context.step_id(node, "condition"), origin=node.origin,
    ))


def _with_key(
    node: lg.Join, side: Moving, keys: Sequence[str], is_kept: bool, context: LowerContext
) -> Moving:
    """The rows whose keys are not NULL: the others meet nobody, and go where they need not be kept."""
    if not keys or is_kept:
        return side
    test = " AND ".join(f"{k} IS NOT NULL" for k in keys)
    test = above_watermark(test, quote(TIME))
    return side.over(ph.Where(side.step, test, id=context.step_id(node, "keyed"),
                              origin=node.origin))
