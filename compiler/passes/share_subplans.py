"""Makes equal subplans of all queries one node, so that the DAG shows what they share.

::

    Filter(p, Scan(bid)) in two queries  ->  one node with two consumers
"""

from __future__ import annotations

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.rewrite import with_inputs
from streamq.compiler.passes.base import PassContext
from streamq.dsl.records import replace


def share_subplans(plan: lg.LogicalPlan, context: PassContext) -> lg.LogicalPlan | None:
    known: dict[tuple[object, ...], lg.Logical] = {}
    memo: dict[int, lg.Logical] = {}
    queries = tuple(replace(q, root=_share(q.root, known, memo)) for q in plan.queries)
    return replace(plan, queries=queries)


def _share(
    node: lg.Logical, known: dict[tuple[object, ...], lg.Logical], memo: dict[int, lg.Logical]
) -> lg.Logical:
    done = memo.get(id(node))
    if done is None:
        inputs = tuple(_share(i, known, memo) for i in node.inputs)
        rebuilt = with_inputs(node, inputs)
        key = (type(node), tuple(id(i) for i in inputs), *own_parts(rebuilt))
        done = memo[id(node)] = known.setdefault(key, rebuilt)
    return done


def own_parts(node: lg.Logical) -> tuple[object, ...]:
    """What makes an operator itself, apart from its inputs: cheap to hash and compare."""
    match node:
        case lg.Scan():
            return (node.source.name,)
        case lg.Watermark():
            return (node.column, node.delay_ms)
        case lg.Filter():
            return (node.predicate,)
        case lg.Project():
            return (node.items,)
        case lg.Shed():
            return (
                node.query, node.keys, node.goal, node.whole_keys, node.weight, node.rank, node.sift, node.window_ms, node.time,
                node.spared,
            )
        case lg.Window():
            return (node.spec,)
        case lg.Aggregate():
            return (node.keys, node.aggregates, node.spare)
        case lg.Sort():
            return (node.order, node.limit)
        case lg.Join():
            return (node.kind, node.condition, node.anti, node.selects)
        case lg.ToStream():
            return (node.op,)
        case lg.Compare():
            return (node.op, node.all)
        case lg.Distinct():
            return (node.approx,)
        case lg.Union():
            return ()
        case _:
            raise TypeError(f"not an operator: {type(node).__name__}")
