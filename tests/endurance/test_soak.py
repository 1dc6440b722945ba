"""How the long trial finds a rate that is so many times what the program can take."""

from __future__ import annotations

import pytest

from tests.endurance.soak import NEAR, TURNS, too_many


@pytest.mark.parametrize("able", [3_000.0, 40_000.0, 700_000.0])
@pytest.mark.parametrize("factor", [1.5, 3.0])
def test_so_much_is_offered_that_one_row_in_so_many_is_kept(able: float, factor: float) -> None:
    """Each row that is read takes a quarter of the time of one that is kept."""
    tried = []

    def kept_of(offer: float) -> float:
        tried.append(offer)
        return max(0.0, min(offer, 1.25 * able - offer / 4))

    offer = too_many(kept_of, factor)
    assert abs(factor * kept_of(offer) / offer - 1) <= NEAR
    assert len(tried) <= TURNS + 1
