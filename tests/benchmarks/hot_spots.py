"""The queries of a hot-spot workload as a run has them: comparisons of raw values."""

from __future__ import annotations

from collections.abc import Callable

from streamq.stdlib.sifters.compact import Wish
from streamq.stdlib.sifters.predicates import Both, Compare
from streamq.stdlib.sifters.queries import Queries


def wishes(queries: Queries, count: int | None = None, raw: Callable[[float], float] = float) -> list[Wish]:
    """The first ``count`` of them; ``raw``: the value for a place on an axis."""
    ends = ((">=", queries.lo), ("<", queries.hi))
    return [
        Wish(Both(tuple(Compare(d, op, raw(edge[i, d])) for d in range(queries.lo.shape[1]) for op, edge in ends)))
        for i in range(len(queries.lo) if count is None else count)
    ]
