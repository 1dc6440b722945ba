"""How finely an output follows the meaning: at every instant, or at the end of each micro-batch."""

from __future__ import annotations

from enum import Enum

from streamq.compiler.analysis.moving import runs_on_changes
from streamq.compiler.ir.logical import Change, Logical


class Granularity(Enum):
    """``EXACT``: every event-time instant; ``PER_BATCH``: the state at the end of each micro-batch."""

    EXACT = "exact"
    PER_BATCH = "per batch"


def granularity(node: Logical, *roots: Logical) -> Granularity:
    """Only relations whose rows replace each other are seen per batch, in queries that do not run on changes.

    ``roots``: the top operators of the queries that the operator serves.
    """
    native = not all(runs_on_changes(root) for root in roots or (node,))
    return Granularity.PER_BATCH if node.change is Change.UPDATE and native else Granularity.EXACT
