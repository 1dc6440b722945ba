"""What is asked of a sifter."""

from __future__ import annotations

from typing import Literal

from streamq.dsl.records import dataclass

Method = Literal["QDPART", "UNIFORM", "DATA", "QUERY"]
"""How the domain is parted into regions (section 4.3 of the paper)."""


@dataclass(frozen=True, slots=True)
class Plan:
    """``fairness``: how far thresholds of regions that queries want may lie apart, 0 to 1.

    ``sampled``: the share of rows that is kept whatever the thresholds are, to learn from. ``lines``: cuts are at so
    many equal steps of each attribute; None: anywhere. ``counted``: rows go evenly by their number, not by chance.
    """

    regions: int = 16
    method: Method = "QDPART"
    fairness: float = 1.0
    sampled: float = 0.0
    lines: int | None = None
    counted: bool = False
