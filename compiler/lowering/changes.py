"""One rule per logical operator over relations that move; what Spark runs itself is left to it (ADR 0008)."""

from __future__ import annotations

from collections.abc import Sequence

from streamq.compiler.analysis.moving import runs_on_changes
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir import physical as ph
from streamq.compiler.ir.expr import Column, columns_of
from streamq.compiler.ir.rewrite import walk
from streamq.compiler.ir.sketches import Remembers
from streamq.compiler.lowering.change_joins import join_changes, join_table
from streamq.compiler.lowering.folds import lower_folds
from streamq.compiler.lowering.joins import warn_unbounded
from streamq.compiler.lowering.moving import (
    AT,
    END,
    FOREVER,
    HIDDEN,
    SIGN,
    TIME,
    Moving,
    counted,
    from_stream,
    from_windows,
    hash_of,
    net_changes,
    packed,
    sql_over,
    stateful,
    told,
    until,
)
from streamq.compiler.lowering.rules import lower, warn_groups
from streamq.compiler.lowering.scans import gives_event_time
from streamq.compiler.lowering.sql import above_watermark, quote
from streamq.compiler.lowering.state import LowerContext, Lowered, refuse
from streamq.dsl.ast import R2S, JoinKind
from streamq.dsl.diagnostics import InternalError
from streamq.dsl.records import replace
from streamq.dsl.types import holds_map, with_article
from streamq.stdlib.sketches.kinds import SEED

CHANGE, CHANGED_AT = "change", "changed_at"
"""The columns that an output of changes has beside its own."""

STREAM_PARTS = (lg.Scan, lg.Watermark, lg.Filter, lg.Project, lg.Shed)


def lower_changes(root: lg.Logical, context: LowerContext) -> Lowered:
    """The result of a query that runs on changes: a stream, or a relation's changes with two more columns."""
    below = lower_moving(root, context)
    names = tuple(f.name for f in root.schema)
    items: tuple[ph.Named, ...] = tuple((n, quote(n)) for n in names)
    if root.change is not lg.Change.APPEND:
        for name in (CHANGE, CHANGED_AT):
            if name in {n.casefold() for n in names}:
                raise refuse(
                    f"the result has a column `{name}`, which tells what changes",
                    root.origin, "give the column another name", code="SQ0503",
                )
        below = net_changes(root, below, context)
        items = (
            *items, (CHANGE, f"IF({quote(SIGN)} > 0, '+', '-')"),
            (CHANGED_AT, f"timestamp_micros({quote(AT)})"),
        )
    step = ph.Select(below.step, items, id=f"{context.query}.result", origin=root.origin)
    return Lowered(step, tuple(n for n, _ in items))


def as_stream(node: lg.Logical, context: LowerContext) -> Lowered:
    """A result whose rows only come as a stream of Spark's, with the instants as the event time in ``TIME``."""
    below = lower_moving(node, context)
    assert below.grows
    if below.at_end:
        step, values = packed(
            node, below, node.schema, [quote(n) for n in below.names], "0L", context
        )
        kinds = tuple(v.kind for v in values)
        below = stateful(node, step, "at_instant", (), kinds, values, context, by="row")
    names = (*below.names, TIME)
    step = ph.Select(below.step, tuple((n, quote(n)) for n in names),
                     id=context.step_id(node, "stamped"), origin=node.origin)
    return Lowered(step, names, times=frozenset({TIME}))


def lower_moving(node: lg.Logical, context: LowerContext) -> Moving:
    """The changes of an operator's relation."""
    if node.change is lg.Change.FINAL and not runs_on_changes(node):
        return from_windows(node, lower(node, context), context)
    if node.event_time is not None and all(isinstance(n, STREAM_PARTS) for n in walk(node)):
        return _stream(node, context)
    match node:
        case lg.Filter():
            return _filter(node, lower_moving(node.input, context), context)
        case lg.Project(input=lg.Window(spec=lg.LastRows()) as window):
            needed = frozenset(c for _, e in node.items for c in columns_of(e))
            below = _window(window, lower_moving(window.input, context), context, needed)
            return _project(node, below, context)
        case lg.Project():
            return _project(node, lower_moving(node.input, context), context)
        case lg.Window():
            return _window(node, lower_moving(node.input, context), context)
        case lg.Aggregate():
            return _aggregate(node, lower_moving(node.input, context), context)
        case lg.Distinct() if node.approx is not None:
            _check_remembered(node)
            return _remembered(node, node.approx, lower_moving(node.input, context), context)
        case lg.Distinct():
            return counted(
                node, "once", (lower_moving(node.input, context),), node.schema, context
            )
        case lg.Join():
            left, right = node.inputs
            if lg.Change.STATIC not in (left.change, right.change):
                moving = lower_moving(left, context)
                return join_changes(node, moving, lower_moving(right, context), context)
            if left.change is lg.Change.STATIC:
                left, right = right, left
            return join_table(node, lower_moving(left, context), lower(right, context), context)
        case lg.Compare():
            sides = tuple(lower_moving(i, context) for i in node.inputs)
            if any(side.grows for side in sides):
                warn_unbounded(node, node.op, context)
            rule = f"{node.op.lower()}{'_all' if node.all else ''}"
            return counted(node, rule, sides, node.schema, context)
        case lg.Union():
            return _union(node, context)
        case lg.ToStream():
            return _to_stream(node, lower_moving(node.input, context), context)
        case lg.Sort():
            raise refuse(
                "ORDER BY needs a window with SLIDE, or it would sort without end", node.origin,
                "put [TUMBLE 1 MINUTE] or another window after the stream", code="SQ0408",
            )
        case _:
            raise refuse(
                "a window that moves needs the stream's event time", node.origin,
                "declare WATERMARK FOR on the stream", code="SQ0402",
            )


def _stream(node: lg.Logical, context: LowerContext) -> Moving:
    below = lower(node, context)
    time = node.event_time
    assert time is not None
    mark = next((n for n in walk(node) if isinstance(n, lg.Watermark)), None)
    if mark is None:
        raise refuse(
            "a window that moves needs to know when its rows are complete", node.origin,
            "declare WATERMARK FOR on the stream", code="SQ0402",
        )
    if not gives_event_time(mark):
        # Such rows fall into no window; where Spark makes the windows it takes them away by itself.
        test = f"{quote(time)} IS NOT NULL"
        step = ph.Where(below.step, test, id=context.step_id(node, "stamped"), origin=node.origin)
        below = below.over(step)
    return from_stream(node, replace(below, times=below.times | {time}), time, context)


def _check_remembered(node: lg.Distinct) -> None:
    if not any(isinstance(n, lg.Watermark) for n in walk(node)):
        raise refuse(
            "APPROX DISTINCT needs the stream's event time, which gives rows an order", node.origin,
            "declare WATERMARK FOR on the stream", code="SQ0402",
        )
    for column in node.schema:
        if holds_map(column.type):
            raise refuse(
                f"APPROX DISTINCT cannot compare `{column.name}`, which is {with_article(column.type)}", node.origin,
                "select single entries of the map", code="SQ0502",
            )


def _remembered(
    node: lg.Distinct, filter_: Remembers, below: Moving, context: LowerContext
) -> Moving:
    """The rows that a filter does not remember, each as soon as it comes (``stdlib/sketches/seen.py``)."""
    step, values = packed(node, below, node.schema, [quote(n) for n in below.names], "0L", context)
    params: tuple[tuple[str, object], ...] = (
        ("seed", SEED), (filter_.kind.lower(), filter_.sizes), ("pane_us", filter_.pane_us),
    )
    kinds = tuple(v.kind for v in values)
    found = stateful(node, step, "seen", params, kinds, values, context, by="row")
    return replace(found, grows=True, due=False)


def _filter(node: lg.Filter, below: Moving, context: LowerContext) -> Moving:
    test = above_watermark(sql_over(node.predicate, below, node), quote(TIME))
    return below.over(ph.Where(below.step, test, id=context.step_id(node, "filter"),
                               origin=node.origin))


def _project(node: lg.Project, below: Moving, context: LowerContext) -> Moving:
    items = tuple((n, sql_over(e, below, node)) for n, e in node.items)
    hidden = tuple((h, quote(h)) for h in HIDDEN)
    step = ph.Select(below.step, (*items, *hidden), id=context.step_id(node, "select"),
                     origin=node.origin)
    renamed = {e.name: n for n, e in node.items if isinstance(e, Column)}
    netted, can_net, anew = (
        frozenset(renamed[n] for n in names) if names is not None and names <= renamed.keys() else None
        for names in (below.netted, below.can_net, below.anew)
    )
    return replace(below.over(step, tuple(n for n, _ in items)), netted=netted, can_net=can_net, anew=anew)


def _window(
    node: lg.Window, below: Moving, context: LowerContext, needed: frozenset[str] | None = None
) -> Moving:
    """``needed``: the columns that are looked at above; None: all."""
    match node.spec:
        case lg.Unbounded():
            return below
        case _ if not below.grows:
            raise refuse("a window over rows that also leave", node.origin,
                         "say ISTREAM for the rows that come")
        case lg.Now():
            return until(node, below, 1, context)
        case lg.TimeRange(range_ms):
            return until(node, below, range_ms * 1000, context)
        case lg.LastRows() as spec:
            return _rows(node, spec, below, context, needed)
        case _:
            raise InternalError(f"{type(node.spec).__name__} needs the rules of Spark's own windows")


def _rows(
    node: lg.Window, spec: lg.LastRows, below: Moving, context: LowerContext,
    needed: frozenset[str] | None,
) -> Moving:
    key = hash_of([quote(p) for p in spec.partition])
    # The event time orders no rows of one instant; all other columns do.
    fields = tuple(
        f for f in node.schema if needed is None or f.name in needed or f.name != node.event_time
    )
    texts = [quote(f.name) for f in fields]
    step, values = packed(node, below, fields, texts, key, context)
    params: tuple[tuple[str, object], ...] = (
        ("rows", spec.rows), ("slide", spec.slide or 1),
        ("range_us", None if spec.range_ms is None else spec.range_ms * 1000),
        ("ties", tuple(range(len(values)))),
    )
    kinds = tuple(v.kind for v in values)
    rows = stateful(node, step, "rows", params, kinds, values, context, by="key")
    one_key = frozenset(spec.partition) <= rows.columns
    return replace(rows, can_net=rows.columns if one_key else None)


def _aggregate(node: lg.Aggregate, below: Moving, context: LowerContext) -> Moving:
    keys = [sql_over(e, below, node) for _, e in node.keys]
    if below.grows:
        warn_groups(node, context)
    key_fields = [lg.Field(n, e.type, e.nullable) for n, e in node.keys]
    plan = lower_folds(node, len(keys), lambda e: sql_over(e, below, node))
    step, values = packed(
        node, below, (*key_fields, *plan.fields), (*keys, *plan.texts), hash_of(keys), context
    )
    results = (*values[: len(keys)], *plan.results)
    params: tuple[tuple[str, object], ...] = (
        ("keys", tuple(range(len(keys)))), ("folds", plan.folds), ("whole", not keys),
        ("grows", below.grows),
    )
    kinds = tuple(v.kind for v in values)
    groups = stateful(node, step, "groups", params, kinds, results, context, by="key")
    return replace(groups, netted=frozenset(groups.names))


def _union(node: lg.Union, context: LowerContext) -> Moving:
    return _united(node, [lower_moving(b, context) for b in node.branches], context)


def _united(node: lg.Logical, parts: Sequence[Moving], context: LowerContext) -> Moving:
    names = tuple(f.name for f in node.schema)
    steps = tuple(
        ph.Select(part.step, part.passed(names), id=context.step_id(node, "branch"),
                  origin=node.origin)
        for part in parts
    )
    step = ph.UnionAll(steps, id=context.step_id(node, "union"), origin=node.origin)
    return Moving(
        step, names, grows=all(part.grows for part in parts), due=all(part.due for part in parts),
        at_end=any(part.at_end for part in parts),
    )


def _to_stream(node: lg.ToStream, below: Moving, context: LowerContext) -> Moving:
    if node.op is R2S.RSTREAM:
        if node.input.change is not lg.Change.FINAL and not _is_momentary(node.input):
            raise refuse(
                "RSTREAM over a window without SLIDE would repeat its rows at every instant",
                node.origin, "say ISTREAM for the rows that appear, or add SLIDE",
            )
        changes = below
    elif node.op is R2S.ISTREAM and below.grows:
        return below
    elif node.op is R2S.ISTREAM and below.anew is not None:
        items = (*((n, quote(n)) for n in below.names), *((n, quote(n)) for n in (TIME, AT, SIGN)), (END, FOREVER))
        step = ph.Select(below.step, items, id=context.step_id(node, "stream"), origin=node.origin)
        return Moving(step, below.names, grows=True, at_end=below.at_end)
    else:
        changes = net_changes(node, below, context)
    sign = -1 if node.op is R2S.DSTREAM else 1
    kept = told(changes.step, "only", sign) or ph.Where(
        changes.step, above_watermark(f"{quote(SIGN)} = {sign}L", quote(TIME)),
        id=context.step_id(node, node.op.value.lower()), origin=node.origin,
    )
    items = (
        *((n, quote(n)) for n in changes.names), (TIME, quote(TIME)), (AT, quote(AT)),
        (SIGN, "1L"), (END, FOREVER),
    )
    step = ph.Select(kept, items, id=context.step_id(node, "stream"), origin=node.origin)
    return Moving(step, changes.names, grows=True, due=changes.due, at_end=changes.at_end)


def _is_momentary(node: lg.Logical) -> bool:
    """True where every row is there at one instant only: something it is made of stands under [NOW]."""
    match node:
        case lg.Window(spec=lg.Now()):
            return True
        case lg.Filter() | lg.Project() | lg.Distinct():
            return _is_momentary(node.input)
        case lg.Aggregate():
            return bool(node.keys) and _is_momentary(node.input)
        case lg.Join(kind=JoinKind.INNER | JoinKind.CROSS):
            return any(_is_momentary(i) for i in node.inputs)
        case lg.Join(kind=JoinKind.LEFT):
            return _is_momentary(node.left)
        case lg.Join(kind=JoinKind.RIGHT):
            return _is_momentary(node.right)
        case lg.Compare(op="EXCEPT"):
            return _is_momentary(node.left)
        case lg.Compare():
            return _is_momentary(node.left) or _is_momentary(node.right)
        case lg.Union():
            return all(_is_momentary(i) for i in node.inputs)
        case _:
            return False
