"""Expressions of the reference evaluator, with values worked out by hand."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest

from streamq.compiler.ir.expr import Column, Quality
from streamq.dsl.types import BIGINT, DOUBLE
from streamq.runtime.reference.expressions import ReferenceUnsupported, compile_expr
from streamq.runtime.reference.functions import SCALARS, UNSUPPORTED
from streamq.stdlib.functions import FUNCTIONS
from streamq.stdlib.registry import Kind
from tests.support.compiling import expression

ROW = {
    "i": 7, "l": 2**63 - 1, "tiny": 127, "f": 0.5, "x": math.nan, "d": Decimal("2.50"), "t": "Text", "b": None,
    "day": date(2024, 2, 29), "ts": datetime(2024, 2, 29, 13, 5, 7), "tags": ("a", None), "m": (("k", 1),),
    "o": (1, (Decimal("2.00"),)),
}


def value(text: str) -> object:
    """The value of an expression for ``ROW``."""
    return compile_expr(expression(text), tuple(ROW))(tuple(ROW.values()))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("i / 2", 3), ("-i / 2", -3), ("i / 0", None), ("-i % 4", -3), ("l + 1", -(2**63)), ("tiny + tiny", -2),
        ("i + f", 7.5), ("d * d", Decimal("6.2500")), ("d / 3", Decimal("0.833333")), ("d / 0.0", None),
        ("f / 0e0", None), ("i || t", "7Text"), ("t || NULL", None), ("ts + INTERVAL 1 DAYS", datetime(2024, 3, 1, 13, 5, 7)),
        ("day + 1", date(2024, 3, 1)), ("-d", Decimal("-2.50")), ("ts - TIMESTAMP '2024-02-29 13:00:00'", timedelta(minutes=5, seconds=7)),
    ],
)
def test_arithmetic(text: str, expected: object) -> None:
    found = value(text)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("b AND FALSE", False), ("b AND TRUE", None), ("b OR TRUE", True), ("b OR FALSE", None), ("NOT b", None), ("b IS NULL", True),
        ("i IN (1, NULL)", None), ("i IN (7, NULL)", True), ("i NOT IN (1, 2)", True), ("b = TRUE", None), ("x = x", True), ("x > 1e30", True),
        ("t LIKE 'T%'", True), ("t LIKE '_ext'", True), ("t LIKE 'e'", False), ("t RLIKE 'x'", True), ("i BETWEEN 7 AND 8", True),
        ("CASE WHEN b THEN 1 WHEN i = 7 THEN 2 END", 2), ("CASE WHEN b THEN 1 END", None),
        ("tags[0]", "a"), ("tags[2]", None), ("tags[-1]", None), ("m['k']", 1), ("m['z']", None), ("o.p.q", Decimal("2.00")),
    ],
)
def test_conditions_and_parts(text: str, expected: object) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("UPPER(t)", "TEXT"), ("UPPER(NULL)", None), ("SUBSTR(t, -3, 2)", "ex"), ("CONCAT_WS('-', t, NULL, 'b')", "Text-b"), ("SPLIT('a1b', '[0-9]')", ("a", "b")),
        ("REGEXP_REPLACE('ab', '(a)(b)', '$2$1')", "ba"), ("ROUND(d, 0)", Decimal("3")), ("ROUND(-2.5e0)", -3.0), ("BROUND(2.5e0)", 2.0), ("ABS(-i)", 7), ("LN(0e0)", None),
        ("DATE_TRUNC('hour', ts)", datetime(2024, 2, 29, 13)), ("LAST_DAY(day)", date(2024, 2, 29)), ("DAYOFWEEK(day)", 5), ("DATE_FORMAT(ts, 'dd.MM.yy h a')", "29.02.24 1 PM"),
        ("TO_DATE('2024-02-30')", None), ("UNIX_SECONDS(ts)", 1709211907), ("ADD_MONTHS(day, 12)", date(2025, 2, 28)),
        ("COALESCE(b, TRUE)", True), ("IF(b, 1, 2)", 2), ("GREATEST(1, NULL, 3)", 3), ("NULLIF(i, 7)", None), ("SIZE(tags)", 2), ("ARRAY_CONTAINS(tags, 'b')", None), ("SORT_ARRAY(tags)", (None, "a")),
        ("MAP('a', 1, 'a', 2)", (("a", 2),)), ("MD5('abc')", "900150983cd24fb0d6963f7d28e17f72"), ("CRC32('abc')", 891568578), ("GET_JSON_OBJECT('{\"a\":[1,2]}', '$.a[1]')", "2"),
        ("TO_JSON(STRUCT(i, b))", '{"i":7}'), ("FROM_CSV('1,x', 'a INT, b INT')", (1, None)), ("CONV('ff', 16, 10)", "255"), ("FORMAT_NUMBER(1234.5e0, 2)", "1,234.50"),
        ("FORMAT_STRING('%03d|%s', 7, NULL)", "007|null"), ("TO_NUMBER('1,234', '9,999')", Decimal(1234)), ("LEVENSHTEIN('kitten', 'sitting')", 3), ("BIT_COUNT(-1)", 64), ("TYPEOF(d)", "decimal(10,2)"),
    ],
)
def test_functions(text: str, expected: object) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Equal values are one, whatever their place, their number and their type.
        ("OVERLAP(ARRAY(1, 2, 2, 3), ARRAY(3, 2, 3))", 2), ("OVERLAP(ARRAY('a'), ARRAY('A'))", 0),
        ("OVERLAP(ARRAY(1, 2), ARRAY(1.0, 2.50))", 1), ("OVERLAP(ARRAY(x, -0e0), ARRAY(x, x, 0e0, 1e0))", 2),
        ("OVERLAP(ARRAY(day), ARRAY(CAST(day AS TIMESTAMP)))", 1), ("OVERLAP(ARRAY(d), ARRAY(2.500))", 1),
        ("OVERLAP(ARRAY(ARRAY(1, NULL)), ARRAY(ARRAY(1, NULL), ARRAY(NULL, 1)))", 1),
        ("OVERLAP(ARRAY(STRUCT(x, 'a')), ARRAY(STRUCT(x, 'a'), STRUCT(x, 'b')))", 1),
        # NULL elements are in nothing, and nothing is in an empty array.
        ("OVERLAP(tags, tags)", 1), ("OVERLAP(tags, ARRAY(CAST(NULL AS STRING)))", 0), ("OVERLAP(tags, ARRAY())", 0),
        ("OVERLAP(tags, NULL)", None), ("OVERLAP(NULL, tags)", None), ("OVERLAP(NULL, NULL)", None),
        ("tags @> ARRAY('a', 'a')", True), ("tags @> ARRAY('a', 'b')", False), ("ARRAY('a') @> tags", True),
        ("tags @> ARRAY(CAST(NULL AS STRING))", True), ("tags @> ARRAY()", True), ("ARRAY() @> tags", False),
        ("ARRAY() @> ARRAY()", True), ("tags @> NULL", None), ("NULL @> tags", None), ("NULL <@ NULL", None),
        ("ARRAY('a') <@ ARRAY('b', 'a')", True), ("ARRAY('a', 'b') <@ ARRAY('b')", False),
        ("ARRAY(x) <@ ARRAY(1e0, x)", True), ("ARRAY(0e0) <@ ARRAY(-0e0)", True), ("ARRAY(i) <@ ARRAY(7.00)", True),
        ("ARRAY('a') IS SUBSET OF tags", True), ("ARRAY('a') IS NOT SUBSET OF tags", False),
        ("tags IS SUPERSET OF ARRAY('z')", False), ("tags IS NOT SUPERSET OF ARRAY('z')", True),
        ("tags IS NOT SUBSET OF NULL", None), ("CONTAINS_ALL(ARRAY(1, 2), ARRAY(2))", True),
    ],
)
def test_sets(text: str, expected: object) -> None:
    found = value(text)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("INNER_PRODUCT(MAP('a', 2, 'b', 3), MAP('b', 5, 'c', 7))", 15.0), ("INNER_PRODUCT(m, m)", 1.0),
        ("INNER_PRODUCT(MAP('a', 0.5), MAP('a', l))", 2.0**62), ("INNER_PRODUCT(MAP(1, f), MAP(1.0, f))", 0.25),
        ("INNER_PRODUCT(m, MAP('z', 9))", 0.0), ("INNER_PRODUCT(m, MAP())", 0.0), ("INNER_PRODUCT(MAP(), MAP())", 0.0),
        ("INNER_PRODUCT(m, NULL)", None), ("INNER_PRODUCT(NULL, m)", None), ("INNER_PRODUCT(NULL, NULL)", None),
        # A NULL adds nothing, not even to what is no number or has no end.
        ("INNER_PRODUCT(MAP('a', NULL, 'k', 2), MAP('a', 3, 'k', 4))", 8.0),
        ("INNER_PRODUCT(MAP('a', 1e200 * 1e200, 'k', 2), MAP('a', NULL, 'k', 4))", 8.0),
        ("INNER_PRODUCT(MAP('a', x, 'k', 2), MAP('b', x, 'k', 4))", 8.0),
        # In the order of the first map: 1 is lost beside 1e16, but not where it comes last.
        ("INNER_PRODUCT(MAP('a', 1e16, 'b', 1e0, 'c', -1e16), MAP('c', 1, 'a', 1, 'b', 1))", 0.0),
        ("INNER_PRODUCT(MAP('c', 1, 'a', 1, 'b', 1), MAP('a', 1e16, 'b', 1e0, 'c', -1e16))", 1.0),
    ],
)
def test_inner_products(text: str, expected: object) -> None:
    found = value(text)
    assert found == expected
    assert type(found) is type(expected)


def test_every_declared_function_is_computed_or_said_not_to_be() -> None:
    scalar = {name for name, spec in FUNCTIONS.items() if spec.kind is Kind.SCALAR}
    assert scalar - set(SCALARS) - set(UNSUPPORTED) == set()
    assert not set(SCALARS) & set(UNSUPPORTED)
    assert set(UNSUPPORTED) <= set(FUNCTIONS)


@pytest.mark.parametrize("text", ["NOW()", "UNIX_TIMESTAMP()", "SENTENCES(t)"])
def test_unsupported_functions_are_refused(text: str) -> None:
    with pytest.raises(ReferenceUnsupported, match=text[:3]):
        value(text)


def test_a_quality_is_that_of_a_result_without_loss() -> None:
    qualities = {"COMPLETENESS": 1.0, "SOURCE_COVERAGE": 1.0, "KEPT": 0, "SHED": 0, "LATE": 0}
    for name, expected in qualities.items():
        type_ = DOUBLE if isinstance(expected, float) else BIGINT
        assert compile_expr(Quality(function=name, type=type_), ())(()) == expected


def test_own_functions_see_null() -> None:
    calls: list[tuple[object, ...]] = []

    def own(*args: object) -> object:
        calls.append(args)
        return Decimal("1.000")

    found = compile_expr(expression("own(i, NULL)"), tuple(ROW), {"own": own})
    assert found(tuple(ROW.values())) == Decimal("1.000")
    assert calls == [(7.0, None)]


def test_a_missing_column_is_an_error() -> None:
    with pytest.raises(KeyError):
        compile_expr(Column(name="gone", type=BIGINT), ("here",))
