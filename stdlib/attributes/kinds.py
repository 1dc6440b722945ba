"""The words and numbers that attribute shedding is told with; without numpy, so that the compiler can read them."""

from __future__ import annotations

from typing import Literal

Dispersion = Literal["STDDEV", "CV", "MINMAX_STDDEV"]
"""How much an attribute varies: in its own unit (the thesis), by its mean, by its range."""

Scope = Literal["WINDOW", "PER_KEY"]
"""Over all rows of a window (the thesis: spread *across* keys), or over time for each key, on average."""

TextRanking = Literal["PROTECT", "ENTROPY"]
"""Attributes that are no numbers: never shed, or ranked by the entropy of their values."""

Seed = Literal["FIRST", "ZERO", "SMA"]
"""Where an exponential average begins: at the first value, at 0, at the simple average of the first ones."""

Unit = Literal["COUNT", "BYTES"]
"""Attributes are equally wide (the thesis), or as wide as they are."""

Overflow = Literal["RAISE", "TUPLES"]
"""Where even all attributes that may be shed are too few: an error, or rows are dropped too."""

CycleMode = Literal["RESOLVED", "FAITHFUL"]
"""Cycle discovery that was made to work in general, or as Algorithm 1 of the thesis has it."""

Policy = Literal["PROPORTIONAL", "WEIGHTED", "GLOBAL"]
"""How streams share a channel: by their rates (the thesis), by rates and priorities, the least informative first."""

ALPHA = 0.18
"""The weight of the newest value in an exponential average (*Multiplier*; section 3.1.2 of the thesis, "for most cases")."""

BASE_S = 1.0
"""Seconds until a plan is evaluated again, at first and after a change (*t*)."""

FACTOR = 2.0
"""By what that interval grows while the plan is stable."""

MAX_INTERVAL_S = 64.0
"""Where it ends. The thesis has no end, and so learns of a change as long after it as the plan was stable before it."""

MIN_CYCLES = 2
"""How often a sequence of values has to be seen to be a cycle."""


TRAINING_ROWS = 1_000
"""First rows of a stream in which its cycle is looked for."""

RANKED_ROWS = 100
"""Rows that are ranked together where a stream has no cycle."""


class Unsheddable(ValueError):
    """More attributes would have to be shed than may be. ``wanted``, ``possible``: how many; ``stream``: of which, if known."""

    def __init__(self, wanted: int, possible: int, stream: str = "") -> None:
        super().__init__(wanted, possible, stream)
        self.wanted, self.possible, self.stream = wanted, possible, stream

    def __str__(self) -> str:
        """What to do about it."""
        of = f" of {self.stream}" if self.stream else ""
        return (
            f"{self.wanted} attributes{of} would have to be shed, and {self.possible} may be: "
            "protect fewer, raise the capacity, or shed rows as well"
        )
