"""SHED FAIR on a machine that all queries share: how much they may keep together is found by trying."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from streamq.compiler.ir.goals import Goal
from streamq.stdlib.fairness.measures import jain
from streamq.stdlib.overload.batch_time import Cost
from tests.unit.runtime.control.shared_machine import CORES, coverages, shared


def fair(goal_ms: int, count: int) -> list[Goal]:
    return [Goal(latency_ms=goal_ms, fair_ms=10_000)] * count


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("count", [1, 4, 12])
def test_queries_of_different_cost_have_one_coverage_and_are_on_time(tmp_path: Path, count: int, seed: int) -> None:
    """Rows that are kept cost up to ten times more in one query than in another; all load is four times what fits."""
    works = np.geomspace(1, 10, count) if count > 1 else np.array([3.0])
    fixed, read, rate, goal = 100.0, 0.0005, 10_000.0, 10_000
    planned = 0.4 * goal / 1000
    room = min(CORES, count) * planned * 1000 - count * (fixed + read * rate * planned)
    scale = 4 * room / (works.sum() * rate * planned)
    costs = [Cost(fixed, read, float(w * scale)) for w in works]
    queries = shared(tmp_path, costs, rate, fair(goal, count), 250.0, seed=seed)
    found = coverages(queries, 100.0)
    assert jain(found) > 0.98
    assert (0.8 if count == 12 else 0.5) * 0.25 < found.mean() < 1.1 * 0.25
    too_old = [age > goal / 1000 for q in queries for at, _, _, age in q.done if at > 100]
    # An age of 0.85 goals varies by about 0.1: one in fifteen is late, of 35 micro-batches of each query up to five, of 140
    # up to fifteen, of 420 up to 38.
    assert np.sum(too_old) <= {1: 5, 4: 15, 12: 38}[count]


def test_queries_that_fit_keep_all(tmp_path: Path) -> None:
    queries = shared(tmp_path, [Cost(50.0, 0.0005, 0.001 * n) for n in (1, 5, 9)], 10_000.0, fair(4000, 3), 120.0)
    assert coverages(queries, 60.0).tolist() == pytest.approx([1.0] * 3)


def test_where_reading_takes_all_the_time_little_is_kept_and_it_does_not_oscillate(tmp_path: Path) -> None:
    queries = shared(tmp_path, [Cost(500.0, 0.05, 0.01)] * 8, 10_000.0, fair(2000, 8), 120.0)
    assert coverages(queries, 60.0).max() < 0.02
