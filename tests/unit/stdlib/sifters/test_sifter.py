"""Sifters from sample to thresholds."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.dsl.records import replace
from streamq.stdlib.sifters.boxes import Boxes
from streamq.stdlib.sifters.plans import Method, Plan
from streamq.stdlib.sifters.queries import Queries, queries_of
from streamq.stdlib.sifters.sifter import sifter
from streamq.stdlib.sifters.workload import Settings, workload

METHODS: tuple[Method, ...] = ("QDPART", "DATA", "QUERY", "UNIFORM")
TABLE_1 = Plan(fairness=0.5)
DEFAULTS = Settings()


def case(seed: int, settings: Settings = DEFAULTS, rows: int = 1000) -> tuple[np.ndarray, Queries, np.ndarray]:
    """A sample, the queries, and other rows to judge by."""
    made = workload(settings, np.random.default_rng(seed))
    return made.rows(rows), made.queries, made.rows(100_000)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("keep", [0.1, 0.5, 0.9])
def test_what_is_kept_is_what_was_asked(method: Method, keep: float) -> None:
    sample, queries, rows = case(1)
    made = sifter(replace(TABLE_1, method=method), sample, queries, keep)
    # The thresholds fit the sample; of other rows as much is kept, but for what a sample of 1000 does not know of them.
    error = 4 * np.sqrt(keep * (1 - keep) / 1000) + 0.01
    assert made.kept <= keep + 1e-9
    assert float(np.mean(1 - made.drop[made.regions.find(rows)])) == pytest.approx(made.kept, abs=error)


def test_s3_rows_of_the_sample_count_as_kept() -> None:
    """With a sample of a tenth, whose rows pass, half of all rows are still what is kept."""
    sample, queries, rows = case(2, Settings("UNIFORM", "UNIFORM", global_skew=1), rows=8000)
    made = sifter(replace(TABLE_1, sampled=0.1, fairness=0.0), sample, queries, 0.5)
    random = np.random.default_rng(0)
    passed = (random.random(len(rows)) < 0.1) | (random.random(len(rows)) >= made.drop[made.regions.find(rows)])
    assert passed.mean() == pytest.approx(made.kept, abs=3 * 0.5 / np.sqrt(len(rows)) + 3 * 0.5 / np.sqrt(8000))
    assert 0.45 < made.kept <= 0.5 + 1e-9


def test_s20_one_region_is_dropping_at_random() -> None:
    sample, queries, _ = case(4)
    made = sifter(replace(TABLE_1, regions=1), sample, queries, 0.4)
    assert made.drop.tolist() == pytest.approx([0.6])
    assert made.quality == pytest.approx(1 - 0.6 * float(queries.value.sum()))


@pytest.mark.parametrize("method", METHODS)
def test_with_nothing_known_or_wanted_the_share_is_kept(method: Method) -> None:
    sample, queries, _ = case(5)
    none = queries_of([Boxes(np.empty((0, 2)), np.empty((0, 2)))], [1.0], [1.0])
    nowhere = queries_of([Boxes(np.full((1, 2), -np.inf), np.full((1, 2), np.inf))], [1.0], [1.0])
    plan = replace(TABLE_1, method=method)
    assert sifter(plan, np.empty((0, 2)), queries, 0.4).kept <= 0.4 + 1e-9
    assert sifter(plan, sample[:5], queries, 0.4).kept <= 0.4 + 1e-9  # a sample smaller than the regions
    assert sifter(plan, sample, nowhere, 0.4).kept == pytest.approx(0.4)
    assert sifter(plan, sample, none, 0.4).drop.tolist() == [1.0] * len(sifter(plan, sample, none, 0.4).drop)
    for keep in (0.0, 1.0):
        assert sifter(plan, sample, nowhere, keep).kept == pytest.approx(keep, abs=1e-12)
