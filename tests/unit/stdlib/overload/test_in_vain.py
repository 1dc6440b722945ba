"""What is kept where a goal is out of reach: as much as makes micro-batches hardly longer."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.overload.in_vain import (
    AGAIN,
    FIRST,
    LONGER,
    MUCH_LONGER,
    SELDOM,
    SPELL,
    STEP,
    WORSE,
    InVain,
)


def spells(state: InVain, *lengths: float) -> InVain:
    for ms in lengths:
        for _ in range(SPELL):
            state = state.after(ms, True)
    return state


def test_nothing_is_tried_before_micro_batches_are_alike() -> None:
    """While code is being compiled each spell is shorter than the one before, and says nothing."""
    assert spells(InVain(), 9000, 5000, 3000).share == 0
    assert spells(InVain(), 9000, 3000, 2900).share == FIRST


def test_more_is_kept_as_long_as_that_takes_no_longer() -> None:
    state, shares = spells(InVain(), 3000, 3000), []
    for _ in range(6):
        shares.append(state.share)
        state = spells(state, 3000 * (LONGER - 0.01))
    assert shares == pytest.approx([FIRST, FIRST * STEP, FIRST * STEP**2, FIRST * STEP**3, 1.0, 1.0])


def test_a_trial_that_goes_wrong_is_taken_back_and_comes_again_ever_later() -> None:
    state = spells(InVain(), 3000, 3000, 3000)
    assert (state.share, state.tries) == (FIRST * STEP, True)
    pauses = []
    for _ in range(4):
        state = spells(state, 3000 * (LONGER + 0.01))
        assert (state.share, state.tries) == (FIRST, False)
        pauses.append(state.rest)
        state = spells(state, *[3000] * (state.rest + 1))
        assert (state.share, state.tries) == (FIRST * STEP, True)
    assert pauses == [AGAIN, 2 * AGAIN, SELDOM, SELDOM]


def test_what_much_longer_micro_batches_say_is_not_waited_for() -> None:
    state = spells(InVain(), 3000, 3000, 3000)
    once = state.after(3000 * MUCH_LONGER * 1.01, True)
    assert once.share == state.share
    assert once.after(3000 * MUCH_LONGER * 1.01, True).share == FIRST


def test_what_is_kept_goes_down_again_where_rows_become_dear() -> None:
    state = spells(InVain(), *[3000] * 8)
    assert (state.share, state.tries) == (1.0, False)
    assert spells(state, 3000 * (WORSE + 0.01), 3000 * (WORSE + 0.01)).share == 1 / STEP


def test_a_trial_is_held_against_what_micro_batches_took_before_any() -> None:
    """Else each could make them longer by a sixth, and all together by half."""
    state = spells(InVain(), 3000, 3000, 3300)
    assert spells(state, 3500).share == FIRST * STEP**2
    assert spells(state, 3700).share == FIRST


def test_goals_that_are_met_end_a_spell() -> None:
    state = InVain()
    for _ in range(20):
        for _ in range(SPELL - 1):
            state = state.after(3000, True)
        state = state.after(3000, False)
    assert state == InVain()


@pytest.mark.parametrize("seed", range(20))
def test_with_noise_of_a_third_all_is_kept_in_the_end_where_rows_cost_nothing(seed: int) -> None:
    """A trial of no cost seems too long with a chance of 4 % (1.2 is 1.7 standard deviations of the mean of eight), so that 4 steps
    up are done in 60 spells but for a chance of less than one in a million."""
    random = np.random.default_rng(seed)
    state, most = InVain(), 0.0
    for ms in 3000 * random.lognormal(0, 0.3, 60 * SPELL):
        state = state.after(float(ms), True)
        most = max(most, state.share)
    assert most == 1.0


def test_a_trial_that_makes_results_too_old_is_taken_back_where_they_were_young() -> None:
    state = InVain()
    for _ in range(3 * SPELL):
        state = state.after(700, True, late=False)
    assert (state.share, state.tries) == (FIRST * STEP, True)
    for _ in range(SPELL):
        state = state.after(750, True, late=True)
    assert (state.share, state.tries) == (FIRST, False)
