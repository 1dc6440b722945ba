"""Lengths of time in words: ``90000`` is ``90 seconds``, ``600000`` is ``10 minutes``."""

from __future__ import annotations

_UNITS = (
    (7 * 86_400_000, "week"), (86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"),
    (1_000, "second"), (1, "millisecond"),
)


def show_ms(ms: int) -> str:
    """In the largest unit that divides it evenly."""
    for size, name in _UNITS:
        if ms % size == 0 and ms >= size:
            n = ms // size
            return f"{n} {name}" + ("" if n == 1 else "s")
    return f"{ms} milliseconds"
