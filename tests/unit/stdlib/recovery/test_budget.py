"""Error thresholds: goldens G14 and G16, and the means of table 4.3."""

from __future__ import annotations

import math

import pytest

from streamq.stdlib.recovery.budget import CAPS, category_cap, error_threshold, interpolated_cap
from streamq.stdlib.recovery.measures import deviation_pct
from tests.unit.stdlib.recovery.plain import table

TABLE_4_3 = table("table_4_3_fixed_points.csv")
GROUPS = {"very critical": slice(0, 3), "moderately critical": slice(3, 6), "low critical": slice(6, 9)}


@pytest.mark.parametrize(
    ("plateaus", "caps", "expected"),
    [
        ((9.5, 9.2, 20), (13.5, 4.7, 4.81), [9.5, 4.7, 4.81]),  # weather, stock, Internet; section 3
        ((9.5, 9.2, 20), (4.81, 4.7, 13.5), [4.81, 4.7, 13.5]),  # the same with the categories of section 4
        ((4.5, 1.3, 20), (4.81, 4.7, 13.5), [4.5, 1.3, 13.5]),  # figure 4.4
    ],
)
def test_g14_thresholds(plateaus: tuple[float, ...], caps: tuple[float, ...], expected: list[float]) -> None:
    assert [error_threshold(f, cap) for f, cap in zip(plateaus, caps, strict=True)] == expected


def test_f32_others_take_their_fixed_point_and_the_user_decides() -> None:
    assert error_threshold(9.5, CAPS["others"]) == 9.5
    assert error_threshold(None, CAPS["low critical"]) == 13.5
    assert error_threshold(9.5, 4.7, 50) == 50
    assert error_threshold(None, math.inf, 0) == 0
    with pytest.raises(ValueError, match="say which error"):
        error_threshold(None, CAPS["others"])
    for asked in (-1, 101):
        with pytest.raises(ValueError, match="percent"):
            error_threshold(1, 1, asked)


def test_g16_the_cap_without_samples() -> None:
    cap = interpolated_cap(CAPS["very critical"], CAPS["moderately critical"], CAPS["low critical"])
    assert cap == pytest.approx(1.6746, abs=5e-5)
    assert round(cap, 2) == CAPS["extremely critical"]


def trained(rows: list[dict[str, str]]) -> list[float]:
    return [float(row[f"train{i}"]) for row in rows for i in (1, 2, 3)]


def test_f31_caps_are_means_of_table_4_3() -> None:
    means = {name: category_cap(trained(TABLE_4_3[rows])) for name, rows in GROUPS.items()}
    assert means["very critical"] == pytest.approx(4.759, abs=5e-4)  # printed 4.7, which is kept
    assert means["moderately critical"] == pytest.approx(4.813, abs=5e-4)
    assert means["low critical"] == pytest.approx(13.5)
    assert category_cap(trained(TABLE_4_3[9:])) == pytest.approx(CAPS["not critical"], abs=5e-3)
    assert all(abs(mean - CAPS[name]) < 0.06 for name, mean in means.items())  # type: ignore[index]
    with pytest.raises(ValueError, match="some fixed points"):
        category_cap([])


def test_f42_deviations_of_table_4_3() -> None:
    """Each within 0.02 of what is printed but for the population, whose second one is 0; their mean is 3.845."""
    found = []
    for row in TABLE_4_3:
        for i in (1, 2, 3):
            got = deviation_pct(float(row[f"train{i}"]), float(row[f"test{i}"]))
            assert got == pytest.approx(float(row[f"dev{i}"]), abs=0.021), row
            found.append(got)
    assert sum(found) / len(found) == pytest.approx(3.845, abs=2e-3)
    with pytest.raises(ValueError, match="above 0"):
        deviation_pct(1, 0)
