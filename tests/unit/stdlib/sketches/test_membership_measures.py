"""Truth, gaps and rates of errors."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.sketches.hashing import keys_of
from streamq.stdlib.sketches.membership_measures import (
    first_occurrences,
    fn_rate,
    fp_rate,
    gap_counts,
    gaps,
    last_seen,
)

STREAM = keys_of(np.array([5, 7, 5, 5, 9, 7]))


def test_truth_and_gaps_of_a_stream() -> None:
    assert first_occurrences(STREAM).tolist() == [True, True, False, False, True, False]
    assert last_seen(STREAM).tolist() == [-1, -1, 0, 2, -1, 1]
    # Strictly between: 7; nothing; 5 5 9.
    assert gaps(STREAM).tolist() == [1, 0, 3]


def test_rates_are_of_what_could_be_wrong() -> None:
    duplicate = np.array([False, False, False, False, True, True])
    flags = np.array([True, False, False, False, False, True])
    assert fp_rate(flags, duplicate) == 0.25
    assert fn_rate(flags, duplicate) == 0.5
    nothing = np.zeros(0, np.bool_)
    assert (fp_rate(nothing, nothing), fn_rate(nothing, nothing)) == (0, 0)
    assert fp_rate(flags, np.ones(6, np.bool_)) == fn_rate(flags, np.zeros(6, np.bool_)) == 0


def test_an_empty_stream() -> None:
    empty = np.zeros(0, np.uint64)
    assert (
        len(first_occurrences(empty)) == len(gaps(empty)) == len(gap_counts(gaps(empty)).gaps) == 0
    )


def test_gaps_are_counted_exactly_where_small_and_within_a_percent_above() -> None:
    of = np.array([0, 0, 1, 4095, 4096, 4100, 10**6, 10**6 + 1, 10**12])
    found = gap_counts(of)
    assert found.counts.sum() == len(of)
    assert found.gaps[:3].tolist() == [0, 1, 4095]
    assert found.counts[:3].tolist() == [2, 1, 1]
    told = np.repeat(found.gaps, found.counts)
    assert told == pytest.approx(of, rel=0.01)
