"""Where a program sheds, and where it could: the places, what each saves and loses, and the best plan for a saving.

The plan of all queries is looked at as one, as shared sources and views are. What operators cost is guessed
(``analysis/costs.py``).
"""

from __future__ import annotations

from collections.abc import Iterator

from streamq.compiler.analysis.costs import OUT
from streamq.compiler.analysis.edge_notices import wire_words
from streamq.compiler.analysis.edges import edges_of
from streamq.compiler.analysis.operators import operators_of
from streamq.compiler.analysis.placement import Planner
from streamq.compiler.analysis.shed_places import Operator, Places, Query, places_of
from streamq.compiler.analysis.shed_reasons import reasons
from streamq.compiler.driver import CompileResult
from streamq.compiler.explain.shed_tree import to_tree
from streamq.compiler.explain.words import show_operator, show_rows
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.goals import qos
from streamq.compiler.ir.graph import PlanGraph, build_graph
from streamq.compiler.ir.rewrite import walk
from streamq.compiler.passes.asked import asked_of
from streamq.compiler.passes.base import PassContext
from streamq.compiler.passes.push_predicates import push_predicates
from streamq.compiler.passes.share_subplans import share_subplans
from streamq.dsl import ast
from streamq.dsl.visible import visible

TEST = 0.2
"""What it costs to decide on a row, in the units of ``analysis/costs.py``."""

SAVINGS = (0.25, 0.5, 0.75)
"""For which plans are shown, as shares of all that shedding can save."""

DRAWN = 0.5

MOST_PLACES = 40


def to_shed_text(result: CompileResult) -> str:
    """The text of ``explain --shed``."""
    return "\n".join(map(visible, _lines(result))) + "\n"


def _lines(result: CompileResult) -> Iterator[str]:
    assert result.optimized is not None
    yield "shedders that run:"
    yield from (*_running(result.optimized), *_at_edges(result.optimized)) or ("  none",)
    graph = _unshed(result)
    places = places_of(*_model(graph, result), TEST)
    planner = Planner(places)
    yield ""
    yield "places where rows could go, for all queries together (costs are guesses; loss: of the worth of all answers):"
    yield from _table(places)
    road = planner.road_map()
    if road.most <= 0:
        yield ""
        yield "nothing can be saved: no place has queries that let rows go"
        return
    for share in SAVINGS:
        plan = road.at(share * road.most)
        yield ""
        yield f"to save {share:.0%} of what shedding can save, losing {plan.loss:.2%}:"
        for reason in reasons(places, plan, planner):
            yield f"  drop {reason.shedder.share:.0%} at `{reason.shedder.place.name}`: {reason.words}"
    yield ""
    yield f"the plan that saves {DRAWN:.0%}, drawn:"
    for line in to_tree(graph, road.at(DRAWN * road.most)):
        yield f"  {line}"


def _running(plan: lg.LogicalPlan) -> Iterator[str]:
    for query in plan.queries:
        for node in walk(query.root):
            if isinstance(node, lg.Shed):
                stream = next(n.source.name for n in walk(node) if isinstance(n, lg.Scan))
                yield f"  {query.name}, at `{stream}`: {show_operator(node)}"
                if node.sift is not None:
                    sift = node.sift
                    yield (
                        f"    wants {show_rows(sift.wanted, sift.attributes)}; weight {sift.weight:g}, slope {sift.slope:g}, "
                        f"completeness at least {sift.least:g}"
                    )
            elif _selects(node):
                yield f"  {query.name}, in its join: {show_operator(node)}"


def _at_edges(plan: lg.LogicalPlan) -> Iterator[str]:
    """What goes before it comes to Spark."""
    for edge in edges_of(plan)[0]:
        if edge.sifts:
            yield f"  rows of `{edge.stream}`, at its edge, {edge.sifts[0].words}, for {wire_words(edge)}"
        elif edge.sheds:
            kept = f"; never: {', '.join(name for name, _ in edge.kept)}" if edge.kept else ""
            gone = f"; always: {', '.join(edge.unread)}" if edge.unread else ""
            yield f"  columns of `{edge.stream}`, at its edge, for {wire_words(edge)}{kept}{gone}"


def _selects(node: lg.Logical) -> bool:
    """Whether it is a join that keeps every row, and compares less."""
    return isinstance(node, lg.Join) and node.selects is not None


def _unshed(result: CompileResult) -> PlanGraph:
    """The plan of all queries as one, before any shedder was put in."""
    plan = next(e.before for e in result.trace if e.name == "place_shedders")
    context = PassContext()
    for step in (push_predicates, share_subplans):
        plan = step(plan, context) or plan
    return build_graph(plan)


def _model(graph: PlanGraph, result: CompileResult) -> tuple[list[Operator], list[Query]]:
    assert result.optimized is not None
    policies = {q.name: q.policies for q in result.optimized.queries}
    selecting = {q.name for q in result.optimized.queries if any(map(_selects, walk(q.root)))}
    queries = []
    for name, root in graph.roots.items():
        weight, slope = qos(policies[name], ast.QosWeight), qos(policies[name], ast.QosSlope)
        least = qos(policies[name], ast.QosCompleteness)
        keeps = asked_of(policies[name]) is None or name in selecting
        queries.append(Query(
            name=name, operator=root, weight=1.0 if weight is None else weight.weight,
            slope=1.0 if slope is None else slope.slope,
            least=1.0 if keeps else 0.0 if least is None else least.least, cost=OUT,
        ))
    return operators_of(graph), queries


def _table(places: Places) -> Iterator[str]:
    width = max((len(p.name) for p in places.places), default=5)
    yield f"  {'place':{width}}  {'rows/s':>10}  {'saves':>10}  {'loses':>8}  {'most':>5}  loss per saving"
    for place in places.places[:MOST_PLACES]:
        per = f"{place.loss / place.saving:.2e}" if place.saving > 0 else "-"
        keeps = f"  kept for {', '.join(place.keepers)}" if place.keepers else ""
        yield (
            f"  {place.name:{width}}  {place.rate:10,.0f}  {place.saving:10,.0f}  {place.loss:8.2%}  {place.most:5.0%}  {per}{keeps}"
        )
    if len(places.places) > MOST_PLACES:
        yield f"  … and {len(places.places) - MOST_PLACES} more"
