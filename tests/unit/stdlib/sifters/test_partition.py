"""Partitioning: the goldens 3.5 to 3.7, and that regions tile the domain."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.sifters.partition import equal_counts, even_grid, flexible, partition
from streamq.stdlib.sifters.plans import Method
from streamq.stdlib.sifters.regions import Regions
from streamq.stdlib.sifters.splits import diverse_split

METHODS: tuple[Method, ...] = ("QDPART", "UNIFORM", "DATA", "QUERY")

POINTS = np.array([[0.1, 0.2], [0.2, 0.8], [0.3, 0.4], [0.6, 0.3], [0.7, 0.9], [0.9, 0.6]])
HITS = np.array([0, 0, 1, 5, 6, 5])


def cuts(regions: Regions) -> list[tuple[int, float]]:
    return list(zip(regions.cuts.attribute.tolist(), regions.cuts.cut.round(9).tolist(), strict=True))


def inside(regions: Regions, rows: np.ndarray) -> np.ndarray:
    """``[rows, regions]``: membership by the bounds, without the tree."""
    below = (rows[:, None] < regions.hi) | (regions.hi == 1)
    above = (rows[:, None] >= regions.lo) | (regions.lo == 0)
    return np.all(below & above, axis=2)


def sse(values: np.ndarray) -> float:
    return float(((values - values.mean()) ** 2).sum()) if len(values) else 0.0


def brute_split(points: np.ndarray, hits: np.ndarray) -> tuple[float, int, float] | None:
    """The best of all cuts, each worked out anew."""
    best = None
    for d in range(points.shape[1]):
        order = np.argsort(points[:, d], kind="stable")
        x, h = points[order, d], hits[order].astype(float)
        for j in range(1, len(x)):
            if x[j] == x[j - 1]:
                continue
            gain = sse(h) * sse(x) - sse(h[:j]) * sse(x[:j]) - sse(h[j:]) * sse(x[j:])
            if best is None or gain > best[0] + 1e-12:
                best = (gain, d, (x[j] + x[j - 1]) / 2)
    return best


def sorted_columns(points: np.ndarray, hits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(points, axis=0, kind="stable").T
    return np.stack([points[o, d] for d, o in enumerate(order)]), hits[order].astype(np.float64)


def test_3_5_qdpart_in_one_dimension() -> None:
    points = np.array([[0], [0.1], [0.2], [0.5], [0.6], [0.9]])
    hit = np.array([1, 1, 1, 4, 4, 0])
    assert sse(hit) * sse(points) == pytest.approx(8.726944, abs=1e-6)
    found = diverse_split(*sorted_columns(points, hit))
    assert found is not None
    assert (found.attribute, found.cut, found.worth) == (0, pytest.approx(0.35), pytest.approx(7.8025))


def test_3_5_qdpart_in_two_dimensions() -> None:
    found = diverse_split(*sorted_columns(POINTS, HITS))
    assert found is not None
    assert (found.attribute, found.cut, found.worth) == (0, pytest.approx(0.45), pytest.approx(19.113333, abs=1e-6))
    assert cuts(flexible(3, POINTS, HITS).regions()) == [(0, 0.45), (1, 0.75)]
    assert cuts(flexible(4, POINTS, HITS).regions()) == [(0, 0.45), (1, 0.75), (1, 0.6)]


def test_3_5_approximate_data_and_uniform() -> None:
    assert cuts(flexible(4, POINTS, None).regions()) == [(0, 0.45), (1, 0.3), (1, 0.45)]
    uniform = flexible(3, POINTS[:0], None, even=True).regions()
    assert cuts(uniform) == [(0, 0.5), (1, 0.5)]
    assert uniform.hi[uniform.find(np.array([[0.1, 0.1]]))[0]].tolist() == [0.5, 0.5]


def test_3_6_equal_counts() -> None:
    points = np.array([
        [0.05, 0.9], [0.1, 0.2], [0.15, 0.6], [0.2, 0.4], [0.5, 0.1], [0.6, 0.7], [0.8, 0.3], [0.95, 0.8]
    ])
    regions = equal_counts(points, 2).regions()
    assert cuts(regions) == [(0, 0.35), (1, 0.5), (1, 0.5)]
    assert np.bincount(regions.find(points)).tolist() == [2, 2, 2, 2]


def test_s6_counts_differ_by_at_most_one_in_each_slab() -> None:
    points = np.random.default_rng(3).random((997, 2))
    regions = equal_counts(points, 5).regions()
    counts = np.bincount(regions.find(points))
    assert len(counts) == 25
    assert counts.max() - counts.min() <= 2  # one in each attribute


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("attributes", [1, 2, 3])
def test_s7_regions_tile_the_domain(method: Method, attributes: int) -> None:
    random = np.random.default_rng(attributes)
    points, centres = random.random((400, attributes)) ** 2, random.random((100, attributes))
    hits = random.integers(0, 9, 400)
    for count in [*range(1, 51), 64]:
        regions = partition(method, count, points, hits, centres)
        assert len(regions) == count
        rows = random.random((300, attributes))
        member = inside(regions, rows)
        assert np.array_equal(member.sum(axis=1), np.ones(300))
        assert np.array_equal(np.argmax(member, axis=1), regions.find(rows))
        assert np.prod(regions.hi - regions.lo, axis=1).sum() == pytest.approx(1.0)


def test_s7_volumes_and_counts_are_within_two() -> None:
    points = np.random.default_rng(1).random((1024, 2))
    for count in range(2, 51):
        volume = np.prod((r := flexible(count, points[:0], None, even=True).regions()).hi - r.lo, axis=1)
        assert volume.max() <= 2 * volume.min()
        counts = np.bincount(flexible(count, points, None).regions().find(points))
        assert counts.max() <= 2 * counts.min() + 2


@pytest.mark.parametrize("seed", range(10))
def test_s8_qdpart_is_brute_force(seed: int) -> None:
    random = np.random.default_rng(seed)
    for _ in range(30):
        count = int(random.integers(2, 40))
        points = random.integers(0, 12, (count, 2)) / 12 if random.random() < 0.5 else random.random((count, 2))
        hits = random.integers(0, 5, count)
        found, wanted = diverse_split(*sorted_columns(points, hits)), brute_split(points, hits)
        if found is None:
            assert wanted is None or wanted[0] <= 1e-9
        else:
            assert wanted is not None
            assert found.worth == pytest.approx(wanted[0], rel=1e-9, abs=1e-9)
            # The same cut, or one of as much worth.
            below = points[:, found.attribute] < found.cut
            x, h = points[:, found.attribute], hits.astype(float)
            gain = sse(h) * sse(x) - sse(h[below]) * sse(x[below]) - sse(h[~below]) * sse(x[~below])
            assert gain == pytest.approx(wanted[0], rel=1e-9, abs=1e-9)


def test_s5_a_grid_is_arithmetic() -> None:
    regions = even_grid(4, 2).regions()
    rows = np.random.default_rng(2).random((1000, 2))
    wanted = np.floor(rows * 4) / 4
    assert np.array_equal(regions.lo[regions.find(rows)], wanted)


def test_3_7_the_tree_finds_the_box() -> None:
    random = np.random.default_rng(7)
    regions = flexible(64, random.random((4000, 2)), random.integers(0, 9, 4000)).regions()
    rows = random.random((50_000, 2))
    assert np.array_equal(np.argmax(inside(regions, rows), axis=1), regions.find(rows))


def test_the_tree_knows_the_bounds() -> None:
    random = np.random.default_rng(8)
    regions = flexible(64, random.random((4000, 3)), random.integers(0, 9, 4000)).regions()
    lo, hi = regions.cuts.bounds(np.zeros(3), np.ones(3))
    assert np.array_equal(lo, regions.lo)
    assert np.array_equal(hi, regions.hi)


def test_s12_a_row_at_the_cut_goes_above() -> None:
    regions = even_grid(2, 1).regions()
    found = regions.find(np.array([[0.5], [np.nextafter(0.5, 0)], [0.0], [1.0], [7.0], [-3.0]]))
    assert regions.lo[found, 0].tolist() == [0.5, 0.0, 0.0, 0.5, 0.5, 0.0]


def test_cuts_on_lines_part_the_same_cells() -> None:
    """Coordinates in the middle of 64 steps: cuts that are moved to the steps part them as before."""
    random = np.random.default_rng(4)
    points = (np.floor(random.random((3000, 2)) ** 2 * 64) + 0.5) / 64
    hits = random.integers(0, 9, 3000)
    for method in METHODS:
        free = partition(method, 90, points, hits, points[:500])
        lined = partition(method, 90, points, hits, points[:500], lines=64)
        for values in (lined.cuts.cut, lined.lo, lined.hi):
            assert np.array_equal(np.rint(values * 64), values * 64)
        if method != "UNIFORM":  # whose cuts may go through the middle of a step
            parted = points[:500] if method == "QUERY" else points
            assert np.array_equal(free.find(parted), lined.find(parted))


@pytest.mark.parametrize("method", METHODS)
def test_rows_that_are_all_alike_give_what_regions_there_can_be(method: Method) -> None:
    same = np.full((50, 2), 0.25)
    regions = partition(method, 16, same, np.full(50, 3), same)
    assert 1 <= len(regions) <= 16
    assert regions.shares(same).sum() == 1
    assert regions.find(np.array([[0.9, 0.9]]))[0] < len(regions)


@pytest.mark.parametrize("method", METHODS)
def test_without_rows_regions_are_equal(method: Method) -> None:
    regions = partition(method, 16, np.empty((0, 2)), np.empty(0, dtype=np.int64), np.empty((0, 2)))
    assert np.prod(regions.hi - regions.lo, axis=1).tolist() == pytest.approx([1 / 16] * 16)
