"""Golden 3.2: what queries want of regions, and the quality that they get."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.sifters import queries as queries_module
from streamq.stdlib.sifters.boxes import Boxes
from streamq.stdlib.sifters.partition import even_grid, flexible
from streamq.stdlib.sifters.queries import Queries, completeness, consolidated, queries_of
from streamq.stdlib.sifters.regions import Regions
from streamq.stdlib.sifters.thresholds import thresholds


def box(lo: list[float], hi: list[float]) -> Boxes:
    return Boxes(np.array([lo]), np.array([hi]))


def quadrants() -> tuple[Regions, list[int]]:
    """Four, and their order: lower left, lower right, upper left, upper right."""
    regions = even_grid(2, 2).regions()
    centres = np.array([[0.25, 0.25], [0.75, 0.25], [0.25, 0.75], [0.75, 0.75]])
    return regions, regions.find(centres).tolist()


def test_3_2_one_dimension() -> None:
    regions = even_grid(2, 1).regions()
    share = np.array([0.8, 0.2])
    queries = queries_of([box([0.25], [0.75]), box([0.5], [1.0])], [0.5, 0.5], [1.0, 0.5])
    wanted = consolidated(queries, regions, share)
    assert wanted.quality.tolist() == pytest.approx([0.4, 0.35])
    drop = np.array([0.5, 0.25])
    got = completeness(queries, regions, share, drop)
    assert got.tolist() == pytest.approx([0.55, 0.75])
    assert (1 - queries.slope * (1 - got)).tolist() == pytest.approx([0.55, 0.875])
    assert 1 - wanted.quality @ drop == pytest.approx(0.7125)


@pytest.mark.parametrize(
    ("fairness", "drop", "quality", "completenesses"),
    [
        (1.0, [1, 1 / 3, 0, 0], 0.75, [0.5, 1, 1]),
        (0.5, [0.65, 0.65, 0.15, 0.15], 0.69375, [0.5, 0.85, 0.85]),
        (0.0, [0.5] * 4, 0.5625, None),
    ],
)
def test_3_2_two_dimensions(
    fairness: float, drop: list[float], quality: float, completenesses: list[float] | None
) -> None:
    regions, order = quadrants()
    share = np.empty(4)
    share[order] = [0.4, 0.3, 0.2, 0.1]
    queries = queries_of(
        [box([0.25, 0.25], [0.75, 0.75]), box([0.5, 0.5], [1, 1]), box([0, 0.5], [0.25, 1])],
        [0.5, 0.25, 0.25], [1, 1, 0.5],
    )
    wanted = consolidated(queries, regions, share)
    assert wanted.quality[order].tolist() == pytest.approx([0.2, 0.15, 0.225, 0.3])
    found = thresholds(wanted, share, 0.5, fairness)
    assert found[order].tolist() == pytest.approx(drop)
    assert 1 - wanted.quality @ found == pytest.approx(quality)
    if completenesses is not None:
        assert completeness(queries, regions, share, found).tolist() == pytest.approx(completenesses)


def some_queries(random: np.random.Generator, count: int) -> Queries:
    """Of up to three boxes each that do not meet: slices of the first attribute."""
    boxes = []
    for _ in range(count):
        edges = np.sort(random.random(6)).reshape(3, 2)[: random.integers(0, 4)]
        lo, hi = random.random((len(edges), 2)), random.random((len(edges), 2))
        lo[:, 0], hi[:, 0] = edges[:, 0], edges[:, 1]
        boxes.append(Boxes(np.minimum(lo, hi), np.maximum(lo, hi)))
    return queries_of(boxes, random.random(count).tolist(), random.random(count).tolist())


@pytest.mark.parametrize("at_once", [200, 4_000_000])
def test_s9_the_quality_of_regions_is_that_of_queries(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries_module, "AT_ONCE", at_once)
    random = np.random.default_rng(9)
    for _ in range(50):
        points = random.random((300, 2)) * [1.0, 0.6]
        regions = flexible(17, points, random.integers(0, 5, 300)).regions()
        share = regions.shares(points)
        queries = some_queries(random, 40)
        wanted = consolidated(queries, regions, share)
        drop = random.random(len(regions))
        got = completeness(queries, regions, share, drop)
        by_query = 1 - queries.slope * (1 - got)
        assert 1 - wanted.quality @ drop == pytest.approx(float(queries.weight @ by_query), abs=1e-12)
        assert completeness(queries, regions, share, np.zeros(len(regions))).tolist() == [1.0] * 40


def test_a_query_without_rows_or_without_a_box_is_complete() -> None:
    regions = even_grid(2, 1).regions()
    queries = queries_of([box([0.5], [1.0]), Boxes(np.empty((0, 1)), np.empty((0, 1)))], [1, 1], [1, 1])
    share = np.array([1.0, 0.0])
    assert completeness(queries, regions, share, np.ones(2)).tolist() == [1.0, 1.0]
    assert consolidated(queries, regions, share).some.tolist() == [False, True]


def test_what_a_query_needs_bounds_the_regions_that_it_wants() -> None:
    regions = even_grid(4, 1).regions()
    queries = queries_of([box([0.0], [0.3]), box([0.2], [0.6])], [1, 1], [1, 1], [0.8, 0.5])
    order = regions.find(np.array([[0.1], [0.3], [0.6], [0.9]]))
    assert consolidated(queries, regions, np.full(4, 0.25)).most[order].tolist() == pytest.approx([0.2, 0.2, 0.5, 1.0])


def test_boxes_without_bounds_are_the_domain() -> None:
    queries = queries_of([box([-np.inf], [np.inf])], [3.0], [1.0])
    assert (queries.lo.tolist(), queries.hi.tolist(), queries.weight.tolist()) == ([[0.0]], [[1.0]], [1.0])
