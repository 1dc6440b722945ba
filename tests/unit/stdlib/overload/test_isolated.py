"""The time of micro-batches that ran side by side."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamq.stdlib.overload.isolated import isolated_times

SPANS = st.lists(st.tuples(st.integers(0, 50), st.integers(1, 30)), min_size=1, max_size=12)


def times(*spans: tuple[float, float]) -> list[float]:
    begins, ends = np.array(spans, dtype=np.float64).T
    return isolated_times(begins, ends).tolist()


def test_what_runs_alone_takes_its_time() -> None:
    assert times((1, 3), (3, 7)) == [2, 4]


def test_what_runs_at_the_same_time_shares_it() -> None:
    assert times((0, 4), (0, 4)) == [2, 2]
    assert times((0, 6), (0, 2), (1, 2)) == pytest.approx([0.5 + 1 / 3 + 4, 0.5 + 1 / 3, 1 / 3])


@given(SPANS)
def test_all_together_took_the_time_in_which_something_ran(spans: list[tuple[int, int]]) -> None:
    found = times(*((begin, begin + length) for begin, length in spans))
    busy = {second for begin, length in spans for second in range(begin, begin + length)}
    assert sum(found) == pytest.approx(len(busy))
