"""Times of day that are written H.MM."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.attributes.clock_values import clock_minutes
from tests.unit.stdlib.attributes.tables import table


def test_minutes() -> None:
    assert clock_minutes([6.18, 6, 5.1, 0.05, 23.59]).tolist() == [378, 360, 310, 5, 1439]
    found = clock_minutes([6.18, None])
    assert found[0] == 378
    assert np.isnan(found[1])


def test_every_minute_of_a_day() -> None:
    written = np.array([h + m / 100 for h in range(24) for m in range(60)])
    assert clock_minutes(written).tolist() == list(range(1440))


@pytest.mark.parametrize("bad", [6.79, 6.6, 24.0, -1.0, 6.185])
def test_what_is_no_time(bad: float) -> None:
    """6.79 is in Table 4.9."""
    with pytest.raises(ValueError, match="no time of day"):
        clock_minutes([6.18, bad])
    found = clock_minutes([6.18, bad], strict=False)
    assert found[0] == 378
    assert np.isnan(found[1])


def test_sun_of_the_weather_window() -> None:
    rows = table("g6_weather")
    assert clock_minutes(rows["sun_rise"])[:3].tolist() == [378, 383, 484]
    assert clock_minutes(rows["sun_set"]).max() == 7 * 60 + 35
