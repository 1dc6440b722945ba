"""The plan of a whole program as a graph: named operators, shared nodes, a stable order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import networkx as nx

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.rewrite import walk

OPERATOR_NAMES: dict[type[lg.Logical], str] = {
    lg.Scan: "scan", lg.Watermark: "watermark", lg.Filter: "filter", lg.Project: "select",
    lg.Shed: "shed", lg.Window: "window", lg.Aggregate: "aggregate", lg.Distinct: "distinct",
    lg.Sort: "order", lg.Join: "join", lg.Union: "union", lg.ToStream: "stream",
}


@dataclass(frozen=True)
class PlanGraph:
    """Operators by id (``owner.kind``), in an order where inputs come first.

    ``roots``: the top operator's id of every query, by query name.
    """

    nodes: dict[str, lg.Logical]
    inputs: dict[str, tuple[str, ...]]
    roots: dict[str, str]

    @cached_property
    def network(self) -> nx.DiGraph[str]:
        """Edges run from an operator to the operators that read it."""
        graph: nx.DiGraph[str] = nx.DiGraph()
        graph.add_nodes_from(self.nodes)
        graph.add_edges_from((i, n) for n, ins in self.inputs.items() for i in ins)
        return graph

    def consumers(self, node_id: str) -> tuple[str, ...]:
        """The operators that read this one, in plan order."""
        readers = set(self.network.successors(node_id))
        return tuple(n for n in self.nodes if n in readers)

    def queries_over(self, node_id: str) -> tuple[str, ...]:
        """Names of the queries that depend on this operator, in program order."""
        above = nx.descendants(self.network, node_id) | {node_id}
        return tuple(q for q, root in self.roots.items() if root in above)


def build_graph(plan: lg.LogicalPlan) -> PlanGraph:
    """Ids come from names in the program only, so they are the same on every compile."""
    nodes: dict[str, lg.Logical] = {}
    inputs: dict[str, tuple[str, ...]] = {}
    ids: dict[int, str] = {}
    counts: dict[str, int] = {}
    roots: dict[str, str] = {}
    for query in plan.queries:
        for node in walk(query.root):
            if id(node) in ids:
                continue
            base = _base_id(node, query.name)
            n = counts[base] = counts.get(base, 0) + 1
            node_id = ids[id(node)] = base if n == 1 else f"{base}_{n}"
            nodes[node_id] = node
            inputs[node_id] = tuple(ids[id(i)] for i in node.inputs)
        roots[query.name] = ids[id(query.root)]
    return PlanGraph(nodes, inputs, roots)


def _base_id(node: lg.Logical, query: str) -> str:
    if isinstance(node, lg.Scan):
        return node.source.name
    return f"{node.owner or query}.{OPERATOR_NAMES[type(node)]}"
