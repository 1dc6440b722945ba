"""Errors, accuracy and shares: the printed pairs of tables 4.7 to 4.9, and what has no relative error."""

from __future__ import annotations

import math

import pytest

from streamq.stdlib.recovery.columns import column
from streamq.stdlib.recovery.measures import (
    Overhead,
    hit_rate,
    recovery_accuracy,
    rel_error_pct,
    stored_pct,
)
from tests.unit.stdlib.recovery.plain import numbers, table


@pytest.mark.parametrize(
    ("name", "largest", "error", "above"), [("4.7", 19.65, 13.5, 3), ("4.8", 1.67, 1.3, 1), ("4.9", 4.12, 4.5, 0)]
)
def test_d8_printed_pairs(name: str, largest: float, error: float, above: int) -> None:
    rows = [row for row in table("tables_4_7_to_4_9_recovered.csv") if row["table"] == name]
    original, recovered = (numbers([float(row[c]) for row in rows]) for c in ("original", "recovered"))
    got = rel_error_pct(original, recovered)
    assert (len(got), int((got > error).sum())) == (12, above)
    assert got.max() == pytest.approx(largest, abs=5e-3)


def test_errors_are_of_the_original() -> None:
    original = numbers([4, 4, -4, 0, 0, None, None, 1, math.nan, math.nan, math.inf, math.inf, 1, 1])
    recovered = numbers([5, 4, 4, 0, 1, None, 1, None, math.nan, 1, math.inf, 1, math.inf, math.nan])
    expected = [25, 0, 200, 0, 100, 0, 100, 100, 0, 100, 0, 100, math.inf, 100]
    assert rel_error_pct(original, recovered).tolist() == expected


def test_errors_of_numbers_of_every_magnitude() -> None:
    original, recovered = numbers([1.6e308, 1.5e308, 1e-320, 1]), numbers([-1.6e308, 1.65e308, 2e-320, 1.7e308])
    assert rel_error_pct(original, recovered) == pytest.approx([200, 10, 100, math.inf], rel=1e-3)


def test_errors_of_texts_and_whole_numbers() -> None:
    assert rel_error_pct(column(["a", "b", None]), column(["a", "c", None])).tolist() == [0, 100, 0]
    assert rel_error_pct(column([4, 0, None]), column([5, 0, 1])).tolist() == [25, 0, 100]
    with pytest.raises(ValueError, match="for each original"):
        rel_error_pct(numbers([1]), numbers([]))
    with pytest.raises(ValueError, match="keeps its type"):
        rel_error_pct(numbers([1]), column(["a"]))


def test_f42_accuracy_and_the_stored_share() -> None:
    """Table 4.10: the mean of the three streams, and its errors if the first one is 100 less the accuracy."""
    accuracies = [90.17, 99.63, 97.12]
    assert sum(accuracies) / 3 == pytest.approx(95.64, abs=5e-3)
    assert sum(100 - a for a in accuracies) / 3 == pytest.approx(4.36, abs=5e-3)
    assert recovery_accuracy(numbers([100, 100, 50, 50]), numbers([100, 90, 50, 45])) == pytest.approx(95)
    assert stored_pct(75, 7200) == pytest.approx(1.04, abs=5e-3)
    for bad in ((1, 0), (2, 1), (-1, 1)):
        with pytest.raises(ValueError, match="some are stored"):
            stored_pct(*bad)
    with pytest.raises(ValueError, match="some values"):
        recovery_accuracy(numbers([]), numbers([]))


HITS = [94, 94, 93, 95, 94, 95, 96, 96, 96, 94, 95, 95, 95, 95, 95, 93, 94, 93, 94, 95, 95, 92, 93, 93, 95, 94, 94]
"""Table 4.4, of 100 windows each."""


def test_f42_hits_of_table_4_4() -> None:
    plans = [[("a", "b")] * hits + [("a",)] * (100 - hits) for hits in HITS]
    rates = [hit_rate(active, [("b", "a")] * 100) for active in plans]
    assert 100 * sum(rates) / len(rates) == pytest.approx(94.333, abs=5e-4)
    for bad in (([], []), ([("a",)], [])):
        with pytest.raises(ValueError, match="each window"):
            hit_rate(*bad)


@pytest.mark.parametrize(
    ("name", "means"), [("3.8 weather", [1.0, 2.375, 4.5, 19.375]), ("3.9 stock", [4.875, 18.125, 42.625, 51.0])]
)
def test_f42_visible_means_of_tables_3_8_and_3_9(name: str, means: list[float]) -> None:
    rows = [r for r in table("tables_3_8_3_9_stored.csv") if r["table"] == name and r["run"].isdigit()]
    columns = ("acc90", "acc95", "acc98", "acc99")
    assert len(rows) == 8
    # Shares of whole numbers of values are what they are.
    shares = [[stored_pct(int(row[c]), 100) for row in rows] for c in columns]
    assert [sum(s) / 8 for s in shares] == means


def test_the_overhead_of_a_window() -> None:
    assert Overhead(1000, 3.0, 6).cpu_s_per_window == 0.5
    assert Overhead(0, 0.0, 0).cpu_s_per_window == 0
