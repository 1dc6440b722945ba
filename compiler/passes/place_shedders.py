"""Puts the shedders that the queries ask for above the sources they read.

::

    Filter(p, Watermark(Scan))   ->   Filter(p, Shed(Watermark(Scan)))

A shedder stands above the watermark, so that shed rows still move event time, and below everything that
costs. It keeps a row by a hash, of where it stands in its source where the source tells, else of its columns: a
replayed batch keeps the same rows, and equal keys fall together.
"""

from __future__ import annotations

from streamq.compiler.analysis.shed_sides import NO_STREAMS, Sides, must_stay_whole, sides
from streamq.compiler.analysis.sifters import sift_of
from streamq.compiler.analysis.tumbling import tumbling_ms
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.expr import Expr
from streamq.compiler.ir.goals import Goal, Rank, Sift, is_estimated, qos
from streamq.compiler.ir.rewrite import stream_of, walk, with_inputs
from streamq.compiler.ir.sketches import shown
from streamq.compiler.notices import PlanNotice
from streamq.compiler.passes.asked import Asked, asked_of, dropped_into
from streamq.compiler.passes.base import PassContext
from streamq.compiler.passes.select_pairs import select_pairs
from streamq.compiler.passes.shed_unread import shed_unread
from streamq.dsl import ast
from streamq.dsl.records import replace
from streamq.dsl.types import Array, Map, Struct
from streamq.stdlib.connectors import tells_rows_apart


def place_shedders(plan: lg.LogicalPlan, context: PassContext) -> lg.LogicalPlan | None:
    """Returns None where no query sheds by a method that is placed here."""
    asked = [asked_of(q.policies) for q in plan.queries]
    if sum(a is not None and a.goal.worth is not None for a in asked) == 1:
        asked = [a and _by_itself(q, a, context) for q, a in zip(plan.queries, asked, strict=True)]
    queries = tuple(_place(plan, q, a, context) for q, a in zip(plan.queries, asked, strict=True))
    changed = any(a is not b for a, b in zip(queries, plan.queries, strict=True))
    return replace(plan, queries=queries) if changed else None


def _by_itself(query: lg.LogicalQuery, asked: Asked, context: PassContext) -> Asked:
    """Of a program in which no other query sheds before it, or after it."""
    weighed = next((i for i in (qos(query.policies, ast.QosWeight), qos(query.policies, ast.QosSlope)) if i is not None), None)
    if asked.goal.worth is not None and weighed is not None:
        context.notices.append(PlanNotice(
            "alone", query.name, "is weighed against no other query: none has QOS LATENCY without SHED, or with SHED AUTO",
            hint="what it drops follows from its own goal", span=weighed.span,
        ))
    return replace(asked, goal=replace(asked.goal, worth=None))


def _place(plan: lg.LogicalPlan, query: lg.LogicalQuery, asked: Asked | None, context: PassContext) -> lg.LogicalQuery:
    if asked is None:
        _tell_unmet(query, context)
        return query
    if asked.join is not None:
        selected = select_pairs(query, asked, asked.join, context)
        if selected is not None:
            return selected
        asked = replace(asked, join=None, goal=replace(asked.goal, selects=False))
    keys, utilities = asked.keys, dict(query.utilities)
    window_ms = tumbling_ms(query.root) if asked.windows else None
    if asked.goal.steered and window_ms is not None:
        late_ms = max((n.delay_ms for n in walk(query.root) if isinstance(n, lg.Watermark)), default=0)
        asked = replace(asked, goal=replace(asked.goal, window_ms=window_ms, late_ms=late_ms))
    spooled = dropped_into(query.policies) is not None
    alone = not keys and not asked.windows
    chosen = sides(plan, query) if asked.at_random else Sides(wrong=must_stay_whole(query.root) if alone else NO_STREAMS)
    sources: list[str] = []
    sifted: list[Sift | None] = []
    memo: dict[int, lg.Logical] = {}

    def insert(node: lg.Logical) -> lg.Logical:
        done = memo.get(id(node))
        if done is None:
            stream = stream_of(node)
            if stream is None:
                done = with_inputs(node, tuple(insert(i) for i in node.inputs))
            elif stream in chosen.spared:
                done = lg.Shed(node, query.name, (), asked.goal, spared=True, owner=query.name, origin=asked.span)
            else:
                sources.append(stream)
                sift = None if asked.sifter is None else sift_of(asked.sifter, stream, node.schema, query.policies)
                sifted.append(sift)
                goal = _goal(asked, sift)
                done = shed_unread(lg.Shed(
                    node, query.name, _hashed(node, asked), goal, bool(keys), rank=_rank(asked, utilities.get(stream)),
                    sift=sift, window_ms=window_ms, time=_time_of(node), whole=node if spooled else None, owner=query.name, origin=asked.span,
                ))
            memo[id(node)] = done
        return done

    root = insert(query.root)
    names = " and ".join(f"`{s}`" for s in dict.fromkeys(sources))
    rank = _rank(asked, None)
    if asked.windows:
        keys = ("whole windows",)
    regions = next((s for s in sifted if s is not None), None)
    by = f" by {', '.join(keys)}" if keys else "" if rank is None else f", {rank.words}"
    if regions is not None:
        by = f", {regions.words}"
    into = dropped_into(query.policies)
    written = "" if into is None else f", and writes it to `{into.sink.text}`"
    hint = "every operator of the query lies above, so that is where a dropped row saves most"
    if chosen.spared:
        written = f", but no row of {' and '.join(f'`{s}`' for s in sorted(chosen.spared))}{written}"
        hint = chosen.why
    context.notices.append(PlanNotice(
        "shedder", query.name,
        f"drops {_goal(asked, regions).words} of {names}{by}, at the source{written}{asked.goal.turn}",
        hint=hint,
        action="SHED NONE keeps all rows", span=asked.span,
    ))
    if chosen.wrong:
        context.notices.append(PlanNotice(
            "approximate", query.name,
            f"a row of {' and '.join(f'`{s}`' for s in sorted(chosen.wrong))} that is dropped may make an answer wrong, not only absent",
            hint="what it would have met, or taken away, is put out as if it had not been there",
            action="SHED RANDOM BY KEY (join key) drops whole keys on both sides", span=asked.span,
        ))
    if not asked.windows:
        _warn_exact(query, sources, asked, context)
    return replace(query, root=root)


def _tell_unmet(query: lg.LogicalQuery, context: PassContext) -> None:
    latency = qos(query.policies, ast.QosLatency)
    if latency is not None:
        context.notices.append(PlanNotice(
            "unmet", query.name,
            f"keeps every row, however old results become: QOS LATENCY of {latency.latency.ms / 1000:g} s is not enforced",
            hint="SHED NONE lets no row go", action="SHED AUTO drops what does not fit", span=latency.span,
        ))


def _time_of(node: lg.Logical) -> str:
    """The column with the event time of a stream, as its declaration names it; empty where it has none."""
    scan = next(n for n in walk(node) if isinstance(n, lg.Scan))
    return scan.source.event_time or ""


def _rank(asked: Asked, utility: Expr | None) -> Rank | None:
    """What goes first of a stream; None where all rows are alike."""
    return Rank(utility, asked.older_ms) if asked.ranked else None


def _goal(asked: Asked, sift: Sift | None) -> Goal:
    """What a query needs of its own rows a sifter sees to; of streams without their sifter rows go at random."""
    if asked.sifter is None:
        return asked.goal
    if sift is None:
        return replace(asked.goal, ranked=False)
    return replace(asked.goal, least=0.0, needed=asked.goal.least, sampled=sift.plan.sampled)


def _hashed(node: lg.Logical, asked: Asked) -> tuple[str, ...]:
    """The columns of a stream whose hash decides; none where the place of a row does, or whole windows stay or go."""
    if asked.windows:
        return ()
    if asked.keys:
        by_fold = {f.name.casefold(): f.name for f in node.schema}
        return tuple(by_fold[k.casefold()] for k in asked.keys)
    source = next(n.source for n in walk(node) if isinstance(n, lg.Scan))
    if tells_rows_apart(source.connector, dict(source.options), [f.name for f in source.fields]):
        return ()
    return _plain_columns(node.schema)


def _plain_columns(fields: tuple[lg.Field, ...]) -> tuple[str, ...]:
    """All columns but nested ones, or those where there are no others."""
    plain = tuple(f.name for f in fields if not isinstance(f.type, Array | Map | Struct))
    return plain or tuple(f.name for f in fields if not isinstance(f.type, Map))


def _warn_exact(
    query: lg.LogicalQuery, sources: list[str], asked: Asked, context: PassContext
) -> None:
    counted = sorted({
        shown(a.function) for n in walk(query.root) if isinstance(n, lg.Aggregate)
        for name, a in n.aggregates if not name.startswith(lg.SIDE)
    })
    if counted and not is_estimated(query.policies):
        verb = "is" if len(counted) == 1 else "are"
        context.notices.append(PlanNotice(
            "approximate", query.name,
            f"{', '.join(counted)} {verb} computed over the rows that are kept, without scaling",
            hint="COUNT and SUM come out smaller by the share that is dropped", span=asked.span,
        ))
    joined = any(isinstance(n, lg.Join) and all(_has_stream(side) for side in n.inputs) for n in walk(query.root))
    if joined and len(set(sources)) > 1 and not asked.keys:
        context.notices.append(PlanNotice(
            "approximate", query.name,
            "both sides of the join drop rows on their own, so the share of pairs kept is squared",
            action="SHED RANDOM BY KEY (join key) drops whole keys on both sides",
            span=asked.span,
        ))


def _has_stream(node: lg.Logical) -> bool:
    return any(isinstance(n, lg.Scan) and not n.source.is_table for n in walk(node))
