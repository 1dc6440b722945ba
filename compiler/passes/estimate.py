"""RECOVER ESTIMATE: counts, sums and means of all rows, worked out from those that were kept.

::

    Aggregate(n = COUNT(*), s = SUM(x))  ->  Project(n, n_lo, n_hi, s, s_lo, s_hi,
                                               Aggregate(SUM(w), SUM(w (w - 1)), SUM(w x), …))

The shedder gives each row its weight ``w``, the number of rows that it stands for. All else is arithmetic over sums
(``stdlib/estimate/totals.py`` has the formulas and their sources), so no later stage knows of estimates.

A query that sheds has one layout of its state, with RECOVER ESTIMATE and without: the plain calls and the sums are both there,
and the projection above them chooses (ADR 0021). So RECOVER may come and go while the state lives on.
"""

from __future__ import annotations

from streamq.compiler.analysis.moving import runs_on_changes
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.build import aggregate, call, cast, number, op, total
from streamq.compiler.ir.expr import (
    WEIGHT,
    AggCall,
    Column,
    Expr,
    IsNull,
    Op,
    columns_of,
    conjunction,
)
from streamq.compiler.ir.rewrite import walk, with_inputs
from streamq.compiler.ir.sketches import BEHIND, FREQUENCY_SKETCH, PAIR_COUNTS
from streamq.compiler.notices import PlanNotice
from streamq.compiler.passes.base import PassContext
from streamq.dsl import ast
from streamq.dsl.records import dataclass, field, replace
from streamq.dsl.source import Span
from streamq.dsl.types import BIGINT, BOOLEAN, DOUBLE, FLOAT, Type
from streamq.stdlib.estimate.confidence import deviations

CONFIDENCE = 0.95
ESTIMATED = frozenset({"COUNT", "COUNT_IF", "SUM", "AVG", "MEAN"})
COUNTS = frozenset({"COUNT", "COUNT_IF"})
SKETCHES = frozenset(BEHIND)
"""What stands behind estimates that see by the COUNT beside them, or by the weights of rows, how many rows were shed."""
EXTREMES = {"LEAST_WEIGHT": "MIN", "MOST_WEIGHT": "MAX"}
NOT_CHANGED = frozenset({"FIRST", "LAST", "FIRST_VALUE", "LAST_VALUE", "ANY_VALUE"})


def estimate(plan: lg.LogicalPlan, context: PassContext) -> lg.LogicalPlan | None:
    """Returns None where no query sheds, or none counts what is left."""
    queries = tuple(_estimate(q, context) for q in plan.queries)
    changed = any(a is not b for a, b in zip(queries, plan.queries, strict=True))
    return replace(plan, queries=queries) if changed else None


def _estimate(query: lg.LogicalQuery, context: PassContext) -> lg.LogicalQuery:
    asked = next(
        (p for p in query.policies
         if isinstance(p, ast.Recover) and isinstance(p.method, ast.RecoverEstimate)), None,
    )
    # What moves puts out each change of a group: one that nobody sees would be put out too.
    one_layout = not runs_on_changes(query.root)
    work = _Work(query.name, confidence_of(query.policies), query.origin, context, one_layout=one_layout)
    if asked is None or not isinstance(asked.method, ast.RecoverEstimate):
        work.asked = False
        found = work.rewrite(query.root) if one_layout else _Found(query.root)
        if not work.laid_out:
            return query
        return replace(query, root=found.node if not found.weighted else without_weight(found.node))
    work.span = asked.span
    found = work.rewrite(query.root)
    if not found.bounds and not work.sketched:
        if any(isinstance(node, lg.Shed) for node in walk(query.root)):
            work.notice("nothing is estimated", "only COUNT, SUM, AVG and sketches of shed rows are")
        else:
            work.notice(
                "nothing is estimated", "no row of the query is shed",
                "say what may go, SHED RANDOM BY 20 PERCENT or QOS LATENCY 2 SECONDS, or leave RECOVER ESTIMATE out",
            )
    root = found.node if not found.weighted else without_weight(found.node)
    return replace(query, root=root, estimates=tuple(sorted(found.bounds)))


def confidence_of(policies: tuple[ast.Policy, ...]) -> float:
    """How often the bounds of the query's estimates are to hold."""
    methods = (p.method for p in policies if isinstance(p, ast.Recover))
    found = next((m.confidence for m in methods if isinstance(m, ast.RecoverEstimate)), None)
    return found or CONFIDENCE


@dataclass(frozen=True, slots=True)
class _Found:
    """A plan; whether its rows have weights; the columns that are estimates."""

    node: lg.Logical
    weighted: bool = False
    bounds: frozenset[str] = frozenset()


@dataclass
class _Work:
    """Rewrites the plan of one query. ``asked``: its results are estimates. ``one_layout``: its state has room for them in any case."""

    query: str
    confidence: float
    span: Span
    context: PassContext
    asked: bool = True
    one_layout: bool = False
    laid_out: bool = False
    memo: dict[int, _Found] = field(default_factory=dict)
    paired: bool = False
    sketched: bool = False
    by_values: bool = False

    def notice(self, message: str, hint: str, action: str = "") -> None:
        if not self.asked:
            return
        self.context.notices.append(
            PlanNotice("estimate", self.query, message, hint=hint, action=action, span=self.span)
        )

    def rewrite(self, node: lg.Logical) -> _Found:
        if id(node) not in self.memo:
            self.memo[id(node)] = self._rewrite(node)
        return self.memo[id(node)]

    def _rewrite(self, node: lg.Logical) -> _Found:
        below = tuple(self.rewrite(i) for i in node.inputs)
        rebuilt = with_inputs(node, tuple(b.node for b in below))
        weighted = [b for b in below if b.weighted]
        match rebuilt:
            case lg.Shed() if not rebuilt.spared:
                self.by_values = self.by_values or (bool(rebuilt.keys) and not rebuilt.whole_keys)
                return _Found(replace(rebuilt, weight=WEIGHT), True)
            case lg.Aggregate() if weighted:
                return self._aggregate(rebuilt)
            case lg.Project():
                return _project(rebuilt, below[0])
            case lg.Filter() | lg.Window() | lg.Watermark() | lg.ToStream():
                return replace(below[0], node=rebuilt)
            case lg.Join() if len(weighted) == 1:
                bounds = below[0].bounds | below[1].bounds
                if not rebuilt.anti and not self.paired:
                    self.paired = True
                    self.notice(
                        "bounds take each pair for a row of its own",
                        "where a row that may go has several partners they are too narrow",
                    )
                return _Found(rebuilt, True, bounds)
            case lg.Union() if weighted:
                return _Found(with_inputs(node, tuple(b.node if b.weighted else _as_they_are(b.node) for b in below)), True)
            case lg.Sort() if not weighted:
                return replace(below[0], node=rebuilt)
            case _ if weighted:
                self.notice(
                    f"what comes after {type(node).__name__.upper()} is not estimated",
                    "its rows stand for no fixed number of rows",
                )
                bare = tuple(without_weight(b.node) if b.weighted else b.node for b in below)
                return _Found(with_inputs(node, bare))
            case _:
                return _Found(rebuilt)

    def _aggregate(self, node: lg.Aggregate) -> _Found:
        """The aggregate over primitives, and above it the estimates under the names of the calls."""
        weight = Column(name=WEIGHT, type=DOUBLE, nullable=False)
        sums = _Sums(weight)
        items: list[tuple[str, Expr]] = [
            (name, Column(name=name, type=key.type, nullable=key.nullable))
            for name, key in node.keys
        ]
        # Sketches count rows by their weights, or do not: these states have no form in common.
        one_layout = self.one_layout and not any(c.function in SKETCHES or c.function in EXTREMES for _, c in node.aggregates)
        if not (self.asked or one_layout):
            return _Found(node)
        plain: list[tuple[str, AggCall]] = []
        estimated: list[str] = []
        read: set[str] = set()
        for name, made in node.aggregates:
            as_it_is = Column(name=name, type=made.type, nullable=made.nullable)
            if made.function in ESTIMATED and not made.distinct:
                counted = name if one_layout and made.function in COUNTS else None
                value, low, high = _estimates(made, sums, counted, self.confidence)
                ends = [(name, value), (f"{name}_lo", low), (f"{name}_hi", high)]
                items += ends if self.asked else [(name, as_it_is)]
                estimated.append(name)
                if one_layout:
                    plain.append((name, made))
                    read.update(*(columns_of(end) for _, end in ends))
                continue
            plain.append((name, _with_weight(made, weight) if self.asked else made))
            if made.function in SKETCHES and self.by_values and not self.sketched:
                self.notice(
                    "rows that are equal in all columns stay or go together: where there are many, estimates from sketches are too high",
                    "the source does not tell such rows apart, and their hash decides",
                )
            self.sketched = self.sketched or made.function in SKETCHES
            items.append((name, as_it_is))
            if made.function not in NOT_CHANGED | SKETCHES:
                self.notice(
                    f"{made.function} is that of the rows that are kept",
                    "it does not follow from a sample what it is over all rows",
                )
        spare = (*estimated, *(name for name in sums.found if name in read)) if one_layout else ()
        self.laid_out = self.laid_out or bool(spare)
        below = replace(node, aggregates=(*plain, *sums.found.items()), spare=spare)
        above = lg.Project(below, tuple(items), owner=node.owner, origin=node.origin)
        return _Found(above, bounds=frozenset(estimated) if self.asked else frozenset())


def _with_weight(made: AggCall, weight: Expr) -> AggCall:
    """Sketches and pairs of rows are counted by the weights of rows, where they can be; of frequent values it is told how far these are apart."""
    if made.function in EXTREMES:
        return aggregate(EXTREMES[made.function], (weight,), _condition(made))
    return replace(made, args=(*made.args, weight)) if made.function in (FREQUENCY_SKETCH, PAIR_COUNTS) else made


def _project(node: lg.Project, below: _Found) -> _Found:
    """The projection with the weight of its rows, and with the bounds of the estimates that it passes on."""
    items: list[tuple[str, Expr]] = []
    bounds: list[str] = []
    types = {f.name: f for f in below.node.schema}
    for name, value in node.items:
        items.append((name, value))
        if isinstance(value, Column) and value.name in below.bounds:
            bounds.append(name)
            items += [
                (name + end, Column(name=value.name + end, type=types[value.name + end].type))
                for end in ("_lo", "_hi")
            ]
    if below.weighted:
        items.append((WEIGHT, Column(name=WEIGHT, type=DOUBLE, nullable=False)))
    project = replace(node, items=tuple(items), input=below.node)
    return _Found(project, below.weighted, frozenset(bounds))


def _as_they_are(node: lg.Logical) -> lg.Logical:
    """Rows of which each stands for itself."""
    items = tuple((f.name, Column(name=f.name, type=f.type, nullable=f.nullable)) for f in node.schema)
    return lg.Project(node, (*items, (WEIGHT, number(1))), owner=node.owner, origin=node.origin)


def without_weight(node: lg.Logical) -> lg.Logical:
    """The rows without the column that says for how many they stand."""
    items = tuple(
        (f.name, Column(name=f.name, type=f.type, nullable=f.nullable))
        for f in node.schema if f.name != WEIGHT
    )
    return lg.Project(node, items, owner=node.owner, origin=node.origin)


@dataclass
class _Sums:
    """The sums over kept rows that estimates are made of, each once."""

    weight: Expr
    found: dict[str, AggCall] = field(default_factory=dict)

    def column(self, value: Expr, condition: Expr | None) -> Column:
        """The column of the SUM of a value over the rows that meet a condition."""
        made = total(value, condition)
        name = next((n for n, known in self.found.items() if known == made), None)
        if name is None:
            name = f"__sum{len(self.found)}"
            self.found[name] = made
        return Column(name=name, type=DOUBLE)

    def spread(self) -> Expr:
        """What a row adds to the variance of a count: w (w - 1)."""
        return op("*", self.weight, op("-", self.weight, number(1)))


def _estimates(
    made: AggCall, sums: _Sums, counted: str | None, confidence: float
) -> tuple[Expr, Expr, Expr]:
    """The value of a call over all rows, and its bounds, from sums over the rows that were kept.

    ``counted``: the column that has the number of these rows already, as the call itself stands beside the sums.
    """
    z = deviations(confidence)
    value = cast(made.args[0], DOUBLE) if made.args and made.function != "COUNT_IF" else None
    condition = _condition(made)
    rows = sums.column(number(1), condition) if counted is None else cast(Column(name=counted, type=BIGINT, nullable=False), DOUBLE)
    count = sums.column(sums.weight, condition)
    variance = sums.column(sums.spread(), condition)
    if value is None or made.function == "COUNT":
        return _count(rows, count, variance, z)
    first = sums.column(op("*", sums.weight, value), condition)
    square = sums.column(op("*", sums.spread(), op("*", value, value)), condition)
    if made.function == "SUM":
        width = op("*", number(z), call("SQRT", square))
        whole = made.type not in (DOUBLE, FLOAT)
        return _as(made.type, first, whole), op("-", first, width), op("+", first, width)
    mixed = sums.column(op("*", sums.spread(), value), condition)
    mean = op("/", first, count)
    squares = op(
        "+", op("-", square, op("*", number(2), op("*", mean, mixed))),
        op("*", op("*", mean, mean), variance),
    )
    few = op("/", rows, call("GREATEST", op("-", rows, number(1)), number(1)))
    error = call("SQRT", op("*", call("GREATEST", squares, number(0)), few))
    width = op("*", number(z), op("/", error, count))
    return _as(made.type, mean, False), op("-", mean, width), op("+", mean, width)


def _count(rows: Expr, count: Expr, variance: Expr, z: float) -> tuple[Expr, Expr, Expr]:
    """All numbers for which so many kept rows are no surprise; nothing kept is a count of 0."""
    zero = number(0)
    ratio = op("/", variance, count)
    middle = op("+", count, op("*", number(z * z / 2), ratio))
    inside = op("+", variance, op("*", number(z * z / 4), op("*", ratio, ratio)))
    width = op("*", number(z), call("SQRT", inside))
    low = call("GREATEST", op("-", middle, width), rows)
    return (
        _as(BIGINT, call("COALESCE", count, zero), True),
        call("COALESCE", low, zero), call("COALESCE", op("+", middle, width), zero),
    )


def _as(type_: Type, value: Expr, whole: bool) -> Expr:
    return cast(call("ROUND", value) if whole else value, type_)


def _condition(made: AggCall) -> Expr | None:
    """The rows that a call looks at: those that its FILTER takes, whose argument is not NULL, or for COUNT_IF true."""
    parts: list[Expr] = [] if made.filter is None else [made.filter]
    if made.function == "COUNT_IF":
        parts.append(made.args[0])
    elif made.args and made.args[0].nullable:
        absent = IsNull(operand=made.args[0], type=BOOLEAN, nullable=False)
        parts.append(Op(op="NOT", args=(absent,), type=BOOLEAN, nullable=False))
    return conjunction(tuple(parts))
