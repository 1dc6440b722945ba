"""The share of rows that estimates of a given error need."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.estimate.needed import share_for


@pytest.mark.parametrize("keep", [0.01, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("error", [0.001, 0.02, 0.1, 0.5])
def test_the_error_at_the_share_is_the_one_asked_for(keep: float, error: float) -> None:
    """The standard error of a count of n rows is sqrt(n (1 - p) / p)."""
    found = ((1 - keep) / keep / 3000) ** 0.5
    needed = share_for(error, found, keep)
    assert 0 < needed < 1
    assert ((1 - needed) / needed / 3000) ** 0.5 == pytest.approx(error)


def test_with_the_share_that_is_needed_counts_are_as_right_as_asked() -> None:
    """2,000 counts: their standard deviation is known to 1.6 %."""
    rng = np.random.default_rng(3)
    found = float((rng.binomial(5000, 0.1, 2000) / 0.1).std() / 5000)
    needed = share_for(0.01, found, 0.1)
    counts = rng.binomial(5000, needed, 2000) / needed
    assert float(counts.std()) / 5000 == pytest.approx(0.01, rel=4 * 0.016 * 2**0.5)


def test_where_nothing_is_shed_nothing_follows() -> None:
    assert share_for(0.05, 0.0, 1.0) == 1.0
    assert share_for(0.05, 0.2, 1.0) == 1.0
    assert share_for(0.05, 0.0, 0.4) == 0.4
