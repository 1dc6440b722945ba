"""How many values are followed for those of a share."""

from __future__ import annotations

import pytest

from streamq.stdlib.sketches.heavy_plan import MOST_SLOTS, SLOT_BYTES, plan_heavy


@pytest.mark.parametrize("share", [0.5, 0.1, 0.01, 0.001, 0.0001])
def test_a_value_of_the_share_is_always_told(share: float) -> None:
    """Spark tells a value whose least count is above the error: one of at least twice the error is."""
    plan = plan_heavy(share)
    assert plan.error < share / 2
    assert plan.error <= share / 10
    # At most 1/(share - error) values can have counts that reach the share, and there is room for all of them.
    assert plan.reported >= 1 / (share - plan.error) - 1e-9 or plan.reported == plan.tracked
    assert plan.reported <= plan.tracked


def test_memory_says_the_error_and_the_error_the_memory() -> None:
    plan = plan_heavy(0.01, memory=64 * 1024)
    assert plan.memory == 64 * 1024
    assert plan.error == 3.5 / (plan.memory / SLOT_BYTES)
    assert plan_heavy(0.01, error=plan.error) == plan
    assert plan_heavy(0.01, error=plan.error, memory=1 << 20) == plan, "no more than the error takes"


def test_what_cannot_be_is_refused_with_what_would_do() -> None:
    with pytest.raises(ValueError, match=r"ask for less than 0\.500%"):
        plan_heavy(0.01, error=0.005)
    with pytest.raises(ValueError, match="32,768 bytes would do") as refused:
        plan_heavy(0.01, memory=16 * 1024)
    assert plan_heavy(0.01, memory=32_768).error < 0.005, refused
    with pytest.raises(ValueError, match=r"ask for more than 6\.68e-06"):
        plan_heavy(1e-6)
    assert plan_heavy(6.7e-6, error=3.34e-6).memory == MOST_SLOTS * SLOT_BYTES
    with pytest.raises(ValueError, match=r"an error of 1e-07 .* ask for at least 3\.3e-06"):
        plan_heavy(0.01, error=1e-7)
    with pytest.raises(ValueError, match="bytes would do"):
        plan_heavy(0.01, error=0.0001, memory=64 * 1024)


def test_no_more_is_followed_than_can_be() -> None:
    """A memory that would do for more, and a share whose usual error would take more."""
    assert plan_heavy(0.01, memory=1 << 30).memory == MOST_SLOTS * SLOT_BYTES
    few = plan_heavy(1e-5)
    assert (few.memory, few.error) == (MOST_SLOTS * SLOT_BYTES, 3.5 / MOST_SLOTS)
    assert few.error < 1e-5 / 2
