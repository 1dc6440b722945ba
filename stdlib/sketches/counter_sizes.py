"""How large a sketch of counters is for what a program asks of it: an error, a memory, both or neither (numpy-free)."""

from __future__ import annotations

from streamq.dsl.records import replace
from streamq.stdlib.sketches.kinds import LEAST_WIDTH, MEMORY, MOST_MEMORY, READ_BY, in_units
from streamq.stdlib.sketches.linear_plan import (
    COUNTER_BYTES,
    LinearPlan,
    Method,
    Purpose,
    depth_of,
    error_of,
    plan_of_error,
    plan_of_memory,
)


def planned(
    purpose: Purpose, method: str | None, error: float | None, memory: int | None, confidence: float
) -> LinearPlan:
    """The sketch; of an error the least that does, of a memory, or of both, as large as that is, of neither ``MEMORY``.

    ``method``: CM or CMM, None where the counters are to say. ValueError, with what would do after a semicolon, where there is none.
    """
    if method is not None and method not in READ_BY[purpose]:
        raise ValueError(f"{method} does not estimate this; {' or '.join(READ_BY[purpose])} would do")
    by: Method = "CM" if method == "CM" else "CMM"
    room = MEMORY if memory is None else memory
    if error is None:
        least = COUNTER_BYTES * LEAST_WIDTH * depth_of(by, confidence)
        if room < least:
            raise ValueError(f"{room:,} bytes are too few for this confidence; {in_units(least)} would do")
        return plan_of_memory(purpose, by, room, confidence)
    plan = plan_of_error(purpose, by, error, confidence)
    if plan.bytes > MOST_MEMORY:
        best = error_of(purpose, by, MOST_MEMORY // (COUNTER_BYTES * plan.depth))
        raise ValueError(
            f"an error of {error:.3g} takes {plan.bytes / (1 << 30):,.1f} GB for each group; "
            f"WITHIN {100 * best:.4f} PERCENT takes {in_units(MOST_MEMORY)}"
        )
    if memory is None:
        return plan if plan.width >= LEAST_WIDTH else replace(plan, width=LEAST_WIDTH)
    if plan.bytes > memory:
        raise ValueError(f"{memory:,} bytes are too few for an error of {error:.3%}; {in_units(plan.bytes)} would do")
    return plan_of_memory(purpose, by, memory, confidence)
