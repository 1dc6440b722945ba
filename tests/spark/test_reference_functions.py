"""The reference evaluator's expressions against Spark: every function, operator and cast gives one value in both."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from pyspark.sql import SparkSession

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.expr import AggCall, Call, Expr, Literal
from streamq.compiler.lowering.distinct import needs_distinct, set_form
from streamq.compiler.lowering.sql import to_sql
from streamq.dsl.types import Array, Map, Struct, Type
from streamq.runtime.reference.aggregates import AGGREGATES as FOLDS
from streamq.runtime.reference.aggregates import compile_aggregate
from streamq.runtime.reference.expressions import compile_expr
from streamq.runtime.reference.facts import sort_key
from streamq.runtime.reference.functions import SCALARS
from streamq.stdlib.functions import FUNCTIONS
from streamq.stdlib.functions.sketch_parts import PARTS
from streamq.stdlib.notation import parse_parameters
from tests.support.compiling import logical_query
from tests.support.reference_samples import (
    AGGREGATES,
    CASTS,
    COLUMNS,
    EXPRESSIONS,
    ROWS,
    SAMPLES,
)

AT_ONCE = 50
"""Expressions of one program."""
IN_ONE_SELECT = 300
"""Expressions of one query of Spark."""


def compiled(texts: list[str], source: str = "plain") -> list[Expr]:
    """The typed expressions, compiled in programs of ``AT_ONCE``."""
    found: list[Expr] = []
    for at in range(0, len(texts), AT_ONCE):
        part = texts[at : at + AT_ONCE]
        items = ", ".join(f"{text} AS c{i}" for i, text in enumerate(part))
        root = logical_query(f"CREATE QUERY probe AS SELECT {items} FROM {source};").root
        while not isinstance(root, lg.Project):
            (root,) = root.inputs
        found += [expr for _, expr in root.items]
    return found


def with_nulls(expr: Expr) -> Iterator[Expr]:
    """The call, and the same with a NULL in place of each argument that need not be a constant."""
    yield expr
    if isinstance(expr, Call):
        parameters = parse_parameters(expr.spec.params)
        for i, arg in enumerate(expr.args):
            if not (parameters.at(i).constant or (expr.function == "MAP" and i % 2 == 0)):
                null = Literal(value=None, type=arg.type)
                yield replace(expr, args=(*expr.args[:i], null, *expr.args[i + 1 :]))


def from_arrow(value: object, t: Type) -> object:
    """A value of an Arrow table as the reference keeps it."""
    match t:
        case _ if value is None:
            return None
        case Array():
            assert isinstance(value, list)
            return tuple(from_arrow(v, t.element) for v in value)
        case Map():
            assert isinstance(value, list)
            return tuple((from_arrow(k, t.key), from_arrow(v, t.value)) for k, v in value)
        case Struct():
            assert isinstance(value, dict)
            parts = zip(value.values(), t.fields, strict=True)
            return tuple(from_arrow(v, f) for v, (_, f) in parts)
        case _:
            return value.replace(tzinfo=None) if isinstance(value, datetime) else value


def same(a: object, b: object) -> bool:
    """Equal, down to the type; doubles to 12 digits."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return (a != a and b != b) or math.isclose(a, b, rel_tol=1e-12)
    return type(a) is type(b) and a == b


def differences(spark: SparkSession, exprs: list[Expr]) -> list[str]:
    """The expressions that Spark gives another value for than the reference."""
    wrong: list[str] = []
    unique = {to_sql(expr, frozenset()): expr for expr in exprs}
    texts, exprs = list(unique), list(unique.values())
    for at in range(0, len(exprs), IN_ONE_SELECT):
        part = texts[at : at + IN_ONE_SELECT]
        selected = ", ".join(f"{sql} AS c{i}" for i, sql in enumerate(part))
        table = spark.sql(f"SELECT {selected}").toArrow()
        for i, expr in enumerate(exprs[at : at + IN_ONE_SELECT]):
            expected = from_arrow(table.column(i)[0].as_py(), expr.type)
            found = compile_expr(expr, ())(())
            if not same(found, expected):
                wrong.append(f"{part[i]}: Spark {expected!r}, reference {found!r}")
    return wrong


def calls() -> list[str]:
    """A call for each list of arguments; semicolons in quotes part nothing."""
    part = re.compile(r"(?:[^';]|'[^']*')+|(?<=;)(?=;)|^(?=;|$)")
    return [
        f"{name}({args.strip()})" for name, sets in SAMPLES.items() for args in part.findall(sets)
    ]


def test_functions_equal_sparks(spark: SparkSession) -> None:
    exprs = [one for expr in compiled(calls()) for one in with_nulls(expr)]
    wrong = differences(spark, exprs)
    assert not wrong, "\n".join(wrong)


def test_operators_and_casts_equal_sparks(spark: SparkSession) -> None:
    casts = [f"CAST({value} AS {t})" for value, types in CASTS for t in types]
    wrong = differences(spark, compiled([*EXPRESSIONS, *casts]))
    assert not wrong, "\n".join(wrong)


def test_every_implemented_function_has_samples() -> None:
    """The parts of estimates from sketches have none: no program can call them, and the contract suite has the estimates."""
    assert {*SCALARS, *FOLDS} - set(FUNCTIONS) == {*PARTS, "PAIRS_OF", "PAIR_COUNTS"}
    by_maker = {maker: name for name, maker in reversed(SCALARS.items()) if name in SAMPLES}
    assert [n for n, maker in SCALARS.items() if n in FUNCTIONS and n not in SAMPLES and maker not in by_maker] == []
    by_fold = {fold: name for name, fold in FOLDS.items() if name in AGGREGATES}
    assert [n for n, fold in FOLDS.items() if n in FUNCTIONS and n not in AGGREGATES and fold not in by_fold] == []


def aggregate_calls() -> list[AggCall]:
    """Each aggregate over its arguments, plain and with a FILTER."""
    texts = [f"{name}({args})" for name, sets in AGGREGATES.items() for args in sets]
    texts += [f"{text} FILTER (WHERE i {test})" for text in texts for test in ("> 1", "> 6", "> 100")]
    found: list[AggCall] = []
    for at in range(0, len(texts), AT_ONCE):
        items = ", ".join(f"{text} AS c{i}" for i, text in enumerate(texts[at : at + AT_ONCE]))
        root = logical_query(f"CREATE QUERY probe AS SELECT {items} FROM s;").root
        while not isinstance(root, lg.Aggregate):
            (root,) = root.inputs
        found += [call for _, call in root.aggregates]
    return found


def test_aggregates_equal_sparks(spark: SparkSession) -> None:
    names = frozenset(COLUMNS)
    source = f"SELECT * FROM VALUES {', '.join(ROWS)} AS v({', '.join(COLUMNS)})"
    spark.sql(f"{source} ORDER BY ts").coalesce(1).createOrReplaceTempView("reference_rows")
    data = spark.table("reference_rows").toArrow().to_pylist()
    rows = [tuple(v.replace(tzinfo=None) if isinstance(v, datetime) else v for v in row.values()) for row in data]
    calls_ = aggregate_calls()
    texts = [set_form(c, names) if needs_distinct(c) else to_sql(c, names) for c in calls_]
    table = spark.sql(
        f"SELECT {', '.join(f'{sql} AS c{i}' for i, sql in enumerate(texts))} FROM reference_rows"
    ).toArrow()
    wrong: list[str] = []
    for i, (call, sql) in enumerate(zip(calls_, texts, strict=True)):
        expected = from_arrow(table.column(i)[0].as_py(), call.type)
        found = compile_aggregate(call, COLUMNS)(rows, ())
        if call.function == "COLLECT_SET":
            found, expected = as_set(found), as_set(expected)
        if not same(found, expected):
            wrong.append(f"{sql}: Spark {expected!r}, reference {found!r}")
    assert not wrong, "\n".join(wrong)


def as_set(values: object) -> object:
    """The values in order: which comes first does not matter."""
    assert isinstance(values, tuple)
    return tuple(sorted(values, key=sort_key))
