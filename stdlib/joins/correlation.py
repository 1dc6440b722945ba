"""Where in a window partners are found: the match probability of each basic window, learned from full probes.

Full probes compare a row with all of the opposite window, so that what they find is not biased by what is usually compared.
Counters fade as others come instead of being cleared, as a period has few full probes where the load is high. The
order stays newest first until the probabilities differ by more than chance can explain (Algorithm 2 of Gedik, Wu, Yu, Liu
2007, "CPU Load Shedding for Binary Stream Joins"; the paper clears its counters, divides by the expected number of
comparisons, and orders from the first period on).
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.joins.selection import Floats, Ints

DECAY = 0.8
"""The weight of a period against the one after it."""

MEMORY = 0.95
"""The same where it is only asked whether probabilities differ: longer, as all matches of some minutes may be few."""

LEVEL = 0.01
"""The probability with which equal match probabilities are taken for different ones, in a period.

To be wrong costs nothing: where probabilities are equal any order is as good. The level is not kept exactly, as rows with
popular items match more than others, which spreads counts more than independent comparisons would.
"""


@dataclass(frozen=True, slots=True)
class Counts:
    """What full probes found in each basic window, the newest first, ``[n]``, with weights that fade.

    ``matches``, ``compared``; ``squares``: comparisons by squared weights, with which the variance of ``matches`` grows.
    """

    matches: Floats
    compared: Floats
    squares: Floats

    def after(self, matches: Floats, compared: Floats, decay: float) -> Counts:
        """With those of a period; the weights of a basic window only fade where it was compared."""
        fading = np.where(compared > 0, decay, 1.0)
        squares = fading**2 * self.squares + compared
        return Counts(fading * self.matches + matches, fading * self.compared + compared, squares)

    @property
    def match_p(self) -> Floats:
        """Matches per comparison (o_{i,j}), 0 where nothing was ever compared."""
        return np.divide(self.matches, self.compared, out=np.zeros(len(self.matches)), where=self.compared > 0)


@dataclass(frozen=True, slots=True)
class Correlation:
    """What is known of one window.

    ``recent``: counts that fade with the decay; ``evidence``: with ``MEMORY``. ``order``: positions of basic windows, the
    best first, ``[n]``. ``uneven``: match probabilities have differed significantly.
    """

    recent: Counts
    evidence: Counts
    order: Ints
    uneven: bool = False

    @property
    def match_p(self) -> Floats:
        """Match probabilities of basic windows (o_{i,j}), ``[n]``."""
        return self.recent.match_p

    @property
    def average(self) -> float:
        """Their mean (o_i)."""
        return float(self.match_p.mean())

    @property
    def matches(self) -> float:
        """How many matches they come from, decayed."""
        return float(self.recent.matches.sum())

    def after(self, matches: Floats, compared: Floats, decay: float = DECAY) -> Correlation:
        """With the counts of a period. ``decay``: of what was before, 0 to 1; with 0 it is forgotten, as in the paper.

        Where nothing was compared in the period all stays as it was. ValueError for counts of another length, negative
        ones, and more matches than comparisons.
        """
        matches, compared = np.asarray(matches, dtype=np.float64), np.asarray(compared, dtype=np.float64)
        if not (matches.shape == compared.shape == self.order.shape):
            raise ValueError(f"counts are of {len(self.order)} basic windows")
        if not (np.all((matches >= 0) & (matches <= compared) & np.isfinite(compared)) and 0 <= decay <= 1):
            raise ValueError("of the comparisons some are matches, and the decay is from 0 to 1")
        recent = self.recent.after(matches, compared, decay)
        evidence = self.evidence.after(matches, compared, MEMORY)
        uneven = self.uneven or differ(evidence)
        order = np.argsort(-recent.match_p, kind="stable") if uneven else np.arange(len(matches))
        return Correlation(recent, evidence, order, uneven)


def unknown(n_bw: int) -> Correlation:
    """Nothing is known of a window with so many basic windows."""
    none = Counts(np.zeros(n_bw), np.zeros(n_bw), np.zeros(n_bw))
    return Correlation(none, none, np.arange(n_bw))


def differ(counts: Counts, level: float = LEVEL) -> bool:
    """Whether match probabilities are significantly different: a chi-squared test of homogeneity.

    With p_j = matches_j / compared_j, the effective number of comparisons e_j = compared_j² / squares_j (Kish), and
    p = Σ e_j p_j / Σ e_j over the k basic windows that have comparisons, ::

        X² = Σ e_j (p_j - p)² / (p (1 - p))

    is above the quantile 1 - ``level`` of chi-squared with k - 1 degrees of freedom. Never where the effective matches
    m = p Σ e_j are fewer than 10 or m² than 10 k, for which X² is not distributed like that (Koehler and Larntz 1980).
    """
    some = counts.squares > 0
    k = int(some.sum())
    if k < 2:
        return False
    effective = counts.compared[some] ** 2 / counts.squares[some]
    p = counts.match_p[some]
    matches = float(effective @ p)
    pooled = matches / float(effective.sum())
    if pooled >= 1 or matches < 10 or matches**2 < 10 * k:
        return False
    statistic = float(effective @ (p - pooled) ** 2) / (pooled * (1 - pooled))
    return statistic > quantile(k - 1, 1 - level)


def quantile(degrees: int, probability: float) -> float:
    """Of chi-squared, d (1 - 2/(9d) + z √(2/(9d)))³ (Wilson and Hilferty 1931).

    From 0.95 on it is within 4 % of the exact one for one degree of freedom, within 0.5 % from 19 on.
    """
    part = 2 / (9 * degrees)
    return float(degrees * (1 - part + NormalDist().inv_cdf(probability) * part**0.5) ** 3)
