"""Puts the shedders that the queries ask for above the sources they read.

::

    Filter(p, Watermark(Scan))   ->   Filter(p, Shed(Watermark(Scan)))

A shedder stands above the watermark, so that shed rows still move event time, and below everything that
costs. It keeps a row by a hash of its columns: a replayed batch keeps the same rows, and equal keys fall
together.
"""

from __future__ import annotations

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.durations import show_ms
from streamq.compiler.ir.rewrite import walk, with_inputs
from streamq.compiler.notices import PlanNotice
from streamq.compiler.passes.base import PassContext
from streamq.dsl import ast
from streamq.dsl.records import dataclass, replace
from streamq.dsl.source import Span
from streamq.dsl.types import Array, Map, Struct


def place_shedders(plan: lg.LogicalPlan, context: PassContext) -> lg.LogicalPlan | None:
    """Returns None where no query sheds by a method that is placed here."""
    queries = tuple(_place(q, context) for q in plan.queries)
    changed = any(a is not b for a, b in zip(queries, plan.queries, strict=True))
    return replace(plan, queries=queries) if changed else None


@dataclass(frozen=True, slots=True)
class Goal:
    """How a query sheds: a fixed ``percent``, or as much as ``latency_ms`` needs; whole ``keys``, if any."""

    keys: tuple[str, ...]
    span: Span
    percent: float | None = None
    latency_ms: int | None = None

    @property
    def words(self) -> str:
        if self.percent is not None:
            return f"drops {self.percent:g} % of the rows"
        assert self.latency_ms is not None
        return f"drops as many rows as results no older than {show_ms(self.latency_ms)} need"


def goal_of(policies: tuple[ast.Policy, ...]) -> Goal | None:
    """How the query sheds; None where it keeps all rows."""
    latency = latency_of(policies)
    shed = next((p for p in policies if isinstance(p, ast.Shed)), None)
    match shed:
        case ast.Shed(method=ast.ShedRandom(keys=keys), goal=goal):
            names = tuple(k.parts[-1].text for k in keys)
            if goal is not None and goal.unit == "PERCENT":
                return Goal(names, shed.span, percent=goal.amount)
            return None if latency is None else Goal(names, shed.span, latency_ms=latency.latency.ms)
        case None | ast.Shed(method=ast.ShedAuto()) if latency is not None:
            return Goal((), latency.span, latency_ms=latency.latency.ms)
        case _:
            return None


def is_estimated(policies: tuple[ast.Policy, ...]) -> bool:
    """Whether results are worked out for all rows from those that were kept."""
    return any(
        isinstance(p, ast.Recover) and isinstance(p.method, ast.RecoverEstimate) for p in policies
    )


def latency_of(policies: tuple[ast.Policy, ...]) -> ast.QosLatency | None:
    """How old the results of a query may be, as its QOS says."""
    items = (i for p in policies if isinstance(p, ast.Qos) for i in p.items)
    return next((item for item in items if isinstance(item, ast.QosLatency)), None)


def _place(query: lg.LogicalQuery, context: PassContext) -> lg.LogicalQuery:
    goal = goal_of(query.policies)
    if goal is None:
        return query
    keys = goal.keys
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
                    node, query.name, columns, goal.percent, goal.latency_ms, owner=query.name,
                    origin=goal.span,
                )
            memo[id(node)] = done
        return done

    root = insert(query.root)
    names = " and ".join(f"`{s}`" for s in dict.fromkeys(sources))
    by = f" by {', '.join(keys)}" if keys else ""
    context.notices.append(PlanNotice(
        "shedder", query.name,
        f"{goal.words} of {names}{by}, at the source",
        hint="every operator of the query lies above, so that is where a dropped row saves most",
        action="SHED NONE keeps all rows", span=goal.span,
    ))
    _warn_exact(query, sources, goal, context)
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
    query: lg.LogicalQuery, sources: list[str], goal: Goal, context: PassContext
) -> None:
    counted = sorted({
        a.function for n in walk(query.root) if isinstance(n, lg.Aggregate)
        for _, a in n.aggregates
    })
    if counted and not is_estimated(query.policies):
        verb = "is" if len(counted) == 1 else "are"
        context.notices.append(PlanNotice(
            "approximate", query.name,
            f"{', '.join(counted)} {verb} computed over the rows that are kept, without scaling",
            hint="COUNT and SUM come out smaller by the share that is dropped", span=goal.span,
        ))
    if len(set(sources)) > 1 and not goal.keys:
        context.notices.append(PlanNotice(
            "approximate", query.name,
            "both sides of the join drop rows on their own, so the share of pairs kept is squared",
            action="SHED RANDOM BY KEY (join key) drops whole keys on both sides",
            span=goal.span,
        ))
