from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamq.runtime.edge.at_run.bounds import exact, unknown, within
from streamq.stdlib.recovery.columns import column
from streamq.stdlib.recovery.intervals import Denominator
from streamq.stdlib.recovery.lookup import recover
from streamq.stdlib.recovery.retaining import Batch, Retained, Rule, retain
from streamq.stdlib.recovery.synopsis import Synopsis

ERRORS = st.sampled_from([0.0, 5e-324, 1e-9, 0.1, 4.81, 5.0, 13.5, 49.9, 50.0, 99.0, 99.99999999999999, 100.0])
ODD = [0.0, -0.0, 5e-324, -5e-324, 1e-310, 1.0, -1.0, 3.0, 1e300, 1.7976931348623157e308, -1.7976931348623157e308]
NUMBERS = st.sampled_from(ODD) | st.floats(allow_nan=False, allow_infinity=False)


def inside(r: float, v: Fraction, pct: float, denominator: str) -> bool:
    return abs(Fraction(r) - v) * 100 <= Fraction(pct) * abs(v if denominator == "sv" else Fraction(r))


def of_one(r: float | int, pct: float, denominator: Denominator, type_: pa.DataType) -> tuple[float, float]:
    found = within(pa.array([r], type_), np.array([pct]), denominator)
    assert not found.null[0]
    return float(found.low[0]), float(found.high[0])


@settings(max_examples=600, deadline=None)
@given(NUMBERS, ERRORS, st.sampled_from(["sv", "mv"]), st.integers(-3, 3), st.sampled_from([-1, 1]))
def test_nothing_that_is_allowed_is_outside(r: float, pct: float, denominator: Denominator, ulps: int, side: int) -> None:
    low, high = of_one(r, pct, denominator, pa.float64())
    assert low <= r <= high
    # Around the outermost value there are some that are allowed and some that are not.
    share = Fraction(pct) / 100
    if denominator == "mv":
        edge = Fraction(r) + side * share * abs(Fraction(r))
    elif share == 1 and side * r >= 0:
        assert math.isinf(high if side > 0 else low)
        return
    else:
        edge = Fraction(r) / (1 + share if (side > 0) == (r < 0) else 1 - share)
    if abs(edge) > Fraction(1.7976931348623157e308):
        edge = side * Fraction(1.7976931348623157e308)
    v = float(edge)
    for _ in range(abs(ulps)):
        v = math.nextafter(v, math.copysign(math.inf, ulps))
    if math.isfinite(v) and inside(r, Fraction(v), pct, denominator):
        assert low <= v <= high
    # Nor are they far out: of no use would be bounds that hold for anything.
    if math.isfinite(low) and math.isfinite(high) and abs(r) > 1e-300:
        bound = Fraction(low if side < 0 else high)
        assert abs(bound - edge) <= abs(edge) * Fraction(1, 2**48) + abs(Fraction(r)) * Fraction(1, 2**48)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.integers(-(2**63) + 1, 2**63 - 1) | st.integers(-200, 200) | st.integers(2**53 - 9, 2**53 + 9), min_size=1),
    ERRORS, st.sampled_from(["sv", "mv"]),
)
def test_whole_numbers_that_a_synopsis_gives_back(values: list[int], pct: float, denominator: Denominator) -> None:
    assert_covered(pa.array(values, pa.int64()), column(np.array(values, dtype=np.int64)), pct, denominator)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.floats() | st.floats(-2, 2, width=16) | st.sampled_from([*ODD, math.nan, math.inf, -math.inf]), min_size=1),
    ERRORS, st.sampled_from(["sv", "mv"]),
)
def test_numbers_that_a_synopsis_gives_back(values: list[float], pct: float, denominator: Denominator) -> None:
    assert_covered(pa.array(values, pa.float64()), column(np.array(values)), pct, denominator)


def assert_covered(values: pa.Array, given: object, pct: float, denominator: Denominator) -> None:
    """Of one key, with what the synopsis of an edge gives for each cycle."""
    rule, count = Rule(pct, denominator), len(values)
    keys = np.zeros(count, dtype=np.int64)
    state, entries = retain(Retained(), Batch(keys, {"x": given}), {"x": rule})
    synopsis = Synopsis().after("s", entries, {"x": rule}, state.cycle_no)
    found = recover(synopsis, "s", "x", keys, np.arange(1, count + 1))
    bounds = within(pa.array(found.values.values, values.type), found.max_rel_error_pct, denominator)
    for v, low, high in zip(values.to_pylist(), bounds.low.tolist(), bounds.high.tolist(), strict=True):
        if isinstance(v, float) and not math.isfinite(v):
            assert (math.isnan(v) and math.isnan(low) and math.isnan(high)) or low == v == high
        else:
            assert low <= v <= high


@pytest.mark.parametrize(
    ("r", "pct", "denominator", "low", "high"),
    [
        (100, 5.0, "sv", 96, 105), (-100, 5.0, "sv", -105, -96), (100, 5.0, "mv", 95, 105), (7, 0.0, "sv", 7, 7),
        (0, 99.0, "sv", 0, 0), (0, 100.0, "sv", -math.inf, math.inf), (8, 100.0, "sv", 4, math.inf), (8, 100.0, "mv", 0, 16),
        (-8, 100.0, "sv", -math.inf, -4), (2**53 + 1, 0.0, "sv", 2**53, 2**53 + 2), (2**63 - 1, 0.0, "mv", 2**63 - 1024, 2**63),
        (-(2**63) + 1, 0.0, "mv", -(2**63), -(2**63) + 1024),
    ],
)
def test_whole_numbers(r: int, pct: float, denominator: Denominator, low: float, high: float) -> None:
    assert of_one(r, pct, denominator, pa.int64()) == (low, high)


def test_null_is_told_from_nan() -> None:
    bounds = within(pa.array([None, math.nan, math.inf, 1.0]), np.array([5.0, 5.0, 5.0, 0.0]), "sv")
    assert bounds.null.tolist() == [True, False, False, False]
    low, high = bounds.arrays()
    assert low.null_count == high.null_count == 1
    assert math.isnan(low[1].as_py())
    assert (low[2].as_py(), high[3].as_py()) == (math.inf, 1.0)
    assert exact(pa.array([None, 3], pa.int8())).low[1] == 3.0
    wide = unknown(2)
    wide.put(np.array([1]), exact(pa.array([2.5], pa.float32())))
    assert wide.arrays()[0].to_pylist() == [None, 2.5]
