"""Result types of operators over all pairs of types, and the laws of decimal arithmetic."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamq.compiler.binder.arithmetic import arithmetic_type, comparison_type, decimal_result
from streamq.dsl.types import (
    BIGINT,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL,
    MAX_PRECISION,
    NULL,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    Decimal,
    Type,
    is_integer,
    is_numeric,
)

NUMBERS: list[Type] = [TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, Decimal(10, 2), Decimal(38, 0)]
OPERATORS = ["+", "-", "*", "/", "%"]

DECIMALS = st.integers(1, MAX_PRECISION).flatmap(
    lambda p: st.builds(Decimal, precision=st.just(p), scale=st.integers(0, p))
)


@pytest.mark.parametrize(("a", "b"), list(itertools.product(NUMBERS, NUMBERS)), ids=str)
@pytest.mark.parametrize("op", OPERATORS)
def test_numbers_always_fit_and_order_does_not_count(op: str, a: Type, b: Type) -> None:
    found, mirrored = arithmetic_type(op, a, b), arithmetic_type(op, b, a)
    assert found is not None
    assert mirrored is not None
    assert is_numeric(found[1])
    assert found[0] == mirrored[0]
    if op != "/" or not isinstance(found[1], Decimal):
        assert found == mirrored


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("t", NUMBERS, ids=str)
def test_a_bare_null_takes_the_other_type(op: str, t: Type) -> None:
    assert arithmetic_type(op, t, NULL) == arithmetic_type(op, t, t)
    assert arithmetic_type(op, NULL, t) == arithmetic_type(op, t, t)


def test_whole_numbers_divide_to_whole_numbers() -> None:
    for a, b in itertools.product([TINYINT, SMALLINT, INT, BIGINT], repeat=2):
        found = arithmetic_type("/", a, b)
        assert found is not None
        assert found[0] == "DIV"
        assert is_integer(found[1])
    assert arithmetic_type("/", INT, DOUBLE) == ("/", DOUBLE)
    assert arithmetic_type("/", FLOAT, FLOAT) == ("/", DOUBLE)


def test_what_does_not_fit() -> None:
    for a, b in [(STRING, INT), (DATE, DATE), (TIMESTAMP, INT), (TIMESTAMP, TIMESTAMP), (INTERVAL, INT)]:
        assert arithmetic_type("+", a, b) is None
        assert arithmetic_type("*", a, b) is None
    assert comparison_type(STRING, INT) is None
    assert comparison_type(DATE, TIMESTAMP) == TIMESTAMP


@given(op=st.sampled_from(OPERATORS), a=DECIMALS, b=DECIMALS)
def test_decimals_stay_within_bounds(op: str, a: Decimal, b: Decimal) -> None:
    result = decimal_result(op, a, b)
    assert 1 <= result.precision <= MAX_PRECISION
    assert 0 <= result.scale <= result.precision


@given(a=DECIMALS, b=DECIMALS)
def test_sums_and_products_hold_every_value_where_there_is_room(a: Decimal, b: Decimal) -> None:
    total = decimal_result("+", a, b)
    if total.precision < MAX_PRECISION:
        assert total.scale == max(a.scale, b.scale)
        assert total.precision - total.scale > max(a.precision - a.scale, b.precision - b.scale)
    product = decimal_result("*", a, b)
    if product.precision < MAX_PRECISION:
        assert product.scale == a.scale + b.scale
        assert product.precision - product.scale >= a.precision - a.scale + b.precision - b.scale
