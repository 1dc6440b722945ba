"""One rule per logical operator. What has no rule is refused with a reason, at compile time."""

from __future__ import annotations

from streamq.compiler.analysis.moving import frames_a_result, needs_changes
from streamq.compiler.analysis.state_bound import kept_values
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir import physical as ph
from streamq.compiler.ir.expr import COUNTED_MEASURES, AggCall, Column, Quality
from streamq.compiler.ir.rewrite import measures_of, walk
from streamq.compiler.ir.sketches import is_weighted
from streamq.compiler.lowering.distinct import VALUE, needs_distinct, set_form, two_level
from streamq.compiler.lowering.joins import lower_join
from streamq.compiler.lowering.kafka import lower_records, lower_unread
from streamq.compiler.lowering.moving import TIME
from streamq.compiler.lowering.ordering import lower_last, lower_sort
from streamq.compiler.lowering.scans import lower_scan, with_rows
from streamq.compiler.lowering.shedders import lower_shed
from streamq.compiler.lowering.similar import has_pairs, lower_pairs
from streamq.compiler.lowering.sketch_weights import lower_weighted
from streamq.compiler.lowering.sql import SESSION, WINDOW, above_watermark, aggregate, quote, to_sql
from streamq.compiler.lowering.state import (
    LowerContext,
    Lowered,
    Stamp,
    bare,
    one_time,
    refuse,
    refuse_closed,
    refuse_raw_session,
    time_of,
)
from streamq.dsl.ast import R2S
from streamq.dsl.diagnostics import Diagnostic, InternalError, Severity
from streamq.dsl.records import replace
from streamq.dsl.types import holds_map, with_article


def lower(node: lg.Logical, context: LowerContext) -> Lowered:
    """The physical form of an operator and everything below it; ``Abort`` where there is none."""
    _refuse_quality(node)
    if needs_changes(node):
        raise InternalError(f"{type(node).__name__} needs the rules of changes.py")
    match node:
        case lg.Scan():
            return _scan(node, tuple(f.name for f in node.schema), context)
        case lg.Project():
            return _project(node, context)
        case lg.Filter():
            return _filter(node, lower(node.input, context), context)
        case lg.Watermark():
            below = lower(node.input, context)
            step = ph.WithWatermark(
                below.step, node.column, node.delay_ms,
                id=context.step_id(node, "watermark"), origin=node.origin,
            )
            return replace(below.over(step), times=frozenset({node.column}))
        case lg.Shed(unread=True):
            return lower_unread(node, context)
        case lg.Shed():
            return lower_shed(node, lower(with_rows(node, node.input), context), context)
        case lg.Window() if frames_a_result(node):
            # The rules for changes stand on these here, and only this one on them.
            from streamq.compiler.lowering.changes import as_stream

            return _window(node, as_stream(node.input, context), TIME, context)
        case lg.Window():
            below = lower(node.input, context)
            return _window(node, below, node.input.event_time, context)
        case lg.Aggregate():
            return _with_spare(node, _aggregate(node, lower(node.input, context), context), context)
        case lg.Distinct():
            return _distinct(node, lower(node.input, context), context)
        case lg.Sort():
            return lower_sort(node, lower(node.input, context), context)
        case lg.Join():
            return lower_join(
                node, lower(node.left, context), lower(node.right, context), context
            )
        case lg.Union():
            return _union(node, context)
        case lg.ToStream():
            return _to_stream(node, lower(node.input, context), context)
        case _:
            raise TypeError(f"no lowering rule for {type(node).__name__}")


def _scan(node: lg.Scan, wanted: tuple[str, ...], context: LowerContext) -> Lowered:
    lower_source = lower_records if node.source.connector == "kafka" else lower_scan
    return lower_source(node, wanted, context)


def _refuse_quality(node: lg.Logical) -> None:
    for measure in measures_of(node):
        if not measure.view:
            # passes/quality.py answers all that can be answered.
            raise refuse(
                f"{measure.function}() {_why_untold(node, measure)}", measure.origin,
                "remove it to run the query", code="SQ0601",
            )


def _why_untold(node: lg.Logical, part: Quality) -> str:
    if part.function not in COUNTED_MEASURES:
        return "is known only where QOS LATENCY, or a rate, steers the query"
    if any(isinstance(n, lg.Shed) and n.rank is not None for n in walk(node)):
        return "cannot be told where rows go by what is in them, as with BY UTILITY and OLDER THAN"
    return "cannot be told after DISTINCT, EXCEPT or INTERSECT"


def _project(node: lg.Project, context: LowerContext) -> Lowered:
    plain = all(isinstance(e, Column) and e.name == n for n, e in node.items)
    if isinstance(node.input, lg.Scan) and plain:
        return _scan(node.input, tuple(n for n, _ in node.items), context)
    below = lower(node.input, context)
    items = tuple((n, to_sql(e, below.columns)) for n, e in node.items)
    if TIME in below.columns:
        items = (*items, (TIME, quote(TIME)))
    names = tuple(n for n, _ in items)
    items = (*items, *((n, quote(n)) for n in below.hidden))
    renamed = {TIME: TIME} | {
        e.name: n for n, e in reversed(node.items) if isinstance(e, Column)
    }
    stamps = tuple(replace(s, column=renamed.get(s.column, "")) for s in below.stamps)
    session = below.session
    if session is not None:
        kept = tuple(renamed.get(p, "") for p in session[0].partition)
        session = (replace(session[0], partition=kept), renamed.get(session[1], ""))
    times = {n for n, e in node.items if isinstance(e, Column) and e.name in below.times}
    times |= below.times & {TIME}
    step = ph.Select(below.step, items, id=context.step_id(node, "select"), origin=node.origin)
    return replace(
        below.over(step, names), stamps=stamps, session=session,
        times=frozenset(times) | (below.times & {WINDOW}),
    )


def _filter(node: lg.Filter, below: Lowered, context: LowerContext) -> Lowered:
    if below.session is not None:
        raise refuse(
            "a filter over a session window cannot be run yet", node.predicate.origin,
            "filter in FROM, (SELECT … WHERE …) [SESSION …], for the sessions of the rows that "
            "pass, or count with FILTER (WHERE …)",
            notes=("the rows that do not pass belong to the sessions too",),
        )
    condition = to_sql(node.predicate, below.columns)
    time = time_of(node.input, below)
    if time:
        condition = above_watermark(condition, time)
    return below.over(ph.Where(
        below.step, condition, id=context.step_id(node, "filter"), origin=node.origin,
    ))


def _window(
    node: lg.Window, below: Lowered, time: str | None, context: LowerContext
) -> Lowered:
    match node.spec:
        case lg.Unbounded():
            return below
        case lg.Sliding() as spec if time is not None:
            step = ph.AssignWindow(
                below.step, WINDOW, time, spec.range_ms, spec.slide_ms,
                id=context.step_id(node, "window"), origin=node.origin,
            )
            framed = replace(below.over(step), window=True, times=below.times | {WINDOW})
            return _without(TIME, framed, node, context) if time == TIME else framed
        case lg.Session() as spec if time is not None:
            return replace(below, session=(spec, time))
        case lg.TimeRange() as spec if time is not None:
            return replace(below, stamps=(Stamp(time, spec.range_ms),))
        case lg.Now() if time is not None:
            return replace(below, stamps=(Stamp(time, 0),))
        case lg.LastRows(rows=1, slide=None, range_ms=None) as spec if time is not None:
            return lower_last(node, spec, below, time, context)
        case _:
            raise refuse("this window needs the stream's event time", node.origin,
                         "declare WATERMARK FOR on the stream", code="SQ0402")


def _without(column: str, below: Lowered, node: lg.Logical, context: LowerContext) -> Lowered:
    """The rows without a hidden column."""
    names = tuple(n for n in below.names if n != column)
    step = ph.Select(below.step, below.passed(names), id=context.step_id(node, "framed"),
                     origin=node.origin)
    return replace(below.over(step, names), times=below.times - {column})


def _aggregate(node: lg.Aggregate, below: Lowered, context: LowerContext) -> Lowered:
    refuse_closed(below, "an aggregate", node)
    keys = _keys(node, below)
    names = tuple(f.name for f in node.schema)
    if has_pairs(node):
        _refuse_keyed(node)
        return lower_pairs(node, below, keys, context)
    _refuse_keyed(node)
    weighted = lower_weighted(node, below, keys, context)
    if weighted is not None:
        return weighted
    if below.session is not None:
        return _session(node, below, keys, context)
    if node.input.change is lg.Change.APPEND:
        warn_groups(node, context)
    window = ((WINDOW, quote(WINDOW)),) if below.window else ()
    plan = two_level(node.aggregates, below.columns) if below.window else None
    if plan is not None:
        stamped = plan.value in {quote(t) for t in below.times}
        value = bare(plan.value) if stamped else plan.value
        inner = ph.Aggregate(
            below.step, (*window, *keys, (VALUE, value)), plan.inner,
            id=context.step_id(node, "distinct_values"), origin=node.origin,
        )
        outer_keys = (*window, *((n, quote(n)) for n, _ in keys))
        step = ph.Aggregate(inner, outer_keys, plan.outer,
                            id=context.step_id(node, "aggregate"), origin=node.origin)
    else:
        step = ph.Aggregate(
            below.step, (*window, *keys), _calls(node.aggregates, below.columns),
            id=context.step_id(node, "aggregate"), origin=node.origin,
        )
    times = {WINDOW} if below.window else {n for n, s in keys if s in map(quote, below.times)}
    return Lowered(step, names, window=below.window, times=frozenset(times))


def _with_spare(node: lg.Aggregate, made: Lowered, context: LowerContext) -> Lowered:
    """Reads the aggregates that nothing may read, in a test that is always true: Spark would keep no state for them."""
    if not node.spare:
        return made
    test = f"(xxhash64({', '.join(map(quote, node.spare))}) & 0L) = 0L"
    step = ph.Where(made.step, test, id=context.step_id(node, "layout"), origin=node.origin)
    return replace(made, step=step)


def _refuse_keyed(node: lg.Aggregate) -> None:
    """Refuses sketches by weight of rows that stay or go by their key: what sampling adds is not that of single rows."""
    weighted = next((c for _, c in node.aggregates if is_weighted(c)), None)
    if weighted is not None and any(isinstance(n, lg.Shed) and n.whole_keys for n in walk(node.input)):
        raise refuse(
            "an estimate from a sketch does not follow from rows that stay or go by key", weighted.origin,
            "shed without BY KEY, or leave RECOVER ESTIMATE out: the estimate is of the rows that are kept then", code="SQ0602",
        )


def _keys(node: lg.Aggregate, below: Lowered) -> tuple[ph.Named, ...]:
    """The keys; beside the window, or the first event time, others stand without their watermark."""
    stamped = below.window or below.session is not None
    keys: list[ph.Named] = []
    for name, expr in node.keys:
        text = to_sql(expr, below.columns)
        if isinstance(expr, Column) and expr.name in below.times:
            text = bare(text) if stamped else text
            stamped = True
        keys.append((name, text))
    return tuple(keys)


def _calls(
    aggregates: tuple[tuple[str, AggCall], ...], columns: frozenset[str]
) -> tuple[ph.Named, ...]:
    return tuple(
        (n, set_form(a, columns) if needs_distinct(a) else aggregate(a, columns))
        for n, a in aggregates
    )


def _session(
    node: lg.Aggregate, below: Lowered, keys: tuple[ph.Named, ...], context: LowerContext
) -> Lowered:
    assert below.session is not None
    spec, time = below.session
    grouped = {e.name for _, e in node.keys if isinstance(e, Column)}
    if len(node.keys) != len(grouped) or grouped != set(spec.partition):
        by = ", ".join(e.name for _, e in node.keys if isinstance(e, Column))
        raise refuse(
            "a session window must be grouped by the columns it is partitioned by", node.origin,
            f"write [SESSION … PARTITION BY {by}] and GROUP BY {by}" if by
            else "write the same columns in PARTITION BY and GROUP BY",
        )
    if time not in below.columns:
        raise refuse(
            "the event time of the session is lost before it is grouped", node.origin,
            "group where the window stands, or select the event-time column in every view between",
        )
    names = tuple(f.name for f in node.schema)
    # Spark wants a key beside the session; this one is the same for all rows, and it cannot know that.
    everything = ("__all", f"unix_micros({bare(quote(time))}) & 0L")
    grouped_step = ph.Aggregate(
        below.step, keys or (everything,), _calls(node.aggregates, below.columns),
        session=(WINDOW, time, spec.gap_ms * 1000 - 1),
        id=context.step_id(node, "aggregate"), origin=node.origin,
    )
    # A gap as long as the session's ends it, so Spark was given a microsecond less.
    window = f"named_struct('start', {quote(WINDOW)}.`start`, 'end', " \
        f"{quote(WINDOW)}.`end` + INTERVAL '0.000001' SECOND)"
    step = ph.Select(
        grouped_step, (*((n, quote(n)) for n in names), (WINDOW, window), (SESSION, quote(WINDOW))),
        id=context.step_id(node, "session_end"), origin=node.origin,
    )
    return Lowered(step, names, window=True, closed="the results of sessions", sessions=True)


def warn_groups(node: lg.Aggregate, context: LowerContext) -> None:
    """Says that the groups, or the values in them, are never let go."""
    values = kept_values(node)
    if node.keys or values:
        keeps = "GROUP BY keeps every group" if node.keys else f"aggregate keeps{values.removeprefix(' and')}"
        context.warnings.append(Diagnostic(
            code="SQ0901", severity=Severity.WARNING, span=node.origin,
            message=f"this {keeps} forever",
            label=f"its state grows with the number of {'groups' if node.keys else 'rows'}",
            help="put a window after the stream, for example [RANGE 1 HOUR SLIDE 1 MINUTE]",
        ))


def _distinct(node: lg.Distinct, below: Lowered, context: LowerContext) -> Lowered:
    refuse_closed(below, "DISTINCT", node)
    step_id = context.step_id(node, "distinct")
    if below.session is not None:
        raise refuse(
            "DISTINCT over this window cannot be run yet", node.origin,
            "use a window with SLIDE, or none",
        )
    if below.window:
        keys = tuple(
            (n, bare(s) if n in below.times and n != WINDOW else s)
            for n, s in below.passed(below.names)
        )
        step = ph.Aggregate(below.step, keys, (), id=step_id, origin=node.origin)
        return replace(below.over(step), times=below.times & {WINDOW})
    for column in node.schema:
        if holds_map(column.type):
            raise refuse(
                f"DISTINCT cannot compare `{column.name}`, which is {with_article(column.type)}",
                node.origin, "select single entries of the map", code="SQ0502",
            )
    if node.change is lg.Change.APPEND and node.event_time is None:
        context.warnings.append(Diagnostic(
            code="SQ0901", severity=Severity.WARNING, span=node.origin,
            message="this DISTINCT keeps every row forever",
            label="its state grows with the number of different rows",
            help="select the event-time column too, or put a window after the stream",
        ))
    below = one_time(below, node.event_time, node, context)
    return below.over(
        ph.DropDuplicates(below.step, below.names, id=step_id, origin=node.origin)
    )


def _union(node: lg.Union, context: LowerContext) -> Lowered:
    branches = [lower(b, context) for b in node.branches]
    changes = {b.change for b in node.branches}
    if not changes <= {lg.Change.APPEND} and not changes <= {lg.Change.STATIC}:
        same = changes == {lg.Change.FINAL} and node.window is not None
        if not same or any(b.session for b in branches):
            raise refuse(
                "UNION of these inputs cannot be run yet", node.origin,
                "unite streams without windows, or relations under the same window",
            )
    names = tuple(f.name for f in node.schema)
    steps = tuple(
        ph.Select(b.step, b.passed(names), id=context.step_id(node, "branch"), origin=n.origin)
        for b, n in zip(branches, node.branches, strict=True)
    )
    step = ph.UnionAll(steps, id=context.step_id(node, "union"), origin=node.origin)
    times = frozenset(t for b in branches for t in b.times)
    closed = next((b.closed for b in branches if b.closed), "")
    return Lowered(
        step, names, window=branches[0].window, times=times, closed=closed,
        sessions=branches[0].sessions,
    )


def _to_stream(node: lg.ToStream, below: Lowered, context: LowerContext) -> Lowered:
    change = node.input.change
    refuse_raw_session(below, node.origin)
    if node.op is R2S.RSTREAM and change is lg.Change.APPEND:
        raise refuse(
            "RSTREAM over an unbounded window would repeat all rows at every instant",
            node.origin, "say ISTREAM, or put a window after the stream", code="SQ0408",
        )
    repeats = node.op is R2S.RSTREAM and change is lg.Change.MOVING
    if repeats and not any(s.range_ms == 0 for s in below.stamps):
        raise refuse(
            "RSTREAM over a window without SLIDE would repeat its rows at every instant",
            node.origin, "say ISTREAM for the rows that appear, or add SLIDE",
        )
    if not below.window:
        return Lowered(below.step, below.names, times=below.times, closed=below.closed)
    items = tuple((n, quote(n)) for n in below.names)
    step = ph.Select(below.step, items, id=context.step_id(node, "result"), origin=node.origin)
    return Lowered(step, below.names, times=below.times - {WINDOW}, closed=below.closed)
