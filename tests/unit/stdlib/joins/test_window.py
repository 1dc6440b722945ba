"""Rings of basic windows: what is live, and what is kept."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.joins.window import Grid, Ring, evicted, inserted, live
from tests.unit.stdlib.joins.streams import Row, rows_of


def times(ring: Ring) -> list[int]:
    return [t for bw in ring for t in bw.rows.at.tolist()]


def stream(at: list[int], first_id: int = 0) -> list[Row]:
    return [Row(t, first_id + i, 0, i) for i, t in enumerate(at)]


@pytest.mark.parametrize(("length", "b", "n"), [(6, 2, 4), (4, 2, 3), (5, 2, 4), (0, 3, 1), (1, 10, 2), (10, 1, 11)])
def test_a_window_has_one_basic_window_more_than_fill_it(length: int, b: int, n: int) -> None:
    assert Grid(length, b).n_bw == n


@pytest.mark.parametrize(("length", "b"), [(-1, 1), (5, 0), (5, -2)])
def test_lengths_that_are_none_are_refused(length: int, b: int) -> None:
    with pytest.raises(ValueError, match="basic window"):
        Grid(length, b)


def test_F3_no_live_row_is_lost_and_none_older_is_live() -> None:  # noqa: N802
    """Random streams with gaps of many windows; rows come, old ones go, and probes see what brute force says."""
    random = np.random.default_rng(3)
    seen = gaps = 0
    for _ in range(30):
        grid = Grid(int(random.integers(0, 40)), int(random.integers(1, 50)), int(random.integers(-5, 5)))
        steps = random.integers(0, 4, 200)
        steps[random.integers(0, 200, 4)] = 3 * grid.n_bw * grid.bw_length
        gaps += int((steps > grid.n_bw * grid.bw_length).sum())
        at = np.cumsum(steps)
        ring: Ring = ()

        def cell(t: int, grid: Grid = grid) -> int:
            return (t - grid.origin) // grid.bw_length

        for i in range(0, 200, 20):
            ring = inserted(grid, evicted(grid, ring, int(at[i])), rows_of(stream(at[i : i + 20].tolist(), i)))
            stored = np.array(times(ring))
            assert np.all(np.diff(stored) >= 0)
            probes = np.sort(random.integers(int(at[i]), int(at[i + 19]) + 3, 15))
            for ties in (False, True):
                first, last = live(grid, stored, probes, ties)
                for p, lo, hi in zip(probes.tolist(), first, last, strict=True):
                    for j in range(grid.n_bw):
                        before = [t for t in at[: i + 20].tolist() if (t <= p if ties else t < p) and p - t <= grid.length]
                        mine = [t for t in before if cell(p) - cell(t) == j]
                        assert stored[lo[j] : hi[j]].tolist() == mine
                        seen += len(mine)
                    assert int((hi - lo).sum()) == len(before)
    assert seen > 5000
    assert gaps > 50


def test_F3_what_is_kept_is_at_most_the_window_and_a_basic_window() -> None:  # noqa: N802
    grid = Grid(30, 7)
    ring: Ring = ()
    for t in range(0, 500, 5):
        ring = evicted(grid, inserted(grid, ring, rows_of(stream(list(range(t, t + 5)), t))), t + 4)
        kept = times(ring)
        assert set(range(max(0, t + 4 - 30), t + 5)) <= set(kept)
        assert t + 4 - min(kept) < grid.n_bw * 7


def test_a_gap_longer_than_the_window_leaves_nothing() -> None:
    grid = Grid(20, 5)
    ring = inserted(grid, (), rows_of(stream([0, 3, 19])))
    assert times(evicted(grid, ring, 1000)) == []
    assert times(evicted(grid, ring, 20)) == [0, 3, 19]
    assert times(evicted(grid, ring, 25)) == [19]


def test_rows_out_of_order_come_into_their_own_basic_windows() -> None:
    grid = Grid(20, 5)
    ring = inserted(grid, (), rows_of(stream([12, 3, 14, 7])))
    before = {bw.cell: bw for bw in ring}
    after = inserted(grid, ring, rows_of(stream([13, 0, 21], 4)))
    assert [(bw.cell, bw.rows.at.tolist(), bw.rows.ids.tolist()) for bw in after] == [
        (0, [0, 3], [5, 1]), (1, [7], [3]), (2, [12, 13, 14], [0, 4, 2]), (4, [21], [6]),
    ]
    assert next(bw for bw in after if bw.cell == 1) is before[1]
    assert times(ring) == [3, 7, 12, 14]  # as it was


def test_the_order_of_a_ring_does_not_depend_on_how_rows_came() -> None:
    random = np.random.default_rng(9)
    rows = stream(random.integers(0, 30, 100).tolist())
    grid = Grid(30, 4)
    once = inserted(grid, (), rows_of(rows))
    for _ in range(5):
        ring: Ring = ()
        for part in np.array_split(random.permutation(100), 6):
            ring = inserted(grid, ring, rows_of([rows[i] for i in part]))
        assert [(bw.cell, bw.rows.ids.tolist()) for bw in ring] == [(bw.cell, bw.rows.ids.tolist()) for bw in once]


def test_an_empty_window_has_nothing_live() -> None:
    first, last = live(Grid(20, 5), np.empty(0, dtype=np.int64), np.array([3, 900]), ties=True)
    assert first.shape == last.shape == (2, 5)
    assert not (last - first).any()
