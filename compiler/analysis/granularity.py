"""How finely an output follows the meaning: at every instant, or at the end of each micro-batch."""

from __future__ import annotations

from enum import Enum

from streamq.compiler.ir.logical import Change, Logical


class Granularity(Enum):
    """``EXACT``: every event-time instant; ``PER_BATCH``: the state at the end of each micro-batch."""

    EXACT = "exact"
    PER_BATCH = "per batch"


def granularity(node: Logical) -> Granularity:
    """Only relations whose rows replace each other are seen per batch; all else is exact."""
    return Granularity.PER_BATCH if node.change is Change.UPDATE else Granularity.EXACT
