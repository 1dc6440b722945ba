"""The words and numbers that sketches are told with; without numpy, so that the compiler can read them."""

from __future__ import annotations

from streamq.stdlib.sketches.linear_plan import Purpose

CONFIDENCE = 0.95
"""How often bounds hold where nothing else is asked for."""

MEMORY = 64 * 1024
"""Bytes of a sketch where neither its size nor its error is asked for."""

MOST_MEMORY = 256 << 20
"""Bytes of a sketch: more is more than a row of Spark's state should be."""

LEAST_WIDTH = 16
"""Columns of a sketch that is planned: with fewer its error says nothing."""

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


def shown_size(memory: int) -> str:
    """So much memory, as it is told."""
    return f"{memory / 1024:,.1f} KB" if memory < 1 << 20 else f"{memory / (1 << 20):,.1f} MB"


def in_units(memory: int) -> str:
    """So much memory or a bit more, as it is written in a program."""
    return f"{-(-memory // 1024)} KB" if memory < 1 << 20 else f"{-(-memory // (1 << 20))} MB"
