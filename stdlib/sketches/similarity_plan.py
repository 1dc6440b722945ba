"""How many pairs of records are alike: what is sampled of a record, and how sizes of self-joins become numbers of pairs.

Two records of d attributes are j-similar where exactly j attributes are equal. Of each record and each k from s to d, ``l_k``
sets of k attributes are drawn; Y_k is the self-join size of what these attributes hold. Expected Y_k is linear in the
numbers of pairs, and the binomial inversion solves that (Deng 2007, chapter 5: the thesis). All pairs here are ordered: each
pair of two records is counted twice, and no record is paired with itself.
"""

from __future__ import annotations

import math
from fractions import Fraction

from streamq.dsl.records import dataclass
from streamq.stdlib.sketches.confidence import check_confidence

MOST_ATTRS = 12
"""Records of more attributes have thousands of sets of attributes, and errors that grow with these."""

MOST_SAMPLED = 64
"""Super-values of a record that are taken where no rate is asked for."""

LOOSE = 150.0
"""From this error constant on, a sample says little: a caller warns."""

ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class SimilarityPlan:
    """What is drawn of each record: ``n_proj[k - min_common]`` sets of k attributes, for k from ``min_common`` to ``n_attrs``.

    ``rate``: the share of all sets of k attributes that is drawn, at least. ``untagged``: records are sets, and their values
    match in whichever place they are. ``plan_similarity`` makes one.
    """

    n_attrs: int
    min_common: int
    rate: float
    n_proj: tuple[int, ...]
    untagged: bool = False

    @property
    def ks(self) -> range:
        """Sizes of the sets of attributes: ``min_common .. n_attrs``."""
        return range(self.min_common, self.n_attrs + 1)

    @property
    def exact(self) -> bool:
        """Whether all sets are drawn, so that exact sizes of joins give exact numbers of pairs."""
        return all(
            l_k == math.comb(self.n_attrs, k) for k, l_k in zip(self.ks, self.n_proj, strict=True)
        )

    @property
    def is_loose(self) -> bool:
        """Whether the sample says little, as its error constant is above ``LOOSE``."""
        return not self.exact and is_loose(self.n_attrs, self.min_common)


def plan_similarity(
    n_attrs: int, min_common: int, rate: float | None = None, *, untagged: bool = False
) -> SimilarityPlan:
    """The plan of a rate; of None: the largest with at most ``MOST_SAMPLED`` super-values of a record, 1 where all are so few.

    ValueError for more than ``MOST_ATTRS`` attributes, ``min_common`` not in 1..n_attrs, and a rate not in (0, 1].
    """
    _check(n_attrs, min_common)
    if n_attrs > MOST_ATTRS:
        raise ValueError(
            f"at most {MOST_ATTRS} attributes are compared, not {n_attrs}: leave some out, join some into one,"
            " or compare min-hashes of the records as sets"
        )
    if rate is None:
        rate = _usual_rate(n_attrs, min_common)
    if not 0 < rate <= 1:
        raise ValueError(f"a rate is above 0 and at most 1, where all is taken: {rate}")
    n_proj = tuple(samples_of(n_attrs, k, rate) for k in range(min_common, n_attrs + 1))
    return SimilarityPlan(n_attrs, min_common, float(rate), n_proj, untagged)


def whole(plan: SimilarityPlan) -> SimilarityPlan:
    """The same with all sets of attributes: what a record that is searched for is seen by."""
    return plan_similarity(plan.n_attrs, plan.min_common, 1.0, untagged=plan.untagged)


def samples_of(n_attrs: int, k: int, rate: float) -> int:
    """l_k: how many sets of k attributes are drawn, at least 1."""
    return max(1, math.ceil(rate * math.comb(n_attrs, k) - ROUNDING))


def mu(plan: SimilarityPlan, j: int, k: int, other: SimilarityPlan | None = None) -> Fraction:
    """What an ordered j-similar pair adds to Y_k on average; ``other``: the plan of the other side of a join."""
    l_k, other_l_k = plan.n_proj[k - plan.min_common], (other or plan).n_proj[k - plan.min_common]
    return Fraction(l_k * other_l_k * math.comb(j, k), math.comb(plan.n_attrs, k) ** 2)


def pair_weights(
    plan: SimilarityPlan, other: SimilarityPlan | None = None
) -> tuple[tuple[float, ...], ...]:
    """``[d - s + 1, d - s + 1]``, row k, column j: X_k, the pairs with exactly k equal, is their sum times Z_j.

    Z_j is Y_j - l_j * n for a self-join of n records, and Y_j for a join of two relations, or a search. They solve
    Z_k = sum over j of mu(j, k) * X_j, for any l_k. ValueError where ``other`` is of other attributes.
    """
    check_joined(plan, other or plan)
    return tuple(
        tuple(float((-1) ** (j - k) * math.comb(j, k) / mu(plan, j, j, other)) for j in plan.ks)
        for k in plan.ks
    )


def inversion_weights(
    plan: SimilarityPlan, other: SimilarityPlan | None = None
) -> tuple[float, ...]:
    """``[d - s + 1]``: G_s, the pairs with s and more equal, is their sum times Z_k, as in ``pair_weights``."""
    check_joined(plan, other or plan)
    s = plan.min_common
    return tuple(
        float((-1) ** (k - s) * math.comb(k - 1, s - 1) / mu(plan, k, k, other)) for k in plan.ks
    )


def error_constant(n_attrs: int, min_common: int) -> float:
    """C(d, s) * sqrt(C(2(d - s), d - s)): by what the relative error grows with the attributes. ValueError as above."""
    _check(n_attrs, min_common)
    apart = n_attrs - min_common
    return math.comb(n_attrs, min_common) * math.sqrt(math.comb(2 * apart, apart))


def is_loose(n_attrs: int, min_common: int) -> bool:
    """Whether errors of a sample are so large that a caller warns."""
    return error_constant(n_attrs, min_common) > LOOSE


def offline_bound(n_attrs: int, min_common: int, rate: float, size: float) -> float:
    """The relative standard error of the size from exact Y_k (section 5.2), where ``size`` ordered pairs are that alike.

    It takes pairs as independent. Where many records are alike to the same ones the error is more than this by
    far: an interval of repetitions (``repeats.repeated``) shows it. Infinite where there are no such pairs.
    """
    if size <= 0:
        return math.inf
    return error_constant(n_attrs, min_common) / math.sqrt(rate * size)


def online_bound(
    n_attrs: int, min_common: int, rate: float, size: float, n: int, width: int
) -> float:
    """The same where Y_k are those of sketches of such a width, of ``n`` records. Far above what is seen."""
    if size <= 0:
        return math.inf
    sampled = (1 + 2 / width) / (rate * size)
    sketched = 2 / width * (1 + n / (rate * size)) ** 2
    return error_constant(n_attrs, min_common) * math.sqrt(sampled + sketched)


def rate_of(n_attrs: int, min_common: int, off: float, n: int) -> float:
    """The rate at which a selectivity of ``n`` records is at most ``off`` off, an absolute share, with a chance of 7/8.

    By Chebyshev, from ``offline_bound`` (section 5.2) and as no selectivity is above 1; what it takes for granted, this does.
    The median of ``repetitions(confidence)`` is that near with the confidence. 1, which is exact, where less does not do.
    ValueError for an ``off`` that is not above 0.
    """
    if not off > 0:
        raise ValueError(f"how far off a selectivity may be is above 0, as 0.001: {off}")
    pairs = n * (n - 1)
    return (
        min(1.0, 8 * error_constant(n_attrs, min_common) ** 2 / (off**2 * pairs)) if pairs else 1.0
    )


def repetitions(confidence: float) -> int:
    """The least odd number of repetitions whose median is good with this confidence, where each is with 7/8.

    ValueError for a confidence that is not between 0 and 1.
    """
    return math.ceil(-2 * math.log2(check_confidence(confidence)) - ROUNDING) // 2 * 2 + 1


def check_joined(plan: SimilarityPlan, other: SimilarityPlan) -> None:
    """ValueError where records of two plans cannot be compared."""
    first, second = ((p.n_attrs, p.min_common, p.untagged) for p in (plan, other))
    if first != second:
        raise ValueError(
            f"both sides have as many attributes and ask for as many common ones: {plan}, {other}"
        )


def _usual_rate(n_attrs: int, min_common: int) -> float:
    """l_k only change at m / C(d, k), so the largest rate is one of these."""
    ks = range(min_common, n_attrs + 1)
    rates = sorted(
        {m / math.comb(n_attrs, k) for k in ks for m in range(1, math.comb(n_attrs, k) + 1)}
    )
    return max(r for r in rates if sum(samples_of(n_attrs, k, r) for k in ks) <= MOST_SAMPLED)


def _check(n_attrs: int, min_common: int) -> None:
    if not 1 <= min_common <= n_attrs:
        raise ValueError(
            f"records have 1 to {n_attrs} attributes in common, not {min_common}: ask for one of these"
        )
