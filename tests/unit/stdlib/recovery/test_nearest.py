"""Recovery by the nearest neighbour: golden D3, and what is missing, constant or far too large."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.recovery import nearest as module
from streamq.stdlib.recovery.columns import column
from streamq.stdlib.recovery.measures import rel_error_pct
from streamq.stdlib.recovery.nearest import Neighbours, Scaling, nearest
from tests.unit.stdlib.recovery.plain import table

TABLE_3_2 = table("table_3_2_weather.csv")
ATTRIBUTES = [name for name in TABLE_3_2[0] if name not in ("row", "location")]
VALUES = np.array([[float(row[name]) for name in ATTRIBUTES] for row in TABLE_3_2])


def d3(attribute: str, scaling: Scaling) -> tuple[Neighbours, float]:
    """Rows 17 to 31 are recovered from rows 1 to 16."""
    shed = ATTRIBUTES.index(attribute)
    rest = np.delete(VALUES, shed, axis=1)
    got = nearest(rest[16:], rest[:16], VALUES[:16, shed], scaling)
    return got, float(rel_error_pct(column(VALUES[16:, shed]), column(got.values)).mean())


def test_d3_temperature() -> None:
    got, error = d3("temperature", "none")
    assert (got.rows + 1).tolist() == [14, 5, 12, 6, 7, 5, 1, 10, 5, 5, 10, 6, 5, 13, 6]
    assert got.values.tolist() == [66, 95, 78, 97, 96, 95, 84, 82, 95, 95, 82, 97, 95, 70, 97]
    assert got.distance[0] == pytest.approx(5.854, abs=5e-4)
    assert error == pytest.approx(4.113, abs=5e-4)


def test_d3_temperature_in_standard_deviations() -> None:
    got, error = d3("temperature", "zscore")
    assert (got.rows + 1).tolist() == [14, 7, 12, 6, 5, 5, 10, 1, 7, 5, 10, 6, 6, 13, 13]
    assert error == pytest.approx(5.782, abs=5e-4)


@pytest.mark.parametrize(
    ("attribute", "plain", "scaled"), [("barometer", 0.212, 0.190), ("sun_set", 5.792, 5.580)]
)
def test_d3_errors_of_others(attribute: str, plain: float, scaled: float) -> None:
    assert d3(attribute, "none")[1] == pytest.approx(plain, abs=5e-4)
    assert d3(attribute, "zscore")[1] == pytest.approx(scaled, abs=5e-4)


def test_blocks_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = d3("temperature", "none")[0]
    monkeypatch.setattr(module, "CELLS", 33)
    parts = d3("temperature", "none")[0]
    assert (parts.rows.tolist(), parts.distance.tolist()) == (whole.rows.tolist(), whole.distance.tolist())


def test_of_equally_near_rows_it_is_the_first() -> None:
    assert nearest(np.array([[1.0]]), np.array([[2.0], [0.0], [2.0]]), np.arange(3.0)).rows.tolist() == [0]


def test_without_common_attributes_or_rows_nothing_is_recovered() -> None:
    none = np.empty((2, 0))
    for got in (
        nearest(none, none, np.ones(2)),
        nearest(np.ones((2, 1)), np.empty((0, 1)), np.empty(0)),
        nearest(np.full((2, 1), np.nan), np.ones((3, 1)), np.ones(3)),
        nearest(np.ones((2, 1)), np.ones((3, 1)), np.full(3, np.nan)),
        nearest(np.array([[1, np.nan]] * 2), np.array([[np.nan, 1.0]]), np.ones(1)),
    ):
        assert got.rows.tolist() == [-1, -1]
        assert np.isnan(got.values).all()
        assert np.isnan(got.distance).all()


def test_null_attributes_are_left_out_of_a_distance() -> None:
    window = np.array([[0.0, 100.0], [3.0, np.nan], [np.inf, 5.0]])
    got = nearest(np.array([[2.0, 5.0], [np.nan, 90.0], [0.0, 100.0]]), window, np.array([1.0, 2.0, 3.0]))
    assert got.rows.tolist() == [2, 0, 0]
    # 1 of one attribute of two is as far as 1 of both.
    assert nearest(np.array([[2.0, 5.0]]), window[1:2], np.ones(1)).distance[0] == pytest.approx(2**0.5)


def test_rows_without_the_value_are_nobodys_neighbour() -> None:
    assert nearest(np.array([[1.0]]), np.array([[1.0], [9.0]]), np.array([np.nan, 4.0])).values.tolist() == [4.0]


@pytest.mark.parametrize("scaling", ["none", "zscore"])
def test_constant_and_huge_attributes(scaling: Scaling) -> None:
    window = np.array([[7.0, 1e300], [7.0, 2e300], [7.0, -3e300]])
    got = nearest(np.array([[9.0, 1.6e300], [7.0, -2e300]]), window, np.arange(3.0), scaling)
    assert got.rows.tolist() == [1, 2]
    assert np.isfinite(got.distance).all()


@pytest.mark.parametrize("shapes", [((2, 2), (3, 1), 3), ((2, 1), (3, 1), 2), ((2,), (3, 1), 3)])
def test_bad_shapes(shapes: tuple[tuple[int, ...], tuple[int, ...], int]) -> None:
    with pytest.raises(ValueError, match="same attributes"):
        nearest(np.ones(shapes[0]), np.ones(shapes[1]), np.ones(shapes[2]))
    with pytest.raises(ValueError, match="none or zscore"):
        nearest(np.ones((1, 1)), np.ones((1, 1)), np.ones(1), "minmax")  # type: ignore[arg-type]
