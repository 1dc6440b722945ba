from __future__ import annotations

import pytest

from streamq.runtime.edge.at_source.taken import MESSAGES, SPAN_S, Taken


def test_rates_are_over_a_fixed_time_by_attribute() -> None:
    taken = Taken().after(100.0, {"x": 750, "y": 75, MESSAGES: 300}).after(101.0, {"x": 75, MESSAGES: 300})
    assert taken.kbps_at(101.0) == pytest.approx({"x": 825 * 8 / 1000 / SPAN_S, "y": 0.1, MESSAGES: 0.8})
    assert taken.kbps_at(100.0 + SPAN_S) == pytest.approx({"x": 0.1, MESSAGES: 0.4})
    assert taken.kbps_at(101.0 + SPAN_S) == {}


def test_what_went_long_ago_is_forgotten() -> None:
    taken = Taken()
    for i in range(1000):
        taken = taken.after(i / 10, {"x": 10})
    assert len(taken.went) == 10 * SPAN_S
    # A clock that was put back begins anew.
    assert Taken(((100.0, "x", 10),)).after(5.0, {"y": 10}).went == ((5.0, "y", 10),)
