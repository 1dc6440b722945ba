"""Hypothesis strategies for whole syntax trees: every node class, only trees that can be parsed.

The trees are canonical, as the parser makes them: no parentheses without meaning, left-deep joins,
each policy once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from streamq.dsl import ast
from streamq.dsl import types as t
from streamq.dsl.tables import load_tables
from streamq.dsl.words import UNITS

# Words that a name may clash with: all keywords, units and types.
_WORDS = sorted(
    {w for w in load_tables().terminals if w.isalpha()} | set(UNITS) | set(t.ATOMIC_NAMES)
)
_ODD = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=6)
TEXT = st.one_of(_ODD, st.sampled_from(["it's", "''", 'a "b"', "-- no", "/* no */", ";", ""]))
NAMES = st.one_of(
    st.sampled_from(["a", "b", "price", "ts", "key", "rate", "window", "value", "x1", "Größe"]),
    st.sampled_from(_WORDS),
    st.sampled_from(_WORDS).map(str.lower),
    st.sampled_from(['say "hi"', "with space", "back`tick", "1st", "x-pos", "größe;", "", "日本"]),
    _ODD,
)
IDENTS = st.builds(ast.Ident, text=NAMES)
COLUMNS = st.builds(ast.Name, parts=st.lists(IDENTS, min_size=1, max_size=3).map(tuple))
COUNTS = st.integers(-5, 2**31 - 1)
FRACTIONS = st.floats(0, 1, allow_subnormal=False).map(lambda x: round(x, 12))
AMOUNTS = st.floats(-1e9, 1e9, allow_nan=False, allow_subnormal=False).map(
    lambda x: round(x, 9) + 0
)
DURATIONS = st.builds(
    ast.Duration,
    ms=st.one_of(
        st.sampled_from([0, 1, 500, 1_000, 60_000, 3_600_000, 86_400_000, 604_800_000, -5_000]),
        st.integers(-(10**12), 9_223_372_036_854_775),
    ),
)
NUMBERS = st.one_of(
    st.integers(0, 10**20).map(str),
    st.from_regex(r"[0-9]{1,5}\.[0-9]{0,5}([eE][+-]?[0-9]{1,2})?", fullmatch=True),
)


def tuples(items: SearchStrategy, least: int = 0, most: int = 3) -> SearchStrategy:
    return st.lists(items, min_size=least, max_size=most).map(tuple)


def maybe(items: SearchStrategy) -> SearchStrategy:
    return st.one_of(st.none(), items)


@st.composite
def _later(draw: DrawFn, make: Callable[[int], SearchStrategy], depth: int) -> object:
    """What ``make(depth)`` draws; the strategy itself is only made when it is needed."""
    return draw(make(depth))


# --- types ---------------------------------------------------------------------------------------

_PLAIN_TYPES = st.one_of(
    st.sampled_from(sorted(set(t.ATOMIC_NAMES.values()), key=str)),
    st.integers(1, 38).flatmap(
        lambda p: st.builds(t.Decimal, st.just(p), st.integers(0, p)),
    ),
    st.builds(t.Chars, st.sampled_from(["VARCHAR", "CHAR"]), st.integers(1, 100)),
)
TYPES = st.recursive(
    _PLAIN_TYPES,
    lambda inner: st.one_of(
        st.builds(t.Array, inner),
        st.builds(t.Map, inner, inner),
        st.builds(t.Struct, tuples(st.tuples(NAMES, inner), 1)),
    ),
    max_leaves=4,
)

# --- expressions ---------------------------------------------------------------------------------

APPROX = st.builds(
    ast.Approx, within=maybe(FRACTIONS), fp=st.booleans(), confidence=maybe(FRACTIONS), memory=maybe(st.integers(0, 2**31 - 1)),
    sample=maybe(FRACTIONS), method=maybe(st.sampled_from(["CM", "STABLE"])),
).filter(lambda node: node != ast.Approx() and (not node.fp or node.within is not None))

_COMPARISONS = ["=", "<>", "<", "<=", ">", ">="]
_OPERATORS = ["+", "-", "*", "/", "%", "||", *_COMPARISONS, "@>", "<@", "AND", "OR"]


def exprs(depth: int) -> SearchStrategy:
    return _later(_exprs, depth)


@cache
def _exprs(depth: int) -> SearchStrategy:
    leaves = st.one_of(
        st.builds(ast.Number, text=NUMBERS),
        st.builds(ast.String, value=TEXT),
        st.builds(ast.Bool, value=st.booleans()),
        st.builds(ast.Null),
        st.builds(ast.Interval, duration=DURATIONS),
        st.builds(ast.TypedLiteral, type=st.sampled_from([t.DATE, t.TIMESTAMP]), text=TEXT),
        COLUMNS,
    )
    if depth == 0:
        return leaves
    e, flag, query = exprs(depth - 1), st.booleans(), queries(depth - 1)
    when = st.builds(ast.When, condition=e, result=e)
    filters = maybe(e)
    return st.one_of(
        leaves,
        st.builds(ast.Unary, op=st.sampled_from(["-", "+", "NOT"]), operand=e),
        st.builds(ast.Binary, op=st.sampled_from(_OPERATORS), left=e, right=e),
        st.builds(ast.Between, operand=e, low=e, high=e, negated=flag),
        st.builds(
            ast.Like, operand=e, pattern=e, kind=st.sampled_from(["LIKE", "RLIKE"]), negated=flag
        ),
        st.builds(ast.IsNull, operand=e, negated=flag),
        st.builds(ast.InList, operand=e, items=tuples(e, 1), negated=flag),
        st.builds(ast.InQuery, operand=e, query=query, negated=flag),
        st.builds(ast.Exists, query=query),
        st.builds(
            ast.Quantified,
            op=st.sampled_from(_COMPARISONS),
            operand=e,
            quantifier=st.sampled_from(["ALL", "ANY"]),
            query=query,
        ),
        st.builds(ast.ScalarQuery, query=query),
        st.builds(ast.Case, operand=maybe(e), whens=tuples(when, 1, 2), default=maybe(e)),
        st.builds(ast.Cast, operand=e, type=TYPES),
        st.builds(ast.Call, name=IDENTS, args=tuples(e), filter=filters),
        st.builds(ast.Call, name=IDENTS, args=tuples(e, 1), distinct=st.just(True), filter=filters),
        st.builds(ast.Call, name=IDENTS, star=st.just(True), filter=filters),
        st.builds(ast.Call, name=IDENTS, args=tuples(e, 1), approx=APPROX, filter=filters),
        st.builds(ast.FieldOf, operand=e, name=IDENTS),
        st.builds(ast.Index, operand=e, index=e),
        st.builds(ast.Row, items=tuples(e, 2)),
    )


# --- windows -------------------------------------------------------------------------------------

_PARTITIONS = tuples(COLUMNS, 0, 2)
WINDOWS = st.one_of(
    st.builds(ast.NowWindow),
    st.builds(ast.RangeWindow, range=maybe(DURATIONS), slide=maybe(DURATIONS)),
    DURATIONS.map(lambda d: ast.RangeWindow(range=d, slide=d)),
    st.builds(
        ast.RowsWindow,
        rows=COUNTS,
        slide=maybe(COUNTS),
        partition=_PARTITIONS,
        range=maybe(DURATIONS),
    ),
    st.builds(ast.SessionWindow, gap=DURATIONS, partition=_PARTITIONS),
)

# --- queries -------------------------------------------------------------------------------------


def from_items(depth: int) -> SearchStrategy:
    return _later(_from_items, depth)


@cache
def _from_items(depth: int) -> SearchStrategy:
    tables = st.builds(ast.TableRef, name=IDENTS, window=maybe(WINDOWS), alias=maybe(IDENTS))
    if depth == 0:
        return tables
    subqueries = st.builds(
        ast.SubqueryRef, query=queries(depth - 1), window=maybe(WINDOWS), alias=maybe(IDENTS)
    )
    refs, left = st.one_of(tables, subqueries), from_items(depth - 1)
    kinds = st.sampled_from([k for k in ast.JoinKind if k is not ast.JoinKind.CROSS])
    return st.one_of(
        refs,
        st.builds(ast.Join, kind=st.just(ast.JoinKind.CROSS), left=left, right=refs),
        st.builds(ast.Join, kind=kinds, left=left, right=refs, on=exprs(depth - 1)),
        st.builds(ast.Join, kind=kinds, left=left, right=refs, using=tuples(IDENTS, 1)),
    )


def selects(depth: int) -> SearchStrategy:
    return _later(_selects, depth)


@cache
def _selects(depth: int) -> SearchStrategy:
    e = exprs(depth)
    items = st.one_of(
        st.builds(ast.SelectItem, expr=e, alias=maybe(IDENTS)),
        st.builds(ast.SelectItem, expr=st.builds(ast.Star, qualifier=maybe(IDENTS))),
    )
    return st.builds(
        ast.Select,
        items=tuples(items, 1),
        from_=maybe(from_items(depth)),
        where=maybe(e),
        group_by=tuples(e, 0, 2),
        having=maybe(e),
        distinct=st.sampled_from(ast.Distinct),
        approx=maybe(APPROX),
    )


def bodies(depth: int) -> SearchStrategy:
    return _later(_bodies, depth)


@cache
def _bodies(depth: int) -> SearchStrategy:
    simple = st.one_of(selects(depth), st.builds(ast.NamedOperand, name=IDENTS))
    if depth == 0:
        return simple
    inner = st.one_of(bodies(depth - 1), queries(depth - 1).filter(has_clauses))
    return st.one_of(
        simple,
        st.builds(
            ast.SetOp,
            op=st.sampled_from(["UNION", "EXCEPT", "INTERSECT"]),
            all=st.booleans(),
            left=inner,
            right=inner,
        ),
        st.builds(ast.Streamed, op=st.sampled_from(ast.R2S), query=queries(depth - 1)),
    )


def has_clauses(query: ast.Query) -> bool:
    """True where parentheses around the query mean something."""
    return bool(query.ctes or query.order_by or query.limit is not None)


def queries(depth: int) -> SearchStrategy:
    return _later(_queries, depth)


@cache
def _queries(depth: int) -> SearchStrategy:
    plain = st.builds(ast.Query, body=bodies(depth))
    if depth == 0:
        return plain
    ctes = st.builds(ast.Cte, name=IDENTS, columns=tuples(IDENTS, 0, 2), query=queries(depth - 1))
    orders = st.builds(
        ast.OrderItem,
        expr=exprs(depth - 1),
        descending=st.booleans(),
        nulls_first=maybe(st.booleans()),
    )
    parts = {
        "ctes": tuples(ctes, 0, 2),
        "order_by": tuples(orders, 0, 2),
        "limit": maybe(st.integers(0, 2**31 - 1)),
    }
    nested = st.builds(ast.Query, body=queries(depth - 1).filter(has_clauses), **parts)
    return st.one_of(
        plain, st.builds(ast.Query, body=bodies(depth), **parts), nested.filter(has_clauses)
    )


# --- policies ------------------------------------------------------------------------------------

_COLUMN_LISTS = tuples(COLUMNS, 1, 2)
_QOS_ITEMS = st.one_of(
    st.builds(ast.QosLatency, latency=DURATIONS),
    st.builds(ast.QosCompleteness, least=FRACTIONS),
    st.builds(ast.QosSlope, slope=AMOUNTS),
    st.builds(ast.QosWeight, weight=AMOUNTS),
    st.builds(ast.QosError, most=FRACTIONS, confidence=maybe(FRACTIONS)),
    st.builds(ast.QosUtility, utility=exprs(2)),
    st.builds(ast.QosFairness, fairness=AMOUNTS),
    st.builds(ast.QosCriticality, criticality=TEXT),
)
QOS = st.builds(
    ast.Qos, items=st.lists(_QOS_ITEMS, min_size=1, max_size=4, unique_by=type).map(tuple)
)
SHEDS = st.builds(
    ast.Shed,
    method=st.one_of(
        st.builds(ast.ShedNone),
        st.builds(ast.ShedAuto),
        st.builds(ast.ShedRandom, keys=tuples(COLUMNS, 0, 2)),
        st.builds(ast.ShedOlder, age=DURATIONS),
        st.builds(ast.ShedByUtility),
        st.builds(
            ast.ShedSifter,
            attributes=_COLUMN_LISTS,
            regions=maybe(COUNTS),
            partition=maybe(st.sampled_from(["QDPART", "UNIFORM", "DATA", "QUERY"])),
            sample=maybe(FRACTIONS),
            drop=maybe(st.sampled_from(["HASH", "COUNTER"])),
        ),
        st.builds(ast.ShedFair, window=maybe(DURATIONS)),
        st.builds(ast.ShedWindows),
        st.builds(ast.ShedJoin, basic_window=maybe(DURATIONS), sample=maybe(FRACTIONS)),
        st.builds(ast.ShedAttributes, keep=tuples(COLUMNS, 0, 2)),
    ),
    goal=maybe(
        st.builds(ast.ShedGoal, unit=st.sampled_from(["KBPS", "ROWS", "PERCENT"]), amount=AMOUNTS)
    ),
)
RECOVERS = st.builds(
    ast.Recover,
    method=st.one_of(
        st.builds(
            ast.RecoverSynopsis,
            columns=tuples(COLUMNS, 0, 2),
            error=st.one_of(st.none(), st.just("AUTO"), FRACTIONS),
            cycle=st.one_of(st.none(), st.just("AUTO"), _COLUMN_LISTS),
            retain=maybe(DURATIONS),
        ),
        st.builds(ast.RecoverNearest, columns=tuples(COLUMNS, 0, 2)),
        st.builds(ast.RecoverEstimate, confidence=maybe(FRACTIONS)),
        st.builds(ast.RecoverDropped, sink=IDENTS),
    ),
)


def _policies(kinds: SearchStrategy) -> SearchStrategy:
    def kind(policy: ast.Policy) -> object:
        return type(policy.method) if isinstance(policy, ast.Recover) else type(policy)

    return st.lists(kinds, max_size=3, unique_by=kind).map(tuple)


POLICIES = _policies(st.one_of(QOS, SHEDS, RECOVERS))
STREAM_POLICIES = _policies(st.one_of(SHEDS, RECOVERS))

# --- statements ----------------------------------------------------------------------------------

_VALUES = st.one_of(TEXT, st.integers(-(10**30), 10**30), AMOUNTS, st.booleans())
_KEYS = st.one_of(
    st.sampled_from(["connector", "rate", "kafka.group.id", "Select", "a b", "x.1"]), TEXT
)
_OPTIONS = st.lists(
    st.builds(ast.Option, key=_KEYS, value=_VALUES),
    max_size=4,
    unique_by=lambda option: option.key.casefold(),
).map(tuple)
_COLUMN_DEFS = st.one_of(
    st.builds(
        ast.ColumnDef, name=IDENTS, type=TYPES, not_null=st.booleans(), computed=maybe(exprs(1))
    ),
    st.builds(
        ast.ColumnDef,
        name=IDENTS,
        type=st.none(),
        not_null=st.booleans(),
        computed=exprs(1),
    ),
)

STATEMENTS = st.one_of(
    st.builds(
        ast.CreateStream,
        name=IDENTS,
        columns=tuples(_COLUMN_DEFS, 1),
        watermark=maybe(st.builds(ast.WatermarkDef, column=IDENTS, delay=DURATIONS)),
        policies=STREAM_POLICIES,
        options=_OPTIONS,
    ),
    st.builds(
        ast.CreateTable,
        name=IDENTS,
        columns=tuples(_COLUMN_DEFS, 1),
        primary_key=tuples(IDENTS, 0, 2),
        options=_OPTIONS,
    ),
    st.builds(ast.CreateView, name=IDENTS, columns=tuples(IDENTS, 0, 2), query=queries(2)),
    st.builds(ast.CreateSink, name=IDENTS, options=_OPTIONS.filter(bool)),
    st.builds(
        ast.CreateChannel, name=IDENTS, kbps=AMOUNTS, split=maybe(st.sampled_from(["PROPORTIONAL", "WEIGHTED"]))
    ),
    st.builds(
        ast.CreateFunction,
        name=IDENTS,
        parameters=tuples(st.builds(ast.Parameter, name=IDENTS, type=TYPES), 0, 2),
        returns=TYPES,
        target=TEXT,
    ),
    st.builds(
        ast.CreateQuery,
        name=maybe(IDENTS),
        sink=maybe(IDENTS),
        query=queries(2),
        policies=POLICIES,
    ),
    st.builds(ast.SetOption, key=_KEYS, value=_VALUES),
    st.builds(ast.Include, path=TEXT),
)
PROGRAMS = st.builds(ast.Program, statements=tuples(STATEMENTS, 0, 3))
