"""RECOVER of one query is for that query: for others a shed value stays NULL.

::

    Scan(weather)  ->  Project(…, CASE WHEN ARRAY_CONTAINS(shed_columns, 'humidity') THEN NULL ELSE humidity END AS humidity, …)

The rows are the same files for all queries, and have the values that came back for any of them.
"""

from __future__ import annotations

from streamq.compiler.analysis.edges import edge_streams, only_for_others
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.edges import SHED_COLUMNS, bounds_of
from streamq.compiler.ir.expr import Call, Case, Column, Expr, Literal
from streamq.compiler.ir.rewrite import rewrite_up
from streamq.compiler.passes.base import PassContext
from streamq.dsl.records import replace
from streamq.dsl.types import BOOLEAN, STRING, Array
from streamq.stdlib.functions import lookup


def recover_columns(plan: lg.LogicalPlan, context: PassContext) -> lg.LogicalPlan | None:
    queries = tuple(_own(query, plan) for query in plan.queries)
    return None if all(a is b for a, b in zip(queries, plan.queries, strict=True)) else replace(plan, queries=queries)


def _own(query: lg.LogicalQuery, plan: lg.LogicalPlan) -> lg.LogicalQuery:
    streams = {decl.name: decl for decl in edge_streams(query.root)}
    foreign = {name: found for name, decl in streams.items() if (found := only_for_others(query, decl, plan))}
    if not foreign:
        return query

    def without(node: lg.Logical) -> lg.Logical | None:
        names = foreign.get(node.source.name) if isinstance(node, lg.Scan) else None
        return None if names is None else _without(node, names)

    return replace(query, root=rewrite_up(query.root, without))


def _without(node: lg.Logical, names: frozenset[str]) -> lg.Logical:
    of = {part: name for name in names for part in (name, *bounds_of(name))}
    items = tuple(
        (f.name, _unless_shed(_column(f), of[f.name]) if f.name in of else _column(f)) for f in node.schema
    )
    return lg.Project(node, items, owner=node.owner, origin=node.origin)


def _column(field: lg.Field) -> Column:
    return Column(name=field.name, type=field.type, nullable=field.nullable)


def _unless_shed(value: Column, column: str) -> Expr:
    spec = lookup("ARRAY_CONTAINS")
    assert spec is not None
    shed = Call(
        function="ARRAY_CONTAINS", spec=spec, type=BOOLEAN,
        args=(Column(name=SHED_COLUMNS, type=Array(STRING)), Literal(value=column, type=STRING, nullable=False)),
    )
    return Case(whens=((shed, Literal(value=None, type=value.type)),), default=value, type=value.type)
