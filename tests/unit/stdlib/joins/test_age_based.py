"""Golden 3.6 and F15: what selective joins are compared with."""

from __future__ import annotations

import pytest

from streamq.stdlib.joins.age_based import age_based, found_best, found_newest, kept_at_random
from streamq.stdlib.joins.basic_window import ages
from tests.unit.stdlib.joins.test_basic_window import normal

SHARES = (0.1, 0.25, 0.5)


@pytest.mark.parametrize(("peak", "age", "found"), [(0.2, 0.287, 0.803), (0.75, 0.914, 0.955)])
def test_golden_3_6_age_based(peak: float, age: float, found: float) -> None:
    kept_s, share = age_based(normal(peak, 0.1, 20.0))
    assert kept_s / 20 == pytest.approx(age, abs=6e-4)
    assert share == pytest.approx(found, abs=6e-4)


@pytest.mark.parametrize(
    ("peak", "newest", "best"),
    [(0.2, (0.139, 0.684, 0.999), (0.392, 0.807, 0.999)), (0.75, (0, 0, 0.006), (0.385, 0.794, 0.994))],
)
def test_golden_3_6_newest_and_best(peak: float, newest: tuple[float, ...], best: tuple[float, ...]) -> None:
    of = normal(peak, 0.1)
    assert [found_newest(of, share) for share in SHARES] == pytest.approx(newest, abs=6e-4)
    assert [found_best(of, share) for share in SHARES] == pytest.approx(best, abs=6e-4)
    assert [kept_at_random(share) ** 2 for share in SHARES] == pytest.approx(SHARES)


def test_F15_all_are_alike_where_ages_are_even() -> None:  # noqa: N802
    even = ages(10, [1] * 7)
    for share in (0.0, 0.3, 1.0):
        assert found_newest(even, share) == pytest.approx(share)
        assert found_best(even, share) == pytest.approx(share)
    assert age_based(even)[1] == pytest.approx(1 / 7)  # the youngest of ages that are all as good


def test_F15_nothing_is_gained_by_age_where_partners_are_old() -> None:  # noqa: N802
    assert age_based(ages(10, [0, 0, 0, 1])) == (10, 1)
    assert age_based(ages(10, [1, 0, 0, 0])) == (2.5, 1)


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_shares_are_checked(share: float) -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        kept_at_random(share)
