"""S22: the gains of sifters are those that another program had for the same workloads, within 6 points."""

from __future__ import annotations

import pytest

from examples.papers.gedik_sifters.trial import FAIRNESS, trials
from streamq.stdlib.sifters.plans import Method, Plan
from streamq.stdlib.sifters.workload import Kind, Settings

SEEDS = 8


@pytest.mark.parametrize(
    ("rows", "queries", "method", "gain", "seen_gain"),
    [
        ("UNIFORM", "UNIFORM", "UNIFORM", 2.1, 2.1), ("UNIFORM", "UNIFORM", "DATA", 2.5, 2.5), ("UNIFORM", "UNIFORM", "QDPART", 2.6, 2.6),
        ("UNIFORM", "SKEWED", "UNIFORM", 13, None), ("UNIFORM", "SKEWED", "DATA", 20, 33), ("UNIFORM", "SKEWED", "QDPART", 22, 36),
        ("SKEWED", "UNIFORM", "UNIFORM", 17, None), ("SKEWED", "UNIFORM", "DATA", 24, 32), ("SKEWED", "UNIFORM", "QDPART", 25, 33),
        ("SKEWED", "SKEWED", "UNIFORM", 19, None), ("SKEWED", "SKEWED", "DATA", 33, 52), ("SKEWED", "SKEWED", "QDPART", 30, 45),
    ],
)
def test_s22_gains_at_equal_load(rows: Kind, queries: Kind, method: Method, gain: float, seen_gain: float | None) -> None:
    """Means of eight workloads differ by about 3 points from those of others; with skewed queries and rows by more."""
    found = trials(Settings(rows, queries), Plan(method=method, fairness=FAIRNESS), 0.5, SEEDS)
    assert found.gain == pytest.approx(gain, abs=6)
    assert found.passed == pytest.approx(0.5, abs=0.025)
    if seen_gain is not None:
        assert found.seen_gain == pytest.approx(seen_gain, abs=9)
    if rows == queries == "UNIFORM":
        assert 0 < found.gain < 7
