"""What queries get of sampled rows, beside what the sifter expects of them."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.sifters.achieved import NONE, after
from streamq.stdlib.sifters.compact import Wish, built, on_axes
from streamq.stdlib.sifters.plans import Plan
from streamq.stdlib.sifters.predicates import Compare

WISHES = (Wish(Compare(0, "<", 0.25)), Wish(Compare(0, ">", 0.5), weight=3.0, slope=0.5), Wish(Compare(0, "<", -5.0)))


def test_by_hand() -> None:
    """Two regions, of which the upper one loses three quarters: eight rows, two of them wanted by each of two queries.

    The quality that can be lost is 1/5 of the first query and 3/5 * 1/2 of the second; the third wants no row that is there.
    """
    rows = [np.array([0.1, 0.2, 0.3, 0.4, 0.45, 0.46, 0.8, 0.9])]
    sifter = built(Plan(regions=2, method="UNIFORM"), [np.linspace(0, 1, 2001)], WISHES, 0)
    regions = sifter.find(rows)
    drop = np.where(np.arange(2) == regions[-1], 0.75, 0.0)
    queries = on_axes(sifter.axes, WISHES)
    found = after(NONE, sifter, queries, rows, drop, 1000, 700)
    assert found.wanted.tolist() == [250, 250, 0]
    assert found.got.tolist() == [250, 62.5, 0]
    assert found.completeness.tolist() == [1, 0.25, 1]
    assert found.quality == pytest.approx(1 - 3 / 5 * 0.5 * 0.75)
    assert found.expected_quality == pytest.approx(found.quality, abs=0.02)
    assert found.expected_kept == pytest.approx(1000 * (1 - 0.75 * float(sifter.share[regions[-1]])))
    twice = after(found, sifter, queries, [rows[0][:6]], np.zeros(2), 3000, 3000)
    assert (twice.rows, twice.kept) == (4000, 3700)
    assert twice.completeness.tolist() == [1, 0.25, 1]
    assert twice.expected_quality == pytest.approx(1 - 3 / 5 * 0.5 * 0.75 / 4, abs=0.02)


def test_a_micro_batch_counts_by_its_rows_however_few_of_them_are_looked_at() -> None:
    """Of 100 rows all are kept, of 900 a tenth: on the whole 0.19, by what is expected and by as many rows looked at."""
    wishes = [Wish(Compare(0, "<", 0.5))]
    rows = [np.linspace(0.01, 0.99, 99)]
    sifter = built(Plan(regions=2, method="UNIFORM"), [np.linspace(0, 1, 2001)], wishes, 0)
    queries = on_axes(sifter.axes, wishes)
    found = after(NONE, sifter, queries, rows, np.zeros(2), 100, 100)
    found = after(found, sifter, queries, rows, np.full(2, 0.9), 900, 90)
    assert found.completeness == pytest.approx([0.19])
    assert found.expected_completeness == pytest.approx([0.19])


def test_many_rows_get_what_is_expected_where_they_lie_as_before() -> None:
    """The error of a mean of chances over 4,000 rows is at most 0.5 / sqrt(4000) = 0.008 for each wanted half of them."""
    random = np.random.default_rng(4)
    wishes = [Wish(Compare(0, "<", float(at))) for at in (0.1, 0.3, 0.6)] + [Wish(Compare(1, ">", 0.8), 2.0)]
    sample = [random.random(20_000), random.random(20_000)]
    sifter = built(Plan(regions=64), sample, wishes, 0)
    drop = sifter.drop(0.4)
    found = after(NONE, sifter, on_axes(sifter.axes, wishes), [random.random(4_000), random.random(4_000)], drop, 10_000, 4_000)
    assert found.completeness == pytest.approx(found.expected_completeness, abs=0.05)
    assert found.quality == pytest.approx(found.expected_quality, abs=0.03)
    assert found.expected_kept == pytest.approx(4_000, rel=0.01)
