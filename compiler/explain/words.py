"""Operators and expressions in words, close to what the user wrote."""

from __future__ import annotations

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.durations import show_ms
from streamq.compiler.ir.expr import (
    AggCall,
    Call,
    Case,
    Cast,
    Column,
    Expr,
    FieldOf,
    Index,
    InList,
    IsNull,
    Like,
    Literal,
    Op,
    Quality,
    Udf,
    columns_of,
)
from streamq.compiler.ir.sketches import BEHIND, READ_AS
from streamq.dsl.types import DATE, INTERVAL, TIMESTAMP, is_string
from streamq.stdlib.sifters.predicates import Both, Compare, Either, Predicate

_BOUND = ("", "LEAST ", "GREATEST ")
"""An estimate, and its bounds."""


def show_expr(e: Expr) -> str:
    """An expression as CQL; operators inside operators are in parentheses."""
    match e:
        case Column():
            return e.name
        case Literal():
            return _literal(e)
        case Op(op="NOT"):
            return f"NOT {_inner(e.args[0])}"
        case Op(op="NEG"):
            return f"-{_inner(e.args[0])}"
        case Op():
            op = "/" if e.op == "DIV" else e.op
            return f" {op} ".join(_inner(a) for a in e.args)
        case Cast():
            return f"CAST({show_expr(e.operand)} AS {e.type})"
        case Case():
            whens = " ".join(f"WHEN {show_expr(c)} THEN {show_expr(r)}" for c, r in e.whens)
            tail = "" if e.default is None else f" ELSE {show_expr(e.default)}"
            return f"CASE {whens}{tail} END"
        case Like():
            return f"{_inner(e.operand)} {e.kind} {_inner(e.pattern)}"
        case IsNull():
            return f"{_inner(e.operand)} IS NULL"
        case InList():
            return f"{_inner(e.operand)} IN ({', '.join(show_expr(i) for i in e.items)})"
        case FieldOf():
            return f"{_inner(e.operand)}.{e.name}"
        case Index(operand=Call(function=name, args=args), index=Literal(value=int(place))) if name in READ_AS:
            told, of = READ_AS[name]
            return f"{_BOUND[place]}{told}({', '.join(show_expr(args[i]) for i in of)})"
        case Index():
            return f"{_inner(e.operand)}[{show_expr(e.index)}]"
        case Call(function="HEAVY_OF"):
            return f"HEAVY_HITTERS({show_expr(e.args[0])})"
        case Call() | Udf():
            return f"{e.function}({', '.join(show_expr(a) for a in e.args)})"
        case AggCall():
            return _aggregate(e)
        case Quality():
            return f"{e.function}()"
        case _:
            raise TypeError(f"not an expression: {type(e).__name__}")


def _inner(e: Expr) -> str:
    text = show_expr(e)
    return f"({text})" if isinstance(e, Op | Like | IsNull | InList) else text


def _literal(e: Literal) -> str:
    if e.value is None:
        return "NULL"
    if e.type == INTERVAL:
        return f"INTERVAL {show_ms(int(e.value)).upper()}"
    if e.type in (DATE, TIMESTAMP):
        return f"{e.type} '{e.value}'"
    if is_string(e.type):
        return "'" + str(e.value).replace("'", "''") + "'"
    return str(e.value).upper() if isinstance(e.value, bool) else str(e.value)


def _aggregate(e: AggCall) -> str:
    args = e.args[:-1] if e.spec.event_time else e.args
    name = e.function
    if name in BEHIND:
        _, name = BEHIND[name]
        args = tuple(a for a in args if not isinstance(a, Literal)) or args[:1]
    inner = ", ".join(show_expr(a) for a in args)
    inner = inner or ("*" if e.function == "COUNT" else "")
    distinct = "DISTINCT " if e.distinct else ""
    tail = "" if e.filter is None else f" FILTER (WHERE {show_expr(e.filter)})"
    return f"{name}({distinct}{inner}){tail}"


def show_window(spec: lg.WindowSpec) -> str:
    """A window as it is written in CQL."""
    match spec:
        case lg.Unbounded():
            return "[RANGE UNBOUNDED]"
        case lg.Now():
            return "[NOW]"
        case lg.TimeRange():
            return f"[RANGE {show_ms(spec.range_ms).upper()}]"
        case lg.Sliding() if spec.range_ms == spec.slide_ms:
            return f"[TUMBLE {show_ms(spec.range_ms).upper()}]"
        case lg.Sliding():
            length, step = show_ms(spec.range_ms).upper(), show_ms(spec.slide_ms).upper()
            return f"[RANGE {length} SLIDE {step}]"
        case lg.Session():
            by = f" PARTITION BY {', '.join(spec.partition)}" if spec.partition else ""
            return f"[SESSION {show_ms(spec.gap_ms).upper()}{by}]"
        case lg.LastRows():
            by = f"PARTITION BY {', '.join(spec.partition)} " if spec.partition else ""
            slide = "" if spec.slide is None else f" SLIDE {spec.slide}"
            age = "" if spec.range_ms is None else f" RANGE {show_ms(spec.range_ms).upper()}"
            return f"[{by}ROWS {spec.rows}{slide}{age}]"
        case _:
            raise TypeError(f"not a window: {type(spec).__name__}")


def show_rows(wanted: Predicate, names: tuple[str, ...], inside: bool = False) -> str:
    """The rows that a query may want, over the attributes of these names."""
    match wanted:
        case Compare(attribute, op, value):
            shown = _constant(value)
            return f"{names[attribute]} {op} {shown}"
        case Both(parts) | Either(parts) if len(parts) == 1:
            return show_rows(parts[0], names, inside)
        case Both(parts) | Either(parts) if parts:
            joined = (" and " if isinstance(wanted, Both) else " or ").join(show_rows(p, names, True) for p in parts)
            return f"({joined})" if inside else joined
        case Either():
            return "no row"
        case _:
            return "all rows"


def _constant(value: float | str) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(int(value)) if value.is_integer() else repr(value)


def show_briefly(node: lg.Logical) -> str:
    """One line as people want it: of what is worked out of the sums of RECOVER ESTIMATE the names, as its formulas fill a page."""
    if not isinstance(node, lg.Project):
        return show_operator(node)
    estimates = [name for name, e in node.items if any(column.startswith("__sum") for column in columns_of(e))]
    if not estimates:
        return show_operator(node)
    given = ", ".join(_named(name, e) for name, e in node.items if name not in estimates)
    return (f"SELECT {given}; " if given else "") + f"ESTIMATE {', '.join(estimates)}"


def show_operator(node: lg.Logical) -> str:
    """One line that says what the operator does."""
    match node:
        case lg.Scan():
            kind = "TABLE" if node.source.is_table else "STREAM"
            return f"{kind} {node.source.name} ({node.source.connector})"
        case lg.Watermark():
            return f"WATERMARK {node.column} - {show_ms(node.delay_ms)}"
        case lg.Filter():
            return f"FILTER {show_expr(node.predicate)}"
        case lg.Project():
            return "SELECT " + ", ".join(_named(n, e) for n, e in node.items)
        case lg.Shed():
            if node.spared:
                return "SHED no row, as another stream of the query does"
            by = ", ".join(node.keys) or "its place in the source"
            if node.window_ms is not None:
                return f"SHED {node.goal.words}, by windows of {show_ms(node.window_ms)}"
            if node.rank is not None:
                worth = "" if node.rank.utility is None else f" {show_expr(node.rank.utility)}"
                return f"SHED {node.goal.words}, {node.rank.words}{worth}{node.goal.turn}"
            if node.sift is not None:
                sift = node.sift
                regions = f"{sift.plan.regions} regions of {', '.join(sift.attributes)}"
                return f"SHED {node.goal.words}, by a sifter of {regions} that keeps {show_rows(sift.wanted, sift.attributes)}"
            unread = ", before their values are read" if node.unread else ""
            if node.goal.percent is not None:
                return f"SHED {node.goal.percent:g} PERCENT by hash of {by}{unread}"
            return f"SHED {node.goal.words}, by hash of {by}{node.goal.turn}{unread}"
        case lg.Window():
            return f"WINDOW {show_window(node.spec)}"
        case lg.Aggregate():
            return _show_aggregate(node)
        case lg.Distinct():
            return "DISTINCT" if node.approx is None else "APPROX DISTINCT"
        case lg.Sort():
            order = ", ".join(_order_item(i) for i in node.order)
            return f"ORDER BY {order}" + ("" if node.limit is None else f" LIMIT {node.limit}")
        case lg.Join():
            on = "" if node.condition is None else f" ON {show_expr(node.condition)}"
            part = "" if node.selects is None else f", EACH ROW WITH {node.selects.goal.words}"
            return f"{node.kind.value} JOIN{on}{part}"
        case lg.Union():
            return "UNION ALL"
        case lg.Compare():
            return f"{node.op}{' ALL' if node.all else ''}"
        case lg.ToStream():
            return node.op.value
        case _:
            raise TypeError(f"not an operator: {type(node).__name__}")


def _order_item(item: lg.SortItem) -> str:
    """The place of NULLs is said where it is not the usual one."""
    text = show_expr(item.expr) + (" DESC" if item.descending else "")
    if item.nulls_first == (not item.descending):
        return text
    return text + (" NULLS FIRST" if item.nulls_first else " NULLS LAST")


def _named(name: str, e: Expr) -> str:
    shown = show_expr(e)
    return shown if shown == name else f"{shown} AS {name}"


def _show_aggregate(node: lg.Aggregate) -> str:
    sums = [name for name in node.spare if name.startswith("__")]
    computed = ", ".join(_named(n, e) for n, e in node.aggregates if n not in sums)
    if sums:
        computed += f" and {len(sums)} sums for RECOVER ESTIMATE"
    by = ", ".join(_named(n, e) for n, e in node.keys)
    text = "AGGREGATE"
    if computed:
        text += f" {computed}"
    return text + (f" BY {by}" if by else "")
