"""F16, F22: plans, and how the receiver is told of them."""

from __future__ import annotations

import pytest

from streamq.stdlib.attributes.shed_plan import ShedPlan, shed_by

ATTRIBUTES = ("location", "temperature", "barometer", "sun_set")


def test_a_plan_is_a_set_with_a_number() -> None:
    nothing = ShedPlan()
    assert nothing.attrs == ()
    assert nothing.changed_to((), 5) is nothing
    first = nothing.changed_to(("barometer", "sun_set"), 3)
    assert (first.plan_id, first.effective_from_cycle) == (1, 3)
    assert first.changed_to(["sun_set", "barometer"], 4) is first
    assert first.changed_to([], 9) == ShedPlan(2, 9, ())
    assert first.sheds_same({"sun_set", "barometer"})
    assert not first.sheds_same(["sun_set"])


def test_f22_receiver_tells_shed_from_null() -> None:
    plan = ShedPlan(1, 1, ("sun_set", "temperature"))
    window = {"location": ["Acre"], "temperature": [78], "barometer": [None], "sun_set": [6.17]}
    assert plan.kept(window) == {"location": ["Acre"], "barometer": [None]}
    mask = plan.mask(ATTRIBUTES)
    assert mask == 0b1010
    assert shed_by(mask, ATTRIBUTES) == ("temperature", "sun_set")
    assert shed_by(0, ATTRIBUTES) == ()


def test_masks_of_all_plans() -> None:
    for mask in range(16):
        assert ShedPlan(1, 1, shed_by(mask, ATTRIBUTES)).mask(ATTRIBUTES) == mask


def test_what_is_no_mask() -> None:
    for mask in (16, -1):
        with pytest.raises(ValueError, match="as many bits"):
            shed_by(mask, ATTRIBUTES)
    with pytest.raises(ValueError, match="not in tuple"):
        ShedPlan(1, 1, ("rain",)).mask(ATTRIBUTES)
