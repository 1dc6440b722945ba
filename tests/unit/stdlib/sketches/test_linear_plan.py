"""Plans of linear sketches: errors and memory, each from the other, and what Spark is asked for."""

from __future__ import annotations

import math

import pytest

from streamq.stdlib.sketches.linear_plan import (
    METHODS,
    PURPOSES,
    LinearPlan,
    Method,
    Purpose,
    depth_of,
    error_of,
    plan_of_error,
    plan_of_memory,
    spark_arguments,
)


def test_count_min_by_its_bound() -> None:
    plan = plan_of_error("frequency", "CM", 0.01, 0.99)
    assert (plan.width, plan.depth, plan.bytes) == (math.ceil(math.e / 0.01), 5, 8 * 272 * 5)


def test_rows_without_noise_by_their_variance() -> None:
    # 8/0.1^2 = 800 and 16/0.1^2 = 1600 columns, one more without noise; 2 log2(20) = 8.6 rows, an odd number of them.
    assert [plan_of_error("frequency", m, 0.1, 0.95).width for m in ("CMM", "AGMS")] == [801, 800]
    assert [
        plan_of_error(p, m, 0.1, 0.95).width for p in ("self_join", "join") for m in ("CMM", "AGMS")
    ] == [
        1601,
        1600,
        1601,
        1600,
    ]
    assert plan_of_error("join", "AGMS", 0.1, 0.95).depth == 9


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99, 0.999, 1 - 1e-6])
def test_C25_rows_fail_less_often_than_planned(confidence: float) -> None:  # noqa: N802
    """The median is off where most rows are, each with a chance of 1/8."""
    depth = depth_of("CMM", confidence)
    failure = sum(
        math.comb(depth, k) * 0.125**k * 0.875 ** (depth - k)
        for k in range((depth + 1) // 2, depth + 1)
    )
    assert depth % 2 == 1
    assert failure <= (1 - confidence) * (1 + 1e-9)


@pytest.mark.parametrize("purpose", PURPOSES)
@pytest.mark.parametrize("method", METHODS)
def test_a_plan_of_its_own_error_and_memory_is_itself(purpose: Purpose, method: Method) -> None:
    for width in (2, 3, 17, 64, 1000, 1024, 99_999, 1_000_003):
        depth = depth_of(method, 0.95)
        plan = LinearPlan(method, width, depth, error_of(purpose, method, width), 0.95)
        assert plan_of_error(purpose, method, plan.rel_error, 0.95) == plan
        assert plan_of_memory(purpose, method, plan.bytes, 0.95) == plan
        assert plan_of_memory(purpose, method, plan.bytes + 8 * depth - 1, 0.95) == plan


def test_a_memory_that_is_too_small_is_refused_with_what_would_do() -> None:
    with pytest.raises(ValueError, match="144 would do"):
        plan_of_memory("frequency", "AGMS", 143, 0.95)
    assert plan_of_memory("frequency", "AGMS", 144, 0.95).width == 2


def test_what_is_no_error_or_confidence_is_refused() -> None:
    for error in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="fraction above 0"):
            plan_of_error("frequency", "CM", error, 0.95)
    for confidence in (0.0, 1.0, math.nan):
        with pytest.raises(ValueError, match="between 0 and 1"):
            plan_of_error("frequency", "CM", 0.1, confidence)
    with pytest.raises(ValueError, match="frequency, self_join, join"):
        plan_of_error("F2", "CM", 0.1, 0.95)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="CM, CMM, AGMS"):
        plan_of_error("join", "AMS", 0.1, 0.95)  # type: ignore[arg-type]


def test_spark_has_the_width_and_depth_of_the_plan() -> None:
    widths = [*range(2, 5000), *(2**k + i for k in range(13, 27) for i in (-1, 0, 1)), 99_999_999]
    for depth in range(1, 41):
        for width in widths[:: 1 if depth in {1, 5, 40} else 97]:
            eps, confidence = spark_arguments(LinearPlan("CM", width, depth, 0.1, 0.95))
            assert 0 < confidence < 1
            assert math.ceil(2 / eps) == width
            # Spark's own logarithm, and the plain one.
            assert math.ceil(-math.log1p(-confidence) / math.log(2)) == depth
            assert math.ceil(-math.log(1 - confidence) / math.log(2)) == depth
            # As they are written into a query.
            assert (float(repr(eps)), float(repr(confidence))) == (eps, confidence)


def test_spark_is_not_asked_for_rows_that_a_float_cannot_tell_apart() -> None:
    with pytest.raises(ValueError, match="40 rows at most"):
        spark_arguments(LinearPlan("CM", 10, 41, 0.1, 0.95))
