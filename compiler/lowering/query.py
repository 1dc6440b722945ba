"""A query's physical plan: its steps, its output mode and its sink."""

from __future__ import annotations

from streamq.compiler.analysis.edges import edges_of
from streamq.compiler.analysis.moving import runs_on_changes
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir import physical as ph
from streamq.compiler.ir.expr import Column, Expr
from streamq.compiler.ir.goals import Goal, is_estimated
from streamq.compiler.ir.rewrite import is_window_field, measures_of, walk, with_inputs
from streamq.compiler.lowering.changes import CHANGE, CHANGED_AT, lower_changes
from streamq.compiler.lowering.readers import readers_of
from streamq.compiler.lowering.rules import lower
from streamq.compiler.lowering.scans import with_rows
from streamq.compiler.lowering.shedders import dropped_rows
from streamq.compiler.lowering.sql import quote, spark_type
from streamq.compiler.lowering.state import LowerContext, Lowered, refuse, refuse_raw_session
from streamq.compiler.passes.asked import dropped_into
from streamq.compiler.passes.assign_watermarks import keeps_state
from streamq.compiler.passes.estimate import confidence_of
from streamq.dsl.diagnostics import Abort, Diagnostic
from streamq.dsl.types import STRING, TIMESTAMP
from streamq.stdlib.connectors import find_connector
from streamq.stdlib.estimate.confidence import deviations

CONSOLE = ph.SinkSpec(name=None, connector="console")


def lower_plan(
    plan: lg.LogicalPlan, base_dir: str
) -> tuple[ph.PhysicalPlan, tuple[Diagnostic, ...]]:
    """The physical plan of every query that has one, and the refusals and warnings of the rest."""
    queries: list[ph.PhysicalQuery] = []
    found: list[Diagnostic] = []
    sinks = {s.name: s for s in plan.sinks}
    for query in plan.queries:
        asks = any(measure.view for node in walk(query.root) for measure in measures_of(node))
        context = LowerContext(query.name, lone=_is_lone(query.root), asks_control=asks)
        try:
            queries.append(_lower_query(query, sinks, context))
        except Abort as stop:
            found.append(stop.diagnostic)
        found.extend(context.warnings)
    functions = tuple(
        ph.FunctionSource(
            f.name, f.target, tuple(spark_type(t) for _, t in f.parameters),
            spark_type(f.returns), f.origin,
        )
        for f in plan.functions
    )
    edges, wrong = edges_of(plan)
    found.extend(wrong)
    physical = ph.PhysicalPlan(tuple(queries), functions, plan.settings, base_dir, edges)
    return physical, tuple(found)


def _is_lone(root: lg.Logical) -> bool:
    """True where one source is read, once."""
    return all(len(node.inputs) < 2 for node in walk(root))


def _lower_query(
    query: lg.LogicalQuery, sinks: dict[str, lg.SinkDecl], context: LowerContext
) -> ph.PhysicalQuery:
    if runs_on_changes(query.root):
        return _on_changes(query, sinks, context)
    below = lower(query.root, context)
    update = query.root.change is lg.Change.UPDATE
    refuse_raw_session(below, query.root.origin)
    sink = _sink(query, sinks, update)
    names = tuple(f.name for f in query.root.schema)
    return ph.PhysicalQuery(
        name=query.name, root=_measured(query, _final(below, names, context), context), mode="update" if update else "append",
        sink=sink, columns=tuple((f.name, str(f.type)) for f in query.root.schema),
        keys=_keys(query) if update else (), stateful=keeps_state(query.root),
        controls=tuple(context.controls.values()), time_column=_time_column(query.root),
        dropped=_dropped(query, context), dropped_sink=_dropped_sink(query, sinks), readers=readers_of(query),
        origin=query.origin,
    )


def _dropped(query: lg.LogicalQuery, context: LowerContext) -> tuple[ph.Dropped, ...]:
    """The rows that go, where the query writes them down; of a stream that is read twice once."""
    found: dict[str, ph.Dropped] = {}
    for node in walk(query.root):
        if isinstance(node, lg.Shed) and node.whole is not None:
            stream = with_rows(node, _without_watermark(node.whole))
            one = dropped_rows(node, lower(stream, context), context)
            found.setdefault(one.stream, one)
    return tuple(found.values())


def _without_watermark(node: lg.Logical) -> lg.Logical:
    if isinstance(node, lg.Watermark):
        return _without_watermark(node.input)
    return with_inputs(node, tuple(_without_watermark(i) for i in node.inputs))


def _dropped_sink(query: lg.LogicalQuery, sinks: dict[str, lg.SinkDecl]) -> ph.SinkSpec | None:
    asked = dropped_into(query.policies)
    if asked is None:
        return None
    decl = next(s for name, s in sinks.items() if name.casefold() == asked.sink.text.casefold())
    return ph.SinkSpec(decl.name, decl.connector, decl.options, decl.origin)


def _on_changes(
    query: lg.LogicalQuery, sinks: dict[str, lg.SinkDecl], context: LowerContext
) -> ph.PhysicalQuery:
    """A query whose relations move: a stream of rows, or of the changes of its result."""
    below = lower_changes(query.root, context)
    if _bounded(context) is not None:
        raise refuse(
            "QOS ERROR of a result that gains and loses rows cannot be run yet", query.root.origin,
            "use a window with SLIDE or TUMBLE, or COMPLETENESS instead of ERROR", code="SQ0601",
        )
    types = {f.name: str(f.type) for f in query.root.schema}
    extra = {CHANGE: str(STRING), CHANGED_AT: str(TIMESTAMP)}
    return ph.PhysicalQuery(
        name=query.name, root=below.step, mode="append", sink=_sink(query, sinks, False),
        columns=tuple((n, types.get(n) or extra[n]) for n in below.names), stateful=True,
        controls=tuple(context.controls.values()), time_column=_time_column(query.root),
        dropped=_dropped(query, context), dropped_sink=_dropped_sink(query, sinks), readers=readers_of(query),
        origin=query.origin,
    )


def _final(below: Lowered, names: tuple[str, ...], context: LowerContext) -> ph.Step:
    if below.names == names and not below.window:
        return below.step
    items = tuple((n, quote(n)) for n in names)
    return ph.Select(below.step, items, id=f"{context.query}.result")


def _bounded(context: LowerContext) -> Goal | None:
    """The query's goal, where that bounds the error of estimates."""
    goals = (control.goal for control in context.controls.values())
    return next((g for g in goals if g is not None and g.error is not None), None)


def _measured(query: lg.LogicalQuery, step: ph.Step, context: LowerContext) -> ph.Step:
    """The result, with the error of its estimates observed where somebody steers by it: that of nine rows in ten."""
    goal = _bounded(context)
    if goal is None or not is_estimated(query.policies):
        return step
    if not query.estimates:
        raise refuse(
            "QOS ERROR of a result without estimates cannot be run yet", query.root.origin,
            "only COUNT, SUM and AVG are estimated; remove ERROR", code="SQ0601",
        )
    errors = []
    for name in query.estimates:
        value, low, high = (quote(name + end) for end in ("", "_lo", "_hi"))
        errors.append(f"({high} - {low}) / 2 / nullif(abs(CAST({value} AS DOUBLE)), 0D)")
    largest = errors[0] if len(errors) == 1 else f"greatest({', '.join(errors)})"
    scale = deviations(goal.confidence) / deviations(confidence_of(query.policies))
    counts = (("error", f"percentile_approx({scale!r}D * ({largest}), 0.9D)"),)
    step_id = f"{context.query}.error"
    return ph.Observe(step, f"{step_id}@{context.query}", counts, id=step_id)


def _sink(
    query: lg.LogicalQuery, sinks: dict[str, lg.SinkDecl], update: bool
) -> ph.SinkSpec:
    if query.sink is None:
        return CONSOLE
    decl = sinks[query.sink]
    spec = find_connector(decl.connector, "sink")
    mode = "update" if update else "append"
    if spec is not None and mode not in spec.modes:
        raise refuse(
            f"`{query.name}` changes rows it gave before, and a {decl.connector} sink only adds",
            query.origin,
            "use a window with SLIDE for one final result per window, or a console sink",
            code="SQ0503",
        )
    return ph.SinkSpec(decl.name, decl.connector, decl.options, decl.origin)


def _keys(query: lg.LogicalQuery) -> tuple[str, ...]:
    """The result columns that identify a row of a relation; all keys must be among them."""
    wanted, path = _key_columns(query.root)
    names: list[str] = []
    for key in wanted:
        shown: str | None = key
        for project in reversed(path):
            shown = next(
                (n for n, e in project.items if isinstance(e, Column) and e.name == shown), None
            )
        if shown is None:
            raise refuse(
                f"the result leaves out `{key}`, so nobody could tell which row a change replaces",
                query.root.origin, f"add `{key}` to the select list", code="SQ0503",
            )
        names.append(shown)
    return tuple(names)


def _time_column(root: lg.Logical) -> str | None:
    """The column of the result that is a bound of the window, if it has one."""
    # A select list may be long: each is looked through once.
    lists: dict[int, dict[str, Expr]] = {}
    for f in root.schema:
        node, name = root, f.name
        while not isinstance(node, lg.Scan | lg.Union | lg.Join | lg.Aggregate):
            if isinstance(node, lg.Project):
                if id(node) not in lists:
                    lists[id(node)] = dict(node.items)
                source = lists[id(node)][name]
                if not isinstance(source, Column):
                    break
                name = source.name
                if is_window_field(source, node.input.schema):
                    return f.name
            node = node.inputs[0]
    return None


def _key_columns(root: lg.Logical) -> tuple[tuple[str, ...], list[lg.Project]]:
    path: list[lg.Project] = []
    node = root
    while True:
        match node:
            case lg.Project():
                path.append(node)
                node = node.input
            case lg.Aggregate():
                return tuple(n for n, _ in node.keys), path
            case lg.Window(spec=lg.LastRows() as spec):
                return spec.partition, path
            case lg.Filter() | lg.Distinct() | lg.ToStream() | lg.Shed() | lg.Watermark():
                node = node.input
            case _:
                return (), path
