"""COMPLETENESS(), KEPT(), SHED(): how many rows stand behind a result, as arithmetic over two more columns.

::

    Project(COMPLETENESS(), Aggregate(…, Shed))
      ->  Project(kept / arrived, Aggregate(…, SUM(kept), SUM(arrived), Project(kept = 1, arrived = w, Shed)))

A row that is read counts 1 among the kept, and its weight among those that arrived. A pair of a join stands for the
product of both, a group for the sum; where rows stay or go by key, both sides of a pair have the same weight, once.
The columns are there only between the rows and what asks for them.

SOURCE_COVERAGE() and LATE() are numbers of the whole query, which the control relation knows.
"""

from __future__ import annotations

from collections.abc import Mapping

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.build import call, cast, number, op, total
from streamq.compiler.ir.expr import COUNTED_MEASURES, WEIGHT, Column, Expr, Quality, transform
from streamq.compiler.ir.goals import control_view
from streamq.compiler.ir.rewrite import map_exprs, measures_of, stream_of, walk, with_inputs
from streamq.compiler.passes.base import PassContext
from streamq.dsl.records import dataclass, field, replace
from streamq.dsl.types import BIGINT, DOUBLE

KEPT, ARRIVED = "__kept", "__arrived"
ONE = {KEPT: number(1), ARRIVED: number(1)}
PASSED = {name: Column(name=name, type=DOUBLE) for name in ONE}
OTHER = {name: f"{name}_right" for name in ONE}
"""The columns on the right of a join, as its columns have different names."""

_WHOLE = {"COMPLETENESS": number(1), "SOURCE_COVERAGE": number(1), "SHED": cast(number(0), BIGINT)}
"""What is known without counting where nothing is shed."""


def quality(plan: lg.LogicalPlan, context: PassContext) -> lg.LogicalPlan | None:
    """Returns None where no query asks how much stands behind its results."""
    del context
    queries = tuple(_answer(q) for q in plan.queries)
    changed = any(a is not b for a, b in zip(queries, plan.queries, strict=True))
    return replace(plan, queries=queries) if changed else None


def _answer(query: lg.LogicalQuery) -> lg.LogicalQuery:
    if not any(_measures(n) for n in walk(query.root)):
        return query
    sheds = [n for n in walk(query.root) if isinstance(n, lg.Shed)]
    steered = any(shed.goal.steered for shed in sheds)
    together = bool(sheds) and all(shed.whole_keys for shed in sheds)
    work = _Work(bool(sheds), together, control_view(query.name) if steered else "")
    return replace(query, root=work.rewrite(query.root, carry=False).node)


def _measures(node: lg.Logical) -> frozenset[str]:
    """What the operator wants to know of its input's rows."""
    return frozenset(measure.function for measure in measures_of(node))


@dataclass(frozen=True, slots=True)
class _Found:
    """A plan, and whether its rows have the two columns."""

    node: lg.Logical
    counted: bool = False


@dataclass
class _Work:
    """Rewrites the plan of one query.

    ``sheds``: False where all rows are kept. ``together``: rows of equal keys stay or go together on all sides of a
    join. ``view``: the query's control relation, if any.
    """

    sheds: bool
    together: bool
    view: str
    memo: dict[tuple[int, bool], _Found] = field(default_factory=dict)

    def rewrite(self, node: lg.Logical, *, carry: bool) -> _Found:
        """The plan in which measures are arithmetic. ``carry``: something above needs the columns."""
        key = (id(node), carry)
        if key not in self.memo:
            self.memo[key] = self._counted(node) if carry else self._plain(node)
        return self.memo[key]

    def _plain(self, node: lg.Logical) -> _Found:
        """With the columns that it had, whatever lies below."""
        asked = _measures(node)
        # What stands behind a pair is not known before it is one.
        needed = asked & (COUNTED_MEASURES if self.sheds else {"KEPT"}) if len(node.inputs) == 1 else False
        below = [self.rewrite(i, carry=bool(needed)) for i in node.inputs]
        rebuilt = with_inputs(node, tuple(b.node for b in below))
        if not asked:
            return _Found(rebuilt)
        counted = any(b.counted for b in below)
        rebuilt = self._answered(rebuilt, counted)
        same = isinstance(node, lg.Project | lg.Aggregate) or not counted
        return _Found(rebuilt if same else _with(rebuilt, node.schema, {}))

    def _counted(self, node: lg.Logical) -> _Found:
        """With both columns, where its rows are a stream's and can have them."""
        if isinstance(node, lg.Shed) and node.rank is not None:
            # How many rows of a group were worth too little only the rows that are gone could say.
            return self.rewrite(node, carry=False)
        if isinstance(node, lg.Shed) and (node.spared or node.window_ms is not None):
            # Of a window that is there nothing is missing.
            return _Found(_with(node, node.schema, ONE), True)
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
                return _Found(_joined(node, *below, together=self.together), True)
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
            if not isinstance(expr, Quality):
                return None
            if expr.function not in COUNTED_MEASURES and self.view:
                return replace(expr, view=self.view)
            if counted and expr.function in COUNTED_MEASURES:
                return replace(_measure(expr), origin=expr.origin)
            whole = _WHOLE.get(expr.function)
            return None if self.sheds or whole is None else replace(whole, origin=expr.origin)

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


def _joined(node: lg.Join, left: _Found, right: _Found, *, together: bool) -> lg.Logical:
    if not (left.counted and right.counted):
        return with_inputs(node, (left.node, right.node))
    items = tuple((OTHER.get(f.name, f.name), _column(f)) for f in right.node.schema)
    renamed = lg.Project(right.node, items, owner=node.owner, origin=node.origin)
    joined = with_inputs(node, (left.node, renamed))
    pairs: dict[str, Expr] = {}
    for name, theirs in OTHER.items():
        # A side of an outer join that is not there counts 1.
        sides = [call("COALESCE", Column(name=n, type=DOUBLE), number(1)) for n in (name, theirs)]
        pairs[name] = call("GREATEST", *sides) if together else op("*", *sides)
    return _with(joined, node.schema, pairs)


def _with(node: lg.Logical, fields: tuple[lg.Field, ...], more: Mapping[str, Expr]) -> lg.Logical:
    """These fields of the rows, and further columns."""
    items = (*((f.name, _column(f)) for f in fields), *more.items())
    return lg.Project(node, items, owner=node.owner, origin=node.origin)


def _column(field_: lg.Field) -> Column:
    return Column(name=field_.name, type=field_.type, nullable=field_.nullable)
