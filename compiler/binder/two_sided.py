"""The size of a join without the join: ``SELECT JOIN_SIZE(a.k, b.k) FROM a [w] a, b [w] b``.

Pairs of all rows would be made only to be counted by their keys, and each key once for each row of the other side. The sketches of
both sides see the rows of each side as well where these stand one after another, so the two relations are united, with NULL in
the columns of the other, which no sketch counts. Where a block asks for more than that it is refused.
"""

from __future__ import annotations

from collections.abc import Sequence

from streamq.compiler.binder.context import BindContext
from streamq.compiler.ir import expr as ir
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.expr import Column, Expr
from streamq.dsl import ast
from streamq.dsl.printer import children
from streamq.stdlib.functions import lookup
from streamq.stdlib.registry import Kind

SIZES = frozenset({"JOIN_SIZE", "SELF_JOIN_SIZE"})


def united(node: ast.Select, plan: lg.Logical, bound: Sequence[Expr], context: BindContext) -> lg.Logical:
    """The rows of both sides of a join without a condition, where a block asks for sizes of joins between them; else the plan as it is.

    ``bound``: the expressions of the block. Reports a size of a join between two sides that is asked for in another way.
    """
    sides = [frozenset(f.name for f in side.schema) for side in _sides(plan)]
    between = next((e for e in bound for e in ir.walk(e) if _is_between(e, sides)), None)
    if between is None:
        return plan
    found = _united(node, plan, bound)
    if found is None:
        context.error(
            "SQ0408", "JOIN_SIZE between two streams stands alone over both", between.origin,
            label="the join itself would count each pair of keys once for each row",
            help="name both under the same window, FROM a [TUMBLE 1 HOUR] x, b [TUMBLE 1 HOUR] y, without a condition between them, other "
            "aggregates, FILTER, GROUP BY or HAVING; or unite their rows in a subquery, with NULL in the column of the other",
        )
        return plan
    return found


def _sides(plan: lg.Logical) -> list[lg.Logical]:
    """The inputs of the joins of a FROM clause."""
    match plan:
        case lg.Filter():
            return _sides(plan.input)
        case lg.Join():
            return [side for i in plan.inputs for side in _sides(i)]
        case _:
            return [plan]


def _is_between(e: Expr, sides: list[frozenset[str]]) -> bool:
    """Whether it is a size of a join whose values come from two sides."""
    if not isinstance(e, ir.Call) or e.function != "JOIN_OF":
        return False
    read = frozenset[str]().union(*(ir.columns_of(e.args[i]) for i in (0, 2)))
    return sum(bool(read & side) for side in sides) > 1


def _united(node: ast.Select, plan: lg.Logical, bound: Sequence[Expr]) -> lg.Logical | None:
    tests: tuple[Expr, ...] = ()
    inner = plan
    while isinstance(inner, lg.Filter):
        tests += ir.conjuncts(inner.predicate)
        inner = inner.input
    if not isinstance(inner, lg.Join) or inner.condition is not None or node.group_by or not _asks_sizes(node):
        return None
    if len(_sides(inner)) > 2 or inner.left.window != inner.right.window or inner.left.change is not inner.right.change:
        return None
    if inner.left.change is lg.Change.STATIC or isinstance(inner.left.window, lg.Session):
        return None
    sides = [frozenset(f.name for f in side.schema) for side in inner.inputs]
    calls = [part for e in bound for part in ir.walk(e) if isinstance(part, ir.AggCall)]
    # JOIN_SIZE counts the rows that have both values, of which there are none then.
    read = [*tests, *(call for call in calls if call.function != "COUNT_IF")]
    if any(sum(bool(ir.columns_of(e) & side) for side in sides) != 1 for e in read):
        return None
    used = [f for side in inner.inputs for f in side.schema if any(f.name in ir.columns_of(e) for e in read)]
    branches: list[lg.Logical] = []
    for side, names in zip(inner.inputs, sides, strict=True):
        rows = side
        for test in tests:
            if ir.columns_of(test) <= names:
                rows = lg.Filter(rows, test, owner=plan.owner, origin=test.origin)
        items: tuple[tuple[str, Expr], ...] = tuple(
            (f.name, Column(name=f.name, type=f.type, nullable=f.nullable) if f.name in names else ir.Literal(value=None, type=f.type))
            for f in used
        )
        branches.append(lg.Project(rows, items, owner=plan.owner, origin=inner.origin))
    return lg.Union(tuple(branches), owner=plan.owner, origin=inner.origin)


def _asks_sizes(node: ast.Select) -> bool:
    """Whether all aggregates of the block are sizes of joins."""
    calls = [
        spec.name for item in node.items for call in _calls(item.expr)
        if (spec := lookup(call.name.text)) is not None and spec.kind in (Kind.AGGREGATE, Kind.SKETCH)
    ]
    return SIZES.issuperset(calls) and node.having is None


def _calls(node: ast.Node) -> list[ast.Call]:
    found = [node] if isinstance(node, ast.Call) else []
    for part in children(node):
        found += _calls(part)
    return found
