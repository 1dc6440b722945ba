"""What the plan knows of sketches: of filters that remember rows, and of what counts pairs of rows (ADR 0017)."""

from __future__ import annotations

from streamq.compiler.ir.expr import WEIGHT, AggCall, Column, Expr, Literal
from streamq.dsl.records import dataclass
from streamq.stdlib.sketches.similarity_plan import SimilarityPlan, plan_similarity


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


READ_AS: dict[str, tuple[str, tuple[int, ...]]] = {
    "FREQUENCY_OF": ("APPROX_FREQUENCY", (0, 2)), "SELF_JOIN_OF": ("SELF_JOIN_SIZE", (0,)), "JOIN_OF": ("JOIN_SIZE", (0, 2)),
    "PAIRS_OF": ("SIMILAR_PAIRS", (0,)),
}
"""The readings that give an estimate with its bounds: what a user calls them, and which of their arguments tell what of."""

FREQUENCY_SKETCH, TOP_SKETCH = "FREQUENCY_SKETCH", "TOP_SKETCH"
PAIR_COUNTS = "PAIR_COUNTS"
"""The aggregate behind SIMILAR_PAIRS: for each size of a set of columns, in pairs of numbers, the size of the self-join of
what these columns hold, and how many values went into it."""

BEHIND: dict[str, tuple[str, str]] = {
    FREQUENCY_SKETCH: ("a sketch", "SKETCH"), TOP_SKETCH: ("HEAVY_HITTERS", "MOST_FREQUENT"), PAIR_COUNTS: ("SIMILAR_PAIRS", "EQUAL_SETS"),
    "ROWS_SEEN": ("HEAVY_HITTERS", "COUNT"), "LEAST_WEIGHT": ("HEAVY_HITTERS", "LEAST_WEIGHT"),
    "MOST_WEIGHT": ("HEAVY_HITTERS", "MOST_WEIGHT"),
}
"""The aggregates behind estimates: what a user wrote to have one, and what it is called where a plan is shown."""


def shown(function: str) -> str:
    """What a user calls an aggregate: those behind estimates are in no program."""
    return BEHIND[function][0] if function in BEHIND else function


def is_weighted(call: AggCall) -> bool:
    """Whether a sketch counts rows by their weights, which is the last argument of such a call."""
    last = call.args[-1] if call.args else None
    return call.function in (FREQUENCY_SKETCH, PAIR_COUNTS) and isinstance(last, Column) and last.name == WEIGHT


@dataclass(frozen=True, slots=True)
class PairCounts:
    """What a call of it asks for: the columns that are compared, what is drawn of each row, and the counters in a row of its
    sketches, 0 where values are counted as they are. ``weight``: for how many rows each stands, where some were shed."""

    columns: tuple[Expr, ...]
    plan: SimilarityPlan
    width: int
    weight: Column | None = None


def pair_counts(call: AggCall) -> PairCounts:
    """Its arguments are the columns, how many are to be equal, the share of sets that is drawn, the width, and the weight."""
    last = call.args[-1]
    weight = last if isinstance(last, Column) and is_weighted(call) else None
    *columns, least, rate, width = call.args if weight is None else call.args[:-1]
    settings = [a.value for a in (least, rate, width) if isinstance(a, Literal)]
    assert len(settings) == 3
    plan = plan_similarity(len(columns), int(settings[0] or 0), float(settings[1] or 0))
    return PairCounts(tuple(columns), plan, int(settings[2] or 0), weight)
