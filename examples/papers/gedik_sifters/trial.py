"""One trial: a hot-spot workload, a sifter built from a sample, and the quality that queries get of other rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from streamq.dsl.records import dataclass, replace
from streamq.stdlib.sifters.boxes import Floats
from streamq.stdlib.sifters.plans import Method, Plan
from streamq.stdlib.sifters.queries import Queries
from streamq.stdlib.sifters.sifter import ROWS_PER_REGION, sifter
from streamq.stdlib.sifters.workload import Kind, Settings, workload

METHODS: tuple[Method, ...] = ("UNIFORM", "DATA", "QUERY", "QDPART")
KINDS: tuple[Kind, ...] = ("UNIFORM", "SKEWED")
PAIRS: tuple[tuple[Kind, Kind], ...] = tuple((rows, queries) for rows in KINDS for queries in KINDS)
JUDGED = 100_000
"""Rows that a sifter is judged by; none of them is in the sample."""

FAIRNESS = 0.5


@dataclass(frozen=True, slots=True)
class Outcome:
    """``quality``: of all queries together (V*), by the sifter; ``random``: where as many rows are dropped at random.

    ``passed``: the share of rows that the sifter lets through. ``seen``: the share of queries that have rows at all, and
    ``seen_quality``, ``seen_random``: the same over these alone.
    """

    quality: float
    random: float
    passed: float
    seen: float
    seen_quality: float
    seen_random: float

    @property
    def gain(self) -> float:
        """By how much the sifter is better, in percent of what random dropping gives at the same load."""
        return 100 * (self.quality / self.random - 1)

    @property
    def seen_gain(self) -> float:
        return 100 * (self.seen_quality / self.seen_random - 1)


@lru_cache(maxsize=64)
def _case(settings: Settings, rows: int, seed: int) -> tuple[Floats, Queries, Floats]:
    made = workload(settings, np.random.default_rng(seed))
    return made.rows(rows), made.queries, made.rows(JUDGED)


def trial(settings: Settings, plan: Plan, keep: float, seed: int, rows: int | None = None) -> Outcome:
    """``rows``: of the sample; else as many for each region as in Table I."""
    sample, queries, judged = _case(settings, rows or round(ROWS_PER_REGION * plan.regions), seed)
    made = sifter(plan, sample, queries, keep)
    drop = made.drop[made.regions.find(judged)]
    passed = float(1 - drop.mean())
    lost, count = _lost(judged, drop, queries)
    some = count > 0
    return Outcome(
        _quality(queries, lost), _quality(queries, np.where(some, 1 - passed, 0.0)), passed, float(some.mean()),
        _quality(_of(queries, some), lost[some]), _quality(_of(queries, some), np.full(int(some.sum()), 1 - passed)),
    )


def trials(settings: Settings, plan: Plan, keep: float, seeds: int, rows: int | None = None) -> Outcome:
    """The means over seeds."""
    found = [trial(settings, plan, keep, seed, rows) for seed in range(seeds)]
    return Outcome(**{name: float(np.mean([getattr(o, name) for o in found])) for name in Outcome.__slots__})


def by_method(
    settings: Settings, plan: Plan, keep: float, seeds: int, methods: Sequence[Method] = METHODS
) -> Iterator[tuple[Method, Outcome]]:
    for method in methods:
        yield method, trials(settings, replace(plan, method=method), keep, seeds)


def _of(queries: Queries, some: np.ndarray) -> Queries:
    return replace(queries, weight=queries.weight[some] / queries.weight[some].sum(), slope=queries.slope[some], least=queries.least[some])


def _quality(queries: Queries, lost: Floats) -> float:
    return float(1 - queries.weight @ (queries.slope * lost))


def _lost(rows: Floats, drop: Floats, queries: Queries) -> tuple[Floats, Floats]:
    """The share of its rows that each query loses, and how many it has."""
    order = np.argsort(rows[:, 0])
    rows, drop = rows[order], drop[order]
    starts, ends = (np.searchsorted(rows[:, 0], edge[:, 0]) for edge in (queries.lo, queries.hi))
    lost, count = np.zeros(len(queries.weight)), np.zeros(len(queries.weight))
    for place, (start, end) in enumerate(zip(starts, ends, strict=True)):
        within = np.all((rows[start:end, 1:] >= queries.lo[place, 1:]) & (rows[start:end, 1:] < queries.hi[place, 1:]), axis=1)
        count[queries.query[place]] += within.sum()
        lost[queries.query[place]] += drop[start:end][within].sum()
    return np.divide(lost, count, out=np.zeros_like(lost), where=count > 0), count
