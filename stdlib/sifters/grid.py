"""The grid of cells that regions are laid on."""

from __future__ import annotations

WORD_BITS = 32
"""Of the checksum of a word (CRC-32), which says in which step it is."""

CELLS = 4096
"""Cells of a grid over all attributes; more make Spark slower."""


def steps_for(attributes: int) -> int:
    """Steps of each axis, so that there are at most ``CELLS``."""
    steps = int(CELLS ** (1 / attributes))
    return steps + 1 if (steps + 1) ** attributes <= CELLS else steps
