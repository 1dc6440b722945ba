"""Which pairs are worth their comparison: the budget goes to basic windows and types of rows by utility per comparison.

Windows, basic windows and types of the probing rows make items, each with a volume of comparisons and a density of utility;
what is compared of them is a fractional knapsack, solved by taking the densest first (Gedik, Wu, Yu, Liu 2007, "CPU Load
Shedding for Binary Stream Joins", Algorithm 5; volumes are by the frequency of types in the *probing* stream, and the
capacity is such that the fraction 1 takes everything). Types are numbers from 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.joins.correlation import DECAY, Correlation
from streamq.stdlib.joins.direction import directions
from streamq.stdlib.joins.kinds import Combine
from streamq.stdlib.joins.selection import Floats

PRIOR_MATCHES = 10.0
"""How many matches what is expected of a type weighs against what was measured of it."""

ENOUGH_MATCHES = 30.0
"""Sampled matches of a window, decayed, from which on its basic windows are trusted one by one."""

ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Gains:
    """Of full probes into a window, decayed, ``[types]`` of the probing rows: utility of pairs found, and comparisons."""

    utility: Floats
    compared: Floats

    def after(self, utility: Floats, compared: Floats, decay: float = DECAY) -> Gains:
        """With the sums of a period. ``decay``: of what was before, 0 to 1."""
        return Gains(decay * self.utility + utility, decay * self.compared + compared)


def values(given: Sequence[float | None] | Floats) -> Floats:
    """The utilities of types, ``[types]``: NULL (None or NaN) and negative ones count as 0. ValueError for infinite ones."""
    found = np.array([np.nan if v is None else v for v in given], dtype=np.float64)
    if np.any(np.isinf(found)):
        raise ValueError("a utility is finite")
    return np.maximum(np.nan_to_num(found, nan=0.0), 0.0)


def pair_utility(one: Floats, other: Floats, combine: Combine = "MAX") -> Floats:
    """The utility of pairs of rows with these utilities; the shapes are broadcast."""
    return np.maximum(one, other) if combine == "MAX" else 0.5 * (one + other)


def frequencies(counts: Floats) -> Floats:
    """The share of each type (ω_i) of the rows counted, of sum 1; all the same where none was."""
    total = float(counts.sum())
    return counts / total if total > 0 else np.full(len(counts), 1 / len(counts))


def expected(
    gains: Gains, match_p_avg: float, frequency: Floats, value: Floats, combine: Combine = "MAX"
) -> Floats:
    """Utility per comparison (u_{i,z}) of a row of each type with a window, ``[types]``.

    What was measured, and with the weight of ``PRIOR_MATCHES`` what is expected of a window with these types in it:
    o_i Σ_z' ω_{i,z'} V(z, z'), which is all there is of a type that was not compared. ``frequency``: of the stream whose
    window it is; ``value``: V(z).
    """
    prior = match_p_avg * (pair_utility(value[:, None], value[None, :], combine) @ frequency)
    belief = PRIOR_MATCHES / match_p_avg if match_p_avg > 0 else 0.0
    weight = gains.compared + belief
    return np.divide(gains.utility + belief * prior, weight, out=prior, where=weight > 0)


def density(learned: Correlation, gain: Floats) -> Floats:
    """Utility per comparison of each basic window and type, ``[n, types]``; the mean over basic windows is ``gain``."""
    average = learned.average
    shape = learned.match_p / average if average > 0 else np.ones(len(learned.match_p))
    return shape[:, None] * gain[None, :]


def allocated(
    densities: Sequence[Floats], frequency: Sequence[Floats], capacity: float, unseen: float = 0.0
) -> list[Floats]:
    """The fraction of each window that rows of each type compare (r_{i,z}), ``[types]`` for each window given.

    ``densities``: of each window, ``[n, types]``; ``frequency``: of the stream that *probes* it, ``[types]``, so that an
    item has the volume of its frequency, in basic windows. ``capacity``: Σ_i n_i Σ_z ω r_{i,z}, what is spent of it unless
    everything is taken. Equally dense items go in the order of windows, basic windows, types. Types that the probing
    stream does not have cost nothing and get the fraction ``unseen``. O(items log items).
    """
    dense = np.concatenate([d.ravel() for d in densities])
    volume = np.concatenate([np.broadcast_to(f, d.shape).ravel() for d, f in zip(densities, frequency, strict=True)])
    order = np.argsort(-dense, kind="stable")
    ordered = volume[order]
    left = capacity - (np.cumsum(ordered) - ordered)
    part = np.divide(np.clip(left, 0.0, ordered), ordered, out=np.full(len(order), unseen), where=ordered > 0)
    taken = np.empty(len(order))
    taken[order] = np.where((ordered > 0) & (left >= ordered - ROUNDING), 1.0, part)
    ends = np.cumsum([d.size for d in densities])[:-1]
    return [t.reshape(d.shape).mean(axis=0) for t, d in zip(np.split(taken, ends), densities, strict=True)]


def knapsack(
    frac: float, win: Sequence[float], learned: Sequence[Correlation], gains: Sequence[Floats], frequency: Sequence[Floats]
) -> tuple[Floats, Floats]:
    """The fraction of each window that rows of each type compare (r_{i,z}), ``[types]`` each, of one knapsack of both.

    ``win``: lengths of the windows, in any unit. ``gains``: utility per comparison of each window (u_{i,z}).
    ``frequency``: of types in each *stream* (ω_i). Types that do not come get ``frac``, and so do all where no pair of any
    worth was found. The fraction 1 compares all; else nothing is compared of a window of length 0.
    """
    return _shared_out([frac * len(one.order) for one in learned], True, frac, win, learned, gains, frequency)


def fractions(
    frac: float, win: Sequence[float], learned: Sequence[Correlation], gains: Sequence[Floats], frequency: Sequence[Floats]
) -> tuple[Floats, Floats]:
    """DIRECTION AUTO: as ``knapsack``, but for two windows that cannot be compared basic window by basic window.

    Those are where one's best basic window is below the other's average, or one has fewer matches than ``ENOUGH_MATCHES``.
    Then each window gets what ``directions`` gives it, and only types share that by utility.
    """
    enough = all(one.matches >= ENOUGH_MATCHES for one in learned)
    apart = any(float(learned[w].match_p.max()) < learned[1 - w].average for w in (0, 1))
    if enough and not apart:
        return knapsack(frac, win, learned, gains, frequency)
    of = directions(frac, win, [one.average for one in learned])
    capacity = [float(f) * len(one.order) for f, one in zip(of, learned, strict=True)]
    return _shared_out(capacity, False, frac, win, learned, gains, frequency)


def _shared_out(
    capacity: Sequence[float], together: bool, frac: float, win: Sequence[float],
    learned: Sequence[Correlation], gains: Sequence[Floats], frequency: Sequence[Floats],
) -> tuple[Floats, Floats]:
    """``capacity``: basic windows of each window that are compared, all in one knapsack or each in its own."""
    probing = frequency[1], frequency[0]
    dense = [density(one, gain) for one, gain in zip(learned, gains, strict=True)]
    some = [w for w in (0, 1) if win[w] > 0]
    found = [np.zeros(len(f)) for f in probing]
    if frac >= 1:
        return np.ones(len(probing[0])), np.ones(len(probing[1]))
    if max(float(d.max()) for d in dense) <= 0:
        of = [np.full(len(f), frac if w in some else 0.0) for w, f in enumerate(probing)]
        return of[0], of[1]
    for group in [some] if together and some else [[w] for w in some]:
        taken = allocated([dense[w] for w in group], [probing[w] for w in group], sum(capacity[w] for w in group), frac)
        for w, of_types in zip(group, taken, strict=True):
            found[w] = of_types
    return found[0], found[1]
