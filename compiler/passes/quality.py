"""COMPLETENESS(), KEPT(), SHED(): how many rows stand behind a result, as arithmetic over two more columns.

::

    Project(COMPLETENESS(), Aggregate(…, Shed))
      ->  Project(kept / arrived, Aggregate(…, SUM(kept), SUM(arrived), Project(kept = 1, arrived = w, Shed)))

A row that is read counts 1 among the kept, and its weight among those that arrived. A pair of a join stands for the
product of both, a group for the sum. The columns are there only between the rows and what asks for them.
"""

from __future__ import annotations

from dataclasses import field

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.build import call, cast, number, op, total
from streamq.compiler.ir.expr import COUNTED_MEASURES, Column, Expr, Quality, transform
from streamq.compiler.ir.expr import walk as walk_expr
from streamq.compiler.ir.rewrite import exprs_of, map_exprs, walk, with_inputs
from streamq.compiler.passes.base import PassContext
from streamq.compiler.passes.place_shedders import WEIGHT, stream_of
from streamq.dsl.records import dataclass, replace
from streamq.dsl.types import BIGINT, DOUBLE

KEPT, ARRIVED = "__kept", "__arrived"
ONE = {KEPT: number(1), ARRIVED: number(1)}
PASSED = {name: Column(name=name, type=DOUBLE) for name in ONE}
OTHER = {name: f"{name}_right" for name in ONE}
"""The columns on the right of a join, as its columns have different names."""


def quality(plan: lg.LogicalPlan, context: PassContext) -> lg.LogicalPlan | None:
    """Returns None where no query asks how much stands behind its results."""
    del context
    queries = tuple(
        replace(q, root=_Work(_sheds(q.root)).rewrite(q.root, carry=False).node)
        if any(_asked(n) for n in walk(q.root)) else q
        for q in plan.queries
    )
    changed = any(a is not b for a, b in zip(queries, plan.queries, strict=True))
    return replace(plan, queries=queries) if changed else None


def _sheds(root: lg.Logical) -> bool:
    return any(isinstance(n, lg.Shed) for n in walk(root))


def _asked(node: lg.Logical) -> frozenset[str]:
    """The measures that the operator evaluates, of its input's rows."""
    parts = (part for expr in exprs_of(node) for part in walk_expr(expr))
    return frozenset(p.function for p in parts if isinstance(p, Quality)) & COUNTED_MEASURES


@dataclass(frozen=True, slots=True)
class _Found:
    """A plan, and whether its rows have the two columns."""

    node: lg.Logical
    counted: bool = False


@dataclass
class _Work:
    """Rewrites the plan of one query. ``sheds``: False where all rows are kept."""

    sheds: bool
    memo: dict[tuple[int, bool], _Found] = field(default_factory=dict)

    def rewrite(self, node: lg.Logical, *, carry: bool) -> _Found:
        """The plan in which measures are arithmetic. ``carry``: something above needs the columns."""
        key = (id(node), carry)
        if key not in self.memo:
            self.memo[key] = self._counted(node) if carry else self._plain(node)
        return self.memo[key]

    def _plain(self, node: lg.Logical) -> _Found:
        """With the columns that it had, whatever lies below."""
        needed = _asked(node) if self.sheds else _asked(node) & {"KEPT"}
        below = [self.rewrite(i, carry=bool(needed)) for i in node.inputs]
        rebuilt = with_inputs(node, tuple(b.node for b in below))
        if not _asked(node):
            return _Found(rebuilt)
        (only,) = below
        rebuilt = self._answered(rebuilt, only.counted)
        same = isinstance(node, lg.Project | lg.Aggregate) or not only.counted
        return _Found(rebuilt if same else _with(rebuilt, node.schema, {}))

    def _counted(self, node: lg.Logical) -> _Found:
        """With both columns, where its rows are a stream's and can have them."""
        if isinstance(node, lg.Shed):
            weighted = node if node.weight else replace(node, weight=WEIGHT)
            weight = Column(name=weighted.weight, type=DOUBLE, nullable=False)
            return _Found(_with(weighted, node.schema, {KEPT: number(1), ARRIVED: weight}), True)
        if stream_of(node) is not None:
            return _Found(_with(node, node.schema, ONE), True)
        if isinstance(node, lg.Distinct | lg.Compare | lg.Scan):
            # Rows that are compared whole can have no columns beside them.
            return self.rewrite(node, carry=False)
        below = [self.rewrite(i, carry=True) for i in node.inputs]
        if not any(b.counted for b in below):
            return self.rewrite(node, carry=False)
        match node:
            case lg.Join():
                return _Found(_joined(node, *below), True)
            case lg.Union():
                branches = (b.node if b.counted else _with(b.node, b.node.schema, ONE) for b in below)
                return _Found(with_inputs(node, tuple(branches)), True)
        rebuilt = self._answered(with_inputs(node, (below[0].node,)), counted=True)
        match rebuilt:
            case lg.Project():
                rebuilt = replace(rebuilt, items=(*rebuilt.items, *PASSED.items()))
            case lg.Aggregate():
                sums = tuple((name, total(value, None)) for name, value in PASSED.items())
                rebuilt = replace(rebuilt, aggregates=(*rebuilt.aggregates, *sums))
        return _Found(rebuilt, True)

    def _answered(self, node: lg.Logical, counted: bool) -> lg.Logical:
        """The operator with the measures of its input's rows; those that cannot be told stay."""

        def put(expr: Expr) -> Expr | None:
            if not isinstance(expr, Quality) or expr.function not in COUNTED_MEASURES:
                return None
            if counted:
                return replace(_measure(expr), origin=expr.origin)
            if self.sheds or expr.function == "KEPT":
                return None
            whole = number(1) if expr.function == "COMPLETENESS" else cast(number(0), BIGINT)
            return replace(whole, origin=expr.origin)

        return map_exprs(node, lambda e: transform(e, put))


def _measure(expr: Quality) -> Expr:
    kept, arrived = (call("COALESCE", PASSED[name], number(0)) for name in (KEPT, ARRIVED))
    match expr.function:
        case "COMPLETENESS":
            # Nothing arrived, as far as is known: then nothing is missing.
            return call("COALESCE", op("/", kept, call("NULLIF", arrived, number(0))), number(1))
        case "KEPT":
            return cast(call("ROUND", kept), BIGINT)
        case _:
            return cast(call("ROUND", op("-", arrived, kept)), BIGINT)


def _joined(node: lg.Join, left: _Found, right: _Found) -> lg.Logical:
    if not (left.counted and right.counted):
        return with_inputs(node, (left.node, right.node))
    items = tuple((OTHER.get(f.name, f.name), _column(f)) for f in right.node.schema)
    renamed = lg.Project(right.node, items, owner=node.owner, origin=node.origin)
    joined = with_inputs(node, (left.node, renamed))
    # A side of an outer join that is not there counts 1.
    pairs = {
        name: op("*", *(call("COALESCE", Column(name=n, type=DOUBLE), number(1)) for n in (name, theirs)))
        for name, theirs in OTHER.items()
    }
    return _with(joined, node.schema, pairs)


def _with(node: lg.Logical, fields: tuple[lg.Field, ...], more: dict[str, Expr]) -> lg.Logical:
    """These fields of the rows, and further columns."""
    items = (*((f.name, _column(f)) for f in fields), *more.items())
    return lg.Project(node, items, owner=node.owner, origin=node.origin)


def _column(field_: lg.Field) -> Column:
    return Column(name=field_.name, type=field_.type, nullable=field_.nullable)
