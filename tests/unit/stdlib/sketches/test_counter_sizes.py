"""Sizes of sketches from what a program asks."""

from __future__ import annotations

import re

import pytest

from streamq.stdlib.sketches.counter_sizes import planned
from streamq.stdlib.sketches.kinds import LEAST_WIDTH, MEMORY, MOST_MEMORY


def test_of_neither_it_has_the_usual_memory() -> None:
    plan = planned("self_join", None, None, None, 0.95)
    assert MEMORY - 8 * plan.depth < plan.bytes <= MEMORY


@pytest.mark.parametrize("purpose", ["frequency", "self_join", "join"])
def test_of_an_error_it_is_the_least_that_does(purpose: str) -> None:
    plan = planned(purpose, None, 0.03, None, 0.95)  # type: ignore[arg-type]
    assert plan.rel_error <= 0.03
    assert planned(purpose, None, None, plan.bytes, 0.95).rel_error <= 0.03  # type: ignore[arg-type]
    assert planned(purpose, None, None, plan.bytes - 8 * plan.depth, 0.95).rel_error > 0.03  # type: ignore[arg-type]


def test_of_both_it_takes_all_of_the_memory() -> None:
    needed = planned("self_join", None, 0.1, None, 0.95)
    plan = planned("self_join", None, 0.1, 2 * needed.bytes, 0.95)
    assert (plan.width, plan.depth) == (2 * needed.width, needed.depth)
    assert plan.rel_error < 0.1
    planned("self_join", None, 0.1, needed.bytes, 0.95)
    with pytest.raises(ValueError, match="too few for an error"):
        planned("self_join", None, 0.1, needed.bytes - 1, 0.95)


@pytest.mark.parametrize("method", ["CM", "CMM"])
def test_what_would_do_does(method: str) -> None:
    with pytest.raises(ValueError, match="would do") as refused:
        planned("self_join", method, 0.01, 4096, 0.95)
    size = re.search(r"; (\d+) (KB|MB) would do", str(refused.value))
    assert size is not None
    memory = int(size[1]) << (10 if size[2] == "KB" else 20)
    assert planned("self_join", method, 0.01, memory, 0.95).rel_error <= 0.01


def test_there_is_a_least_and_a_most() -> None:
    assert planned("frequency", "CM", 0.9, None, 0.5).width == LEAST_WIDTH
    with pytest.raises(ValueError, match=r"WITHIN (\S+) PERCENT") as refused:
        planned("self_join", None, 1e-9, None, 0.95)
    said = re.search(r"WITHIN (\S+) PERCENT", str(refused.value))
    assert said is not None
    assert planned("self_join", None, float(said[1]) / 100 * 1.001, None, 0.95).bytes <= MOST_MEMORY


def test_a_method_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="CM or CMM would do"):
        planned("frequency", "STABLE", None, None, 0.95)
