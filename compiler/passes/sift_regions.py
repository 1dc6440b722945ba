"""Tells each sifter which rows its query may want, from the tests that stand above it."""

from __future__ import annotations

from streamq.compiler.analysis.query_regions import wanted_rows
from streamq.compiler.analysis.turned_back import Attribute
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.rewrite import rewrite_up, walk
from streamq.compiler.passes.base import PassContext
from streamq.dsl.records import replace


def sift_regions(plan: lg.LogicalPlan, context: PassContext) -> lg.LogicalPlan | None:
    """Returns None where no query sheds by a sifter."""
    del context
    queries = tuple(_told(query) for query in plan.queries)
    changed = any(a is not b for a, b in zip(queries, plan.queries, strict=True))
    return replace(plan, queries=queries) if changed else None


def _told(query: lg.LogicalQuery) -> lg.LogicalQuery:
    wanted = {}
    for node in walk(query.root):
        if isinstance(node, lg.Shed) and node.sift is not None:
            types = {f.name: f.type for f in node.schema}
            attributes = {n: Attribute(place, types[n]) for place, n in enumerate(node.sift.attributes)}
            wanted[node.sift] = replace(node.sift, wanted=wanted_rows(query.root, node, attributes))
    if not wanted:
        return query

    def tell(node: lg.Logical) -> lg.Logical | None:
        if isinstance(node, lg.Shed) and node.sift is not None:
            return replace(node, sift=wanted[node.sift])
        return None

    return replace(query, root=rewrite_up(query.root, tell))
