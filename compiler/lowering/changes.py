"""One rule per logical operator over relations that move; what Spark runs itself is left to it (ADR 0008)."""

from __future__ import annotations

from collections.abc import Sequence

from streamq.compiler.analysis.moving import key_pairs, runs_on_changes
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir import physical as ph
from streamq.compiler.ir.expr import Column, Expr, columns_of
from streamq.compiler.ir.expr import walk as walk_expr
from streamq.compiler.ir.rewrite import is_window_field, walk
from streamq.compiler.lowering.carry import Carried, carried
from streamq.compiler.lowering.folds import lower_folds
from streamq.compiler.lowering.joins import warn_unbounded
from streamq.compiler.lowering.moving import (
    AT,
    END,
    FOREVER,
    HIDDEN,
    SIDE,
    SIGN,
    TIME,
    Moving,
    from_stream,
    from_windows,
    packed,
    stateful,
    until,
)
from streamq.compiler.lowering.rules import lower, warn_groups
from streamq.compiler.lowering.sql import quote, to_sql
from streamq.compiler.lowering.state import LowerContext, Lowered, refuse
from streamq.dsl.ast import R2S, JoinKind
from streamq.dsl.records import replace
from streamq.dsl.types import BIGINT

CHANGE, CHANGED_AT = "change", "changed_at"
"""The columns that an output of changes has beside its own."""

PIECE = "__piece"
"""As what a row of an outer join is looked at."""

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
        if not below.due:
            below = counted(root, "keep", (below,), root.schema, context)
        items = (
            *items, (CHANGE, f"IF({quote(SIGN)} > 0, '+', '-')"),
            (CHANGED_AT, f"timestamp_micros({quote(AT)})"),
        )
    step = ph.Select(below.step, items, id=f"{context.query}.result", origin=root.origin)
    return Lowered(step, tuple(n for n, _ in items))


def lower_moving(node: lg.Logical, context: LowerContext) -> Moving:
    """The changes of an operator's relation."""
    if node.change is lg.Change.FINAL and not runs_on_changes(node):
        return from_windows(node, lower(node, context), context)
    if node.event_time is not None and all(isinstance(n, STREAM_PARTS) for n in walk(node)):
        return _stream(node, context)
    match node:
        case lg.Filter():
            return _filter(node, lower_moving(node.input, context), context)
        case lg.Project():
            return _project(node, lower_moving(node.input, context), context)
        case lg.Window():
            return _window(node, lower_moving(node.input, context), context)
        case lg.Aggregate():
            return _aggregate(node, lower_moving(node.input, context), context)
        case lg.Distinct():
            return counted(
                node, "once", (lower_moving(node.input, context),), node.schema, context
            )
        case lg.Join():
            return _join(node, context)
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
    if not any(isinstance(n, lg.Watermark) for n in walk(node)):
        raise refuse(
            "a window that moves needs to know when its rows are complete", node.origin,
            "declare WATERMARK FOR on the stream", code="SQ0402",
        )
    return from_stream(node, replace(below, times=below.times | {time}), time, context)


def _sql(expr: Expr, below: Moving, node: lg.Logical) -> str:
    schema = tuple(f for i in node.inputs for f in i.schema)
    for part in walk_expr(expr):
        if is_window_field(part, schema):
            raise refuse(
                "the bounds of a window cannot be read where relations of different windows meet",
                part.origin, "select WINDOW_START and WINDOW_END in the view that has the window",
            )
    return to_sql(expr, below.columns)


def _filter(node: lg.Filter, below: Moving, context: LowerContext) -> Moving:
    # Spark would move the test below the watermark, unless it reads the event time.
    test = f"if({quote(TIME)} IS NULL, FALSE, {_sql(node.predicate, below, node)})"
    return below.over(ph.Where(below.step, test, id=context.step_id(node, "filter"),
                               origin=node.origin))


def _project(node: lg.Project, below: Moving, context: LowerContext) -> Moving:
    items = tuple((n, _sql(e, below, node)) for n, e in node.items)
    hidden = tuple((h, quote(h)) for h in HIDDEN)
    step = ph.Select(below.step, (*items, *hidden), id=context.step_id(node, "select"),
                     origin=node.origin)
    renamed = {e.name: n for n, e in node.items if isinstance(e, Column)}
    netted = below.netted
    if netted is not None:
        netted = frozenset(renamed[n] for n in netted) if netted <= renamed.keys() else None
    return replace(below.over(step, tuple(n for n, _ in items)), netted=netted)


def _window(node: lg.Window, below: Moving, context: LowerContext) -> Moving:
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
            return _rows(node, spec, below, context)
        case _:
            raise refuse(
                "this window over the result of another query cannot be run yet", node.origin,
                "use [RANGE t] or [ROWS n], or send the rows to a sink and read them as a stream",
            )


def _rows(node: lg.Window, spec: lg.LastRows, below: Moving, context: LowerContext) -> Moving:
    key = _hash([quote(p) for p in spec.partition])
    texts = [quote(n) for n in below.names]
    step, values = packed(node, below, node.schema, texts, key, context)
    params: tuple[tuple[str, object], ...] = (
        ("rows", spec.rows), ("slide", spec.slide or 1),
        ("range_us", None if spec.range_ms is None else spec.range_ms * 1000),
        ("ties", tuple(range(len(values)))),
    )
    kinds = tuple(v.kind for v in values)
    return stateful(node, step, "rows", params, kinds, values, context, by="key")


def _aggregate(node: lg.Aggregate, below: Moving, context: LowerContext) -> Moving:
    keys = [_sql(e, below, node) for _, e in node.keys]
    if below.grows:
        warn_groups(node, context)
    key_fields = [lg.Field(n, e.type, e.nullable) for n, e in node.keys]
    plan = lower_folds(node, len(keys), lambda e: _sql(e, below, node), grows=below.grows)
    step, values = packed(
        node, below, (*key_fields, *plan.fields), (*keys, *plan.texts), _hash(keys), context
    )
    results = (*values[: len(keys)], *(
        Carried(name, kind, f"v{i}", call.type)
        for i, ((name, call), kind) in enumerate(
            zip(node.aggregates, plan.kinds, strict=True), len(keys))
    ))
    params: tuple[tuple[str, object], ...] = (
        ("keys", tuple(range(len(keys)))), ("folds", plan.folds), ("whole", not keys),
        ("grows", below.grows),
    )
    kinds = tuple(v.kind for v in values)
    groups = stateful(node, step, "groups", params, kinds, results, context, by="key")
    return replace(groups, netted=frozenset(groups.names))


def counted(
    node: lg.Logical, rule: str, sides: Sequence[Moving], fields: Sequence[lg.Field],
    context: LowerContext,
) -> Moving:
    """The rows of one or two relations of equal columns, counted by a rule of ``stdlib/timelines/counts.py``."""
    steps, values = zip(*(
        packed(node, side, fields, [quote(n) for n in side.names], "0L", context, side=f"{number}L")
        for number, side in enumerate(sides)
    ), strict=True)
    step = steps[0] if len(steps) == 1 else ph.UnionAll(
        steps, id=context.step_id(node, "sides"), origin=node.origin
    )
    kinds = tuple(v.kind for v in values[0])
    found = stateful(node, step, "counts", (("rule", rule),), kinds, values[0], context, by="row")
    return replace(found, netted=frozenset(found.names))


def _join(node: lg.Join, context: LowerContext) -> Moving:
    if node.left.change is lg.Change.STATIC or node.right.change is lg.Change.STATIC:
        return _with_table(node, context)
    left, right = lower_moving(node.left, context), lower_moving(node.right, context)
    if left.grows or right.grows:
        warn_unbounded(node, "join", context)
    passed = {JoinKind.LEFT: (0,), JoinKind.RIGHT: (1,), JoinKind.FULL: (0, 1)}.get(node.kind, ())
    pairs = _pairs(node, left, right, passed, context)
    if not passed:
        return replace(pairs, grows=node.change is lg.Change.APPEND)
    return _with_lonely_rows(node, pairs, left, passed, context)


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


def _with_table(node: lg.Join, context: LowerContext) -> Moving:
    on_left = node.left.change is not lg.Change.STATIC
    keeps = {JoinKind.LEFT: on_left, JoinKind.RIGHT: not on_left}.get(
        node.kind, node.kind is not JoinKind.FULL
    )
    if not keeps:
        raise refuse(
            f"{node.kind.value} JOIN keeps the table's rows that no stream row ever matches",
            node.origin, "keep the stream's side instead", code="SQ0502",
        )
    moving = lower_moving(node.left if on_left else node.right, context)
    table = lower(node.right if on_left else node.left, context)
    left, right = (moving.step, table.step) if on_left else (table.step, moving.step)
    known = moving.columns | table.columns
    condition = "TRUE" if node.condition is None else to_sql(node.condition, known)
    kinds = {JoinKind.LEFT: "left_outer", JoinKind.RIGHT: "right_outer"}
    step = ph.Join(left, right, kinds.get(node.kind, "inner"), condition,
                   id=context.step_id(node, "join"), origin=node.origin)
    names = (*moving.names, *table.names) if on_left else (*table.names, *moving.names)
    return moving.over(step, names)


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
        left_keys.append(_sql(ours, left, node))
        right_keys.append(_sql(theirs, right, node))
    step_left, of_left = packed(
        node, _with_key(node, left, left_keys, 0 in passed, context), node.left.schema,
        [quote(n) for n in left.names], _hash(left_keys), context,
        others=carried(node.right.schema, len(left.names)),
    )
    step_right, of_right = packed(
        node, _with_key(node, right, right_keys, 1 in passed, context), node.right.schema,
        [quote(n) for n in right.names], _hash(right_keys), context, side="1L",
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
    test = to_sql(node.condition, pairs.columns)
    if passed:
        test = f"{quote(SIDE)} <> 0L OR ({test})"
    return pairs.over(ph.Where(
        pairs.step, f"if({quote(TIME)} IS NULL, FALSE, {test})",
        id=context.step_id(node, "condition"), origin=node.origin,
    ))


def _with_key(
    node: lg.Join, side: Moving, keys: Sequence[str], is_kept: bool, context: LowerContext
) -> Moving:
    """The rows whose keys are not NULL: the others meet nobody, and go where they need not be kept."""
    if not keys or is_kept:
        return side
    test = " AND ".join(f"{k} IS NOT NULL" for k in keys)
    test = f"if({quote(TIME)} IS NULL, FALSE, {test})"
    return side.over(ph.Where(side.step, test, id=context.step_id(node, "keyed"),
                              origin=node.origin))


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
        step, names, grows=all(part.grows for part in parts), due=all(part.due for part in parts)
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
    elif below.due and below.netted is not None:
        changes = below
    else:
        changes = counted(node, "keep", (below,), node.schema, context)
    sign = "<" if node.op is R2S.DSTREAM else ">"
    kept = ph.Where(
        changes.step, f"if({quote(TIME)} IS NULL, FALSE, {quote(SIGN)} {sign} 0L)",
        id=context.step_id(node, node.op.value.lower()), origin=node.origin,
    )
    items = (
        *((n, quote(n)) for n in changes.names), (TIME, quote(TIME)), (AT, quote(AT)),
        (SIGN, "1L"), (END, FOREVER),
    )
    step = ph.Select(kept, items, id=context.step_id(node, "stream"), origin=node.origin)
    return Moving(step, changes.names, grows=True, due=changes.due)


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
        case lg.Union():
            return all(_is_momentary(i) for i in node.inputs)
        case _:
            return False


def _hash(texts: Sequence[str]) -> str:
    return f"xxhash64({', '.join(texts)})" if texts else "0L"
