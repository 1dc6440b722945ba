"""The plan of a whole program as a graph: named operators, shared nodes, a stable order."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.rewrite import walk
from streamq.dsl.records import dataclass

if TYPE_CHECKING:
    import networkx as nx

OPERATOR_NAMES: dict[type[lg.Logical], str] = {
    lg.Scan: "scan", lg.Watermark: "watermark", lg.Filter: "filter", lg.Project: "select",
    lg.Shed: "shed", lg.Window: "window", lg.Aggregate: "aggregate", lg.Distinct: "distinct",
    lg.Sort: "order", lg.Join: "join", lg.Union: "union", lg.Compare: "compare",
    lg.ToStream: "stream",
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
        """For graph algorithms: edges run from an operator to the operators that read it."""
        # Imported on demand: it takes longer than compiling a program.
        import networkx as nx

        graph: nx.DiGraph[str] = nx.DiGraph()
        graph.add_nodes_from(self.nodes)
        graph.add_edges_from((i, n) for n, ins in self.inputs.items() for i in ins)
        return graph

    def consumers(self, node_id: str) -> tuple[str, ...]:
        """The operators that read this one, in plan order."""
        return tuple(self._readers[node_id])

    def queries_over(self, node_id: str) -> tuple[str, ...]:
        """Names of the queries that depend on this operator, in program order."""
        return tuple(self._queries[node_id])

    @cached_property
    def _readers(self) -> dict[str, list[str]]:
        readers: dict[str, list[str]] = {node_id: [] for node_id in self.nodes}
        for node_id, inputs in self.inputs.items():
            for below in dict.fromkeys(inputs):
                readers[below].append(node_id)
        return readers

    @cached_property
    def _queries(self) -> dict[str, list[str]]:
        queries: dict[str, list[str]] = {node_id: [] for node_id in self.nodes}
        for query, root in self.roots.items():
            seen = {root}
            stack = [root]
            while stack:
                top = stack.pop()
                queries[top].append(query)
                new = [i for i in dict.fromkeys(self.inputs[top]) if i not in seen]
                seen.update(new)
                stack.extend(new)
        return queries


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
