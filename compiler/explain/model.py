"""What explain shows, apart from how: lines of operators per query, and notices."""

from __future__ import annotations

from streamq.compiler.analysis.granularity import granularity
from streamq.compiler.analysis.moving import runs_on_changes
from streamq.compiler.analysis.state_bound import state_bound
from streamq.compiler.driver import CompileResult
from streamq.compiler.explain.words import show_briefly, show_operator
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir import physical as ph
from streamq.compiler.ir.graph import PlanGraph, build_graph
from streamq.compiler.ir.rewrite import walk
from streamq.compiler.ir.sketches import BEHIND
from streamq.compiler.notices import PlanNotice
from streamq.dsl.records import dataclass
from streamq.stdlib.connectors import find_connector
from streamq.stdlib.secrets import HIDDEN, redacted

_FROM = ("path", "topic", "topic_pattern")
_INTO = ("path", "topic", "url", "schema", "table")
"""Options that say where rows lie."""

STAGES = ("logical", "annotated", "physical", "spark")
FORMATS = ("text", "json", "mermaid")


@dataclass(frozen=True, slots=True)
class Box:
    """One operator: its id, what it does, facts about it, and the ids it reads from."""

    id: str
    title: str
    facts: tuple[str, ...]
    inputs: tuple[str, ...]
    shared_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QueryModel:
    """A query: where its rows go and how, and its top operator's id."""

    name: str
    sink: str
    facts: tuple[str, ...]
    root: str


@dataclass(frozen=True, slots=True)
class ExplainModel:
    """The whole program at one stage. ``boxes`` are in an order where inputs come first."""

    stage: str
    boxes: dict[str, Box]
    queries: tuple[QueryModel, ...]
    notices: tuple[PlanNotice, ...]


def logical_model(result: CompileResult, stage: str) -> ExplainModel:
    """The ``logical`` stage (as written) or the ``annotated`` one (after the passes, with facts)."""
    annotated = stage == "annotated"
    plan = result.optimized if annotated else result.logical
    assert plan is not None
    graph = build_graph(plan)
    roots = {q.name: q.root for q in plan.queries}
    edges = () if result.plan is None else result.plan.edges
    shed = frozenset(e.stream for e in edges if e.sheds and (e.capacity_kbps is not None or e.channel is not None))
    boxes = {
        node_id: Box(
            node_id, show_briefly(node) if annotated else show_operator(node),
            _facts(node, [roots[n] for n in graph.queries_over(node_id)], shed) if annotated else (),
            graph.inputs[node_id], _shared(graph, node_id),
        )
        for node_id, node in graph.nodes.items()
    }
    queries = tuple(
        QueryModel(q.name, q.sink or "console", _query_facts(q, plan, shed) if annotated else (),
                   graph.roots[q.name])
        for q in plan.queries
    )
    return ExplainModel(stage, boxes, queries, result.notices if annotated else ())


def _shared(graph: PlanGraph, node_id: str) -> tuple[str, ...]:
    readers = graph.consumers(node_id)
    queries = graph.queries_over(node_id)
    return queries if len(readers) > 1 and len(queries) > 1 else ()


def _facts(node: lg.Logical, roots: list[lg.Logical], shed: frozenset[str]) -> tuple[str, ...]:
    if isinstance(node, lg.Scan):
        time = node.source.event_time
        stamped = () if time is None else (f"event time {time}",)
        place = _place(_FROM, node.source.options)
        return (*((f"reads {place}",) if place else ()), ", ".join(f"{f.name} {f.type}" for f in node.schema), *stamped)
    state = state_bound(node)
    return () if state is None else (_exactness(node, granularity(node, *roots).value, shed), str(state))


def _exactness(node: lg.Logical, when: str, shed: frozenset[str]) -> str:
    """At which instants it is the answer, and that it is one with estimates in it, or of fewer rows or values.

    ``shed``: the streams whose edges shed.
    """
    below = list(walk(node))
    estimates = any(
        (isinstance(n, lg.Distinct) and n.approx is not None)
        or (isinstance(n, lg.Aggregate) and any(call.function in BEHIND for _, call in n.aggregates))
        for n in below
    )
    sheds = any(
        (isinstance(n, lg.Shed) and not n.spared)
        or (isinstance(n, lg.Join) and n.selects is not None)
        or (isinstance(n, lg.Scan) and n.source.name in shed)
        for n in below
    )
    but = " and ".join(what for what, is_so in (("its estimates", estimates), ("what is shed", sheds)) if is_so)
    return f"{when} but for {but}" if but else when


def _query_facts(query: lg.LogicalQuery, plan: lg.LogicalPlan, shed: frozenset[str]) -> tuple[str, ...]:
    change = query.root.change
    moves = runs_on_changes(query.root)
    mode = "update" if change is lg.Change.UPDATE and not moves else "append"
    if moves and change is not lg.Change.APPEND:
        mode = "changes, + and -, as they happen"
    sink = next((s for s in plan.sinks if s.name == query.sink), None)
    spec = find_connector("console" if sink is None else sink.connector, "sink")
    promise = spec.promise(mode) if spec is not None else ""
    inner = query.root.input.change if isinstance(query.root, lg.ToStream) else change
    facts = [f"output {mode}", inner.value, _exactness(query.root, granularity(query.root, query.root).value, shed)]
    into = [] if sink is None else [f"sink writes {sink.connector} {_place(_INTO, sink.options)}".rstrip()]
    return tuple(facts + into + ([f"sink promises {promise}"] if promise else []))


def _place(names: tuple[str, ...], options: tuple[tuple[str, lg.OptionValue], ...]) -> str:
    """Where rows lie: ``path = 'rides'``."""
    given = dict(options)
    return ", ".join(f"{name} = '{redacted(str(given[name]))}'" for name in names if given.get(name) not in (None, ""))


def physical_model(result: CompileResult) -> ExplainModel:
    """The steps that Spark will be asked for."""
    assert result.plan is not None
    boxes: dict[str, Box] = {}
    queries: list[QueryModel] = []
    for query in result.plan.queries:
        root = _add_steps(query.root, query.name, boxes)
        facts = [f"output {query.mode}", "stateful" if query.stateful else "stateless"]
        if query.keys:
            facts.append(f"rows keyed by {', '.join(query.keys)}")
        for control in query.controls:
            knobs = ", ".join(f"{k.name} = {k.initial:g}" for k in control.knobs)
            facts.append(f"control relation {control.view}: {knobs}")
        sink = query.sink.name or query.sink.connector
        queries.append(QueryModel(query.name, sink, tuple(facts), root))
    return ExplainModel("physical", boxes, tuple(queries), result.notices)


def _add_steps(step: ph.Step, query: str, boxes: dict[str, Box]) -> str:
    inputs = tuple(_add_steps(i, query, boxes) for i in ph.inputs_of(step))
    box_id = f"{query}#{len(boxes) + 1}"
    boxes[box_id] = Box(box_id, step.id, _step_facts(step), inputs)
    return box_id


def _step_facts(step: ph.Step) -> tuple[str, ...]:
    match step:
        case ph.ScanStream() | ph.ScanTable():
            columns = ", ".join(f"{n} {t}" for n, t in step.schema)
            return (f"read {step.connector}: {columns}", _options(step.connector, step.options))
        case ph.Parse():
            fields = ", ".join(f"{n} {t}" for n, t in step.fields)
            return (f"read {step.column} as {step.format}: {fields}", _options("", step.options))
        case ph.Select():
            return tuple(_item(n, s) for n, s in step.items)
        case ph.Where():
            return (f"where {step.condition}",)
        case ph.Observe():
            return (f"observe {', '.join(f'{s} AS {n}' for n, s in step.metrics)}",)
        case ph.WithWatermark():
            return (f"watermark {step.column}, {step.delay_ms} ms",)
        case ph.AssignWindow():
            return (f"window of {step.ts}: {step.range_ms} ms every {step.slide_ms} ms",)
        case ph.Aggregate():
            keys = [_item(n, s) for n, s in step.keys]
            if step.session is not None:
                keys.append(f"session of {step.session[1]}: gap {step.session[2]} µs")
            calls = (_item(n, s) for n, s in step.aggregates)
            return (f"group by {', '.join(keys) or 'nothing'}", *calls)
        case ph.DropDuplicates():
            return (f"drop duplicates of {', '.join(step.columns)}",)
        case ph.Join():
            return (f"{step.kind} join on {step.condition}",)
        case ph.Stateful():
            params = ", ".join(f"{n} = {v}" for n, v in step.params)
            return (f"{step.operator} over changes: {params}",)
        case ph.WindowJoin():
            return _window_join(step)
        case ph.UnionAll():
            return ("union all",)
        case _:
            raise TypeError(f"not a step: {type(step).__name__}")


def _window_join(step: ph.WindowJoin) -> tuple[str, ...]:
    kind, *rest = step.condition
    (left, bw), (right, _) = step.grids
    how = "all of it" if step.sampled is None else f"the fraction `frac` of it, {step.sampled:.0%} of so many all of it"
    return (
        f"join of windows on {kind}: {', '.join(map(str, rest))}",
        f"a row is in its window for {left} µs on the left, {right} µs on the right, in basic windows of {bw} µs",
        f"each row is compared with {how}",
    )


def _item(name: str, sql: str) -> str:
    return name if sql == f"`{name}`" else f"{name} = {sql}"


def _options(connector: str, options: tuple[tuple[str, ph.OptionValue], ...]) -> str:
    spec = find_connector(connector, "stream") or find_connector(connector, "table")
    shown = []
    for key, value in options:
        option = None if spec is None else spec.option(key)
        secret = option is not None and option.secret
        shown.append(f"{key} = {HIDDEN if secret else redacted(str(value))}")
    return ", ".join(shown)
