"""The words and numbers that sketches are told with; without numpy, so that the compiler can read them."""

from __future__ import annotations

from streamq.stdlib.sketches.linear_plan import Purpose

CONFIDENCE = 0.95
"""How often bounds hold where nothing else is asked for."""

MEMORY = 64 * 1024
"""Bytes of a sketch where neither its size nor its error is asked for."""

SEED = 20_070_901
"""Of all sketches of a program: those with one seed can be joined."""

READ_BY: dict[Purpose, tuple[str, ...]] = {
    "frequency": ("CM", "CMM"),
    "self_join": ("CM", "CMM"),
    "join": ("CMM",),
}
"""By what counters can be read: the least one (Count-Min), or each less its noise, of which the middle (count-mean-min)."""

FP = 0.01
"""False positives where no rate is asked for."""

PANES = 8
"""Parts of a window of time in which what was seen is forgotten one after another."""

DEPTH = 3
"""Rows of the sketch of a similarity size."""
