"""Matching calls against declarations: types, conversions, results, and what a mismatch says."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from streamq.dsl.diagnostics import InternalError
from streamq.dsl.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    TINYINT,
    Array,
    Chars,
    Decimal,
    Map,
    Struct,
    Type,
)
from streamq.stdlib.calls import Arg, call_sql
from streamq.stdlib.functions import FUNCTIONS, lookup
from streamq.stdlib.notation import parse_parameters, parse_result, parse_schema
from streamq.stdlib.patterns import CLASS_WORDS, NotationError
from streamq.stdlib.registry import FunctionSpec
from streamq.stdlib.signatures import Mismatch, Signature, match_call, usages


def spec_of(name: str) -> FunctionSpec:
    spec = lookup(name)
    assert spec is not None, name
    return spec


def matched(name: str, *args: Type | Arg) -> Signature:
    found = match_call(spec_of(name), args)
    assert isinstance(found, Signature), found
    return found


def refused(name: str, *args: Type | Arg) -> Mismatch:
    found = match_call(spec_of(name), args)
    assert isinstance(found, Mismatch), found
    return found


def text(value: str) -> Arg:
    return Arg(STRING, constant=True, value=value)


def number(value: int) -> Arg:
    return Arg(INT, constant=True, value=value)


@pytest.mark.parametrize(
    ("name", "args", "result"),
    [
        ("UPPER", [STRING], STRING),
        ("sUbStR", [STRING, INT], STRING),
        ("SUBSTR", [BINARY, INT, INT], BINARY),
        ("ABS", [Decimal(7, 3)], Decimal(7, 3)),
        ("ABS", [TINYINT], TINYINT),
        ("SUM", [TINYINT], BIGINT),
        ("SUM", [FLOAT], DOUBLE),
        ("SUM", [Decimal(10, 2)], Decimal(20, 2)),
        ("SUM", [Decimal(35, 2)], Decimal(38, 2)),
        ("AVG", [INT], DOUBLE),
        ("AVG", [Decimal(10, 2)], Decimal(14, 6)),
        ("AVG", [Decimal(38, 36)], Decimal(38, 38)),
        ("MIN", [STRING], STRING),
        ("MAX_BY", [STRING, TIMESTAMP], STRING),
        ("MAX_BY", [STRING, TIMESTAMP, number(3)], Array(STRING)),
        ("COUNT", [], BIGINT),
        ("COUNT", [Map(STRING, INT)], BIGINT),
        ("COALESCE", [INT, BIGINT, DOUBLE], DOUBLE),
        ("COALESCE", [NULL, DATE, TIMESTAMP], TIMESTAMP),
        ("IF", [BOOLEAN, INT, NULL], INT),
        ("ARRAY", [], Array(NULL)),
        ("ARRAY", [INT, Decimal(4, 2)], Array(Decimal(12, 2))),
        ("MAP", [STRING, INT, STRING, BIGINT], Map(STRING, BIGINT)),
        ("ELEMENT_AT", [Array(DATE), INT], DATE),
        ("ELEMENT_AT", [Map(STRING, DATE), STRING], DATE),
        ("MAP_ENTRIES", [Map(STRING, INT)], Array(Struct((("key", STRING), ("value", INT))))),
        ("CONCAT", [Array(INT), Array(BIGINT)], Array(BIGINT)),
        ("ROUND", [INT, number(1)], INT),
        ("ROUND", [Decimal(10, 4), number(2)], Decimal(9, 2)),
        ("ROUND", [Decimal(10, 4), number(-2)], Decimal(7, 0)),
        ("CEIL", [DOUBLE], BIGINT),
        ("CEIL", [Decimal(10, 2)], Decimal(9, 0)),
        ("DATE_PART", [text("hour"), TIMESTAMP], INT),
        ("DATE_PART", [text("SECS"), TIMESTAMP], Decimal(8, 6)),
        ("TO_NUMBER", [STRING, text("99,999.99")], Decimal(7, 2)),
        (
            "FROM_JSON",
            [STRING, text("a INT, b: ARRAY<STRING>")],
            Struct((("a", INT), ("b", Array(STRING)))),
        ),
        ("FROM_JSON", [STRING, text("map<string, double>")], Map(STRING, DOUBLE)),
        ("MAX", [Chars("VARCHAR", 10)], STRING),
        ("QUARTER", [DATE], INT),
        ("COMPLETENESS", [], DOUBLE),
    ],
)
def test_result(name: str, args: Sequence[Type | Arg], result: Type) -> None:
    assert matched(name, *args).result == result


def test_arguments_are_brought_to_the_parameters() -> None:
    assert matched("SUBSTR", STRING, BIGINT).params == (STRING, INT)
    assert matched("SQRT", Decimal(5, 2)).params == (DOUBLE,)
    assert matched("COALESCE", INT, NULL, DOUBLE).params == (DOUBLE, DOUBLE, DOUBLE)
    assert matched("ARRAY_CONTAINS", Array(INT), BIGINT).params == (Array(BIGINT), BIGINT)
    assert matched("MONTHS_BETWEEN", DATE, TIMESTAMP).params == (TIMESTAMP, TIMESTAMP)
    assert matched("HLL_SKETCH_AGG", TINYINT).params == (INT,)
    assert matched("HLL_SKETCH_AGG", BIGINT).params == (BIGINT,)


def test_a_bare_null_takes_the_parameters_type() -> None:
    assert matched("UPPER", NULL).params == (STRING,)
    assert matched("ABS", NULL) == Signature(spec_of("ABS"), (DOUBLE,), DOUBLE)
    assert matched("COALESCE", NULL).params == (NULL,)


def test_struct_fields_are_named_after_the_columns() -> None:
    found = matched("STRUCT", Arg(INT, name="price"), Arg(STRING))
    assert found.result == Struct((("price", INT), ("col2", STRING)))
    sql = call_sql(found.spec, ["`price`", "upper(`x`)"], result=found.result)
    assert sql == "named_struct('price', `price`, 'col2', upper(`x`))"
    named = matched("NAMED_STRUCT", text("it's"), INT)
    assert named.result == Struct((("it's", INT),))


@pytest.mark.parametrize(
    ("name", "args", "message", "at"),
    [
        ("SUBSTR", [STRING, STRING],
         "argument 2 of SUBSTR must be a whole number, not STRING", 1),
        ("UPPER", [INT], "argument 1 of UPPER must be a string, not INT", 0),
        ("REVERSE", [INT], "argument 1 of REVERSE must be a string or an ARRAY, not INT", 0),
        ("SUM", [STRING], "argument 1 of SUM must be a number, not STRING", 0),
        ("MIN", [Map(STRING, INT)],
         "argument 1 of MIN must be a type that can be sorted, not MAP<STRING, INT>", 0),
        ("YEAR", [STRING], "argument 1 of YEAR must be a DATE or TIMESTAMP, not STRING", 0),
        ("IF", [INT, INT, INT], "argument 1 of IF must be BOOLEAN, not INT", 0),
        ("COALESCE", [INT, INT, STRING],
         "arguments 1 and 3 of COALESCE do not fit together: INT and STRING", 2),
        ("ARRAY_CONTAINS", [Array(INT), STRING],
         "arguments 1 and 2 of ARRAY_CONTAINS do not fit together: INT and STRING", 1),
        ("SUBSTR", [STRING], "SUBSTR takes 2 or 3 arguments, not 1", None),
        ("PI", [INT], "PI takes no arguments, not 1", None),
        ("COALESCE", [], "COALESCE takes at least 1 argument, not 0", None),
        ("UPPER", [STRING, STRING], "UPPER takes 1 argument, not 2", None),
        ("UNIX_TIMESTAMP", [STRING, STRING, STRING],
         "UNIX_TIMESTAMP takes 0 to 2 arguments, not 3", None),
        ("MAP", [STRING], "MAP takes arguments in pairs (0 or more), not 1", None),
        ("DATE_FORMAT", [TIMESTAMP, Arg(STRING, constant=False)],
         "argument 2 of DATE_FORMAT must be a constant", 1),
        ("PERCENTILE", [DOUBLE, Arg(Array(DOUBLE), constant=False)],
         "argument 2 of PERCENTILE must be a constant", 1),
        ("ROUND", [Decimal(5, 2), INT],
         "argument 2 of ROUND must be a whole number literal where the first is DECIMAL", 1),
        ("FROM_JSON", [STRING, text("a INTT")],
         "argument 2 of FROM_JSON is not a schema: `INTT` in `STRUCT<a INTT>` is not a type", 1),
        ("DATE_PART", [text("fortnight"), TIMESTAMP],
         "argument 1 of DATE_PART must be one of year, yearofweek, quarter, month, week, day, "
         "dayofweek, dayofweek_iso, doy, hour, minute, second, not `fortnight`", 0),
    ],
)  # fmt: skip
def test_mismatch(name: str, args: Sequence[Type | Arg], message: str, at: int | None) -> None:
    found = refused(name, *args)
    assert (found.message, found.argument) == (message, at)
    assert found.help.startswith(f"it is used as {name}(")


@pytest.mark.parametrize(
    ("name", "usage"),
    [
        ("SUBSTR", ("SUBSTR(a string, a whole number[, a whole number])", "SUBSTR(BINARY, a whole number[, a whole number])")),
        ("UPPER", ("UPPER(a string)",)),
        ("PI", ("PI()",)),
        ("COALESCE", ("COALESCE(a value, a value, ...)",)),
        ("CONCAT", ("CONCAT(a string, ...)", "CONCAT(BINARY, ...)", "CONCAT(an ARRAY, ...)")),
        ("MAP", ("MAP(a type that can be sorted, a value, ...)",)),
        ("SUM", ("SUM(a number)",)),
        ("MAX_BY", ("MAX_BY(a value, a type that can be sorted)", "MAX_BY(a value, a type that can be sorted, a whole number)")),
        ("MAKE_DT_INTERVAL", ("MAKE_DT_INTERVAL([a whole number[, a whole number[, a whole number[, DECIMAL(18,6)]]]])",)),
    ],
)
def test_usage(name: str, usage: tuple[str, ...]) -> None:
    assert usages(spec_of(name)) == usage


def test_no_usage_speaks_in_the_words_of_declarations() -> None:
    notation = re.compile(rf"\b({'|'.join(CLASS_WORDS)}|[A-Z])\b")
    shown = [u.removeprefix(name) for name, spec in FUNCTIONS.items() for u in usages(spec)]
    assert len(shown) >= len(FUNCTIONS) > 300
    assert [u for u in shown if notation.search(u)] == []


def test_sql_of_a_call() -> None:
    assert call_sql(spec_of("MEAN"), ["x"]) == "avg(x)"
    assert call_sql(spec_of("COUNT"), []) == "count(*)"
    count = matched("COUNT", INT).spec
    assert call_sql(count, ["x"], distinct=True, where="y > 1") == (
        "count(DISTINCT x) FILTER (WHERE y > 1)"
    )
    assert call_sql(spec_of("LAST"), ["x"], ts="`ts`") == "max_by(x, struct(`ts`, x))"
    assert call_sql(spec_of("ZEROIFNULL"), ["x"], result=BIGINT) == "coalesce(x, CAST(0 AS BIGINT))"


def test_sql_of_a_call_that_lacks_something_is_an_internal_error() -> None:
    with pytest.raises(InternalError, match="event-time"):
        call_sql(spec_of("FIRST"), ["x"])
    with pytest.raises(InternalError, match="DISTINCT"):
        call_sql(spec_of("FIRST"), ["x"], ts="ts", distinct=True)


@pytest.mark.parametrize("schema", ["", "a", "a INT b INT", "a INT,", "ARRAY<INT", "1 INT;", "T"])
def test_a_text_that_is_no_schema(schema: str) -> None:
    with pytest.raises(NotationError):
        parse_schema(schema)


def test_a_schema_nested_without_end_is_refused() -> None:
    with pytest.raises(NotationError, match="nested"):
        parse_schema("a " + "ARRAY<" * 5000)


def test_a_schema_with_every_type() -> None:
    read = parse_schema("a timestamp(3), `b c` decimal(5, 2), c struct<x: map<string, varchar(3)>>")
    inner = Struct((("x", Map(STRING, Chars("VARCHAR", 3))),))
    assert read == Struct((("a", TIMESTAMP), ("b c", Decimal(5, 2)), ("c", inner)))


def test_declarations_that_make_no_sense_are_refused() -> None:
    for params in (("int?", "str"), ("T*", "int"), ("int?!",), ("nothing",)):
        with pytest.raises(NotationError):
            parse_parameters(params)
    with pytest.raises(NotationError):
        parse_result("ARRAY<T")
