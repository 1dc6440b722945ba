"""How many values have to be followed so that no frequent one is missing: what Spark's ``approx_top_k`` is asked for.

It is the frequent-items sketch of Apache DataSketches (after Misra and Gries): a hash map of ``slots`` places, a power
of two, of which three in four are used. The most rows that a count can be wrong by are 3.5 of ``slots`` of all rows, and a
value is told where its least count is above that. So a value of at least twice the error is always told.
"""

from __future__ import annotations

import math

from streamq.dsl.records import dataclass

LEAST_SLOTS, MOST_SLOTS = 8, 1 << 20
LOAD = 0.75
ERROR = 3.5
SLOT_BYTES = 32
"""A value and its count, about; texts take what they take."""

USUAL = 10
"""By so much the error is less than the share where neither it nor the memory is asked for."""


@dataclass(frozen=True, slots=True)
class HeavyPlan:
    """``tracked``: values that are followed; ``reported``: the most of them that can have the share;
    ``error``: the most that a count is above the truth, as a share of all rows; ``memory``: bytes, about."""

    tracked: int
    reported: int
    error: float
    memory: int


def plan_heavy(share: float, error: float | None = None, memory: int | None = None) -> HeavyPlan:
    """The plan for values of at least ``share`` (0 to 1) of the rows.

    ValueError where an error or a memory does not do, with what would after a semicolon.
    """
    most = share / 2
    if error is not None and error >= most:
        raise ValueError(
            f"with an error of {error:.3%} values of {share:.3%} of the rows may be missing; ask for less than {most:.3%}"
        )
    if error is not None and error < ERROR / MOST_SLOTS:
        raise ValueError(
            f"an error of {error:.3g} of the rows takes too many values to follow; ask for at least {ERROR / MOST_SLOTS:.2g}"
        )
    if share <= 2 * ERROR / MOST_SLOTS:
        raise ValueError(
            f"values of {share:.3g} of the rows are too many to follow; ask for more than {2 * ERROR / MOST_SLOTS:.3g}"
        )
    slots = min(_slots(ERROR / (share / USUAL if error is None else error)), MOST_SLOTS)
    if memory is not None:
        given = _slots_in(memory)
        wanted = _slots(ERROR / (most if error is None else error), above=error is None)
        if given < wanted:
            raise ValueError(
                f"{memory:,} bytes are too few for values of {share:.3%} of the rows"
                f"{'' if error is None else f' within {error:.3%}'}; {wanted * SLOT_BYTES:,} bytes would do"
            )
        slots = min(given, MOST_SLOTS) if error is None else wanted
    reached = ERROR / slots
    return HeavyPlan(int(slots * LOAD), min(int(slots * LOAD), math.ceil(1 / (share - reached))), reached, slots * SLOT_BYTES)


def _slots(least: float, *, above: bool = False) -> int:
    """The power of two from ``least`` on; ``above``: past it."""
    slots = 1 << max(0, math.ceil(math.log2(least)))
    return max(LEAST_SLOTS, slots * 2 if above and slots <= least else slots)


def _slots_in(memory: int) -> int:
    slots = memory // SLOT_BYTES
    return 1 << (slots.bit_length() - 1) if slots else 0
