"""A stream as the central run takes it, and counts of what came of it."""

from __future__ import annotations

import pyarrow as pa

from streamq.dsl.records import dataclass
from streamq.runtime.edge.at_run.bounds import numeric
from streamq.runtime.edge.plan import EdgePlan

SHED = "shed_columns"


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """A stream as the central run takes it.

    ``synopsis``: columns whose shed values are asked for; ``nearest``: those whose shed values are taken from the nearest row.
    ``bounded``: columns whose bounds are told where they have numbers, None for those that may be recovered. ``wait_s``: how long rows wait for answers. ``channel``: which one its edge shares with others, and by which ``weight``.
    Raises ``ValueError`` for what cannot be.
    """

    plan: EdgePlan
    synopsis: frozenset[str] = frozenset()
    nearest: frozenset[str] = frozenset()
    bounded: frozenset[str] | None = None
    wait_s: float = 10.0
    channel: str = ""
    weight: float = 1.0

    def __post_init__(self) -> None:
        """Checks names and numbers."""
        columns = set(self.plan.columns)
        if unknown := sorted((self.synopsis | self.nearest) - columns):
            raise ValueError(f"{self.plan.stream} has no {', '.join(unknown)} to recover")
        if both := sorted(self.synopsis & self.nearest):
            raise ValueError(f"{', '.join(both)} of {self.plan.stream} cannot be recovered in two ways")
        if made := sorted(columns & ({SHED} | {name for pair in self.bounds.values() for name in pair})):
            raise ValueError(f"{self.plan.stream} has columns of the names of those that recovery adds: {', '.join(made)}")
        if not (self.wait_s >= 0 and self.weight > 0):
            raise ValueError("rows wait for some time, and a weight is above 0")

    @property
    def bounds(self) -> dict[str, tuple[str, str]]:
        """The columns of the bounds of each column that has some, in the order of the stream."""
        bounded = self.synopsis | self.nearest if self.bounded is None else self.bounded
        return {f.name: (f"{f.name}_lo", f"{f.name}_hi") for f in self.plan.schema if f.name in bounded and numeric(f.type)}

    @property
    def schema(self) -> pa.Schema:
        """Of the files."""
        bounds = [(name, pa.float64()) for pair in self.bounds.values() for name in pair]
        return pa.schema([*self.plan.schema, *bounds, (SHED, pa.list_(pa.string()))])
