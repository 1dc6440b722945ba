"""What pages show beside their commands may differ in the time that something took, and in nothing else."""

from __future__ import annotations

import pytest

from tests.docs.following import _without_times


@pytest.mark.parametrize(
    ("told", "printed", "same"),
    [
        ("2 passed in 0.1 s", "2 passed in 14.25 s", True),
        ("2 passed in 0.1 s", "3 passed in 0.1 s", False),
        ("slow.test.yaml:22 not compared", "slow.test.yaml:20 not compared", False),
        ("    - a   1", "- a 1", True),
        ("at 2024-05-01 09:00:10", "at 2024-05-01 09:00:20", False),
    ],
)
def test_only_times_may_differ(told: str, printed: str, same: bool) -> None:
    assert (_without_times(told) == _without_times(printed)) == same
