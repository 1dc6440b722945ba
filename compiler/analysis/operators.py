"""A plan as places for shedders see it: what each operator costs, and how many rows it lets through."""

from __future__ import annotations

from streamq.compiler.analysis.costs import cost, rate, selectivity
from streamq.compiler.analysis.shed_places import Operator
from streamq.compiler.analysis.whole_inputs import whole_inputs
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.graph import PlanGraph


def operators_of(graph: PlanGraph) -> list[Operator]:
    """Inputs first. What operators cost is guessed (``analysis/costs.py``)."""
    return [
        Operator(
            name=name, inputs=graph.inputs[name], cost=cost(node), selectivity=selectivity(node),
            rate=rate(node.source) if isinstance(node, lg.Scan) else None, pairs=isinstance(node, lg.Join),
            whole=whole_inputs(node),
        )
        for name, node in graph.nodes.items()
    ]
