"""How many pairs of records have s and more attributes in common, from the exact sizes of joins of their super-values.

Offline PairCount (Deng 2007, sections 5.2 to 5.5: the thesis). At rate 1 the numbers are exact, in time that grows as the
records do and not as their pairs; below it they are right on average.
"""

from __future__ import annotations

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.sketches.counters import Floats
from streamq.stdlib.sketches.hashing import Keys
from streamq.stdlib.sketches.similarity_plan import (
    SimilarityPlan,
    check_joined,
    inversion_weights,
    pair_weights,
    whole,
)
from streamq.stdlib.sketches.super_values import Ints, Records, super_values

SEARCHED = 1 << 32
"""The side of a record that is searched for: no relation of a join has it."""


@dataclass(frozen=True, slots=True)
class PairCounts:
    """``pairs[k]``: estimated pairs with exactly k attributes in common, ``[d + 1]``, NaN below ``min_common``.

    In a self-join pairs are ordered: two records are two pairs, and no record is paired with itself. In a join and in a search
    each pair of the two sides is one. ``size``: pairs with ``min_common`` and more, within what is possible; ``pairs`` are as they come
    out, possibly negative. ``possible``: all pairs that there are. ``times``: how often two records are counted, 2 or 1.
    """

    n_attrs: int
    min_common: int
    pairs: Floats
    size: float
    possible: int
    times: int

    @property
    def unordered(self) -> PairCounts:
        """The same with each two records as one pair."""
        pairs, possible = self.pairs / self.times, self.possible // self.times
        return PairCounts(self.n_attrs, self.min_common, pairs, self.size / self.times, possible, 1)

    @property
    def selectivity(self) -> float:
        """The share of all pairs that is in ``size``, 0 where there are none."""
        return self.size / self.possible if self.possible else 0.0


def self_join_offline(of: Records, plan: SimilarityPlan, seed: int = 0) -> PairCounts:
    """Ordered pairs of the records of one relation. Exact where ``plan.exact``; the number of equal records always is."""
    return self_join_counts(self_join_sizes(of, plan, seed), len(of), plan, exact_sizes=True)


def join_offline(
    a: Records, b: Records, plan: SimilarityPlan, other: SimilarityPlan | None = None, seed: int = 0
) -> PairCounts:
    """Pairs of a record of each relation. ``other``: the plan of ``b`` where its rate is another one.

    Ids of a and b may be the same. ValueError where the plans are of other attributes.
    """
    check_joined(plan, other or plan)
    sizes = join_sizes(a, b, plan, other or plan, seed)
    return join_counts(sizes, len(a) * len(b), plan, other or plan, exact_sizes=True)


def search_offline(of: Records, record: Records, plan: SimilarityPlan, seed: int = 0) -> PairCounts:
    """Records that are alike to those in ``record``, of which there is one as a rule; an equal one is one of them.

    All super-values of ``record`` are looked up, whatever the rate: that is far more exact than some of them.
    """
    sizes = join_sizes(of, record, plan, whole(plan), seed, SEARCHED)
    return join_counts(sizes, len(of) * len(record), plan, whole(plan), exact_sizes=True)


def self_join_sizes(of: Records, plan: SimilarityPlan, seed: int = 0) -> Ints:
    """Y_k for each k of the plan, ``[d - s + 1]``: how often each super-value comes, squared and summed."""
    return np.array(
        [_squared(_grouped(keys)[1]) for keys in super_values(of, plan, seed)], np.int64
    )


def join_sizes(
    a: Records,
    b: Records,
    plan: SimilarityPlan,
    other: SimilarityPlan,
    seed: int = 0,
    side: int = 1,
) -> Ints:
    """Y_k of a join, ``[d - s + 1]``: how often each super-value comes in a by how often in b, summed. ``side``: of b."""
    both = zip(super_values(a, plan, seed), super_values(b, other, seed, side), strict=True)
    return np.array(
        [_common(_grouped(first), _grouped(second)) for first, second in both], np.int64
    )


def self_join_counts(
    sizes: Ints | Floats, n: int, plan: SimilarityPlan, *, exact_sizes: bool
) -> PairCounts:
    """The inversion for a self-join of ``n`` records: ``sizes`` are Y_k, ``[d - s + 1]``.

    ``exact_sizes``: they are no estimates, so that ``size`` is not less than the number of equal records.
    """
    # Each super-value of a record meets itself: that is no pair.
    sampled = np.asarray(sizes, np.float64) - np.array(plan.n_proj, np.float64) * n
    return _counts(sampled, n * (n - 1), plan, plan, exact_sizes, 2)


def join_counts(
    sizes: Ints | Floats,
    possible: int,
    plan: SimilarityPlan,
    other: SimilarityPlan,
    *,
    exact_sizes: bool,
) -> PairCounts:
    """The inversion for a join of two relations with ``possible`` pairs: ``sizes`` are Y_k, ``[d - s + 1]``."""
    return _counts(np.asarray(sizes, np.float64), possible, plan, other, exact_sizes, 1)


def _counts(
    sampled: Floats,
    possible: int,
    plan: SimilarityPlan,
    other: SimilarityPlan,
    exact_sizes: bool,
    times: int,
) -> PairCounts:
    pairs = np.full(plan.n_attrs + 1, np.nan)
    pairs[plan.min_common :] = np.array(pair_weights(plan, other)) @ sampled
    size = float(np.array(inversion_weights(plan, other)) @ sampled)
    # All attributes are one set, drawn of each record: l_d = 1.
    least = float(pairs[-1]) if exact_sizes else 0.0
    return PairCounts(
        plan.n_attrs,
        plan.min_common,
        pairs,
        min(max(size, least), float(possible)),
        possible,
        times,
    )


def _grouped(keys: Keys) -> tuple[Keys, Ints]:
    """Different keys, rising, and how often each comes."""
    return np.unique(keys, return_counts=True)


def _squared(counts: Ints) -> int:
    return int(counts @ counts)


def _common(first: tuple[Keys, Ints], second: tuple[Keys, Ints]) -> int:
    few, many = sorted((first, second), key=lambda grouped: len(grouped[0]))
    if not len(few[0]):
        return 0
    place = np.minimum(np.searchsorted(many[0], few[0]), len(many[0]) - 1)
    return int((few[1] * many[1][place])[many[0][place] == few[0]].sum())
