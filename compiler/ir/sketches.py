"""What the plan knows of a filter that remembers rows (ADR 0017)."""

from __future__ import annotations

from streamq.dsl.records import dataclass

BUCKETS = 8
"""Parts into which rows are cut by their hash, each with a filter of its own. A checkpoint has so many for ever."""


@dataclass(frozen=True, slots=True)
class Remembers:
    """A filter of each bucket. ``kind``: STABLE, with ``sizes`` cells, hashes, decrements and largest value; or ROTATING, with
    bits, generations, hashes and capacity.

    ``fp_bound``: the largest share of new rows that are taken for old; ``memory``: bytes of all buckets. ``range_ms``: the
    window, forgotten in panes of ``pane_us``; 0: none. ``horizons``: the gaps, in rows, at which one old row in ten, and one
    in two, is taken for new.
    """

    kind: str
    sizes: tuple[int, int, int, int]
    fp_bound: float
    memory: int
    range_ms: int = 0
    pane_us: int = 0
    horizons: tuple[int | None, int | None] = (None, None)
