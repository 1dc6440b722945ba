"""Typed expressions as Spark SQL text. Every name and string is quoted here and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping

from streamq.compiler.ir.expr import (
    WINDOW_END,
    WINDOW_START,
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
)
from streamq.dsl.diagnostics import InternalError
from streamq.dsl.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL,
    NULL,
    TIMESTAMP,
    Array,
    Chars,
    Decimal,
    Map,
    Struct,
    Type,
    converts_silently,
    is_numeric,
    is_string,
)
from streamq.stdlib.calls import call_sql

WINDOW = "__window"
"""The physical column of a time or session window: a struct of start and end."""

SESSION = "__session"
"""Beside it, Spark's own struct of a session, whose end is a microsecond before the session's."""

KNOWN_TO_CONTROL = {"SOURCE_COVERAGE": "coverage", "LATE": "late"}
"""The measures of a whole query, and their columns in the control relation."""

BEFORE_ALL_TIME = f"{1 - (1 << 63)}L"
"""Microseconds since 1970 that no event time has."""


MALFORMED_ROW = "raise_error('[MALFORMED_RECORD_IN_PARSING] malformed row')"
"""Ends the query as Spark's own readers do for a row that cannot be read."""


def quote(name: str) -> str:
    """An identifier in backticks."""
    return "`" + name.replace("`", "``") + "`"


def string(text: str) -> str:
    """A string literal; backslashes are escapes in Spark SQL, so they are doubled.

    ``${env:HOME}`` is filled in by Spark, even in a literal, where ``spark.sql.variable.substitute`` is on.
    """
    safe = text.replace("\\", "\\\\").replace("'", "\\'")
    safe = safe.replace("\n", "\\n").replace("\r", "\\r").replace("\x00", "\\0").replace("${", "\\u0024{")
    return f"'{safe}'"


def options_map(options: Mapping[str, str]) -> str:
    """The options of a function that reads or writes text."""
    return f"map({', '.join(string(text) for pair in options.items() for text in pair)})"


def spark_type(t: Type) -> str:
    """A type as Spark SQL spells it; CHAR and VARCHAR are strings there."""
    match t:
        case Chars():
            return "STRING"
        case Array():
            return f"ARRAY<{spark_type(t.element)}>"
        case Map():
            return f"MAP<{spark_type(t.key)}, {spark_type(t.value)}>"
        case Struct():
            return "STRUCT<" + ", ".join(f"{quote(n)}: {spark_type(f)}" for n, f in t.fields) + ">"
        case _ if t == INTERVAL:
            return "INTERVAL DAY TO SECOND"
        case _:
            return str(t)


def interval(ms: int) -> str:
    """A length of time as a day-time interval."""
    return f"INTERVAL '{ms // 1000}.{ms % 1000:03d}' SECOND" if ms >= 0 else f"(-{interval(-ms)})"


def above_watermark(text: str, time: str, otherwise: str = "TRUE") -> str:
    """A test that Spark's optimiser leaves above the watermark; ``time``: SQL of the event time.

    It moves a test below the watermark unless it reads the event time; rows that do not pass would then no longer
    move the watermark, and results would be held up. It knows what is never NULL, and takes away a test that
    never holds together with the rows' stream; but it does not know that no time is as early as this one.

    ``otherwise``: what the text is never replaced by; NULL where it is no test.
    """
    return f"if(unix_micros({time}) = {BEFORE_ALL_TIME}, {otherwise}, {text})"


def to_sql(expr: Expr, names: frozenset[str]) -> str:
    """The expression over a relation with the columns ``names``."""
    match expr:
        case Column():
            return _column(expr, names)
        case Literal():
            return _literal(expr)
        case Op():
            return _operator(expr, [to_sql(a, names) for a in expr.args])
        case Cast():
            return _cast(expr, to_sql(expr.operand, names))
        case Case():
            whens = " ".join(
                f"WHEN {to_sql(c, names)} THEN {to_sql(r, names)}" for c, r in expr.whens
            )
            tail = "" if expr.default is None else f" ELSE {to_sql(expr.default, names)}"
            return f"CASE {whens}{tail} END"
        case Like():
            return f"({to_sql(expr.operand, names)} {expr.kind} {to_sql(expr.pattern, names)})"
        case IsNull():
            return f"({to_sql(expr.operand, names)} IS NULL)"
        case InList():
            items = ", ".join(to_sql(i, names) for i in expr.items)
            return f"({to_sql(expr.operand, names)} IN ({items}))"
        case FieldOf():
            return f"{to_sql(expr.operand, names)}.{quote(expr.name)}"
        case Index():
            return _index(expr, names)
        case Call():
            return call_sql(expr.spec, [to_sql(a, names) for a in expr.args], result=expr.type)
        case Udf():
            return f"{quote(expr.function)}({', '.join(to_sql(a, names) for a in expr.args)})"
        case AggCall():
            return aggregate(expr, names)
        case Quality():
            if expr.function not in KNOWN_TO_CONTROL or not expr.view:
                raise InternalError(f"{expr.function}() reached the lowering")
            return f"(SELECT {KNOWN_TO_CONTROL[expr.function]} FROM {quote(expr.view)})"
        case _:
            raise TypeError(f"not an expression: {type(expr).__name__}")


def _cast(expr: Cast, operand: str) -> str:
    """A number that does not fit becomes NULL, where Spark's plain cast would wrap it around.

    A text is cut to the length of VARCHAR and CHAR, which Spark's cast does not know.
    """
    old, new = expr.operand.type, expr.type
    narrows = is_numeric(old) and is_numeric(new) and not converts_silently(old, new)
    text = f"{'TRY_CAST' if narrows else 'CAST'}({operand} AS {spark_type(new)})"
    if isinstance(new, Chars):
        cut = f"rpad({text}, {new.length}, ' ')" if new.name == "CHAR" else f"left({text}, {new.length})"
        return cut if old != new else text
    return text


def aggregate(expr: AggCall, names: frozenset[str]) -> str:
    """An aggregate without DISTINCT, with its FILTER."""
    args = [to_sql(a, names) for a in expr.args]
    if expr.function == "COUNT" and not args:
        return "count(1)" + filter_clause(expr, names)
    ts = args.pop() if expr.spec.event_time else ""
    return call_sql(expr.spec, args, result=expr.type, ts=ts) + filter_clause(expr, names)


def filter_clause(expr: AggCall, names: frozenset[str]) -> str:
    return "" if expr.filter is None else f" FILTER (WHERE {to_sql(expr.filter, names)})"


def _column(expr: Column, names: frozenset[str]) -> str:
    if expr.name in names:
        return quote(expr.name)
    if expr.name in (WINDOW_START, WINDOW_END):
        return f"{quote(WINDOW)}.`{'start' if expr.name == WINDOW_START else 'end'}`"
    raise InternalError(f"column {expr.name} is not among {sorted(names)}")


def _index(expr: Index, names: frozenset[str]) -> str:
    base, index = to_sql(expr.operand, names), to_sql(expr.index, names)
    if isinstance(expr.operand.type, Map):
        return f"try_element_at({base}, {index})"
    return f"get({base}, {index})"


def _literal(expr: Literal) -> str:
    value, type_ = expr.value, expr.type
    if value is None:
        return "NULL" if type_ == NULL else f"CAST(NULL AS {spark_type(type_)})"
    if type_ == BOOLEAN:
        return "TRUE" if value else "FALSE"
    if is_string(type_):
        return string(str(value))
    if type_ in (DATE, TIMESTAMP):
        return f"{type_} {string(str(value))}"
    if type_ == INTERVAL:
        return interval(int(value))
    if type_ == INT:
        return str(value) if int(value) != -(2**31) else "CAST(-2147483648L AS INT)"
    if type_ == BIGINT:
        return f"{value}L" if int(value) != -(2**63) else "CAST('-9223372036854775808' AS BIGINT)"
    if type_ in (DOUBLE, FLOAT):
        return f"{float(value)!r}D" if type_ == DOUBLE else f"CAST({float(value)!r}D AS FLOAT)"
    if isinstance(type_, Decimal):
        return f"CAST('{value}' AS {type_})"
    raise InternalError(f"no literal of type {type_}")


def _operator(expr: Op, args: list[str]) -> str:
    match expr.op:
        case "NOT":
            return f"(NOT {args[0]})"
        case "NEG":
            return f"(- {args[0]})"
        case "DIV":
            whole = f"({args[0]} div {args[1]})"
            return whole if expr.type == BIGINT else f"CAST({whole} AS {expr.type})"
        case "AND" | "OR" | "||" | "=" | "<>" | "<" | "<=" | ">" | ">=":
            return "(" + f" {expr.op} ".join(args) + ")"
        case "+" | "-" | "*" | "/" | "%":
            text = f"({args[0]} {expr.op} {args[1]})"
            return f"CAST({text} AS {expr.type})" if isinstance(expr.type, Decimal) else text
        case _:
            raise InternalError(f"operator {expr.op} has no Spark form")
