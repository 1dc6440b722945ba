"""The syntax tree: one frozen dataclass per statement, clause and expression.

Every node carries the span it was read from; spans take no part in equality, so
``parse(print(ast)) == ast`` is a plain comparison. Sequences are tuples.
"""

from __future__ import annotations

from enum import Enum

from streamq.dsl.records import dataclass, field
from streamq.dsl.source import NO_SPAN, Span
from streamq.dsl.types import Type


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """Base of all nodes."""

    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Ident(Node):
    """A name as the user spelled it, without quotes; resolution ignores case."""

    text: str


# --- expressions ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Expr(Node):
    """Base of expressions."""


@dataclass(frozen=True, slots=True)
class Number(Expr):
    """A number; ``text`` is kept so that decimals stay exact (``1``, ``2.50``, ``1e3``)."""

    text: str


@dataclass(frozen=True, slots=True)
class String(Expr):
    value: str


@dataclass(frozen=True, slots=True)
class Bool(Expr):
    value: bool


@dataclass(frozen=True, slots=True)
class Null(Expr):
    pass


@dataclass(frozen=True, slots=True)
class Duration(Node):
    """A length of time in whole milliseconds (``10 MINUTES``, ``10s``, ``INTERVAL '5' SECOND``)."""

    ms: int


@dataclass(frozen=True, slots=True)
class Interval(Expr):
    """``INTERVAL '5' SECOND`` as a value."""

    duration: Duration


@dataclass(frozen=True, slots=True)
class TypedLiteral(Expr):
    """``TIMESTAMP '2024-01-01 00:00:00'`` and ``DATE '2024-01-01'``."""

    type: Type
    text: str


@dataclass(frozen=True, slots=True)
class Name(Expr):
    """``a``, ``s.a``, ``s.a.b``: a column, perhaps qualified, perhaps with struct fields."""

    parts: tuple[Ident, ...]


@dataclass(frozen=True, slots=True)
class Star(Expr):
    """``*`` or ``t.*`` in a select list."""

    qualifier: Ident | None = None


@dataclass(frozen=True, slots=True)
class Unary(Expr):
    """``op`` is ``-``, ``+`` or ``NOT``."""

    op: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary(Expr):
    """``op`` is one of ``+ - * / % || = <> < <= > >= @> <@ AND OR``.

    ``==`` and ``!=`` are normalised; so are ``IS SUBSET OF``, which is ``<@``, and ``IS SUPERSET OF``.
    """

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Between(Expr):
    operand: Expr
    low: Expr
    high: Expr
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Like(Expr):
    """``kind`` is ``LIKE`` or ``RLIKE``."""

    operand: Expr
    pattern: Expr
    kind: str = "LIKE"
    negated: bool = False


@dataclass(frozen=True, slots=True)
class IsNull(Expr):
    operand: Expr
    negated: bool = False


@dataclass(frozen=True, slots=True)
class InList(Expr):
    operand: Expr
    items: tuple[Expr, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class InQuery(Expr):
    operand: Expr
    query: Query
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Exists(Expr):
    query: Query


@dataclass(frozen=True, slots=True)
class Quantified(Expr):
    """``x > ALL (query)``; ``quantifier`` is ``ALL`` or ``ANY`` (``SOME`` is normalised)."""

    op: str
    operand: Expr
    quantifier: str
    query: Query


@dataclass(frozen=True, slots=True)
class ScalarQuery(Expr):
    query: Query


@dataclass(frozen=True, slots=True)
class When(Node):
    condition: Expr
    result: Expr


@dataclass(frozen=True, slots=True)
class Case(Expr):
    operand: Expr | None
    whens: tuple[When, ...]
    default: Expr | None


@dataclass(frozen=True, slots=True)
class Cast(Expr):
    operand: Expr
    type: Type


@dataclass(frozen=True, slots=True)
class Approx(Node):
    """What a sketch may cost and how far it may err; None: the planner says.

    ``within``: the error, 0 to 1, ``fp``: said to be that of false positives; ``confidence``: how often it holds; ``memory``: bytes; ``sample``: the share of what
    could be looked at that is; ``method``: the sketch, in capitals.
    """

    within: float | None = None
    fp: bool = False
    confidence: float | None = None
    memory: int | None = None
    sample: float | None = None
    method: str | None = None


@dataclass(frozen=True, slots=True)
class Call(Expr):
    """``name(args)``, ``COUNT(*)`` (``star``), ``COUNT(DISTINCT x)``, ``agg(x) FILTER (WHERE c)``.

    ``approx``: ``agg(x WITHIN 5 PERCENT MEMORY 64 KB)``.
    """

    name: Ident
    args: tuple[Expr, ...] = ()
    star: bool = False
    distinct: bool = False
    filter: Expr | None = None
    approx: Approx | None = None


@dataclass(frozen=True, slots=True)
class FieldOf(Expr):
    """``expr.field`` where the base is not a plain name: ``f(x).a``, ``(s).a``, ``arr[0].a``."""

    operand: Expr
    name: Ident


@dataclass(frozen=True, slots=True)
class Index(Expr):
    """``arr[i]`` or ``map[key]``."""

    operand: Expr
    index: Expr


@dataclass(frozen=True, slots=True)
class Row(Expr):
    """``(a, b, …)`` of two or more items."""

    items: tuple[Expr, ...]


# --- windows -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Window(Node):
    """Base of the stream-to-relation windows."""


@dataclass(frozen=True, slots=True)
class NowWindow(Window):
    """``[NOW]``."""


@dataclass(frozen=True, slots=True)
class RangeWindow(Window):
    """``[RANGE t]``, ``[RANGE t SLIDE s]``; ``range`` None is ``[RANGE UNBOUNDED]``.

    ``[TUMBLE t]`` is read as ``RangeWindow(t, t)``.
    """

    range: Duration | None
    slide: Duration | None = None


@dataclass(frozen=True, slots=True)
class RowsWindow(Window):
    """``[ROWS n]``, ``[ROWS n SLIDE m]``, ``[PARTITION BY a, b ROWS n [RANGE t]]``."""

    rows: int
    slide: int | None = None
    partition: tuple[Name, ...] = ()
    range: Duration | None = None


@dataclass(frozen=True, slots=True)
class SessionWindow(Window):
    """``[SESSION gap [PARTITION BY a]]``."""

    gap: Duration
    partition: tuple[Name, ...] = ()


# --- queries -------------------------------------------------------------------------------------


class R2S(Enum):
    """Relation-to-stream operators."""

    ISTREAM = "ISTREAM"
    DSTREAM = "DSTREAM"
    RSTREAM = "RSTREAM"


@dataclass(frozen=True, slots=True)
class SelectItem(Node):
    expr: Expr
    alias: Ident | None = None


@dataclass(frozen=True, slots=True)
class FromItem(Node):
    """Base of what may stand in FROM."""


@dataclass(frozen=True, slots=True)
class TableRef(FromItem):
    name: Ident
    window: Window | None = None
    alias: Ident | None = None


@dataclass(frozen=True, slots=True)
class SubqueryRef(FromItem):
    query: Query
    window: Window | None = None
    alias: Ident | None = None


class JoinKind(Enum):
    """``CROSS`` is also the comma."""

    INNER = "INNER"
    LEFT = "LEFT"
    RIGHT = "RIGHT"
    FULL = "FULL"
    CROSS = "CROSS"


@dataclass(frozen=True, slots=True)
class Join(FromItem):
    """Left-deep; exactly one of ``on`` and ``using`` is given unless the kind is CROSS."""

    kind: JoinKind
    left: FromItem
    right: FromItem
    on: Expr | None = None
    using: tuple[Ident, ...] = ()


class Distinct(Enum):
    """How duplicates of the select list are treated."""

    ALL = "ALL"
    DISTINCT = "DISTINCT"
    APPROX = "APPROX DISTINCT"


@dataclass(frozen=True, slots=True)
class OrderItem(Node):
    expr: Expr
    descending: bool = False
    nulls_first: bool | None = None


@dataclass(frozen=True, slots=True)
class SetExpr(Node):
    """Base of what a query's body may be."""


@dataclass(frozen=True, slots=True)
class Select(SetExpr):
    """One SELECT block. ``from_`` is None for ``SELECT 1``."""

    items: tuple[SelectItem, ...]
    from_: FromItem | None = None
    where: Expr | None = None
    group_by: tuple[Expr, ...] = ()
    having: Expr | None = None
    distinct: Distinct = Distinct.ALL
    approx: Approx | None = None


@dataclass(frozen=True, slots=True)
class NamedOperand(SetExpr):
    """A view or stream named as an operand: ``AffSegWest UNION AffSegEast``."""

    name: Ident


@dataclass(frozen=True, slots=True)
class SetOp(SetExpr):
    """``op`` is ``UNION``, ``EXCEPT`` or ``INTERSECT``; ``all`` keeps duplicates."""

    op: str
    all: bool
    left: SetExpr
    right: SetExpr


@dataclass(frozen=True, slots=True)
class Streamed(SetExpr):
    """``ISTREAM(query)``; ``SELECT ISTREAM(a, b) FROM …`` is read as this too."""

    op: R2S
    query: Query


@dataclass(frozen=True, slots=True)
class Cte(Node):
    name: Ident
    columns: tuple[Ident, ...]
    query: Query


@dataclass(frozen=True, slots=True)
class Query(SetExpr):
    """``[WITH …] body [ORDER BY …] [LIMIT n]``; also a parenthesised operand of a set operation."""

    body: SetExpr
    ctes: tuple[Cte, ...] = ()
    order_by: tuple[OrderItem, ...] = ()
    limit: int | None = None


# --- policies ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Policy(Node):
    """Base of QOS, SHED and RECOVER clauses."""


@dataclass(frozen=True, slots=True)
class QosItem(Node):
    """Base of the items of a QOS clause."""


@dataclass(frozen=True, slots=True)
class QosLatency(QosItem):
    latency: Duration


@dataclass(frozen=True, slots=True)
class QosCompleteness(QosItem):
    """``COMPLETENESS >= c``."""

    least: float


@dataclass(frozen=True, slots=True)
class QosSlope(QosItem):
    slope: float


@dataclass(frozen=True, slots=True)
class QosWeight(QosItem):
    weight: float


@dataclass(frozen=True, slots=True)
class QosError(QosItem):
    """``ERROR <= 5 PERCENT [CONFIDENCE 95 PERCENT]``; both as fractions (0.05, 0.95)."""

    most: float
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class QosUtility(QosItem):
    utility: Expr


@dataclass(frozen=True, slots=True)
class QosFairness(QosItem):
    fairness: float


@dataclass(frozen=True, slots=True)
class QosCriticality(QosItem):
    criticality: str


@dataclass(frozen=True, slots=True)
class Qos(Policy):
    items: tuple[QosItem, ...]


@dataclass(frozen=True, slots=True)
class ShedGoal(Node):
    """A fixed goal: ``unit`` is ``KBPS`` (TO CAPACITY), ``ROWS`` (TO RATE, rows/s), ``PERCENT`` (BY)."""

    unit: str
    amount: float


@dataclass(frozen=True, slots=True)
class ShedMethod(Node):
    """Base of the shedding methods."""


@dataclass(frozen=True, slots=True)
class ShedNone(ShedMethod):
    pass


@dataclass(frozen=True, slots=True)
class ShedAuto(ShedMethod):
    pass


@dataclass(frozen=True, slots=True)
class ShedRandom(ShedMethod):
    keys: tuple[Name, ...] = ()


@dataclass(frozen=True, slots=True)
class ShedOlder(ShedMethod):
    """``OLDER THAN t``."""

    age: Duration


@dataclass(frozen=True, slots=True)
class ShedByUtility(ShedMethod):
    pass


@dataclass(frozen=True, slots=True)
class ShedSifter(ShedMethod):
    """``partition`` is QDPART, UNIFORM, DATA or QUERY; ``sample`` is a fraction; ``drop`` is HASH or COUNTER."""

    attributes: tuple[Name, ...]
    regions: int | None = None
    partition: str | None = None
    sample: float | None = None
    drop: str | None = None


@dataclass(frozen=True, slots=True)
class ShedFair(ShedMethod):
    window: Duration | None = None


@dataclass(frozen=True, slots=True)
class ShedWindows(ShedMethod):
    pass


@dataclass(frozen=True, slots=True)
class ShedJoin(ShedMethod):
    """``basic_window`` is a length of time, ``sample`` a fraction."""

    basic_window: Duration | None = None
    sample: float | None = None


@dataclass(frozen=True, slots=True)
class ShedAttributes(ShedMethod):
    keep: tuple[Name, ...] = ()


@dataclass(frozen=True, slots=True)
class Shed(Policy):
    method: ShedMethod
    goal: ShedGoal | None = None


@dataclass(frozen=True, slots=True)
class RecoverMethod(Node):
    """Base of the recovery methods."""


@dataclass(frozen=True, slots=True)
class RecoverSynopsis(RecoverMethod):
    """``columns`` empty is ALL. ``error`` is a fraction or ``"AUTO"``; ``cycle`` columns or ``"AUTO"``."""

    columns: tuple[Name, ...] = ()
    error: float | str | None = None
    cycle: tuple[Name, ...] | str | None = None
    retain: Duration | None = None


@dataclass(frozen=True, slots=True)
class RecoverNearest(RecoverMethod):
    """``columns`` empty is ALL."""

    columns: tuple[Name, ...] = ()


@dataclass(frozen=True, slots=True)
class RecoverEstimate(RecoverMethod):
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class RecoverDropped(RecoverMethod):
    """``DROPPED INTO sink``."""

    sink: Ident


@dataclass(frozen=True, slots=True)
class Recover(Policy):
    method: RecoverMethod


# --- statements ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Statement(Node):
    """Base of statements."""


@dataclass(frozen=True, slots=True)
class ColumnDef(Node):
    """``name TYPE [NOT NULL] [AS expr]``; a computed column may leave its type out."""

    name: Ident
    type: Type | None
    not_null: bool = False
    computed: Expr | None = None


@dataclass(frozen=True, slots=True)
class WatermarkDef(Node):
    """``WATERMARK FOR column [AS column - INTERVAL delay]``; delay 0 where none is said."""

    column: Ident
    delay: Duration


@dataclass(frozen=True, slots=True)
class Option(Node):
    """``key = value`` of a WITH list: value is a str, int, float or bool; dotted keys allowed."""

    key: str
    value: str | int | float | bool


@dataclass(frozen=True, slots=True)
class CreateStream(Statement):
    name: Ident
    columns: tuple[ColumnDef, ...]
    watermark: WatermarkDef | None
    policies: tuple[Policy, ...]
    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class CreateTable(Statement):
    name: Ident
    columns: tuple[ColumnDef, ...]
    primary_key: tuple[Ident, ...]
    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class CreateView(Statement):
    """Also the label form ``name (cols): query``."""

    name: Ident
    columns: tuple[Ident, ...]
    query: Query


@dataclass(frozen=True, slots=True)
class CreateSink(Statement):
    name: Ident
    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class CreateChannel(Statement):
    """A wire that the edges of several streams share. ``split`` is PROPORTIONAL or WEIGHTED."""

    name: Ident
    kbps: float
    split: str | None = None


@dataclass(frozen=True, slots=True)
class Parameter(Node):
    name: Ident
    type: Type


@dataclass(frozen=True, slots=True)
class CreateFunction(Statement):
    """``target`` is ``module:callable``."""

    name: Ident
    parameters: tuple[Parameter, ...]
    returns: Type
    target: str


@dataclass(frozen=True, slots=True)
class CreateQuery(Statement):
    """``CREATE QUERY name [INTO sink] AS …``, ``INSERT INTO sink …`` (no name), or a bare query."""

    name: Ident | None
    sink: Ident | None
    query: Query
    policies: tuple[Policy, ...]


@dataclass(frozen=True, slots=True)
class SetOption(Statement):
    key: str
    value: str | int | float | bool


@dataclass(frozen=True, slots=True)
class Include(Statement):
    path: str


@dataclass(frozen=True, slots=True)
class Program(Node):
    """The statements of one file, in order, before INCLUDE is resolved."""

    statements: tuple[Statement, ...]
