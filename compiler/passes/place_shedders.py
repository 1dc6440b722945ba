"""Puts the shedders that the queries ask for above the sources they read.

::

    Filter(p, Watermark(Scan))   ->   Filter(p, Shed(Watermark(Scan)))

A shedder stands above the watermark, so that shed rows still move event time, and below everything that
costs. It keeps a row by a hash of its columns: a replayed batch keeps the same rows, and equal keys fall
together.
"""

from __future__ import annotations

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.rewrite import walk, with_inputs
from streamq.compiler.notices import PlanNotice
from streamq.compiler.passes.base import PassContext
from streamq.dsl import ast
from streamq.dsl.records import replace
from streamq.dsl.types import Array, Map, Struct


def place_shedders(plan: lg.LogicalPlan, context: PassContext) -> lg.LogicalPlan | None:
    """Returns None where no query sheds by a method that is placed here."""
    queries = tuple(_place(q, context) for q in plan.queries)
    changed = any(a is not b for a, b in zip(queries, plan.queries, strict=True))
    return replace(plan, queries=queries) if changed else None


def random_shed(policies: tuple[ast.Policy, ...]) -> ast.Shed | None:
    """The ``SHED RANDOM … BY n PERCENT`` of a query, if it has one."""
    for policy in policies:
        if isinstance(policy, ast.Shed) and isinstance(policy.method, ast.ShedRandom):
            fixed = policy.goal is not None and policy.goal.unit == "PERCENT"
            return policy if fixed else None
    return None


def _place(query: lg.LogicalQuery, context: PassContext) -> lg.LogicalQuery:
    shed = random_shed(query.policies)
    if shed is None or shed.goal is None or not isinstance(shed.method, ast.ShedRandom):
        return query
    keys = tuple(k.parts[-1].text for k in shed.method.keys)
    percent = shed.goal.amount
    sources: list[str] = []
    memo: dict[int, lg.Logical] = {}

    def insert(node: lg.Logical) -> lg.Logical:
        done = memo.get(id(node))
        if done is None:
            stream = stream_of(node)
            if stream is None:
                done = with_inputs(node, tuple(insert(i) for i in node.inputs))
            else:
                sources.append(stream)
                columns = shed_columns(node.schema, keys)
                done = lg.Shed(
                    node, query.name, columns, percent, owner=query.name, origin=shed.span
                )
            memo[id(node)] = done
        return done

    root = insert(query.root)
    names = " and ".join(f"`{s}`" for s in dict.fromkeys(sources))
    by = f" by {', '.join(keys)}" if keys else ""
    context.notices.append(PlanNotice(
        "shedder", query.name,
        f"drops {percent:g} % of the rows of {names}{by}, at the source",
        hint="every operator of the query lies above, so that is where a dropped row saves most",
        action="SHED NONE keeps all rows", span=shed.span,
    ))
    _warn_exact(query, sources, keys, shed, context)
    return replace(query, root=root)


def stream_of(node: lg.Logical) -> str | None:
    """The stream that is whole at this operator: scanned, its columns computed, its rows stamped."""
    match node:
        case lg.Watermark():
            return stream_of(node.input)
        case lg.Project(input=lg.Scan() as scan):
            # The columns that a stream computes come from its declaration, as the scan does.
            declared = (node.owner, node.origin) == (scan.owner, scan.origin)
            return stream_of(scan) if declared else None
        case lg.Scan():
            return None if node.source.is_table else node.source.name
        case _:
            return None


def shed_columns(fields: tuple[lg.Field, ...], keys: tuple[str, ...]) -> tuple[str, ...]:
    """The columns whose hash decides: the keys, or all plain ones; nested ones where there are none."""
    if keys:
        by_fold = {f.name.casefold(): f.name for f in fields}
        return tuple(by_fold[k.casefold()] for k in keys)
    plain = tuple(f.name for f in fields if not isinstance(f.type, Array | Map | Struct))
    return plain or tuple(f.name for f in fields if not isinstance(f.type, Map))


def _warn_exact(
    query: lg.LogicalQuery, sources: list[str], keys: tuple[str, ...], shed: ast.Shed,
    context: PassContext,
) -> None:
    counted = sorted({
        a.function for n in walk(query.root) if isinstance(n, lg.Aggregate)
        for _, a in n.aggregates
    })
    if counted:
        verb = "is" if len(counted) == 1 else "are"
        context.notices.append(PlanNotice(
            "approximate", query.name,
            f"{', '.join(counted)} {verb} computed over the rows that are kept, without scaling",
            hint="COUNT and SUM come out smaller by the share that is dropped", span=shed.span,
        ))
    if len(set(sources)) > 1 and not keys:
        context.notices.append(PlanNotice(
            "approximate", query.name,
            "both sides of the join drop rows on their own, so the share of pairs kept is squared",
            action="SHED RANDOM BY KEY (join key) drops whole keys on both sides",
            span=shed.span,
        ))
