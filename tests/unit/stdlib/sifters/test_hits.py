"""S4: how many queries each row matters to."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.sifters.hits import BLOCK, hits


@pytest.mark.parametrize(("rows", "boxes", "attributes"), [(200, 1, 1), (300, 65, 2), (100, 300, 3), (BLOCK + 7, 20, 2), (0, 5, 2)])
def test_s4_hits_are_those_of_brute_force(rows: int, boxes: int, attributes: int) -> None:
    random = np.random.default_rng(rows)
    # On a coarse grid, so that rows lie on bounds, and some boxes are empty.
    points = random.integers(0, 20, (rows, attributes)) / 20
    lo = random.integers(0, 18, (boxes, attributes)) / 20
    hi = lo + random.integers(0, 8, (boxes, attributes)) / 20
    inside = np.all((points[:, None] >= lo) & (points[:, None] < hi), axis=2)
    assert np.array_equal(hits(points, lo, hi), inside.sum(axis=1))


def test_a_box_without_bounds_holds_every_number() -> None:
    assert hits(np.array([[0.5], [-1e300]]), np.array([[-np.inf]]), np.array([[np.inf]])).tolist() == [1, 1]


def test_without_queries_nothing_is_hit() -> None:
    assert hits(np.ones((3, 2)), np.empty((0, 2)), np.empty((0, 2))).tolist() == [0, 0, 0]
